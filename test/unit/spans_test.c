/* Whether the writes of a block cover a buffer: by itself, or by views that are boxes of it. */
#include <string.h>

#include "analysis/spans.h"
#include "test/unit/unit.h"

static void check(const char *what, const char *body, bool covered) {
  char text[2000];
  snprintf(text, sizeof text,
           "declare {\n  placeholder @y : float<2 x 4 x 6>\n"
           "  placeholder @p : bool<>\n}\nprogram @main {\n%s}\n",
           body);
  GlowContext *ctx = glow_context_create();
  GlowModule *m = glow_module_parse(ctx, what, text, strlen(text));
  CHECK(m && glow_module_verify(m));
  const GlowStorage *y = m ? glow_module_storage(m, glow_str(ctx, "y")) : NULL;
  EXPECT(y && glow_block_covers(m->first_function->body, &y->value) == covered, "%s", what);
  glow_context_destroy(ctx);
}

/* Writes a view of @y. */
#define PART(name, how, type)                                                                      \
  "  %" name " = tensorview @y {" how "} : float<" type ">\n  stack @out %" name ", @in %" name    \
  " ^body(%v : float<>) = { %0 = Sigmoid(%v) : float<>  yield %0 }\n"
#define ROWS "strides = [24, 6, 1]"

int main(void) {
  check("all", "  splat @out @y {value = 1.0}\n", true);
  check("under a predicate", "  splat @out @y {value = 1.0} pred @p\n", false);
  check("another shape", PART("a", "offset = 0", "8 x 6"), true);
  check("a part under another shape", PART("a", "offset = 0", "4 x 6"), false);
  check("halves of rows", PART("a", ROWS, "2 x 4 x 3") PART("b", "offset = 3, " ROWS, "2 x 4 x 3"),
        true);
  check("images", PART("a", "offset = 0", "1 x 4 x 6") PART("b", "offset = 24", "1 x 4 x 6"), true);
  check("rows and columns",
        PART("a", ROWS, "2 x 1 x 6") PART("b", "offset = 6, " ROWS, "2 x 3 x 2")
            PART("c", "offset = 8, " ROWS, "2 x 3 x 4"),
        true);
  check("a hole", PART("a", ROWS, "2 x 4 x 3") PART("b", "offset = 3, " ROWS, "2 x 4 x 2"), false);
  check("twice the same", PART("a", ROWS, "2 x 4 x 3") PART("b", ROWS, "2 x 4 x 3"), false);
  check("boxes that overlap",
        PART("a", ROWS, "2 x 4 x 4") PART("b", "offset = 2, " ROWS, "2 x 4 x 4"), false);
  check("every other element, which is no box",
        PART("a", "strides = [24, 6, 2]", "2 x 4 x 3")
            PART("b", "offset = 1, strides = [24, 6, 2]", "2 x 4 x 3"),
        false);
  check("around a corner", PART("a", "offset = 3, " ROWS, "2 x 3 x 6") PART("b", ROWS, "2 x 1 x 6"),
        false);
  check("nothing", "", false);
  return unit_finish();
}
