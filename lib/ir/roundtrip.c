/* parse(print(m)) == m, and print(parse(t)) == t: prints, parses, compares, prints again. */
#include <string.h>

#include "ir/ir_internal.h"

/* A copy of the text, with a NUL, in the context's arena: diagnostics and payload refer to the text
 * as long as the context lives. */
static const char *keep(GlowContext *ctx, GlowText *t) {
  return glow_arena_copy(ctx->arena, glow_text_cstr(t), t->size + 1);
}

/* Reports the first line in which two texts differ. */
static bool report_difference(GlowContext *ctx, const char *a, size_t na, const char *b,
                              size_t nb) {
  size_t i = 0, line_start = 0;
  uint32_t line = 1;
  for (; i < na && i < nb && a[i] == b[i]; i++)
    if (a[i] == '\n') {
      line++;
      line_start = i + 1;
    }
  size_t a_end = line_start, b_end = line_start;
  while (a_end < na && a[a_end] != '\n' && a_end - line_start < 200)
    a_end++;
  while (b_end < nb && b[b_end] != '\n' && b_end - line_start < 200)
    b_end++;
  glow_error(ctx, GLOW_NOWHERE, "round trip: the text changes at line %u, column %zu", line,
             i - line_start + 1);
  glow_note(ctx, GLOW_NOWHERE, "first:  %.*s", (int)(a_end - line_start), a + line_start);
  glow_note(ctx, GLOW_NOWHERE, "second: %.*s", (int)(b_end - line_start), b + line_start);
  return false;
}

static bool print_again(GlowModule *m, const GlowModule *copy, const char *text, size_t size) {
  GlowText second;
  GlowDefer release;
  glow_text_init(&second, m->ctx);
  glow_defer_push(m->ctx, &release, glow_text_release_fn, &second);
  glow_module_print(copy, &second, NULL);
  bool same = second.size == size && !memcmp(second.data, text, size);
  if (!same)
    report_difference(m->ctx, text, size, second.data, second.size);
  else if (!glow_module_equal(m, copy)) {
    glow_error(m->ctx, GLOW_NOWHERE,
               "round trip: the text is the same, but the module that it stands for is not");
    same = false;
  }
  glow_defer_pop(m->ctx, &release, true);
  return same;
}

bool glow_module_verify_roundtrip(GlowModule *m) {
  GlowContext *ctx = m->ctx;
  GlowText first;
  GlowDefer release;
  glow_text_init(&first, ctx);
  glow_defer_push(ctx, &release, glow_text_release_fn, &first);
  glow_module_print(m, &first, NULL);
  const char *text = keep(ctx, &first);
  size_t size = first.size;
  glow_defer_pop(ctx, &release, true);
  GlowModule *copy = glow_module_parse(ctx, "<round trip>", text, size);
  if (!copy) {
    glow_error(ctx, GLOW_NOWHERE, "round trip: the printed text does not parse");
    return false;
  }
  bool ok = print_again(m, copy, text, size);
  glow_module_destroy(copy);
  return ok;
}
