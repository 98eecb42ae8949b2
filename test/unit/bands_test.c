/* Which pieces of work take turns at bands of rows, and at how many: those that cut what they share
 * into the same slices. */
#include <string.h>

#include "backend/cpu/cpu.h"
#include "codegen/codegen.h"
#include "rt/walk.h"
#include "test/unit/unit.h"

#define ROWS "float<512 x 384>"
#define STACK(y, x)                                                                                \
  "  stack @out " y ", @in " x "\n    ^body(%0 : float<>) = {\n"                                   \
  "      %1 = Exp(%0) : float<>\n      yield %1\n    }\n"

/* The program over 512 rows of 384 floats has one group of `pieces` pieces and so many bands; 0:
 * it has none. */
static void check(const char *what, const char *body, int64_t pieces, int64_t bands) {
  char text[2000];
  snprintf(text, sizeof text,
           "declare {\n  placeholder @x : " ROWS "\n  placeholder @y : " ROWS "\n"
           "  placeholder @few : float<64 x 64>\n"
           "  constant @first : i64<1> = [0]\n  constant @last : i64<1> = [1]\n"
           "  placeholder @wide : float<64 x 12 x 390>\n  placeholder @high : float<518 x 384>\n"
           "  placeholder @which : i64<512 x 384>\n"
           "  constant @sides : i64<6> = [0, 2, 3, 0, 2, 3]\n  constant @ends : i64<4> = [3, 0, 3, "
           "0]\n}\n"
           "program @main {\n  %%row = alloc float<512 x 1>\n  %%column = alloc float<1 x 384>\n"
           "  %%e = alloc " ROWS "\n  %%part = tensorview %%e {offset = 0, strides = [384, 1]}"
           " : float<1 x 384>\n"
           "  %%left = tensorview @y {offset = 0, strides = [384, 1]} : float<512 x 192>\n"
           "  %%right = tensorview @y {offset = 192, strides = [384, 1]} : float<512 x 192>\n"
           "  %%skew = tensorview @y {offset = 200, strides = [384, 1]} : float<511 x 192>\n"
           "  %%planes = tensorview @x : float<64 x 8 x 384>\n"
           "  %%half = tensorview @x {offset = 0, strides = [384, 1]} : float<512 x 192>\n"
           "  %%less = tensorview @x {offset = 0, strides = [384, 1]} : float<511 x 192>\n%s"
           "  dealloc %%row\n  dealloc %%column\n  dealloc %%e\n}\n",
           body);
  GlowContext *ctx = glow_context_create();
  GlowModule *m = glow_module_parse(ctx, what, text, strlen(text));
  GlowCpuPlan plan;
  CHECK(m && glow_module_verify(m));
  CHECK(glow_cpu_plan(ctx->arena, m->first_function, &glow_isa[GLOW_ISA_X86_64_V3], &plan));
  const GlowProgramData *data = glow_cpu_program(ctx->arena, &plan, NULL);
  int64_t groups = 0;
  for (int64_t i = 0; i < data->nsteps; i++) {
    const GlowStep *s = &data->steps[i];
    if (s->kind != GLOW_STEP_BANDS)
      continue;
    groups++;
    EXPECT(s->shards == pieces && s->number == bands, "%s: %d pieces in %lld bands", what,
           s->shards, (long long)s->number);
    for (int64_t k = i + 1; k <= i + s->shards; k++)
      EXPECT(data->steps[k].kind == GLOW_STEP_PIECE && data->steps[k].number % s->number == 0,
             "%s: step %lld", what, (long long)k);
  }
  EXPECT(groups == (pieces > 0), "%s: %lld groups", what, (long long)groups);
  glow_context_destroy(ctx);
}

int main(void) {
  check("softmax",
        "  reduce_max @out %row, @in @x, @in @last\n  sub @out %e, @in @x, @in %row\n"
        "  exp @out %e, @in %e\n  reduce_sum @out %row, @in %e, @in @last\n"
        "  div @out @y, @in %e, @in %row\n",
        5, 32);
  check("a row alone", "  reduce_max @out %row, @in @x, @in @last\n", 0, 0);
  check("little",
        "  exp @out @few, @in @few\n  sqrt @out @few, @in @few\n  neg @out @few, @in @few\n", 0, 0);
  check("nothing in common", "  exp @out @y, @in @y\n  sqrt @out %e, @in @x\n", 0, 0);
  check("a row of what is written", "  exp @out %e, @in @x\n  add @out @y, @in %e, @in %part\n", 0,
        0);
  check("a row that is written later",
        "  splat @out %e {value = 2.0}\n  add @out @y, @in @x, @in %part\n"
        "  exp @out %e, @in @y\n",
        0, 0);
  check("columns",
        "  exp @out %e, @in @x\n  reduce_sum @out %column, @in %e, @in @first\n"
        "  add @out @y, @in %e, @in %column\n",
        0, 0);
  check("two groups of rows, then columns",
        "  exp @out %e, @in @x\n  reduce_sum @out %row, @in %e, @in @last\n"
        "  reduce_sum @out %column, @in %e, @in @first\n",
        2, 16);
  check("edges of planes", "  pad @out @wide, @in %planes, @in @sides {mode = edge}\n", 3, 16);
  check("backwards", "  pad @out @wide, @in %planes, @in @sides {mode = reflect}\n", 3, 16);
  check("ends of columns", "  pad @out @high, @in @x, @in @ends {mode = edge}\n", 0, 0);
  check("halves of rows", STACK("%left", "%half") STACK("%right", "%half"), 2, 16);
  check("halves, some beyond a row", STACK("%left", "%half") STACK("%skew", "%less"), 0, 0);
  check("elements, behind their check",
        "  exp @out %e, @in @x\n  gather_elements @out @y, @in %e, @in @which {axis = -1}\n", 2,
        24);
  return unit_finish();
}
