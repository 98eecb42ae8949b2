/* Convolutions in groups of few channels get larger groups, whose filters have zeros:
 *
 *   Convolution(x, W : O x I x KH x KW, B) {group = M G}
 *     becomes   Convolution(x, W' : O x (M I) x KH x KW, B) {group = G}
 *
 * Filter o of W' has filter o of W at the channels of its old group, and zeros at those of the
 * M - 1 groups that joined it. M is the least number with 8 channels in and as many out of each
 * group, of which two share a block of 16; else with whole blocks in and out. Blocked values then
 * fit, and each place is read by 8 or 16 filters, not by a few. That is worth up to 4 times the
 * products: where a window has several taps, plain kernels gather the places of each tap for each
 * group. Windows of one tap stay. So does a filter that is no constant: W' is an `eval` constant.
 *
 * Bounded: the chain of a sum runs over blocks of 16 channels, which begin elsewhere in a larger
 * group, so its order changes; a sum of -0 may become 0, and zeros meet what is not finite. */
#include "lower/window.h"
#include "transforms/contraction.h"

enum { HALF = 8, BLOCK = 16, MOST_MERGED = 4 };

/* Whether so many groups make whole groups of 8 channels in and out, and two of these a block. */
static bool make_halves(int64_t groups, int64_t merged, int64_t in, int64_t out) {
  return merged * in == HALF && merged * out == HALF && groups % (2 * merged) == 0;
}

static bool make_blocks(int64_t groups, int64_t merged, int64_t in, int64_t out) {
  return groups % merged == 0 && merged * in % BLOCK == 0 && merged * out % BLOCK == 0;
}

/* How many groups become one; 0 if n is something else, or stays. */
static int64_t merged_groups(GlowNode *n, GlowConstness *constness) {
  GlowContraction c;
  if (n->op != GLOW_OP_CONVOLUTION || !glow_contraction_describe(n, &c) || c.groups < 2 ||
      !glow_contraction_is_constant(&c, constness))
    return 0;
  const GlowConvolutionMembers *m = n->members;
  const GlowType *w = glow_node_in(n, GLOW_CONTRACTION_W)->type;
  if (m->layout != GLOW_LAYOUT_NCHW || w->rank != 4 || w->layout || w->kind != GLOW_KIND_FLOAT ||
      w->dims[2].size * w->dims[3].size < 2)
    return 0;
  int64_t in = w->dims[1].size, out = w->dims[0].size / c.groups;
  if (in == 0 || out == 0 || (in == 1 && out == 1))
    return 0;
  for (int64_t merged = 1; merged <= MOST_MERGED; merged++)
    if (make_halves(c.groups, merged, in, out) || make_blocks(c.groups, merged, in, out))
      return merged == 1 ? 0 : merged;
  return 0;
}

/* The filter with `merged` groups in one, as a constant. */
static GlowValue *filter_of(GlowPassRun *run, const GlowNode *n, uint32_t groups, int64_t merged) {
  GlowValue *w = glow_node_in(n, GLOW_CONTRACTION_W), *parts[MOST_MERGED];
  const GlowDim *e = w->type->dims;
  int64_t of_group = e[1].size * e[2].size * e[3].size;
  int64_t apart[] = {groups / merged, merged, e[0].size / groups, of_group};
  int64_t joined[] = {e[0].size, merged * e[1].size, e[2].size, e[3].size};
  GlowEval eval = glow_eval_create(run->module, run->arena, n);
  GlowBuilder *b = &eval.builder;
  GlowValue *all = glow_build_shaped(b, n, glow_eval_copy(&eval, w), 4, apart);
  for (int64_t i = 0; i < merged; i++) {
    GlowValue *v = glow_build_part(b, n, all, 1, i, i + 1, 1);
    parts[i] = glow_build_padded(b, n, v, 3, i * of_group, (merged - 1 - i) * of_group);
    if (!parts[i])
      return NULL;
  }
  GlowValue *v = glow_build_concat(b, parts, (uint32_t)merged, 1);
  v = glow_build_shaped(b, n, v, 4, joined);
  GlowStr name = glow_str_printf(run->ctx, "%s.merged", w->name ? w->name : "filter");
  return v ? &glow_eval_finish(&eval, v, name)->value : NULL;
}

static bool rewrite(GlowNode *n, void *arg) {
  GlowPassRun *run = arg;
  int64_t merged =
      n->op == GLOW_OP_CONVOLUTION ? merged_groups(n, glow_constness_create(run->arena)) : 0;
  if (!merged)
    return true;
  GlowConvolutionMembers members = *(const GlowConvolutionMembers *)n->members;
  GlowValue *ins[] = {glow_node_in(n, GLOW_CONTRACTION_X), filter_of(run, n, members.group, merged),
                      glow_node_in(n, GLOW_CONTRACTION_B)};
  members.group /= (uint32_t)merged;
  GlowBuilder b = glow_builder_before(n);
  GlowNode *wide = ins[1] ? glow_build(&b, GLOW_OP_CONVOLUTION, ins, 3, &members, NULL) : NULL;
  if (!wide)
    return false;
  glow_pass_changed(run, n, "merged each %lld groups into one", (long long)merged);
  GlowValue *v = &wide->results[0];
  glow_node_replace(n, &v, 1);
  return true;
}

bool glow_pass_merge_groups(GlowPassRun *run) {
  return glow_block_walk(run->function->body, rewrite, run);
}
