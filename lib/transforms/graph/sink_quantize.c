/* Conversions from and to quantized values move over nodes that move or select elements (`quantize
 * same` in their descriptions), which then work on the stored integers:
 *
 *   f(Dequantize(q), Dequantize(r), c)   -> Dequantize(f(q, r, c'))       down
 *   f(BitCast(q))                        -> BitCast(f(q))                 down
 *   Quantize(f(x, y))                    -> f(Quantize(x), Quantize(y))   up
 *
 * All operands of f that have the type of the moved value must be converted from one quantized type
 * (down); what stands around a Pad becomes c', if it is such a number exactly. f may have several
 * results, which all are converted.
 *
 * Down is exact for usual types (quantized.h): their integers have the order of the numbers, and
 * equal ones are the same. Up is exact for movement alone, since selection treats a NaN, which
 * Quantize makes the offset, in its own way. A conversion does not move if that moves more bytes
 * than before. */
#include <math.h>

#include "transforms/quantized.h"
#include "transforms/rules.h"

/* Whether the port has the type of the operand that the clause names. */
static bool is_tied(const GlowOpDesc *d, const GlowOpPort *port) {
  const GlowOpPort *x = &d->in[d->quant_in];
  if (port->type == GLOW_PORT_VAR)
    return x->type == GLOW_PORT_VAR && port->var == x->var;
  return port == x || port == &d->out[d->quant_out];
}

static bool is_tied_in(const GlowNode *n, uint32_t i) {
  return is_tied(glow_node_desc(n), glow_op_in_port(glow_node_desc(n), i));
}
static bool is_tied_out(const GlowNode *n, uint32_t i) {
  return is_tied(glow_node_desc(n), glow_op_out_port(glow_node_desc(n), i));
}

static bool moves(const GlowNode *n) {
  return glow_node_quant_form(n) == GLOW_QUANT_SAME && !n->nregions && n->nresults > 0;
}

/* Elements of v, or the bound of that; -1 if there is none. */
static int64_t elements(const GlowValue *v) {
  return glow_type_is_bounded(v->type) ? glow_type_elements(v->type) : -1;
}

/* ---- Down ------------------------------------------------------------------------------------ */

/* The conversion from a usual type that v is, with the predicate of `user`; NULL if it is none. A
 * 16-bit float would lack digits that integers have. */
static GlowNode *conversion(const GlowValue *v, const GlowNode *user) {
  GlowNode *n = glow_match(v, GLOW_OP_DEQUANTIZE, user);
  if (!n)
    n = glow_match(v, GLOW_OP_BIT_CAST, user);
  if (n && n->op == GLOW_OP_DEQUANTIZE && ((const GlowDequantizeMembers *)n->members)->steps)
    return NULL;
  bool keeps = n && (n->op == GLOW_OP_BIT_CAST || glow_kind_info[v->type->kind].bits >= 32);
  bool fits = keeps && !v->type->quantized && glow_quantization_is_usual(glow_node_in(n, 0)->type);
  return fits ? n : NULL;
}

/* What f's tied operands have in common. */
typedef struct Down {
  GlowNode *first;        /* the conversion of one of them */
  const GlowType *stored; /* the type that it reads */
} Down;

static bool find_down(const GlowNode *n, Down *d) {
  *d = (Down){0};
  for (uint32_t i = 0; i < n->noperands; i++) {
    const GlowValue *v = glow_node_in(n, i);
    GlowNode *c = v && is_tied_in(n, i) ? conversion(v, n) : NULL;
    if (!c)
      continue;
    const GlowType *t = glow_node_in(c, 0)->type;
    if (d->first && (d->first->op != c->op || !glow_quantization_is_same(d->stored, t) ||
                     d->first->results[0].type->kind != v->type->kind))
      return false;
    if (!d->first)
      *d = (Down){c, t};
  }
  return d->first != NULL;
}

/* The number that v, a scalar beside converted values, stands for as a value of the quantized type;
 * NULL if there is no such stored integer. An absent value of a Pad is 0. */
static GlowValue *scalar_of(GlowBuilder *b, const Down *d, const GlowValue *v) {
  GlowScalar s = {.f = 0};
  if (v && (!glow_type_is_tensor(v->type) || v->type->rank || !glow_value_splat(v, &s)))
    return NULL;
  const GlowType *t = d->stored;
  double real = s.is_int ? (double)s.i : s.f;
  if (d->first->op == GLOW_OP_BIT_CAST) /* the integer itself */
    real = (double)(float)(((float)real - (float)t->offset) * t->scale);
  else if ((double)((float)(glow_stored_of(t, (float)real) - t->offset) * t->scale) != real ||
           (real == 0 && signbit(real)))
    return NULL;
  t = glow_type_with_quant(b->module->ctx, glow_type_scalar(b->module->ctx, t->kind), true,
                           t->scale, t->offset);
  GlowSplatMembers m = {.value = {.f = real}};
  GlowNodeSpec spec = {.op = GLOW_OP_SPLAT, .members = &m, .types = &t};
  GlowNode *splat = glow_node_create(b, &spec);
  return splat ? &splat->results[0] : NULL;
}

/* Whether n needs a value at input i though it may be absent on other types. */
static bool needs_value(const GlowNode *n, uint32_t i) {
  return n->op == GLOW_OP_PAD && i == GLOW_PAD_IN_VALUE &&
         ((const GlowPadMembers *)n->members)->mode == GLOW_PAD_MODE_CONSTANT;
}

/* How many operands n has with those that it needs. */
static uint32_t operands(const GlowNode *n) {
  bool value = needs_value(n, GLOW_PAD_IN_VALUE) && n->noperands <= GLOW_PAD_IN_VALUE;
  return value ? GLOW_PAD_IN_VALUE + 1 : n->noperands;
}

/* n's operands with stored integers in place of what was converted. NULL if one has none. */
static GlowValue **stored_operands(GlowPassRun *run, GlowBuilder *b, const GlowNode *n,
                                   const Down *d, uint32_t count) {
  GlowValue **ins = GLOW_NEW_ARRAY(run->arena, GlowValue *, count);
  for (uint32_t i = 0; i < count; i++) {
    GlowValue *v = glow_node_in(n, i);
    ins[i] = v;
    if (v ? !is_tied_in(n, i) : !needs_value(n, i))
      continue;
    const GlowNode *c = v ? conversion(v, n) : NULL;
    ins[i] = c ? glow_node_in(c, 0) : scalar_of(b, d, v);
    if (!ins[i])
      return NULL;
  }
  return ins;
}

/* Bytes that are read and written before and after; a conversion that others use stays. Sizes are
 * those of 8-bit integers and floats. */
static bool down_pays(const GlowNode *n) {
  int64_t before = 0, after = 0;
  for (uint32_t i = 0; i < n->noperands; i++) {
    const GlowValue *v = glow_node_in(n, i);
    if (!v || !is_tied_in(n, i) || !conversion(v, n))
      continue;
    int64_t count = elements(v);
    if (count < 0)
      return true; /* it is as large as the result, for all that is known */
    before += 9 * count;
    after += glow_value_has_one_use(v) ? count : 6 * count;
  }
  for (uint32_t i = 0; i < n->nresults; i++) {
    int64_t count = elements(&n->results[i]);
    if (count < 0)
      return true;
    before += 4 * count;
    after += 6 * count;
  }
  return after <= before;
}

/* The same conversion as `like` of x. */
static GlowValue *converted(GlowBuilder *b, const GlowNode *like, GlowValue *x,
                            const GlowType *type) {
  GlowNodeSpec spec = {
      .op = like->op, .ins = &x, .nins = 1, .members = like->members, .types = &type};
  GlowNode *n = glow_node_create(b, &spec);
  return n ? &n->results[0] : NULL;
}

/* Replaces n by itself on stored integers, with its results converted, if that pays. */
static void sink(GlowPassRun *run, GlowNode *n) {
  Down d;
  if (!find_down(n, &d) || !down_pays(n))
    return;
  uint32_t first_new = run->module->next_id, count = operands(n);
  GlowBuilder b = glow_builder_before(n);
  GlowValue **ins = stored_operands(run, &b, n, &d, count);
  GlowNodeSpec spec = {
      .op = n->op, .ins = ins, .nins = count, .members = n->members, .nresults = n->nresults};
  GlowNode *below = ins ? glow_node_create(&b, &spec) : NULL;
  GlowValue **values = GLOW_NEW_ARRAY(run->arena, GlowValue *, n->nresults);
  for (uint32_t i = 0; below && i < n->nresults; i++) {
    GlowValue *v = &below->results[i];
    values[i] = is_tied_out(n, i) ? converted(&b, d.first, v, n->results[i].type) : v;
    if (!values[i])
      below = NULL;
  }
  if (below)
    glow_replace_all(run, n, values, "moved a conversion from quantized values down");
  else
    glow_remove_dead_since(n->block, first_new);
}

/* ---- Up -------------------------------------------------------------------------------------- */

static bool up_pays(const GlowNode *f) {
  int64_t before = 9 * elements(&f->results[0]), after = elements(&f->results[0]);
  for (uint32_t i = 0; i < f->noperands; i++) {
    const GlowValue *v = glow_node_in(f, i);
    int64_t count = v && is_tied_in(f, i) ? elements(v) : 0;
    if (count < 0 || before < 0)
      return true;
    before += 4 * count;
    after += 6 * count;
  }
  return after <= before;
}

/* x, or 0 if there is none, as the type that q makes. */
static GlowValue *quantized(GlowBuilder *b, const GlowNode *q, GlowValue *x) {
  const GlowType *t = q->results[0].type;
  if (!x)
    x = glow_build_scalar(b, glow_node_in(q, 0)->type->kind, 0);
  return x ? converted(b, q, x,
                       glow_type_with_quant(b->module->ctx,
                                            glow_type_with_kind(b->module->ctx, x->type, t->kind),
                                            true, t->scale, t->offset))
           : NULL;
}

/* Moves the Quantize q above the node that it reads. The new ones join `todo`. */
typedef GLOW_VEC(GlowNode *) Nodes;
static void lift(GlowPassRun *run, GlowNode *q, Nodes *todo) {
  const GlowValue *x = glow_node_in(q, 0);
  GlowNode *f = x->kind == GLOW_VALUE_RESULT ? x->def.node : NULL;
  if (!f || ((const GlowQuantizeMembers *)q->members)->steps || !moves(f) ||
      !GLOW_HAS(glow_node_desc(f), MOVEMENT) || f->nresults != 1 ||
      f->pred.value != q->pred.value || f->block != q->block || !glow_value_has_one_use(x) ||
      !up_pays(f))
    return;
  uint32_t count = operands(f), first_new = run->module->next_id;
  GlowBuilder b = glow_builder_before(q);
  GlowValue **ins = GLOW_NEW_ARRAY(run->arena, GlowValue *, count);
  bool ok = true;
  for (uint32_t i = 0; ok && i < count; i++) {
    ins[i] = glow_node_in(f, i);
    if (ins[i] ? is_tied_in(f, i) : needs_value(f, i)) {
      ins[i] = quantized(&b, q, ins[i]);
      ok = ins[i] != NULL;
      if (ok)
        glow_vec_push(run->arena, todo, ins[i]->def.node);
    }
  }
  const GlowType *t = q->results[0].type;
  GlowNodeSpec spec = {.op = f->op,
                       .ins = ins,
                       .nins = count,
                       .members = f->members,
                       .types = &t,
                       .nresults = f->nresults};
  GlowNode *above = ok ? glow_node_create(&b, &spec) : NULL;
  if (above)
    glow_replace_by(run, q, &above->results[0], "moved Quantize up");
  else
    glow_remove_dead_since(q->block, first_new);
}

/* ---- The pass -------------------------------------------------------------------------------- */

static bool go_down(GlowNode *n, void *arg) {
  if (moves(n))
    sink(arg, n);
  return true;
}

typedef struct Lifts {
  GlowPassRun *run;
  Nodes todo;
} Lifts;

static bool collect(GlowNode *n, void *arg) {
  Lifts *l = arg;
  if (n->op == GLOW_OP_QUANTIZE)
    glow_vec_push(l->run->arena, &l->todo, n);
  return true;
}

bool glow_pass_sink_quantize(GlowPassRun *run) {
  unsigned errors = glow_context_error_count(run->ctx);
  glow_block_walk(run->function->body, go_down, run);
  Lifts l = {.run = run};
  glow_block_walk(run->function->body, collect, &l);
  while (l.todo.count)
    lift(run, l.todo.data[--l.todo.count], &l.todo);
  return glow_context_error_count(run->ctx) == errors;
}
