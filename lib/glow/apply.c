/* glow_module_apply: options as on glow-opt's command line, read from one text. Every diagnostic
 * about the options has a place in that text, or in the options of one pass. */
#include <string.h>

#include "driver/passes.h"
#include "glow/module.h"
#include "glow/options.h"
#include "target/target.h"

typedef struct Apply {
  GlowOptionText o;
  GlowModule *module;
  const char *text; /* all options */
  GlowPipeline *passes;
  const char *pipeline, *pipeline_at; /* -passes and its place; or NULL */
  const char *pass_at;                /* where the first pass was given as an option; or NULL */
  const char *level;                  /* the -O that was given, since -irgen if that was given */
  const char *target;
  GlowMath math;
  GlowStatus status;
} Apply;

static bool take_level(Apply *a, const char *name) {
  if (a->level) {
    glow_error(a->o.ctx, glow_options_here(&a->o),
               "options '-%s' and '-%s': a level is given once, and once more behind -irgen",
               a->level, name);
    return false;
  }
  a->level = name;
  glow_pipeline_append(a->passes, glow_pipeline_parse(a->o.ctx, &glow_passes, name));
  return true;
}

static bool unknown(Apply *a, GlowStr name) {
  const char **names = GLOW_NEW_ARRAY(a->o.ctx->arena, const char *, glow_passes.count);
  for (uint32_t i = 0; i < glow_passes.count; i++)
    names[i] = glow_passes.passes[i].name;
  return glow_options_unknown(&a->o, name, names, glow_passes.count);
}

static bool take_pass(Apply *a, const char *name, const char *value) {
  const GlowPass *pass = glow_pass_find(&glow_passes, name);
  if (!pass)
    return unknown(a, name);
  if (pass->run == glow_pass_irgen)
    a->level = NULL;
  if (!a->pass_at)
    a->pass_at = a->o.word;
  return glow_pipeline_add(a->passes, pass, value);
}

/* -exact and -fast-math, of which one may be given. */
static bool take_math(Apply *a, GlowMath math) {
  if (a->math != GLOW_MATH_BOUNDED && a->math != math) {
    glow_error(a->o.ctx, glow_options_here(&a->o), "-exact and -fast-math exclude each other");
    return false;
  }
  a->math = math;
  return true;
}

static bool take_option(Apply *a, GlowStr name, const char *value) {
  if (strcmp(name, "target") == 0) {
    a->target = value;
    return glow_options_value(&a->o, name, &a->target) &&
           glow_target_named(a->o.ctx, glow_options_here(&a->o), a->target);
  }
  if (strcmp(name, "passes") == 0) {
    a->pipeline_at = a->o.word;
    a->pipeline = value;
    return glow_options_value(&a->o, name, &a->pipeline);
  }
  bool level = name[0] == 'O' && name[1] >= '0' && name[1] <= '3' && !name[2];
  bool exact = strcmp(name, "exact") == 0, fast = strcmp(name, "fast-math") == 0;
  if (!level && !exact && !fast)
    return take_pass(a, name, value);
  if (!glow_options_no_value(&a->o, name, value))
    return false;
  if (!level)
    return take_math(a, exact ? GLOW_MATH_EXACT : GLOW_MATH_FAST);
  if (!a->pass_at)
    a->pass_at = a->o.word;
  return take_level(a, strcmp(name, "O3") == 0 ? "O2" : name);
}

/* Makes one pipeline of all options; -target comes first, whatever their order. */
static bool finish_pipeline(Apply *a) {
  if (a->pipeline && a->pass_at) {
    glow_error(a->o.ctx, glow_options_place(&a->o, a->pass_at),
               "passes are given by -passes or as options, not both");
    return false;
  }
  if (a->pipeline)
    a->passes = glow_pipeline_parse(a->o.ctx, &glow_passes, a->pipeline);
  if (!a->passes ||
      !glow_pipeline_check_math(a->passes, a->math, glow_loc_file(a->o.ctx, "options")))
    return false;
  if (!a->target)
    return true;
  GlowPipeline *p = glow_pipeline_create(a->o.ctx, &glow_passes);
  glow_pipeline_add(p, glow_pass_find(&glow_passes, "retarget"),
                    glow_arena_printf(a->o.ctx->arena, "to=%s", a->target));
  glow_pipeline_append(p, a->passes);
  a->passes = p;
  return true;
}

static void apply(GlowContext *ctx, void *arg) {
  Apply *a = arg;
  a->status = GLOW_BAD_USAGE;
  glow_options_begin(&a->o, ctx, a->text);
  a->passes = glow_pipeline_create(ctx, &glow_passes);
  GlowStr name;
  const char *value;
  while (glow_options_next(&a->o, &name, &value))
    if (!take_option(a, name, value))
      return;
  if (a->o.failed || !finish_pipeline(a))
    return;
  if (a->module->broken || !glow_module_verify(a->module))
    a->status = GLOW_BAD_INPUT;
  else
    a->status = glow_pipeline_run(a->module, a->passes,
                                  &(GlowRunnerOptions){.verify_each = true, .math = a->math});
}

GlowStatus glow_module_apply(GlowModule *module, const char *options) {
  if (!module || !options)
    return GLOW_BAD_USAGE;
  Apply a = {.module = module, .text = options};
  GlowStatus thrown = glow_protect(module->ctx, apply, &a);
  return thrown == GLOW_OK ? a.status : thrown;
}
