/* Signed activations of contractions become unsigned, since machines multiply u8 by i8. A Rescale
 * that only adds 128 to stored integers moves down until it meets what reads it:
 *
 *   Quantize(x) : i8[S O]                   -> Rescale(Quantize(x) : u8[S O+128]) : i8[S O]
 *   f(Rescale(q)), f moves or selects       -> Rescale(f(q))
 *   Clip(Rescale(q), a, b)                  -> Rescale(Clip(q, a + 128, b + 128))
 *   Dequantize(Rescale(q))                  -> Dequantize(q)
 *   Convolution(Rescale(q), w, b) {pad = p} -> Convolution(q, w, c) {pad = p + 128}
 *   MatMul(Rescale(q), w)                   -> Add(MatMul(q, w), c)
 *
 * with c = b - 128 * ReduceSum(w). The first step is taken for values from which, through such f, a
 * contraction reads. Exact: the same numbers are stored, and sums of integers wrap. Placeholders,
 * results and other users keep their kind. */
#include "transforms/quantized.h"
#include "transforms/rules.h"

enum { SHIFT = 128, MAX_DEPTH = 64 };

typedef struct Shift {
  GlowPassRun *run;
  GlowConstness *constness;
} Shift;

static bool is_signed(const GlowType *t) {
  return glow_quantization_is_usual(t) && t->kind == GLOW_KIND_I8;
}

static const GlowType *shifted(GlowContext *ctx, const GlowType *t) {
  return glow_type_with_quant(ctx, glow_type_with_kind(ctx, t, GLOW_KIND_U8), true, t->scale,
                              t->offset + SHIFT);
}

/* Whether n moves or selects elements of one operand. */
static bool passes_on(const GlowNode *n) {
  const GlowOpDesc *d = glow_node_desc(n);
  if (glow_node_quant_form(n) != GLOW_QUANT_SAME || n->nregions || n->nresults == 0)
    return false;
  uint32_t tied = 0;
  for (uint32_t i = 0; i < n->noperands; i++) {
    const GlowOpPort *p = glow_op_in_port(d, i);
    tied += n->operands[i].value && p->type == d->in[d->quant_in].type &&
            p->var == d->in[d->quant_in].var;
  }
  return tied == 1;
}

static bool is_clip_by_splats(const GlowNode *n) {
  if (n->op != GLOW_OP_CLIP)
    return false;
  for (uint32_t i = 1; i < n->noperands; i++)
    if (glow_node_in(n, i) && !glow_value_def(glow_node_in(n, i), GLOW_OP_SPLAT))
      return false;
  return true;
}

static bool is_contraction(const Shift *s, const GlowNode *n) {
  const GlowValue *w = glow_node_in(n, 1), *y = n->nresults ? &n->results[0] : NULL;
  return (n->op == GLOW_OP_CONVOLUTION || n->op == GLOW_OP_MAT_MUL) &&
         y->type->kind == GLOW_KIND_I32 && glow_type_is_static(w->type) && w->type->rank >= 2 &&
         !w->type->layout && glow_constness_of(s->constness, w);
}

/* Whether a contraction reads v, through what moves or limits elements. */
static bool is_multiplied(const Shift *s, const GlowValue *v, int depth) {
  for (const GlowUse *u = v->uses; u && depth < MAX_DEPTH; u = u->next) {
    const GlowNode *n = u->user;
    if (u == &n->pred || u != &n->operands[0])
      continue;
    if (is_contraction(s, n) ||
        ((passes_on(n) || is_clip_by_splats(n)) && is_multiplied(s, &n->results[0], depth + 1)))
      return true;
  }
  return false;
}

/* The value that n's first operand has 128 added to; NULL if it is no such Rescale. */
static GlowValue *unsigned_of(const GlowNode *n) {
  GlowValue *v = glow_node_in(n, 0);
  const GlowNode *r = v ? glow_match(v, GLOW_OP_RESCALE, n) : NULL;
  GlowValue *q = r ? glow_node_in(r, 0) : NULL;
  GlowContext *ctx = n->block->module->ctx;
  return q && is_signed(v->type) && q->type == shifted(ctx, v->type) ? q : NULL;
}

static GlowValue *typed(GlowBuilder *b, GlowOp op, GlowValue *x, const void *members,
                        const GlowType *t) {
  GlowNodeSpec spec = {.op = op, .ins = &x, .nins = 1, .members = members, .types = &t};
  GlowNode *n = x ? glow_node_create(b, &spec) : NULL;
  return n ? &n->results[0] : NULL;
}

/* Adds c to the constant that alone is added to n's result. False if there is none. */
static bool added_behind(const Shift *s, const GlowNode *n, GlowBuilder *b, GlowValue *c) {
  GlowNode *add = glow_only_user(&n->results[0]);
  if (!add || add->op != GLOW_OP_ADD || add->pred.value != n->pred.value)
    return false;
  uint32_t i = add->operands[0].value == &n->results[0];
  GlowValue *old = add->operands[i].value;
  if (!glow_constness_of(s->constness, old) || !glow_type_is_static(old->type) ||
      old->type != c->type)
    return false;
  GlowValue *both = glow_then2(b, GLOW_OP_ADD, c, old);
  if (both)
    glow_use_set(&add->operands[i], both);
  return both != NULL;
}

static GlowValue *contraction(const Shift *s, GlowNode *n, GlowValue *q) {
  GlowBuilder b = glow_builder_before(n);
  GlowValue *w = glow_node_in(n, 1), *bias = glow_node_in(n, 2);
  bool convolves = n->op == GLOW_OP_CONVOLUTION;
  GlowValue *c = glow_weight_sums(&b, n, w, convolves, -SHIFT);
  if (convolves && bias)
    c = glow_then2(&b, GLOW_OP_ADD, c, bias);
  if (!c)
    return NULL;
  if (!convolves) {
    GlowValue *sum = glow_then2(&b, GLOW_OP_MAT_MUL, q, w);
    return added_behind(s, n, &b, c) ? sum : glow_then2(&b, GLOW_OP_ADD, sum, c);
  }
  GlowConvolutionMembers m = *(const GlowConvolutionMembers *)n->members;
  m.pad += SHIFT;
  GlowValue *ins[] = {q, w, c};
  return glow_then(&b, GLOW_OP_CONVOLUTION, ins, 3, &m);
}

/* n, which moves, selects or limits elements, on unsigned integers. */
static GlowValue *moved(GlowNode *n, GlowValue *q) {
  GlowContext *ctx = n->block->module->ctx;
  GlowBuilder b = glow_builder_before(n);
  GlowValue **ins = GLOW_NEW_ARRAY(n->block->module->arena, GlowValue *, n->noperands);
  for (uint32_t i = 0; i < n->noperands; i++) {
    GlowValue *v = glow_node_in(n, i);
    bool limit = i > 0 && v && n->op == GLOW_OP_CLIP;
    ins[i] = i == 0 ? q : v;
    if (limit) {
      const GlowType *t = shifted(ctx, v->type);
      GlowNodeSpec spec = {.op = GLOW_OP_SPLAT, .members = v->def.node->members, .types = &t};
      GlowNode *splat = glow_node_create(&b, &spec);
      ins[i] = splat ? &splat->results[0] : NULL;
    }
  }
  GlowNode *y = glow_build(&b, n->op, ins, n->noperands, n->members, NULL);
  return y ? typed(&b, GLOW_OP_RESCALE, &y->results[0], NULL, n->results[0].type) : NULL;
}

static bool visit(GlowNode *n, void *arg) {
  const Shift *s = arg;
  GlowContext *ctx = s->run->ctx;
  GlowValue *y = n->nresults ? &n->results[0] : NULL, *by = NULL;
  GlowBuilder b = glow_builder_before(n);
  glow_pass_check_limit(s->run); /* a constant behind a product changes in place */
  if (n->op == GLOW_OP_QUANTIZE && is_signed(y->type) && is_multiplied(s, y, 0)) {
    GlowValue *q = typed(&b, n->op, glow_node_in(n, 0), n->members, shifted(ctx, y->type));
    by = typed(&b, GLOW_OP_RESCALE, q, NULL, y->type);
  } else {
    GlowValue *q = n->noperands ? unsigned_of(n) : NULL;
    if (q && n->op == GLOW_OP_DEQUANTIZE)
      by = typed(&b, n->op, q, n->members, y->type);
    else if (q && is_contraction(s, n))
      by = contraction(s, n, q);
    else if (q && n->nresults == 1 && (passes_on(n) || is_clip_by_splats(n)) && is_signed(y->type))
      by = moved(n, q);
  }
  if (by && by->type == y->type)
    glow_replace_by(s->run, n, by, "added 128 to signed integers");
  return true;
}

bool glow_pass_offset_binary(GlowPassRun *run) {
  unsigned errors = glow_context_error_count(run->ctx);
  Shift s = {run, glow_constness_create(run->arena)};
  glow_block_walk(run->function->body, visit, &s);
  return glow_context_error_count(run->ctx) == errors;
}
