/* Interned strings. Two GlowStr of one context are equal exactly if their pointers are.
 * They are NUL-terminated and hold no NUL inside. */
#ifndef GLOW_SUPPORT_STR_H
#define GLOW_SUPPORT_STR_H

#include <stddef.h>

typedef struct GlowContext GlowContext;
typedef const char *GlowStr;

GlowStr glow_str(GlowContext *ctx, const char *text);
/* A NUL among the bytes ends the string. */
GlowStr glow_str_n(GlowContext *ctx, const char *text, size_t length);
GlowStr glow_str_printf(GlowContext *ctx, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
size_t glow_str_length(GlowStr s);

/* For "did you mean": the candidate nearest to `word` by edit distance (the first of several), or
 * NULL if all distances exceed a third of its length. */
const char *glow_nearest(const char *word, const char *const *candidates, size_t count);

#endif
