/* What fusing a chain of element-wise instructions builds grows with the chain, not with its square
 * or with the length of the bodies: counted in ids, which every new value and node takes. */
#include "driver/passes.h"
#include "test/unit/unit.h"

enum { LINKS = 2000, MOST_IDS_PER_LINK = 12 };

static void write_chain(GlowText *t) {
  glow_text_puts(t, "declare { placeholder @x : float<4>  placeholder @y : float<4> }\n"
                    "program @main {\n  %b0 = alloc float<4>  add @out %b0, @in @x, @in @x\n");
  for (int i = 1; i < LINKS; i++)
    glow_text_printf(t,
                     "  %%b%d = alloc float<4>  add @out %%b%d, @in %%b%d, @in @x  "
                     "dealloc %%b%d\n",
                     i, i, i - 1, i - 1);
  glow_text_printf(t, "  neg @out @y, @in %%b%d  dealloc %%b%d\n}\n", LINKS - 1, LINKS - 1);
}

static void run(GlowContext *ctx, void *arg) {
  (void)arg;
  GlowText text;
  glow_text_init(&text, ctx);
  write_chain(&text);
  GlowModule *m = glow_module_parse(ctx, "chain", text.data, text.size);
  CHECK(m);
  uint32_t before = m->next_id;
  uint64_t changes = 0;
  GlowRunnerOptions options = {.verify_each = true, .changes = &changes};
  CHECK(glow_pipeline_run(m, glow_pipeline_parse(ctx, &glow_passes, "stack"), &options) == GLOW_OK);
  EXPECT(changes > LINKS / 2, "only %llu rewrites", (unsigned long long)changes);
  EXPECT(m->next_id - before < LINKS * MOST_IDS_PER_LINK, "%u ids for %d links",
         m->next_id - before, LINKS);
  glow_text_release(&text);
}

int main(void) {
  GlowContext *ctx = glow_context_create();
  CHECK(ctx && glow_protect(ctx, run, NULL) == GLOW_OK);
  glow_context_destroy(ctx);
  return unit_finish();
}
