/* Narrow weights: the matrices of products are rounded to 4 or 8 bits, values stay in float.
 *
 *   y = MatMul(x, W)   becomes   y = MatMul(x, DequantizeLinear(W.i4, W.scale) {axis = 0, block =
 * 32})
 *
 * and likewise for FullyConnected. `block` rows of a column share a scale: the number of the
 * largest magnitude among them over -8 or -128, so that it takes the one integer that has no
 * opposite; 2^-60 for less. Scales and integers are algebra in `eval` constants. Only constant
 * matrices of at least `block` rows are rounded, each once.
 *
 * Requested: weights are rounded. */
#include "transforms/quantize/quantize.h"

typedef struct Narrow {
  GlowPassRun *run;
  GlowConstness *constness;
  GlowGlobs keep;
  int64_t bits, block;
  GlowMap *made; /* W to what stands for it */
} Narrow;

static GlowValue *reduced(GlowBuilder *b, const GlowNode *n, GlowOp op, GlowValue *v) {
  int64_t axis = 1;
  return v ? glow_build_reduce(b, op, v, glow_constant_ints(b->module, n, "axis", &axis, 1)) : NULL;
}

/* [blocks, columns]: the number of the largest magnitude of each block over the least integer. */
static GlowValue *build_scale(Narrow *w, GlowNode *n, GlowValue *old) {
  GlowEval e = glow_eval_create(w->run->module, w->run->arena, n);
  GlowBuilder *b = &e.builder;
  int64_t rows = old->type->dims[0].size, columns = old->type->dims[1].size;
  int64_t blocks = (rows + w->block - 1) / w->block, parts[] = {blocks, w->block, columns};
  GlowValue *v = glow_build_padded(b, n, glow_eval_copy(&e, old), 0, 0, blocks * w->block - rows);
  v = v ? glow_build_shaped(b, n, v, 3, parts) : NULL;
  GlowValue *high = reduced(b, n, GLOW_OP_REDUCE_MAX, v);
  GlowValue *low = reduced(b, n, GLOW_OP_REDUCE_MIN, v);
  GlowValue *falls = glow_then2(b, GLOW_OP_GREATER, glow_then1(b, GLOW_OP_NEG, low, NULL), high);
  v = glow_then3(b, GLOW_OP_WHERE, falls, low, high);
  int64_t dims[] = {blocks, columns};
  v = v ? glow_build_shaped(b, n, v, 2, dims) : NULL;
  v = glow_then2(b, GLOW_OP_DIV, v,
                 glow_build_scalar(b, GLOW_KIND_FLOAT, w->bits == 4 ? -8 : -128));
  GlowValue *least = glow_build_scalar(b, GLOW_KIND_FLOAT, (double)GLOW_LEAST_SCALE);
  GlowValue *size = glow_then1(b, GLOW_OP_ABS, v, NULL);
  v = glow_then3(b, GLOW_OP_WHERE, glow_then2(b, GLOW_OP_LESS, size, least), least, v);
  return v ? &glow_eval_finish(&e, v, glow_str_printf(w->run->ctx, "%s.scale", old->name))->value
           : NULL;
}

/* What stands for the matrix `old`; NULL after a diagnostic. */
static GlowValue *build_narrow(Narrow *w, GlowNode *n, GlowValue *old) {
  GlowKind kind = w->bits == 4 ? GLOW_KIND_I4 : GLOW_KIND_I8;
  GlowValue *scale = build_scale(w, n, old);
  if (!scale)
    return NULL;
  GlowEval e = glow_eval_create(w->run->module, w->run->arena, n);
  GlowQuantizeLinearMembers q = {.axis = 0, .block = w->block, .kind = kind, .saturate = true};
  GlowValue *v =
      glow_build2(&e.builder, GLOW_OP_QUANTIZE_LINEAR, glow_eval_copy(&e, old), scale, &q, NULL);
  if (!v)
    return NULL;
  GlowStr name = glow_str_printf(w->run->ctx, "%s.i%d", old->name, (int)w->bits);
  v = &glow_eval_finish(&e, v, name)->value;
  GlowBuilder b = glow_builder_before(n);
  GlowDequantizeLinearMembers d = {.axis = 0, .block = w->block};
  return glow_build2(&b, GLOW_OP_DEQUANTIZE_LINEAR, v, scale, &d, NULL);
}

static bool is_kept(Narrow *w, const GlowNode *n, const GlowValue *matrix) {
  bool named = glow_globs_match(&w->keep, glow_node_desc(n)->node);
  named |= matrix->name && glow_globs_match(&w->keep, matrix->name);
  named |= n->origin && n->origin->name && glow_globs_match(&w->keep, n->origin->name);
  return named | (n->results[0].name && glow_globs_match(&w->keep, n->results[0].name));
}

/* Why the matrix of n stays as it is; NULL if it is rounded. */
static const char *why_not(Narrow *w, const GlowNode *n, const GlowValue *matrix) {
  if (matrix->kind != GLOW_VALUE_STORAGE || !glow_constness_of(w->constness, matrix))
    return "its matrix is not constant";
  if (matrix->type->kind != GLOW_KIND_FLOAT)
    return "its matrix has another kind than float";
  if (matrix->type->dims[0].size < w->block)
    return "its matrix has less rows than a block";
  return is_kept(w, n, matrix) ? "keep= names it" : NULL;
}

static bool narrow(GlowNode *n, void *arg) {
  Narrow *w = arg;
  GlowContraction c;
  if (n->op != GLOW_OP_MAT_MUL && n->op != GLOW_OP_FULLY_CONNECTED)
    return true;
  GlowValue *old = glow_node_in(n, GLOW_CONTRACTION_W);
  const char *why =
      glow_contraction_describe(n, &c) ? why_not(w, n, old) : "it is no product with a matrix";
  if (why) {
    glow_pass_remark(w->run, glow_node_loc(n), "%s stays in float: %s", glow_node_desc(n)->node,
                     why);
    return true;
  }
  GlowValue *made = glow_map_get(w->made, old);
  glow_pass_changed(w->run, n, "@%s has %d bits", old->name, (int)w->bits);
  if (!made && !(made = build_narrow(w, n, old)))
    return false;
  glow_map_set(w->made, old, made);
  glow_use_set(&n->operands[GLOW_CONTRACTION_W], made);
  return true;
}

bool glow_pass_quantize_weights(GlowPassRun *run) {
  bool ok = true;
  Narrow w = {.run = run,
              .constness = glow_constness_create(run->arena),
              .keep = glow_globs_read(run, glow_pass_option(run, "keep")),
              .bits = glow_pass_option_int(run, "bits", 4, &ok),
              .block = glow_pass_option_int(run, "block", 32, &ok),
              .made = glow_map_create(run->arena)};
  if (ok && ((w.bits != 4 && w.bits != 8) || w.block < 2 || w.block > INT32_MAX)) {
    glow_error(run->ctx, GLOW_NOWHERE, "-%s: bits are 4 or 8, and a block has at least 2 rows",
               run->pass->name);
    ok = false;
  }
  for (GlowNode *n = run->function->body->first, *next; ok && n; n = next) {
    next = n->next;
    ok = narrow(n, &w);
  }
  if (ok)
    glow_globs_warn_unmatched(&w.keep, "keep");
  return ok;
}
