/* Stacks: element-wise instructions over the same extents become one loop over the elements.
 *
 *   %t = alloc;  add @out %t, @in %a, @in %b;  relu @out %y, @in %t;  dealloc %t
 *     becomes    stack @out %y, @in %a, @in %b ^body(..) = { Add, Relu }
 *   add @out %t, @in %a, @in %b;  relu @out %t, @in %t
 *     becomes    stack @out %t, @in %a, @in %b ^body(..) = { Add, Relu }
 *   add @out %t, @in %a, @in %b;  relu @out %y, @in %t;  convolution .., @in %t, ..
 *     becomes    stack @out %t, @out %y, @in %a, @in %b ^body(..) = { Add, Relu };  convolution ..
 *
 * A producer writes a buffer that a consumer, behind it in the same block, reads element by
 * element. The work of the producer moves down to the consumer, so nothing in between may touch
 * what the producer writes, or write what it reads. A buffer that nothing else uses disappears. A
 * result of the producer that the consumer overwrites is not stored; one that others read is stored
 * beside the consumer's result.
 *
 * First the pass joins all pairs between which a buffer disappears, wherever they stand. Then it
 * joins the other pairs, unless a buffer that the producer reads would have to live longer. Each
 * step in the body rounds as its instruction did. A body has at most GLOW_MAX_STEPS steps. */
#include "target/target.h"
#include "transforms/programs.h"

/* A stack gets at most MAX_OUTPUTS outputs. A producer whose buffer does not disappear is looked
 * for at most NEAR nodes before its consumer. */
enum { MAX_OUTPUTS = 4, NEAR = 64 };

typedef struct Stacks {
  GlowPassRun *run;
  const GlowTarget *target;
  bool all; /* join pairs between which no buffer disappears, too */
  uint64_t count;
  int64_t bytes;
} Stacks;

/* ---- Pairs ----------------------------------------------------------------------------------- */

static bool is_output(const GlowNode *n, const GlowValue *v) {
  for (uint32_t i = 0; i < n->nouts; i++)
    if (n->operands[i].value == v)
      return true;
  return false;
}

/* The producer that alone writes v, if v is a buffer that only n reads: it would disappear. */
static GlowNode *sole_writer(const GlowValue *v, const GlowNode *n) {
  GlowNode *writer = NULL;
  if (!glow_buffer_is_plain_alloc(v))
    return NULL;
  for (const GlowUse *u = v->uses; u; u = u->next) {
    if (u->user->op == GLOW_OP_DEALLOC)
      continue;
    if (u == &u->user->pred || u->user->op == GLOW_OP_TENSORVIEW ||
        (u->qual == GLOW_QUAL_OUT ? writer != NULL || u->user == n : u->user != n))
      return NULL;
    if (u->qual == GLOW_QUAL_OUT)
      writer = u->user;
  }
  return writer;
}

/* The last node before n that touches v, if it is near. */
static GlowNode *last_access(const GlowNode *n, const GlowValue *v) {
  GlowSpan span = glow_value_span(v);
  GlowNode *m = n->prev;
  for (int distance = 0; m && distance < NEAR; m = m->prev, distance++)
    if (glow_instr_access(m, span))
      return m;
  return NULL;
}

/* Whether a and b are the same elements or have none in common. */
static bool same_or_apart(const GlowValue *a, const GlowValue *b) {
  return !a || a == b || !glow_spans_overlap(glow_value_span(a), glow_value_span(b));
}

/* Whether one loop may do what p does to an element, then what n does to it: what either writes,
 * the other touches at the same element or not at all. */
static bool element_by_element(const GlowNode *p, const GlowNode *n) {
  for (uint32_t i = 0; i < p->noperands; i++)
    for (uint32_t k = 0; k < n->noperands; k++)
      if ((i < p->nouts || k < n->nouts) && p->operands[i].value &&
          !same_or_apart(n->operands[k].value, p->operands[i].value))
        return false;
  for (uint32_t i = 0; i < p->nouts; i++)
    if (n->pred.value && !same_or_apart(n->pred.value, p->operands[i].value))
      return false;
  return true;
}

/* Whether nothing between p and n touches what p writes. */
static bool stays_untouched(const GlowNode *p, const GlowNode *n) {
  for (uint32_t i = 0; i < p->nouts && p->next != n; i++)
    if (glow_span_accessed(p->next, n->prev, glow_value_span(p->operands[i].value),
                           GLOW_READS | GLOW_WRITES))
      return false;
  return true;
}

/* Whether there is nothing but declarations between p and n. */
static bool is_next(const GlowNode *p, const GlowNode *n) {
  const GlowNode *m = p->next;
  while (m != n && (m->op == GLOW_OP_ALLOC || m->op == GLOW_OP_DEALLOC ||
                    m->op == GLOW_OP_TENSORVIEW || m->op == GLOW_OP_SPLAT))
    m = m->next;
  return m == n;
}

/* Whether no buffer of p would have to live longer if p moved to n; always true if only
 * declarations stand between them. */
static bool lives_until(const GlowNode *p, const GlowNode *n) {
  if (is_next(p, n))
    return true;
  for (uint32_t i = 0; i < p->noperands; i++) {
    GlowValue *v = p->operands[i].value;
    const GlowValue *base = v ? glow_buffer_base(v) : NULL;
    const GlowNode *end =
        base && glow_buffer_is_plain_alloc(base) ? glow_buffer_dealloc(base) : NULL;
    if (end && end->order <= n->order)
      return false;
  }
  return true;
}

/* Whether output `out` of p still has to be stored if n follows p in the same loop. */
static bool is_kept(const GlowNode *p, uint32_t out, const GlowNode *n) {
  const GlowValue *v = p->operands[out].value;
  return !is_output(n, v) && sole_writer(v, n) != p;
}

static bool can_stack(const Stacks *s, const GlowNode *p, const GlowNode *n) {
  uint32_t outputs = n->nouts;
  bool frees = false;
  const char *why;
  for (uint32_t i = 0; i < p->nouts; i++) {
    outputs += is_kept(p, i, n);
    frees |= sole_writer(p->operands[i].value, n) == p;
  }
  return (frees || (s->all && lives_until(p, n))) && outputs <= MAX_OUTPUTS &&
         glow_scalar_steps(p) + glow_scalar_steps(n) <= GLOW_MAX_STEPS &&
         element_by_element(p, n) && stays_untouched(p, n) && glow_instr_can_move_down(p, n) &&
         glow_target_fuses(s->target, p, n, &why);
}

static GlowNode *find_producer(const Stacks *s, const GlowNode *n) {
  const GlowType *out = n->operands[0].value->type;
  for (uint32_t i = n->nouts; i < n->noperands; i++) {
    const GlowValue *v = n->operands[i].value;
    if (!v || v->type->rank != out->rank ||
        memcmp(v->type->dims, out->dims, out->rank * sizeof *out->dims) != 0)
      continue;
    GlowNode *p = sole_writer(v, n);
    if (!p && s->all)
      p = last_access(n, v);
    if (p && p->block == n->block && p->pred.value == n->pred.value && is_output(p, v) &&
        glow_scalar_can_hold(p) && can_stack(s, p, n))
      return p;
  }
  return NULL;
}

/* ---- The rewrite ----------------------------------------------------------------------------- */

typedef struct Outputs {
  GlowValue *buffers[MAX_OUTPUTS], *values[MAX_OUTPUTS];
  uint32_t count;
  GLOW_VEC(GlowValue *) freed;
} Outputs;

static void add_output(Outputs *outs, const GlowScalarBody *s, GlowValue *buffer) {
  outs->values[outs->count] = glow_scalar_value(s, buffer);
  outs->buffers[outs->count++] = buffer;
}

static Outputs outputs_of(const GlowScalarBody *s, const GlowNode *p, const GlowNode *n) {
  Outputs outs = {0};
  for (uint32_t i = 0; i < p->nouts; i++) {
    GlowValue *v = p->operands[i].value;
    if (is_kept(p, i, n))
      add_output(&outs, s, v);
    else if (!is_output(n, v))
      glow_vec_push(s->arena, &outs.freed, v);
  }
  for (uint32_t i = 0; i < n->nouts; i++)
    add_output(&outs, s, n->operands[i].value);
  return outs;
}

static GlowNode *stack(Stacks *s, GlowNode *p, GlowNode *n) {
  GlowPassRun *run = s->run;
  glow_program_begin_change(run);
  bool goes_on = p->op == GLOW_OP_STACK;
  GlowScalarBody body = goes_on ? glow_scalar_continue(run->arena, p)
                                : glow_scalar_begin(run->module, run->arena, "body");
  if ((!goes_on && !glow_scalar_apply(&body, p)) || !glow_scalar_apply(&body, n))
    return NULL;
  Outputs outs = outputs_of(&body, p, n);
  glow_build_terminator(body.body, GLOW_OP_YIELD, outs.values, outs.count);
  GlowBuilder b = glow_builder_before(n);
  GlowNodeSpec spec = {.op = GLOW_OP_STACK,
                       .outs = outs.buffers,
                       .nouts = outs.count,
                       .ins = body.inputs.data,
                       .nins = body.inputs.count,
                       .regions = &body.body,
                       .nregions = 1};
  GlowNode *fused = glow_node_create(&b, &spec);
  if (!fused)
    return NULL;
  glow_pass_changed(run, n, "stacked %s on %s", glow_node_desc(n)->instr, glow_node_desc(p)->instr);
  glow_instr_replace_pair(p, n, fused);
  for (uint32_t i = 0; i < outs.freed.count; i++) {
    s->count++;
    s->bytes += glow_type_bytes(outs.freed.data[i]->type);
    glow_buffer_remove(outs.freed.data[i]);
  }
  return fused;
}

static bool stack_block(Stacks *s, GlowBlock *b) {
  for (GlowNode *n = b->first; n; n = n->next) {
    for (uint32_t i = 0; i < n->nregions; i++)
      if (n->regions[i] && !n->regions[i]->scalar && !stack_block(s, n->regions[i]))
        return false;
    GlowNode *p;
    while (glow_scalar_can_hold(n) && (p = find_producer(s, n)))
      if (!(n = stack(s, p, n)))
        return false;
  }
  return true;
}

bool glow_pass_stack(GlowPassRun *run) {
  Stacks s = {.run = run, .target = glow_target_asked(run->module)};
  glow_function_number(run->function);
  bool ok = stack_block(&s, run->function->body);
  s.all = true;
  ok = ok && stack_block(&s, run->function->body);
  glow_program_saved(run, s.count, "buffers", s.bytes);
  return ok;
}
