/* The options of -quantize, and those that -quantize-dynamic shares with it. */
#include <math.h>
#include <string.h>

#include "transforms/quantize/quantize.h"

/* The place of a word among `words`; -1 after an error. */
static int choose(GlowPassRun *run, const char *option, const char *text, const char *const *words,
                  uint32_t count) {
  const char *list = "";
  for (uint32_t i = 0; i < count; i++) {
    if (!strcmp(text, words[i]))
      return (int)i;
    list = glow_str_printf(run->ctx, "%s%s%s", list, i ? ", " : "", words[i]);
  }
  glow_error(run->ctx, GLOW_NOWHERE, "-%s: %s=%s is none of %s", run->pass->name, option, text,
             list);
  return -1;
}

/* Sets *value to the place of the option's word, if the option is given. */
static bool read_word(GlowPassRun *run, const char *option, const char *const *words,
                      uint32_t count, int *value) {
  const char *text = glow_pass_option(run, option);
  if (text)
    *value = choose(run, option, text, words, count);
  return *value >= 0;
}

bool glow_quantize_read_number(GlowPassRun *run, const char *option, const char *text, double least,
                               double most, double *value) {
  char *end;
  *value = glow_parse_double(text, &end);
  if (end != text && !*end && *value >= least && *value <= most)
    return true;
  glow_error(run->ctx, GLOW_NOWHERE, "-%s: %s: '%s' is no number from %g to %g", run->pass->name,
             option, text, least, most);
  return false;
}

/* calibrate=percentile:99.9, and the others without a number. */
static bool read_calibration(GlowPassRun *run, GlowQuantizeOptions *o) {
  const char *text = glow_pass_option(run, "calibrate"), *colon = text ? strchr(text, ':') : NULL;
  GlowStr word = !text   ? "minmax"
                 : colon ? glow_str_n(run->ctx, text, (size_t)(colon - text))
                         : glow_str(run->ctx, text);
  int which = choose(run, "calibrate", word, glow_calibrations, GLOW_CALIBRATIONS);
  o->calibrate = (GlowCalibration)which;
  o->percent = 99.99;
  if (which < 0 || !colon)
    return which >= 0;
  if (o->calibrate == GLOW_CALIBRATE_PERCENTILE)
    return glow_quantize_read_number(run, "calibrate=percentile", colon + 1, 50, 100, &o->percent);
  glow_error(run->ctx, GLOW_NOWHERE, "-%s: calibrate=%s takes no number", run->pass->name, word);
  return false;
}

bool glow_quantize_read_node_options(GlowPassRun *run, GlowQuantNodeOptions *o) {
  static const char *const weights[] = {"pairs", "8", "7"}, *const parts[] = {"channel", "tensor"};
  int bits = GLOW_WEIGHTS_PAIRS, part = 0;
  if (!read_word(run, "weights", weights, 3, &bits) ||
      !read_word(run, "weight-scheme", parts, 2, &part))
    return false;
  *o = (GlowQuantNodeOptions){.weights = {.bits = (GlowWeightBits)bits, .tensor = part == 1},
                              .keep = glow_globs_read(run, glow_pass_option(run, "keep")),
                              .nodes = glow_globs_read(run, glow_pass_option(run, "nodes")),
                              .assert_all = glow_pass_option(run, "assert-all") != NULL};
  return true;
}

static bool is_named(const GlowNode *n, GlowGlobs *globs) {
  GlowContext *ctx = globs->run->ctx;
  bool named = glow_globs_match(globs, glow_node_desc(n)->node);
  named |= n->origin && n->origin->name && glow_globs_match(globs, n->origin->name);
  for (uint32_t i = 0; i < n->nresults; i++)
    named |= n->results[i].name &&
             (glow_globs_match(globs, n->results[i].name) ||
              glow_globs_match(globs, glow_str_printf(ctx, "%%%s", n->results[i].name)));
  return named;
}

const char *glow_quant_unwanted(GlowQuantNodeOptions *o, const GlowNode *n) {
  bool named = is_named(n, &o->nodes);
  if (is_named(n, &o->keep))
    return "keep= names it";
  return o->nodes.list.count && !named ? "nodes= does not name it" : NULL;
}

void glow_quant_warn_of_names(const GlowQuantNodeOptions *o) {
  glow_globs_warn_unmatched(&o->keep, "keep");
  glow_globs_warn_unmatched(&o->nodes, "nodes");
}

bool glow_quant_tell(GlowPassRun *run, const GlowQuantNodeOptions *o, const GlowNode *n,
                     const char *reason) {
  const char *op = glow_node_desc(n)->node, *name = n->results[0].name;
  glow_pass_count(run, reason ? "nodes in float" : "nodes on 8 bits", 1);
  if (reason && o->assert_all)
    glow_error(run->ctx, glow_node_loc(n), "%s '%s' stays in float: %s", op, name, reason);
  else if (reason)
    glow_pass_remark(run, glow_node_loc(n), "%s '%s' stays in float: %s", op, name, reason);
  return !reason || !o->assert_all;
}

GlowRanges *glow_quantize_read_ranges(GlowPassRun *run) {
  const char *path = glow_pass_option(run, "ranges");
  if (path)
    return glow_ranges_read(run->ctx, path);
  glow_error(run->ctx, GLOW_NOWHERE,
             "-%s: ranges=FILE is missing; glow-run --each --ranges=FILE writes it",
             run->pass->name);
  return NULL;
}

GlowFunction *glow_quantize_function(GlowPassRun *run, const GlowRanges *r) {
  GlowStr name = r->function;
  GlowFunction *f =
      name ? glow_module_function(run->module, name) : glow_module_entry(run->module, NULL);
  if (f && f->kind == GLOW_FUNC)
    return f;
  if (f || name)
    glow_error(run->ctx, f ? f->src : GLOW_NOWHERE, "-%s: the ranges are those of the graph @%s%s",
               run->pass->name, name ? name : f->name, f ? "" : ", which is not there");
  return NULL;
}

bool glow_quantize_read_options(GlowPassRun *run, GlowQuantizeOptions *o) {
  static const char *const kinds[] = {"u8", "i8"};
  int scheme = GLOW_SCHEME_ASYMMETRIC, kind = 0;
  const char *tie = glow_pass_option(run, "tie");
  *o = (GlowQuantizeOptions){.tie = GLOW_USUAL_TIE,
                             .inputs = glow_pass_option(run, "inputs") != NULL,
                             .outputs = glow_pass_option(run, "outputs") != NULL,
                             .partial = glow_pass_option(run, "partial") != NULL,
                             .all = glow_pass_option(run, "all") != NULL,
                             .keep_biases = glow_pass_option(run, "keep-biases") != NULL};
  if (!read_calibration(run, o) ||
      !read_word(run, "scheme", glow_quant_schemes, GLOW_QUANT_SCHEMES, &scheme) ||
      !read_word(run, "kind", kinds, 2, &kind) ||
      !glow_quantize_read_node_options(run, &o->nodes) ||
      (tie && !glow_quantize_read_number(run, "tie", tie, 1, 1e9, &o->tie)))
    return false;
  o->scheme = (GlowQuantScheme)scheme;
  o->kind = kind ? GLOW_KIND_I8 : GLOW_KIND_U8;
  o->ranges = glow_quantize_read_ranges(run);
  return o->ranges != NULL;
}
