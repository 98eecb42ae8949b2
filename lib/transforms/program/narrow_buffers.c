/* Narrow buffers: a buffer of floats that only ever holds values of float16, or of bfloat16, is
 * stored in 16 bits.
 *
 *   %t = alloc float<..>                            %t = alloc float16<..>
 *   convolution @out %t, .. ^epilogue(%acc) = {     convolution @out %t, .. ^epilogue(%acc) = {
 *     %0 = Cast(%acc) {to = float16}                  %0 = Cast(%acc) {to = float16}
 *     %1 = Cast(%0) {to = float}                      yield %0
 *     yield %1                                      }
 *   }
 *   convolution @out %y, @in %t, ..                 convolution @out %y, @in %t, ..
 *
 * What writes the buffer must end in a rounding, or in what makes of rounded values no others
 * (`rounds(never)`, movement), and the buffers that it moves from become narrow together with this
 * one. What touches it must convert by itself: a scalar body by Cast, an operand by a `stored`
 * clause; and the target must have kernels for that. An element-wise instruction alone becomes a
 * stack. Kinds are tried one after the other: float16, then bfloat16.
 *
 * A constant that was cast to float is read as it was before where the target's kernel is faster
 * so: in products of few rows, which take as long as their weights take from memory.
 *
 * Exact: what is stored has the value that was computed, and is converted back before anything is
 * computed with it. */
#include "num/half.h"
#include "target/target.h"
#include "transforms/programs.h"

typedef struct Buffer {
  GlowValue *alloc;
  bool narrow; /* as far as is known: starts true */
} Buffer;

typedef struct Narrowing {
  GlowPassRun *run;
  const GlowTarget *target;
  GlowKind kind; /* the one that is tried */
  GLOW_VEC(Buffer *) buffers;
  GlowMap *by_alloc;
  GlowMap *constants; /* to those of 16 bits */
} Narrowing;

/* ---- Rounded values -------------------------------------------------------------------------- */

/* Whether a buffer, or the one that a view lies in, may become narrow. */
static bool is_narrow(const Narrowing *s, const GlowValue *v) {
  const Buffer *b = glow_map_get(s->by_alloc, glow_value_span(v).root);
  return b && b->narrow;
}

static bool is_float(const GlowValue *v) {
  const GlowType *t = v->type;
  return glow_type_is_tensor(t) && t->kind == GLOW_KIND_FLOAT && !t->quantized;
}

static bool holds(GlowKind kind, float v) {
  uint16_t bits = kind == GLOW_KIND_FLOAT16 ? glow_half_from_float(v) : glow_bfloat_from_float(v);
  return (kind == GLOW_KIND_FLOAT16 ? glow_half_to_float(bits) : glow_bfloat_to_float(bits)) == v;
}

/* The buffer whose elements parameter p of n's scalar body stands for; NULL: what n computes. */
static const GlowValue *buffer_of(const GlowNode *n, const GlowValue *p) {
  if (glow_node_desc(n)->body)
    return glow_node_in(n, p->index);
  return p->index < n->nouts ? NULL
                             : n->operands[n->noperands - n->nextra + p->index - n->nouts].value;
}

/* Whether value v of n's scalar body is rounded; its nodes before v are marked. */
static bool is_rounded(const Narrowing *s, const GlowNode *n, const GlowValue *v) {
  if (v->kind != GLOW_VALUE_PARAM)
    return v->def.node->scratch != NULL;
  const GlowValue *buffer = buffer_of(n, v);
  return buffer && is_float(buffer) && is_narrow(s, buffer);
}

/* The same of what node m of the body computes. */
static bool makes_rounded(const Narrowing *s, const GlowNode *n, const GlowNode *m) {
  if (!m->nresults || !is_float(&m->results[0]))
    return false;
  if (m->op == GLOW_OP_CAST)
    return glow_node_in(m, GLOW_CAST_IN_X)->type->kind == s->kind;
  if (m->op == GLOW_OP_SPLAT)
    return holds(s->kind, (float)((const GlowSplatMembers *)m->members)->value.f);
  bool rounded = GLOW_HAS(glow_node_desc(m), ROUNDS_NEVER);
  for (uint32_t i = 0; i < glow_node_nins(m) && rounded; i++) {
    const GlowValue *x = glow_node_in(m, i);
    rounded = !x || !is_float(x) || is_rounded(s, n, x);
  }
  return rounded;
}

/* Whether n, which has a scalar body, writes rounded values into output i. */
static bool yields_rounded(const Narrowing *s, const GlowNode *n, uint32_t i) {
  const GlowBlock *body = glow_node_epilogue(n);
  const GlowNode *end = glow_block_terminator(body);
  for (GlowNode *m = body->first; m != end; m = m->next)
    m->scratch = makes_rounded(s, n, m) ? m : NULL;
  return is_rounded(s, n, end->operands[i].value);
}

/* ---- Who may touch a narrow buffer ----------------------------------------------------------- */

/* Whether the kind of n's result is what a member says. */
static bool says_kind(const GlowOpDesc *d) {
  for (uint32_t i = 0; i < d->nmembers; i++)
    if (d->members[i].type == GLOW_MEMBER_KIND)
      return true;
  return false;
}

/* Whether n moves or selects elements, all of them between buffers that may become narrow. */
static bool moves_narrow(const Narrowing *s, const GlowNode *n) {
  const GlowOpDesc *d = glow_node_desc(n);
  bool reads = false;
  if (n->nregions || says_kind(d) || !(GLOW_HAS(d, MOVEMENT) || GLOW_HAS(d, ROUNDS_NEVER)))
    return false;
  for (uint32_t i = 0; i < n->noperands; i++) {
    const GlowValue *v = n->operands[i].value;
    const GlowOpPort *port =
        i < n->nouts ? glow_op_out_port(d, i) : glow_op_in_port(d, i - n->nouts);
    const bool takes =
        port->type == GLOW_PORT_ANY ||
        (port->type == GLOW_PORT_VAR && (d->vars[port->var].kinds & GLOW_KIND_BIT(s->kind)));
    if (!v || (i >= n->nouts && glow_type_is_tensor(v->type) && !is_float(v)))
      continue;
    if (!is_float(v) || !is_narrow(s, v) || !takes)
      return false;
    reads |= i >= n->nouts;
  }
  return reads;
}

/* Whether n is an element-wise instruction that can become a stack. */
static bool is_alone(const GlowNode *n) {
  return !glow_node_desc(n)->body && glow_scalar_can_hold(n);
}

/* Whether n, which is_alone, writes rounded values only. */
static bool computes_rounded(const Narrowing *s, const GlowNode *n) {
  if (n->op == GLOW_OP_CAST)
    return glow_node_in(n, GLOW_CAST_IN_X)->type->kind == s->kind;
  bool rounded = GLOW_HAS(glow_node_desc(n), ROUNDS_NEVER);
  for (uint32_t i = 0; i < glow_node_nins(n) && rounded; i++) {
    const GlowValue *x = glow_node_in(n, i);
    rounded = !x || !is_float(x) || is_narrow(s, x);
  }
  return rounded;
}

/* Whether n converts elements of input i. */
static bool reads(const Narrowing *s, const GlowNode *n, uint32_t i) {
  const GlowOpDesc *d = glow_node_desc(n);
  if (i >= n->noperands - n->nextra || d->body || is_alone(n))
    return true;
  if (i - n->nouts >= glow_node_nins(n))
    return false;
  const GlowValue *w = glow_node_nins(n) > 1 ? glow_node_in(n, 1) : NULL;
  return i == n->nouts && w && is_float(w) &&
         (glow_op_in_port(d, 0)->stored & GLOW_KIND_BIT(s->kind));
}

/* Whether n converts what it stores into output i, and only makes rounded values. */
static bool writes(const Narrowing *s, const GlowNode *n, uint32_t i) {
  const GlowOpDesc *d = glow_node_desc(n);
  if ((d->body || d->epilogue == (int)i) && glow_node_epilogue(n))
    return yields_rounded(s, n, i);
  return is_alone(n) && computes_rounded(s, n);
}

static bool fits(const Narrowing *s, const GlowValue *v) {
  for (const GlowUse *u = v->uses; u; u = u->next) {
    const GlowNode *n = u->user;
    if (n->op == GLOW_OP_DEALLOC)
      continue;
    if (n->op == GLOW_OP_TENSORVIEW) {
      if (!fits(s, &n->results[0]))
        return false;
      continue;
    }
    if (u == &n->pred || u->qual == GLOW_QUAL_INOUT || !glow_node_is_instr(n))
      return false;
    const uint32_t i = (uint32_t)(u - n->operands);
    if (!glow_target_stores(s->target, n, i, s->kind) ||
        !(moves_narrow(s, n) || (u->qual == GLOW_QUAL_OUT ? writes(s, n, i) : reads(s, n, i))))
      return false;
  }
  return true;
}

static bool find_buffer(GlowNode *n, void *arg) {
  Narrowing *s = arg;
  if (n->op != GLOW_OP_ALLOC || !is_float(&n->results[0]))
    return true;
  Buffer *b = GLOW_NEW(s->run->arena, Buffer);
  *b = (Buffer){&n->results[0], true};
  glow_vec_push(s->run->arena, &s->buffers, b);
  glow_map_set(s->by_alloc, b->alloc, b);
  return true;
}

/* Leaves as narrow what stays so while all others do; returns how many. */
static uint32_t settle(Narrowing *s) {
  uint32_t count = s->buffers.count;
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t i = 0; i < s->buffers.count; i++) {
      Buffer *b = s->buffers.data[i];
      if (!b->narrow || fits(s, b->alloc))
        continue;
      b->narrow = false;
      changed = true;
      count--;
    }
  }
  return count;
}

/* ---- The rewrite ----------------------------------------------------------------------------- */

static GlowValue *cast(GlowBuilder *b, GlowValue *v, GlowKind to) {
  const GlowCastMembers m = {.to = to};
  return glow_build1(b, GLOW_OP_CAST, v, &m, NULL);
}

/* Gives the parameter for a narrow buffer its kind, and its readers the float. */
static void widen_param(const Narrowing *s, GlowBlock *body, GlowValue *p) {
  GlowContext *ctx = body->module->ctx;
  GlowBuilder b = glow_builder_before(body->first);
  const GlowType *type = glow_type_with_kind(ctx, p->type, s->kind);
  GlowValue *stands_in = glow_block_add_param(body, NULL, p->type);
  glow_value_replace_uses(p, stands_in);
  p->type = type;
  glow_value_replace_uses(stands_in, cast(&b, p, GLOW_KIND_FLOAT));
  glow_block_remove_param(body, body->nparams - 1);
}

/* Lets a body yield v in 16 bits. */
static void narrow_yield(const Narrowing *s, GlowUse *yielded) {
  GlowNode *def = glow_value_def(yielded->value, GLOW_OP_CAST);
  GlowBuilder b = glow_builder_before(yielded->user);
  GlowValue *from = def ? glow_node_in(def, GLOW_CAST_IN_X) : NULL;
  glow_use_set(yielded,
               from && from->type->kind == s->kind ? from : cast(&b, yielded->value, s->kind));
  if (def)
    glow_remove_dead(def);
}

/* The stack that does what n does; NULL after a diagnostic. */
static GlowNode *make_stack(const Narrowing *s, GlowNode *n) {
  GlowScalarBody body = glow_scalar_begin(s->run->module, s->run->arena, "body");
  GlowValue **outs = GLOW_NEW_ARRAY(s->run->arena, GlowValue *, n->nouts);
  GlowValue **values = GLOW_NEW_ARRAY(s->run->arena, GlowValue *, n->nouts);
  if (!glow_scalar_apply(&body, n))
    return NULL;
  for (uint32_t i = 0; i < n->nouts; i++) {
    outs[i] = n->operands[i].value;
    values[i] = glow_scalar_value(&body, outs[i]);
  }
  glow_build_terminator(body.body, GLOW_OP_YIELD, values, n->nouts);
  GlowBuilder b = glow_builder_before(n);
  GlowNodeSpec spec = {.op = GLOW_OP_STACK,
                       .outs = outs,
                       .nouts = n->nouts,
                       .ins = body.inputs.data,
                       .nins = body.inputs.count,
                       .regions = &body.body,
                       .nregions = 1};
  GlowNode *stack = glow_node_create(&b, &spec);
  if (stack)
    glow_node_remove(n);
  return stack;
}

/* Converts in the bodies around narrow buffers. */
static bool convert(const Narrowing *s, GlowNode *n) {
  bool touches = false;
  for (uint32_t i = 0; i < n->noperands && !touches; i++) {
    const GlowValue *v = n->operands[i].value;
    touches = v && is_float(v) && is_narrow(s, v);
  }
  if (!touches || (is_alone(n) && !(n = make_stack(s, n))))
    return !touches;
  GlowBlock *body = glow_node_epilogue(n);
  if (!body)
    return true;
  for (uint32_t i = 0; i < body->nparams; i++) {
    const GlowValue *buffer = buffer_of(n, body->params[i]);
    if (buffer && is_float(buffer) && is_narrow(s, buffer))
      widen_param(s, body, body->params[i]);
  }
  for (uint32_t i = 0; i < n->nouts; i++)
    if (n->operands[i].value && is_narrow(s, n->operands[i].value))
      narrow_yield(s, &glow_block_terminator(body)->operands[i]);
  return true;
}

static bool convert_block(const Narrowing *s, GlowBlock *b) {
  for (GlowNode *n = b->first, *next; n; n = next) {
    next = n->next;
    for (uint32_t i = 0; i < n->nregions; i++)
      if (n->regions[i] && !n->regions[i]->scalar && !convert_block(s, n->regions[i]))
        return false;
    if (!convert(s, n))
      return false;
  }
  return true;
}

/* ---- Weights --------------------------------------------------------------------------------- */

/* What constant v is a Cast of, perhaps in another layout, if that is of the kind; else NULL. */
static GlowValue *uncast(const Narrowing *s, GlowValue *v) {
  GlowValue *x = glow_eval_inside(v);
  GlowNode *relayout = glow_value_def(x, GLOW_OP_RELAYOUT);
  x = relayout ? glow_eval_inside(glow_node_in(relayout, 0)) : x;
  GlowNode *cast = glow_value_def(x, GLOW_OP_CAST);
  GlowValue *from = cast ? glow_node_in(cast, GLOW_CAST_IN_X) : NULL;
  return from && from->type->kind == s->kind ? from : NULL;
}

/* A constant of the elements of `from` in the layout of v. NULL after a diagnostic. */
static GlowValue *lay_out(const Narrowing *s, const GlowValue *v, GlowValue *from,
                          const GlowNode *n) {
  GlowContext *ctx = s->run->ctx;
  const GlowType *t = glow_type_with_kind(ctx, v->type, s->kind);
  GlowEval e = glow_eval_create(s->run->module, s->run->arena, n);
  GlowValue *x = glow_eval_copy(&e, from);
  GlowNodeSpec spec = {.op = GLOW_OP_RELAYOUT, .ins = &x, .nins = 1, .types = &t};
  GlowNode *relayout = x->type == t ? NULL : glow_node_create(&e.builder, &spec);
  if (x->type != t && !relayout)
    return NULL;
  GlowStr name = glow_str_printf(ctx, "%s.%s", v->name, glow_kind_info[s->kind].name);
  return &glow_eval_finish(&e, relayout ? &relayout->results[0] : x, name)->value;
}

/* Lets n read the constant of use u as it was before it was cast. */
static bool narrow_constant(Narrowing *s, GlowNode *n, GlowUse *u) {
  GlowValue *v = u->value, *from = uncast(s, v);
  if (!from)
    return true;
  glow_pass_changed(s->run, n, "%s reads @%s in %s", glow_node_desc(n)->instr, v->name,
                    glow_kind_info[s->kind].name);
  GlowValue *narrow = glow_map_get(s->constants, v);
  if (!narrow && !(narrow = lay_out(s, v, from, n)))
    return false;
  glow_map_set(s->constants, v, narrow);
  glow_use_set(u, narrow);
  if (!v->uses)
    glow_storage_remove(v->def.storage);
  return true;
}

static bool narrow_constants(GlowNode *n, void *arg) {
  Narrowing *s = arg;
  const GlowOpDesc *d = glow_node_desc(n);
  bool ok = true;
  for (uint32_t i = 0; i < d->nin && i < glow_node_nins(n) && n->nouts && ok; i++) {
    const GlowValue *v = glow_node_in(n, i);
    if (v && v->kind == GLOW_VALUE_STORAGE && v->def.storage->cls == GLOW_CONSTANT && is_float(v) &&
        is_float(glow_node_in(n, 0)) && (d->in[i].stored & GLOW_KIND_BIT(s->kind)) &&
        glow_target_stores(s->target, n, n->nouts + i, s->kind))
      ok = narrow_constant(s, n, &n->operands[n->nouts + i]);
  }
  return ok;
}

/* Gives a buffer and the views of it the kind. */
static void retype(const Narrowing *s, GlowValue *v) {
  v->type = glow_type_with_kind(s->run->ctx, v->type, s->kind);
  for (GlowUse *u = v->uses; u; u = u->next)
    if (u->user->op == GLOW_OP_TENSORVIEW)
      retype(s, &u->user->results[0]);
}

static bool narrow_all(Narrowing *s, GlowKind kind, int64_t *bytes) {
  GlowPassRun *run = s->run;
  s->kind = kind;
  s->buffers.count = 0;
  s->by_alloc = glow_map_create(run->arena);
  s->constants = glow_map_create(run->arena);
  if (!glow_block_walk(run->function->body, narrow_constants, s))
    return false;
  glow_block_walk(run->function->body, find_buffer, s);
  if (!settle(s))
    return true;
  glow_program_begin_change(run);
  glow_pass_begin_batch(run);
  bool ok = convert_block(s, run->function->body);
  for (uint32_t i = 0; i < s->buffers.count && ok; i++) {
    GlowValue *v = s->buffers.data[i]->alloc;
    if (!s->buffers.data[i]->narrow)
      continue;
    int64_t before = glow_buffer_bytes(v->type);
    retype(s, v);
    *bytes += before < 0 ? 0 : before - glow_buffer_bytes(v->type);
    glow_pass_changed(run, v->def.node, "all that it holds is %s", glow_kind_info[kind].name);
  }
  glow_pass_end_batch(run);
  return ok;
}

bool glow_pass_narrow_buffers(GlowPassRun *run) {
  Narrowing s = {.run = run, .target = glow_target_asked(run->module)};
  int64_t bytes = 0;
  uint64_t before = run->changes;
  bool ok = narrow_all(&s, GLOW_KIND_FLOAT16, &bytes) && narrow_all(&s, GLOW_KIND_BFLOAT16, &bytes);
  glow_program_saved(run, run->changes - before, "buffers", bytes);
  return ok;
}
