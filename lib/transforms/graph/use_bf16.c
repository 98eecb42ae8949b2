/* Contractions of floats by constants multiply bfloat16 numbers:
 *
 *   y = Convolution(x, W, b)      becomes   y = Convolution(x, W.bf16, b) {strategy = bf16}
 *   y = MatMul(x, W)                        y = MatMul(x, W.bf16) {strategy = bf16}
 *   y = FullyConnected(x, W, b)             y = MatMul(x, W.bf16) {strategy = bf16} + b
 *
 * where W.bf16 is an `eval` constant, Cast(W) {to = bfloat16}, and x is rounded as it is read. Sums
 * have the order that the option says, else the one that the target computes fast. Values between
 * contractions stay floats. Convolutions have one group, W of products is one matrix. The rest
 * stays as it is, which a remark says, and so does what `keep` names by operator, result, node or
 * constant. Passes that fold into weights (prepare) come first: the strategy keeps them out.
 *
 * Requested: operands are rounded. With u = 2^-9, half of the distance from 1 to the next bfloat16
 * number, a sum of k products is off by (2 u + u^2) times the sum S of their absolute values for
 * rounding, and by less than (k + 2) 2^-24 S for the sums, if no number is denormal: less than
 * (2^-7 + 2^-23 k) S. */
#include "target/target.h"
#include "transforms/contraction.h"
#include "transforms/globs.h"
#include "transforms/transforms.h"

#include <string.h>

typedef struct Use {
  GlowPassRun *run;
  GlowConstness *constness;
  GlowGlobs keep;
  GlowMap *rounded; /* W to the constant that stands for it */
  GlowEnumBf16Order order;
} Use;

/* Why n stays as it is; NULL if it does not. */
static const char *obstacle(const Use *use, const GlowContraction *c) {
  const GlowValue *x = glow_node_in(c->node, GLOW_CONTRACTION_X);
  const GlowValue *w = glow_node_in(c->node, GLOW_CONTRACTION_W);
  if (x->type->kind != GLOW_KIND_FLOAT)
    return "it is not of float";
  if (c->groups != 1)
    return "it has groups";
  if (x->type->layout || w->type->layout)
    return "its layouts are assigned already";
  return glow_constness_of(use->constness, w) ? NULL : "its weights are no constant";
}

static bool is_kept(Use *use, const GlowNode *n) {
  const GlowValue *w = glow_node_in(n, GLOW_CONTRACTION_W);
  bool named = glow_globs_match(&use->keep, glow_node_desc(n)->node);
  named |= w->name && glow_globs_match(&use->keep, w->name);
  named |= n->origin && n->origin->name && glow_globs_match(&use->keep, n->origin->name);
  return named | (n->results[0].name && glow_globs_match(&use->keep, n->results[0].name));
}

/* W as bfloat16, one constant for all that share W; NULL after a diagnostic. */
static GlowValue *rounded(Use *use, GlowNode *n) {
  GlowValue *w = glow_node_in(n, GLOW_CONTRACTION_W), *known = glow_map_get(use->rounded, w);
  if (known)
    return known;
  GlowEval e = glow_eval_create(use->run->module, use->run->arena, n);
  GlowValue *v = glow_then_cast(&e.builder, glow_eval_copy(&e, w), GLOW_KIND_BFLOAT16);
  if (!v)
    return NULL;
  GlowStr name = glow_str_printf(use->run->ctx, "%s.bf16", w->name ? w->name : "weights");
  known = &glow_eval_finish(&e, v, name)->value;
  glow_map_set(use->rounded, w, known);
  return known;
}

/* FullyConnected as a product and an Add. */
static bool take_apart(GlowNode *n, GlowValue *w, GlowEnumBf16Order order) {
  GlowBuilder b = glow_builder_before(n);
  GlowMatMulMembers members = {.strategy = GLOW_PRODUCT_STRATEGY_BF16, .order = order};
  GlowValue *bias = glow_node_in(n, GLOW_FULLY_CONNECTED_IN_B);
  GlowValue *y = glow_build2(&b, GLOW_OP_MAT_MUL, glow_node_in(n, GLOW_FULLY_CONNECTED_IN_X), w,
                             &members, NULL);
  y = y && bias ? glow_build2(&b, GLOW_OP_ADD, y, bias, NULL, NULL) : y;
  if (y)
    glow_node_replace(n, &y, 1);
  return y != NULL;
}

static bool round_weights(GlowNode *n, void *arg) {
  Use *use = arg;
  GlowContraction c;
  if (n->op == GLOW_OP_CONV_TRANSPOSE || !glow_contraction_describe(n, &c))
    return true;
  const char *why = obstacle(use, &c);
  if (!why && is_kept(use, n))
    why = "keep= names it";
  if (why) {
    glow_pass_remark(use->run, glow_node_loc(n), "%s stays in float: %s", glow_node_desc(n)->node,
                     why);
    return true;
  }
  glow_pass_changed(use->run, n, "%s multiplies bfloat16", glow_node_desc(n)->node);
  GlowValue *w = rounded(use, n);
  if (!w || n->op == GLOW_OP_FULLY_CONNECTED)
    return w && take_apart(n, w, use->order);
  glow_use_set(&n->operands[GLOW_CONTRACTION_W], w);
  if (n->op == GLOW_OP_CONVOLUTION) {
    GlowConvolutionMembers *m = n->members;
    m->strategy = GLOW_CONV_STRATEGY_BF16, m->order = use->order;
  } else {
    GlowMatMulMembers *m = n->members;
    m->strategy = GLOW_PRODUCT_STRATEGY_BF16, m->order = use->order;
  }
  return true;
}

/* Reads the option `order`. False after a diagnostic. */
static bool read_order(GlowPassRun *run, GlowEnumBf16Order *order) {
  const char *text = glow_pass_option(run, "order");
  *order = GLOW_BF16_ORDER_TILE;
  if (!text)
    *order = glow_target_bf16_order(glow_target_asked(run->module));
  else if (strcmp(text, "pair") == 0)
    *order = GLOW_BF16_ORDER_PAIR;
  else if (strcmp(text, "tile") != 0)
    glow_error(run->ctx, GLOW_NOWHERE, "-%s: order=%s is none of tile, pair", run->pass->name,
               text);
  return !text || *order == GLOW_BF16_ORDER_PAIR || strcmp(text, "tile") == 0;
}

bool glow_pass_use_bf16(GlowPassRun *run) {
  Use use = {.run = run,
             .constness = glow_constness_create(run->arena),
             .keep = glow_globs_read(run, glow_pass_option(run, "keep")),
             .rounded = glow_map_create(run->arena)};
  if (!read_order(run, &use.order) || !glow_block_walk(run->function->body, round_weights, &use))
    return false;
  glow_globs_warn_unmatched(&use.keep, "keep");
  return true;
}
