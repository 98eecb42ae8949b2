/* Amounts of memory for people: "5.7 MiB" in messages, "64M" on command lines. */
#ifndef GLOW_SUPPORT_SIZES_H
#define GLOW_SUPPORT_SIZES_H

#include "support/context.h"

/* "512 B", "5.7 MiB": units of 1024. */
const char *glow_bytes_str(GlowArena *arena, int64_t bytes);

/* "65536", "512K", "64M", "2G", "1T", with B or iB behind the unit or not; units of 1024. False if
 * it is none of these, is 0, or does not fit. */
bool glow_parse_size(const char *text, int64_t *bytes);

#endif
