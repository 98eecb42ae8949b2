/* A growing byte buffer for everything that is printed, and number formatting that does not
 * depend on the locale. */
#ifndef GLOW_SUPPORT_TEXT_H
#define GLOW_SUPPORT_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct GlowContext GlowContext;

typedef struct GlowText {
  GlowContext *ctx;
  char *data; /* malloc'ed; not NUL-terminated: see glow_text_cstr */
  size_t size, capacity;
} GlowText;

void glow_text_init(GlowText *t, GlowContext *ctx);
void glow_text_release(GlowText *t); /* also usable as a GlowDefer release */
void glow_text_release_fn(void *text);
void glow_text_bytes(GlowText *t, const void *data, size_t size);
void glow_text_puts(GlowText *t, const char *s);
void glow_text_putc(GlowText *t, char c);
void glow_text_printf(GlowText *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void glow_text_vprintf(GlowText *t, const char *format, va_list args);
/* Adds a terminating NUL (not counted in size) and returns data. */
const char *glow_text_cstr(GlowText *t);
/* A string literal with escapes \" \\ \n \t \r \xHH for other control bytes. UTF-8 passes. */
void glow_text_quoted(GlowText *t, const char *s, size_t length);

/* Writes the fewest digits that read back to the same bits: 0.1, -inf, nan, and nan(0x7fc00001) for
 * NaNs other than the default. A finite number always has a '.' or an exponent. buf has room for 48
 * bytes. Returns the length. */
size_t glow_format_float(char *buf, float v);
size_t glow_format_double(char *buf, double v);
/* Locale-independent strtod; sets *end. */
double glow_parse_double(const char *s, char **end);
float glow_parse_float(const char *s, char **end);

/* True if bytes are valid UTF-8 (no surrogates, nothing over U+10FFFF, no overlong forms);
 * otherwise *bad is the offset of the first bad byte. */
bool glow_utf8_valid(const char *s, size_t length, size_t *bad);

/* The length of the UTF-8 sequence at the start of s, which has `left` (> 0) bytes; 0: invalid. */
size_t glow_utf8_sequence(const char *s, size_t left);

#endif
