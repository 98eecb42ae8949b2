/* Remainders whose quotients are near (num/remainder.h), and those of num/math.h, beside C's fmod,
 * which IEEE 754 defines to the bit: random bits, random quotients, and what is special. */
#include "num/remainder.h"

#include <math.h>
#include <stdlib.h>

#include "num/math.h"
#include "test/unit/unit.h"

static uint64_t state = 1;
static uint32_t draw(void) {
  state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)(state >> 32);
}

static bool same(float a, float b) {
  return (a != a && b != b) || glow_float_bits(a) == glow_float_bits(b);
}

static unsigned near, far;

static void check(float x, float y) {
  const float want = fmodf(x, y);
  EXPECT(same(glow_fmod_f(x, y), want), "the remainder of %a and %a is not %a", x, y, want);
  if (!glow_quotient_is_near(x, y)) {
    EXPECT(!(fabs((double)x) < 0x1p29 * fabs((double)y)) || isinf(y), "%a by %a is near", x, y);
    far++;
    return;
  }
  near++;
  EXPECT(same(glow_fmod_near(x, y), want), "near %a and %a: %a is not %a", x, y,
         glow_fmod_near(x, y), want);
}

/* Beside multiples of y, where a quotient that is rounded might be the next integer. */
static void check_beside_multiple(float y, uint32_t n) {
  const float x = (float)((double)y * n);
  check(x, y);
  check(nextafterf(x, 0), y);
  check(nextafterf(x, INFINITY), y);
  check(-nextafterf(x, 0), y);
}

static void test_random(void) {
  for (int i = 0; i < 200000; i++) {
    const float y = glow_float_from_bits(draw());
    check(glow_float_from_bits(draw()), y);
    check((float)((int32_t)draw() / 65536) / 64, (float)(draw() % 1000 + 1) / 64);
    check_beside_multiple(y, draw() >> (draw() % 32));
    check_beside_multiple(glow_float_from_bits(draw() & 0xffffff), (1u << 29) - draw() % 64);
  }
  EXPECT(near > 100000 && far > 100000, "%u quotients near, %u far", near, far);
}

static void test_special(void) {
  static const float values[] = {0.0f,
                                 -0.0f,
                                 1,
                                 -1,
                                 0x1p-149f,
                                 -0x1p-149f,
                                 0x1p-126f,
                                 INFINITY,
                                 -INFINITY,
                                 NAN,
                                 0x1p29f,
                                 0x1.fffffep127f,
                                 0x1p99f,
                                 0x1p98f,
                                 3,
                                 0x1.fffffep28f,
                                 0x1.fffffep-127f,
                                 7,
                                 0x1p100f,
                                 1.5f};
  enum { N = sizeof values / sizeof *values };
  for (int i = 0; i < N * N; i++)
    check(values[i / N], values[i % N]);
}

int main(void) {
  test_special();
  test_random();
  return unit_finish();
}
