/* The table of passes, made from the rows of passes.def. */
#include "driver/passes.h"

enum {
  NEED_NOTHING = 0,
#define NEED(e, name, holds, hint) NEED_##e = 1 << GLOW_NEED_BIT_##e,
  GLOW_NEEDS(NEED)
#undef NEED
};

#define NO_OPTIONS
#define OPTION(name, value, doc) {name, value, doc},
#define PASS(name, fn, level, cls, needs, options, doc)                                            \
  static const GlowPassOption options_of_##fn[] = {options{NULL, NULL, NULL}};
#include "driver/passes.def"
#undef PASS

/* The class of a row and its bound: BOUNDED(k, c) in the table is c = k * K + c. */
#define GLOW_PASS_BOUNDED(per_term, constant)                                                      \
  GLOW_PASS_BOUNDED, .bound = {per_term, constant, false, false}
#define GLOW_PASS_BOUNDED_OVERALL(per_term, constant)                                              \
  GLOW_PASS_BOUNDED, .bound = {per_term, constant, true, false}
#define GLOW_PASS_BOUNDED_TIES(constant) GLOW_PASS_BOUNDED, .bound = {0, constant, .ties = true}
#define GLOW_PASS_REQUIRED(cls) GLOW_PASS_##cls, .required = true
static const GlowPass passes[] = {
#define PASS(name, fn, level, cls, needs, options, doc)                                            \
  {name, GLOW_PASS_##level, GLOW_PASS_##cls, .run = glow_pass_##fn, doc, needs, options_of_##fn},
#include "driver/passes.def"
#undef PASS
};

const GlowPassTable glow_passes = {.passes = passes,
                                   .count = sizeof passes / sizeof *passes,
                                   .named = glow_named_pipelines,
                                   .nnamed = GLOW_NAMED_PIPELINES,
                                   .pipeline = glow_pipeline_text,
                                   .to_programs = "irgen",
                                   .retarget = "retarget"};

void glow_passes_print(GlowText *out) {
  glow_pass_table_print(&glow_passes, out);
  glow_pipelines_print(out);
}
