/* Gradient (ai.onnx.preview.training) names values of the graph around it, which is differentiated
 * where it stands. The operands of the node must be the values of `xs`, then of `zs`. The
 * definition also allows other operands, at which the graph would have to be computed anew.
 *
 * In a subgraph the graphs around it are differentiated, too, as far as they stand before its node.
 * What a loop carries to the next iteration is not: a value that is carried, and one from outside
 * the loop, cannot both count. */
#include "autodiff/autodiff.h"
#include "import/onnx/hooks.h"
#include "import/onnx/importer.h"

/* Checks that the tensors that attribute `attr` names are n's operands from `first` on. */
static bool check_names(GlowOnnxNode *n, const char *attr, GlowArray names, uint32_t first) {
  for (uint32_t i = 0; i < names.count; i++) {
    GlowStr name = glow_array_at(names, GlowStr, i);
    const GlowValue *v = glow_onnx_find(n->scope, name);
    if (!v)
      return glow_onnx_fail(n, "'%s', which attribute '%s' names, is not defined", name, attr);
    if (v != n->ins[first + i])
      return glow_onnx_unsupported(n, "an operand that is not the tensor '%s' that it stands for",
                                   name);
  }
  return true;
}

/* The blocks around the node's, from the inside out. */
typedef struct Around {
  GLOW_VEC(GlowBlock *) blocks;
} Around;

static Around find_around(const GlowOnnxNode *n) {
  Around a = {0};
  const GlowBlock *inner = n->b.block;
  for (const GlowOnnxScope *s = n->scope; s; s = s->outer  ? s->outer
                                                 : s->call ? s->call->scope
                                                           : NULL)
    if (s->block != inner) {
      glow_vec_push(n->im->arena, &a.blocks, s->block);
      inner = s->block;
    }
  return a;
}

/* Whether v depends on a real number that a loop carries in a block outside of which one of xs is
 * defined. */
typedef struct Carried {
  const GlowOnnxNode *n;
  uint32_t nxs;
  GlowMap *seen;
} Carried;

static bool is_loop_block(const GlowOnnxNode *n, const GlowBlock *b) {
  for (const GlowOnnxRegion *r = n->scope->region; r; r = r->outer)
    if (r->block == b)
      return r->kind == GLOW_ONNX_REGION_LOOP || r->kind == GLOW_ONNX_REGION_SCAN;
  return false;
}

/* Whether one of xs is defined outside of the block b around the node. */
static bool has_outer_x(const Carried *c, const GlowBlock *b) {
  for (uint32_t i = 0; i < c->nxs; i++) {
    const GlowBlock *home = glow_value_block(c->n->ins[i]), *inner = c->n->b.block;
    const GlowOnnxRegion *r = c->n->scope->region;
    bool inside = false;
    for (; r && !inside; r = r->block == b ? NULL : r->outer)
      inside = home == r->block || home == inner;
    if (!inside)
      return true;
  }
  return false;
}

static bool depends_on_carried(Carried *c, const GlowValue *v) {
  if (!v || v->kind == GLOW_VALUE_STORAGE || glow_map_get(c->seen, v))
    return false;
  glow_map_set(c->seen, v, c->seen);
  for (uint32_t i = 0; i < c->nxs; i++)
    if (v == c->n->ins[i])
      return false;
  if (v->kind == GLOW_VALUE_PARAM)
    return is_loop_block(c->n, v->def.block) && glow_kind_is_float(v->type->kind) &&
           has_outer_x(c, v->def.block);
  const GlowNode *n = v->def.node;
  for (uint32_t i = 0; i < n->noperands; i++)
    if (depends_on_carried(c, n->operands[i].value))
      return true;
  return false;
}

bool glow_onnx_gradient(GlowOnnxNode *n) {
  GlowArray xs = {0}, zs = {0};
  GlowStr y = NULL;
  if (!glow_onnx_strings(n, "xs", &xs) || !glow_onnx_strings(n, "zs", &zs) ||
      !glow_onnx_string(n, "y", &y))
    return false;
  if (!xs.count || !y)
    return glow_onnx_fail(n, "attribute '%s' is missing", y ? "xs" : "y");
  if (!glow_onnx_check_ins(n, xs.count + zs.count, xs.count + zs.count) ||
      !check_names(n, "xs", xs, 0) || !check_names(n, "zs", zs, xs.count))
    return false;
  GlowValue *target = glow_onnx_find(n->scope, y);
  if (!target || target == &glow_onnx_absent)
    return glow_onnx_fail(n, "'%s', which attribute 'y' names, is not defined", y);
  if (target == &glow_onnx_failed)
    return false;
  if (n->nouts > xs.count)
    return glow_onnx_fail(n, "%u results where there are at most %u", n->nouts, xs.count);
  Carried carried = {n, xs.count, glow_map_create(n->im->arena)};
  if (depends_on_carried(&carried, target))
    return glow_onnx_unsupported(n, "by a value outside of a loop, of one that the loop carries");
  GlowValue **results = GLOW_NEW_ARRAY(n->im->arena, GlowValue *, xs.count);
  Around around = find_around(n);
  if (!glow_differentiate(&n->b, &(GlowDerivatives){.ys = &target,
                                                    .nys = 1,
                                                    .xs = n->ins,
                                                    .nxs = xs.count,
                                                    .results = results,
                                                    .around = around.blocks.data,
                                                    .naround = around.blocks.count}))
    return false;
  for (uint32_t i = 0; i < n->nouts; i++) {
    GlowValue *dx = results[i] ? results[i] : glow_grad_filled(&n->b, n->ins[i], 0);
    if (!dx || (n->outs[i] && !glow_onnx_result(n, i, GLOW_OP_IDENTITY, &dx, 1, NULL)))
      return false;
  }
  return true;
}
