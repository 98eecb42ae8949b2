/* Amounts of memory for people: "5.7 MiB" in messages, "64M" on command lines. */
#ifndef GLOW_SUPPORT_SIZES_H
#define GLOW_SUPPORT_SIZES_H

#include "support/context.h"

/* "512 B", "5.7 MiB": units of 1024. */
const char *glow_bytes_str(GlowArena *arena, int64_t bytes);

/* Reads "65536", "512K", "64M", "2G" or "1T"; B or iB may follow the unit. Units are powers of
 * 1024. False if the text has another form, or the size is 0 or too large. */
bool glow_parse_size(const char *text, int64_t *bytes);

#endif
