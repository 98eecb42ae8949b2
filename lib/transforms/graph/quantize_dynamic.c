/* Products with constant matrices become products of 8-bit integers. The range that the left
 * operand has at run time gives its scale and zero point, so no profile is needed:
 *
 *   y = FullyConnected(x, W, B)
 *
 * becomes
 *
 *   x.q, x.scale, x.zero = DynamicQuantizeLinear(x)      W.i8, W.scale: `eval` constants
 *   s = MatMulInteger(x.q, W.i8, x.zero)
 *   y = MulAdd(Cast(s), Mul(x.scale, W.scale), B)
 *
 * and MatMul the same with Mul in place of MulAdd. Products that read one value or one matrix share
 * its integers.
 * No sum may leave i32, so K has a limit. Convolutions stay in float: their padding would read a
 * zero point that is known at run time alone. Contractions that stay in float get a remark with the
 * reason.
 *
 * Requested: operands and weights are rounded. */
#include "transforms/quantize/quantize.h"
#include "transforms/rules.h"

/* A matrix of i8. */
typedef struct Stored {
  GlowValue *v, *scale;
} Stored;

typedef struct Dynamic {
  GlowPassRun *run;
  GlowConstness *constness;
  GlowQuantNodeOptions options;
  GlowMap *rounded; /* values to their last DynamicQuantizeLinear */
  GlowMap *stored;  /* matrices to Stored */
  bool failed;      /* an error was reported */
} Dynamic;

/* Why n, a product with a matrix, cannot multiply integers. */
static const char *bad_product(const Dynamic *d, const GlowContraction *c) {
  const GlowNode *n = c->node;
  const GlowValue *bias = glow_node_in(n, GLOW_CONTRACTION_B);
  if (glow_constness_of(d->constness, glow_node_in(n, GLOW_CONTRACTION_X)))
    return "its operands are constants";
  if (c->out == 0 || c->in == 0)
    return "it multiplies nothing";
  if (c->in > INT32_MAX / (255 * 127))
    return "its sums could leave 32 bits";
  return bias && bias->type->unranked ? "the shape of its bias is not known" : NULL;
}

static const char *reason_for(Dynamic *d, GlowNode *n, GlowContraction *c) {
  const char *unwanted = glow_quant_unwanted(&d->options, n);
  if (unwanted)
    return unwanted;
  if (n->results[0].type->kind != GLOW_KIND_FLOAT)
    return "it computes in another kind";
  if (n->op != GLOW_OP_MAT_MUL && n->op != GLOW_OP_FULLY_CONNECTED)
    return "it is no product with a matrix";
  if (!glow_constness_of(d->constness, glow_node_in(n, GLOW_CONTRACTION_W)))
    return "its weights are no constant";
  return glow_contraction_describe(n, c) ? bad_product(d, c) : "its weights are no matrix";
}

/* DynamicQuantizeLinear of n's operand x, which runs whenever n does. NULL after a diagnostic. */
static GlowNode *round_operand(Dynamic *d, GlowBuilder *b, const GlowNode *n) {
  GlowContext *ctx = d->run->ctx;
  GlowValue *x = glow_node_in(n, GLOW_CONTRACTION_X);
  GlowNode *made = glow_map_get(d->rounded, x);
  if (made && made->block == n->block && made->pred.value == n->pred.value)
    return made;
  GlowStr names[] = {glow_str_printf(ctx, "%s.q", x->name),
                     glow_str_printf(ctx, "%s.scale", x->name),
                     glow_str_printf(ctx, "%s.zero", x->name)};
  GlowNodeSpec spec = {.op = GLOW_OP_DYNAMIC_QUANTIZE_LINEAR, .ins = &x, .nins = 1, .names = names};
  made = glow_node_create(b, &spec);
  glow_map_set(d->rounded, x, made);
  return made;
}

/* The integers of n's matrix; NULL after a diagnostic. */
static const Stored *store_matrix(Dynamic *d, const GlowContraction *c) {
  const GlowValue *w = glow_node_in(c->node, GLOW_CONTRACTION_W);
  Stored *s = glow_map_get(d->stored, w);
  if (s)
    return s;
  s = GLOW_NEW(d->run->arena, Stored);
  s->v = glow_store_weights(d->run, c, d->options.weights, &s->scale);
  glow_map_set(d->stored, w, s);
  return s->v ? s : NULL;
}

/* The product of integers in float; NULL after a diagnostic. */
static GlowValue *build_product(Dynamic *d, const GlowContraction *c) {
  GlowNode *n = c->node;
  GlowBuilder b = glow_builder_before(n);
  const Stored *w = store_matrix(d, c);
  GlowNode *q = w ? round_operand(d, &b, n) : NULL;
  if (!q)
    return NULL;
  GlowValue *ins[] = {&q->results[0], w->v, &q->results[2]};
  GlowValue *sum = glow_then(&b, GLOW_OP_MAT_MUL_INTEGER, ins, 3, NULL);
  GlowValue *m = glow_then2(&b, GLOW_OP_MUL, &q->results[1], w->scale);
  GlowValue *bias = glow_node_in(n, GLOW_CONTRACTION_B);
  GlowValue *terms[] = {glow_then_cast(&b, sum, GLOW_KIND_FLOAT), m, bias};
  GlowNodeSpec spec = {.op = bias ? GLOW_OP_MUL_ADD : GLOW_OP_MUL,
                       .ins = terms,
                       .nins = bias ? 3 : 2,
                       .types = &n->results[0].type};
  GlowNode *y = terms[0] && m ? glow_node_create(&b, &spec) : NULL;
  return y ? &y->results[0] : NULL;
}

static bool visit(GlowNode *n, void *arg) {
  Dynamic *d = arg;
  GlowContraction c;
  if (glow_node_quant_form(n) != GLOW_QUANT_CONTRACTION ||
      !glow_kind_is_float(n->results[0].type->kind) ||
      glow_constness_of(d->constness, &n->results[0]))
    return true;
  const char *reason = reason_for(d, n, &c);
  d->failed |= !glow_quant_tell(d->run, &d->options, n, reason);
  GlowValue *by = reason ? NULL : build_product(d, &c);
  if (by)
    glow_replace_by(d->run, n, by, "multiplied integers, rounded at run time");
  return by || reason;
}

bool glow_pass_quantize_dynamic(GlowPassRun *run) {
  Dynamic d = {.run = run,
               .constness = glow_constness_create(run->arena),
               .rounded = glow_map_create(run->arena),
               .stored = glow_map_create(run->arena)};
  if (!glow_quantize_read_node_options(run, &d.options) ||
      !glow_block_walk(run->function->body, visit, &d) || d.failed)
    return false;
  glow_quant_warn_of_names(&d.options);
  return true;
}
