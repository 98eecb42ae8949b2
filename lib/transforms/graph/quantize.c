/* Quantization by a profile: floating-point values that contractions and what lies between them
 * read are rounded to 8 bits.
 *
 *   y = Convolution(x, W, B)
 *
 * becomes
 *
 *   x.q = Quantize(x) : u8[S:.. O:..]          W.i8, W.scale: `eval` constants
 *   x.dq = Dequantize(x.q)
 *   w = DequantizeLinear(W.i8, W.scale)
 *   y = Convolution(x.dq, w, y.bias)
 *
 * Nodes stay what they are; the pairs say where integers are as good. The passes of -O1 and -O2
 * make integer operators of them. Biases stay in float, and make up for what rounding of weights
 * takes from results in the mean, if the profile tells the means of channels (bias.c). Scales come
 * from the file that `ranges` names (lib/quantize/ranges.h). Which nodes and values,
 * transforms/quantize/plan.c says. A node that stays in float gets a remark with the reason.
 *
 * Requested: values are rounded to 8 bits, and weights. */
#include "transforms/quantize/quantize.h"

static const GlowType *quantized_type(const GlowQuantPlan *p, const GlowQuantValue *v) {
  GlowContext *ctx = p->run->ctx;
  GlowQuantParameters q = glow_quant_parameters_of(p, v);
  const GlowType *t = glow_type_with_kind(ctx, v->value->type, q.kind);
  return glow_type_with_quant(ctx, t, true, q.scale, q.offset);
}

/* A builder behind what computes v, or at the start of the function. */
static GlowBuilder behind(const GlowQuantPlan *p, const GlowValue *v) {
  GlowBlock *body = p->run->function->body;
  GlowBuilder b = glow_builder_at_end(body);
  const GlowNode *n = v->kind == GLOW_VALUE_RESULT ? v->def.node : NULL;
  b.before = n ? n->next : body->first;
  b.src = glow_value_loc(v);
  b.origin = n ? n->origin : NULL;
  return b;
}

/* Quantize and Dequantize of v; NULL after a diagnostic. */
static GlowValue *build_pair(GlowQuantPlan *p, GlowQuantValue *v) {
  GlowContext *ctx = p->run->ctx;
  GlowBuilder b = behind(p, v->value);
  const GlowType *type = quantized_type(p, v);
  GlowStr name = glow_str_printf(ctx, "%s.q", v->value->name);
  GlowNodeSpec spec = {
      .op = GLOW_OP_QUANTIZE, .ins = &v->value, .nins = 1, .types = &type, .names = &name};
  GlowNode *q = glow_node_create(&b, &spec);
  return q ? glow_build1(&b, GLOW_OP_DEQUANTIZE, &q->results[0], NULL,
                         glow_str_printf(ctx, "%s.dq", v->value->name))
           : NULL;
}

/* Whether this use of v becomes one of the dequantized value: an operand that counts, or any use of
 * what a quantized node computes, which then is stored in one form. */
static bool takes_pair(const GlowQuantPlan *p, const GlowUse *u) {
  const GlowValue *v = u->value;
  bool made = v->kind == GLOW_VALUE_RESULT && glow_quant_is_quantized(p, v->def.node);
  return made || (glow_quant_is_quantized(p, u->user) && u != &u->user->pred &&
                  glow_quant_operand(p, u->user, (uint32_t)(u - u->user->operands)));
}

static bool convert_value(GlowQuantPlan *p, GlowQuantValue *v) {
  typedef GLOW_VEC(GlowUse *) Uses;
  Uses uses = {0};
  for (GlowUse *u = v->value->uses; u; u = u->next)
    if (takes_pair(p, u))
      glow_vec_push(p->run->arena, &uses, u);
  GlowValue *pair = build_pair(p, v);
  for (uint32_t i = 0; pair && i < uses.count; i++)
    glow_use_set(uses.data[i], pair);
  return pair != NULL;
}

/* Rounds the weights of a contraction, if they are constant. */
static bool convert_weights(GlowQuantPlan *p, GlowNode *n) {
  GlowContraction c;
  GlowValue *w = glow_node_in(n, GLOW_CONTRACTION_W), *scale;
  if (!glow_constness_of(p->constness, w))
    return true;
  if (!glow_contraction_describe(n, &c))
    return false;
  GlowValue *stored = glow_store_weights(p->run, &c, p->options->nodes.weights, &scale);
  const GlowQuantValue *x = glow_quant_operand(p, n, GLOW_CONTRACTION_X);
  if (!stored || (x && !p->options->keep_biases &&
                  !glow_quantize_bias(p->run, &c, p->constness, x->range, stored, scale)))
    return false;
  GlowBuilder b = glow_builder_before(n);
  GlowDequantizeLinearMembers d = {.axis = c.w_out};
  GlowValue *v = glow_build2(&b, GLOW_OP_DEQUANTIZE_LINEAR, stored, scale, &d, NULL);
  if (v)
    glow_use_set(&n->operands[GLOW_CONTRACTION_W], v);
  return v != NULL;
}

/* ---- Quantized placeholders ------------------------------------------------------------------ */

/* Whether all uses of a placeholder are Quantize to one type, or Saves of Dequantize of one type.
 */
static const GlowType *port_type(const GlowStorage *s, bool output) {
  const GlowType *type = NULL;
  for (const GlowUse *u = s->value.uses; u; u = u->next) {
    const GlowNode *n = u->user;
    const GlowType *t = NULL;
    if (output && n->op == GLOW_OP_SAVE && u == &n->operands[GLOW_SAVE_IN_STORAGE]) {
      const GlowNode *d = glow_value_def(glow_node_in(n, GLOW_SAVE_IN_VALUE), GLOW_OP_DEQUANTIZE);
      t = d ? glow_node_in(d, 0)->type : NULL;
    } else if (!output && n->op == GLOW_OP_QUANTIZE) {
      t = n->results[0].type;
    }
    if (!t || (type && t != type))
      return NULL;
    type = t;
  }
  return type;
}

static void convert_port(GlowPassRun *run, GlowStorage *s, const GlowType *type, bool output) {
  s->value.type = type;
  for (GlowUse *u = s->value.uses, *next; u; u = next) {
    GlowNode *n = u->user;
    next = u->next;
    if (!output) {
      glow_value_replace_uses(&n->results[0], &s->value);
      glow_node_remove(n);
      continue;
    }
    GlowNode *d = glow_value_def(glow_node_in(n, GLOW_SAVE_IN_VALUE), GLOW_OP_DEQUANTIZE);
    glow_use_set(&n->operands[GLOW_SAVE_IN_VALUE], glow_node_in(d, 0));
    glow_remove_dead(d);
  }
  glow_pass_changed(run, NULL, "@%s is %s", s->value.name, glow_type_str(run->ctx, type));
}

static void convert_ports(GlowPassRun *run, bool output) {
  for (GlowStorage *s = run->module->first_storage; s; s = s->next) {
    const GlowType *type = s->cls == GLOW_PLACEHOLDER ? port_type(s, output) : NULL;
    if (type)
      convert_port(run, s, type, output);
  }
}

/* ---- The pass -------------------------------------------------------------------------------- */

/* Says why nodes stay in float, and which values share a scale by `tie` alone. False with
 * assert-all, if a node stays in float. */
static bool tell_reasons(GlowQuantPlan *p) {
  bool ok = true;
  for (uint32_t i = 0; i < p->nodes.count; i++) {
    const GlowQuantNode *q = &p->nodes.data[i];
    ok &= glow_quant_tell(p->run, &p->options->nodes, q->node, q->reason);
    if (!q->reason && q->sharing)
      glow_pass_remark(p->run, glow_node_loc(q->node), "%s", q->sharing);
  }
  return ok;
}

static bool rewrite(GlowQuantPlan *p) {
  glow_pass_begin_batch(p->run);
  for (uint32_t i = 0; i < p->nodes.count; i++) {
    const GlowQuantNode *q = &p->nodes.data[i];
    if (!q->reason && q->form == GLOW_QUANT_CONTRACTION && !convert_weights(p, q->node))
      return false;
    if (!q->reason)
      glow_pass_changed(p->run, q->node, "on 8 bits");
  }
  for (uint32_t i = 0; i < p->values.count; i++)
    if (p->values.data[i]->converted && !convert_value(p, p->values.data[i]))
      return false;
  glow_pass_end_batch(p->run);
  return true;
}

static bool quantize_function(GlowPassRun *run, GlowQuantizeOptions *o) {
  GlowQuantPlan plan = {.run = run, .options = o};
  if (!glow_ranges_fit(o->ranges, run->function, o->partial) || !glow_quantize_plan(&plan) ||
      !tell_reasons(&plan) || !rewrite(&plan))
    return false;
  glow_quant_warn_of_names(&o->nodes);
  return true;
}

bool glow_pass_quantize(GlowPassRun *run) {
  GlowQuantizeOptions options;
  if (!glow_quantize_read_options(run, &options))
    return false;
  run->function = glow_quantize_function(run, options.ranges);
  bool ok = run->function && quantize_function(run, &options);
  run->function = NULL;
  if (ok && options.inputs)
    convert_ports(run, false);
  if (ok && options.outputs)
    convert_ports(run, true);
  return ok;
}
