/* Growing text, and numbers as text. Floats are printed with the fewest digits that read back to
 * the same bits, found by trying 1, 2, ... digits; both directions ignore the locale. */
#include "support/text.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/context.h"

void glow_text_init(GlowText *t, GlowContext *ctx) { *t = (GlowText){.ctx = ctx}; }

void glow_text_release(GlowText *t) {
  free(t->data);
  t->data = NULL;
  t->size = t->capacity = 0;
}

void glow_text_release_fn(void *text) { glow_text_release(text); }

/* Makes room for `more` bytes after size. */
static void reserve(GlowText *t, size_t more) {
  if (t->capacity - t->size >= more)
    return;
  size_t need;
  if (__builtin_add_overflow(t->size, more, &need) || need > SIZE_MAX / 4)
    glow_throw(t->ctx, GLOW_NO_MEMORY);
  size_t capacity = t->capacity ? t->capacity : 256;
  while (capacity < need)
    capacity *= 2;
  t->data = glow_realloc(t->ctx, t->data, capacity);
  t->capacity = capacity;
}

void glow_text_bytes(GlowText *t, const void *data, size_t size) {
  if (size == 0)
    return;
  reserve(t, size);
  memcpy(t->data + t->size, data, size);
  t->size += size;
}

void glow_text_puts(GlowText *t, const char *s) { glow_text_bytes(t, s, strlen(s)); }

void glow_text_putc(GlowText *t, char c) {
  reserve(t, 1);
  t->data[t->size++] = c;
}

void glow_text_vprintf(GlowText *t, const char *format, va_list args) {
  va_list again;
  va_copy(again, args);
  int length = vsnprintf(NULL, 0, format, again);
  va_end(again);
  if (length < 0)
    glow_throw(t->ctx, GLOW_NO_MEMORY);
  reserve(t, (size_t)length + 1);
  vsnprintf(t->data + t->size, (size_t)length + 1, format, args);
  t->size += (size_t)length;
}

void glow_text_printf(GlowText *t, const char *format, ...) {
  va_list args;
  va_start(args, format);
  glow_text_vprintf(t, format, args);
  va_end(args);
}

const char *glow_text_cstr(GlowText *t) {
  reserve(t, 1);
  t->data[t->size] = '\0';
  return t->data;
}

size_t glow_utf8_sequence(const char *text, size_t left) {
  const unsigned char *s = (const unsigned char *)text;
  if (s[0] < 0x80)
    return 1;
  size_t n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
  if (s[0] < 0xc2 || s[0] > 0xf4 || left < n)
    return 0;
  for (size_t i = 1; i < n; i++)
    if ((s[i] & 0xc0) != 0x80)
      return 0;
  bool overlong = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xf0 && s[1] < 0x90);
  bool surrogate = s[0] == 0xed && s[1] >= 0xa0;
  bool too_large = s[0] == 0xf4 && s[1] >= 0x90;
  return overlong || surrogate || too_large ? 0 : n;
}

bool glow_utf8_valid(const char *s, size_t length, size_t *bad) {
  for (size_t i = 0; i < length;) {
    size_t n = glow_utf8_sequence(s + i, length - i);
    if (n == 0) {
      if (bad)
        *bad = i;
      return false;
    }
    i += n;
  }
  return true;
}

void glow_text_quoted(GlowText *t, const char *s, size_t length) {
  const unsigned char *u = (const unsigned char *)s;
  glow_text_putc(t, '"');
  for (size_t i = 0; i < length;) {
    size_t n = glow_utf8_sequence(s + i, length - i);
    if (u[i] == '"' || u[i] == '\\')
      glow_text_printf(t, "\\%c", u[i]);
    else if (u[i] == '\n' || u[i] == '\t' || u[i] == '\r')
      glow_text_puts(t, u[i] == '\n' ? "\\n" : u[i] == '\t' ? "\\t" : "\\r");
    else if (n == 0 || u[i] < 0x20 || u[i] == 0x7f)
      glow_text_printf(t, "\\x%02x", u[i]);
    else
      glow_text_bytes(t, s + i, n);
    i += n ? n : 1;
  }
  glow_text_putc(t, '"');
}

/* Writes the number d[0].d[1]...d[n-1] * 10^exponent: without an exponent if it is at least 1e-5
 * and less than 10^plain, else with one. The digits `d` have no trailing zeros. */
static size_t lay_out(char *buf, bool negative, const char *d, int n, int exponent, int plain) {
  char *p = buf;
  if (negative)
    *p++ = '-';
  if (exponent < -5 || exponent >= plain) {
    *p++ = d[0];
    if (n > 1) {
      *p++ = '.';
      memcpy(p, d + 1, (size_t)(n - 1));
      p += n - 1;
    }
    return (size_t)(p - buf) + (size_t)sprintf(p, "e%+03d", exponent);
  }
  for (int i = exponent < 0 ? exponent : 0; i < n || i <= exponent + 1; i++) {
    if (i == exponent + 1)
      *p++ = '.';
    *p++ = i < 0 || i >= n ? '0' : d[i];
  }
  *p = '\0';
  return (size_t)(p - buf);
}

/* Splits "%.*e" of a positive finite v into digits and exponent, with any decimal point. Returns
 * the number of digits without trailing zeros. */
static int digits_of(double v, int count, char *digits, int *exponent) {
  char text[64];
  snprintf(text, sizeof text, "%.*e", count - 1, v);
  int n = 0;
  const char *s = text;
  for (; *s != 'e'; s++)
    if (*s >= '0' && *s <= '9')
      digits[n++] = *s;
  *exponent = atoi(s + 1);
  while (n > 1 && digits[n - 1] == '0')
    n--;
  return n;
}

/* Writes v with the fewest digits, at most `most`, that read back as v (as float if `single`).
 * `plain` as for lay_out. */
static size_t format_finite(char *buf, double v, bool single, int most, int plain) {
  char digits[24], text[32];
  double positive = fabs(v);
  int exponent = 0, n = 1;
  for (int count = 1; count <= most; count++) {
    n = digits_of(positive, count, digits, &exponent);
    snprintf(text, sizeof text, "%.*se%d", n, digits, exponent - (n - 1));
    double back = single ? (double)strtof(text, NULL) : strtod(text, NULL);
    if (back == positive)
      break;
  }
  return lay_out(buf, signbit(v), digits, n, exponent, plain);
}

/* Whole numbers of up to seven digits, by far the most frequent constants. */
static bool is_small_integer(double v) {
  return v > -1e7 && v < 1e7 && v == (double)(int)v && !(v == 0 && signbit(v));
}

size_t glow_format_float(char *buf, float v) {
  uint32_t bits;
  memcpy(&bits, &v, sizeof bits);
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    return (size_t)(bits == 0x7fc00000u ? sprintf(buf, "nan") : sprintf(buf, "nan(0x%08x)", bits));
  if (isinf(v))
    return (size_t)sprintf(buf, v < 0 ? "-inf" : "inf");
  if (is_small_integer((double)v))
    return (size_t)sprintf(buf, "%d.0", (int)v);
  return format_finite(buf, (double)v, true, 9, 10);
}

size_t glow_format_double(char *buf, double v) {
  uint64_t bits;
  memcpy(&bits, &v, sizeof bits);
  if ((bits & INT64_MAX) > UINT64_C(0x7ff0000000000000)) {
    if (bits == UINT64_C(0x7ff8000000000000))
      return (size_t)sprintf(buf, "nan");
    return (size_t)sprintf(buf, "nan(0x%016llx)", (unsigned long long)bits);
  }
  if (isinf(v))
    return (size_t)sprintf(buf, v < 0 ? "-inf" : "inf");
  if (is_small_integer(v))
    return (size_t)sprintf(buf, "%d.0", (int)v);
  return format_finite(buf, v, false, 17, 16);
}

/* Reads nan or nan(0xBITS). BITS has at most `digits` hex digits; they are a NaN if they exceed
 * `infinity`, the bits of infinity, without the sign. Returns 0 if the text is no NaN, 1 for the
 * default NaN, 2 for the NaN of *bits. Sets *end unless it returns 0. */
static int parse_nan(const char *s, int digits, uint64_t infinity, uint64_t *bits, char **end) {
  if (strncmp(s, "nan", 3) != 0)
    return 0;
  *end = (char *)(uintptr_t)(s + 3);
  if (strncmp(s + 3, "(0x", 3) != 0)
    return 1;
  uint64_t value = 0;
  int n = 0;
  const char *p = s + 6;
  for (; n <= digits; p++, n++) {
    char c = *p;
    unsigned digit;
    if (c >= '0' && c <= '9')
      digit = (unsigned)(c - '0');
    else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
      digit = (unsigned)((c | 0x20) - 'a') + 10;
    else
      break;
    value = value << 4 | digit;
  }
  uint64_t magnitude = value & ((UINT64_C(1) << (4 * digits - 1)) - 1);
  if (n == 0 || n > digits || *p != ')' || magnitude <= infinity)
    return 1; /* the caller finds the "(" that follows */
  *bits = value;
  *end = (char *)(uintptr_t)(p + 1);
  return 2;
}

/* glibc and musl keep the "C" locale as a constant, so this allocates nothing. */
static locale_t c_locale(void) { return newlocale(LC_ALL_MASK, "C", (locale_t)0); }

double glow_parse_double(const char *s, char **end) {
  char *ignored;
  uint64_t bits = UINT64_C(0x7ff8000000000000);
  if (parse_nan(s, 16, UINT64_C(0x7ff0000000000000), &bits, end ? end : &ignored)) {
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
  }
  locale_t c = c_locale();
  if (!c)
    return strtod(s, end);
  double v = strtod_l(s, end, c);
  freelocale(c);
  return v;
}

float glow_parse_float(const char *s, char **end) {
  char *ignored;
  uint64_t wide = 0x7fc00000u;
  if (parse_nan(s, 8, 0x7f800000u, &wide, end ? end : &ignored)) {
    uint32_t bits = (uint32_t)wide;
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
  }
  locale_t c = c_locale();
  if (!c)
    return strtof(s, end);
  float v = strtof_l(s, end, c);
  freelocale(c);
  return v;
}
