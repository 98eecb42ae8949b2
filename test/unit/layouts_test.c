/* The layouts of the kernel table: what a row makes for a machine the same row recognizes, with the
 * same blocks; and what differs is refused. */
#include <string.h>

#include "target/cpu/layouts.h"
#include "target/cpu/rows.h"
#include "test/unit/unit.h"

static GlowContext *ctx;

static const GlowLayout *parsed(const char *text, uint32_t rank) {
  const char *error = NULL;
  const GlowLayout *l = glow_layout_parse(ctx, text, strlen(text), rank, &error);
  EXPECT(l, "%s: %s", text, error);
  return l;
}

/* Whether the filter of `conv` may have the layout, and the blocks that are read from it. */
static void check_filter(const char *machine, const char *text, bool takes, int64_t wi,
                         int64_t ob) {
  int64_t blocks[GLOW_LAYOUT_BLOCKS] = {-1, -1};
  bool got =
      glow_kernel_takes(glow_find_conv(), "w", glow_isa_find(machine), parsed(text, 4), blocks);
  EXPECT(got == takes && (!takes || (blocks[0] == wi && blocks[1] == ob)),
         "%s on %s: %d, blocks of %lld and %lld", text, machine, got, (long long)blocks[0],
         (long long)blocks[1]);
}

/* What the row makes is what the row takes. */
static void check_row(const GlowIsa *isa, const GlowKernel *k, const char *operand, uint32_t which,
                      int64_t number, const char *want) {
  const GlowLayout *l = glow_kernel_layout(ctx, k, operand, which, isa, number);
  int64_t blocks[GLOW_LAYOUT_BLOCKS];
  EXPECT(!want || !strcmp(l->text, want), "%s of %s: %s, not %s", operand, k->name, l->text, want);
  EXPECT(glow_kernel_takes(k, operand, isa, l, blocks), "%s of %s on %s is made %s, but not taken",
         operand, k->name, isa->name, l->text);
}

int main(void) {
  ctx = glow_context_create();
  check_filter("x86-64-v4", "OIHW16i32o", true, 16, 32);
  check_filter("x86-64-v4", "OIHW16i16o", true, 16, 16);
  check_filter("x86-64-v4", "OIHW3i32o", true, 3, 32);
  check_filter("x86-64-v4", "OIHW32o", true, 1, 32);
  check_filter("x86-64-v3", "OIHW16o", true, 1, 16);
  check_filter("x86-64-v3", "OIHW16i32o", false, 0, 0);
  check_filter("x86-64-v3", "OIHW16o16i", false, 0, 0);
  check_filter("x86-64-v3", "OIHW16i", false, 0, 0);
  check_filter("x86-64-v3", "OIHW16i16o2o", false, 0, 0);
  check_filter("x86-64-v3", "HWOI16i16o", false, 0, 0);
  const GlowIsa *v4 = glow_isa_find("x86-64-v4");
  CHECK(!glow_kernel_takes(glow_find_conv(), "w", v4, NULL, NULL));
  CHECK(!glow_kernel_takes(glow_find_conv(), "bias", v4, parsed("OIHW16o", 4), NULL));
  CHECK(glow_kernel_takes(glow_find_conv_few(), "x", v4, NULL, NULL)); /* plain */
  check_row(v4, glow_find_conv(), "w", 0, 3, "OIHW3i32o");
  check_row(v4, glow_find_conv(), "w", 1, 1, "OIHW16o");
  check_row(v4, glow_find_winograd(), "w", 0, 0, "HWOI16i32o");
  check_row(v4, glow_find_matmul(), "b", 0, 384, "KN384k32n");
  for (size_t i = 0; i < GLOW_ISA_COUNT; i++)
    for (const GlowKernel *k = glow_kernels; k->name; k++)
      for (const GlowKernelLayout *l = k->layouts; l && l->operand; l++)
        for (uint32_t t = 0; t < GLOW_KERNEL_LAYOUTS && l->texts[t]; t++)
          check_row(&glow_isa[i], k, l->operand, t, 7, NULL);
  glow_context_destroy(ctx);
  return unit_finish();
}
