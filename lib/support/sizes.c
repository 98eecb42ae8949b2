/* See sizes.h. */
#include "support/sizes.h"

#include <string.h>

static const char units[] = "BKMGT";

const char *glow_bytes_str(GlowArena *arena, int64_t bytes) {
  double v = (double)bytes;
  int unit = 0;
  for (; v >= 1024 && unit < 4; unit++)
    v /= 1024;
  return glow_arena_printf(arena, unit && v < 100 ? "%.1f %c%s" : "%.0f %c%s", v, units[unit],
                           unit ? "iB" : "");
}

bool glow_parse_size(const char *text, int64_t *bytes) {
  int64_t v = 0;
  const char *p = text;
  for (; *p >= '0' && *p <= '9'; p++) {
    if (__builtin_mul_overflow(v, INT64_C(10), &v) || __builtin_add_overflow(v, *p - '0', &v))
      return false;
  }
  const char *unit = *p ? strchr(units, *p >= 'a' ? *p - 'a' + 'A' : *p) : units;
  if (p == text || !unit)
    return false;
  p += *p != '\0';
  if (unit != units) /* "64M", "64MB", "64MiB" */
    p += strcmp(p, "iB") == 0 ? 2 : strcmp(p, "B") == 0;
  *bytes = v;
  return !*p && v > 0 && !__builtin_mul_overflow(v, INT64_C(1) << (10 * (unit - units)), bytes);
}
