/* What passes on programs share: see programs.h. */
#include "transforms/programs.h"

void glow_buffer_remove(GlowValue *alloc) {
  glow_node_remove(glow_buffer_dealloc(alloc));
  glow_node_remove(alloc->def.node);
}

void glow_buffer_keep_until(GlowValue *base, GlowNode *n) {
  GlowNode *alloc = glow_value_def(base, GLOW_OP_ALLOC);
  GlowNode *end = alloc ? glow_buffer_dealloc(base) : NULL;
  if (!end)
    return;
  while (n->block != alloc->block)
    n = n->block->of.node;
  if (end->order > n->order)
    return;
  GlowBuilder b = {.module = n->block->module, .block = n->block, .before = n->next};
  b.src = end->src;
  GlowNode *moved = glow_build(&b, GLOW_OP_DEALLOC, &base, 1, NULL, NULL);
  moved->order = n->order;
  glow_node_remove(end);
}

static bool forget_offset(GlowNode *n, void *arg) {
  (void)arg;
  if (n->op == GLOW_OP_ALLOC)
    ((GlowAllocMembers *)n->members)->at = -1;
  return true;
}

void glow_program_drop_plan(GlowFunction *program) {
  glow_block_walk(program->body, forget_offset, NULL);
  program->arena = program->align = -1;
}

void glow_program_begin_change(GlowPassRun *run) {
  glow_pass_check_limit(run);
  if (!run->changes)
    glow_program_drop_plan(run->function);
}

void glow_program_saved(GlowPassRun *run, uint64_t count, const char *what, int64_t bytes) {
  if (count)
    glow_pass_remark(run, run->function->src, "@%s: %llu %s, %lld bytes saved", run->function->name,
                     (unsigned long long)count, what, (long long)bytes);
}

bool glow_instr_can_drop(const GlowNode *n, uint32_t i) {
  const GlowOpDesc *d = glow_node_desc(n);
  return GLOW_HAS(d, PURE) && n->operands[i].value && n->operands[i].qual == GLOW_QUAL_OUT &&
         (glow_op_out_port(d, i)->flags & GLOW_PORT_OPTIONAL);
}

void glow_instr_drop(GlowPassRun *run, GlowNode *n, uint32_t i) {
  const GlowOpDesc *d = glow_node_desc(n);
  glow_pass_changed(run, n, "nothing reads %s of %s", glow_op_out_port(d, i)->name, d->instr);
  glow_use_set(&n->operands[i], NULL);
}

/* ---- Moving work from one place to another --------------------------------------------------- */

/* Whether v stays as it is between n and `to`. */
static bool stays_until(const GlowValue *v, const GlowNode *n, const GlowNode *to) {
  return !v || n->next == to ||
         !glow_span_accessed(n->next, to->prev, glow_value_span(v), GLOW_WRITES);
}

bool glow_instr_can_move_down(const GlowNode *n, const GlowNode *to) {
  for (uint32_t i = n->nouts; i < n->noperands; i++)
    if (!stays_until(n->operands[i].value, n, to))
      return false;
  return stays_until(n->pred.value, n, to);
}

/* Whether no input of n but `link` overlaps `out`. */
static bool reads_apart(const GlowNode *n, const GlowValue *link, const GlowValue *out) {
  GlowSpan span = glow_value_span(out);
  for (uint32_t i = n->nouts; i < n->noperands; i++) {
    const GlowValue *v = n->operands[i].value;
    if (v && v != link && glow_spans_overlap(glow_value_span(v), span))
      return false;
  }
  return true;
}

GlowNode *glow_instr_producer(const GlowNode *n, GlowValue *link) {
  GlowValue *out = n->operands[0].value;
  GlowBufferUses uses = {0};
  if (glow_buffer_is_plain_alloc(link))
    uses = glow_buffer_uses(link);
  GlowNode *c = uses.writer && uses.reader && !uses.others ? uses.writer->user : NULL;
  bool fits = c && c->nouts == 1 && c->block == n->block && c->pred.value == n->pred.value &&
              glow_instr_can_move_down(c, n) && reads_apart(c, NULL, out) &&
              reads_apart(n, link, out);
  return fits ? c : NULL;
}

/* Lets all buffers that n touches live until after `to`, which has the same predicate. */
static void keep_buffers(const GlowNode *n, GlowNode *to) {
  for (uint32_t i = 0; i < n->noperands; i++)
    if (n->operands[i].value)
      glow_buffer_keep_until(glow_buffer_base(n->operands[i].value), to);
}

void glow_instr_replace_pair(GlowNode *producer, GlowNode *n, GlowNode *fused) {
  fused->order = n->order;
  keep_buffers(producer, fused);
  glow_node_remove(n);
  glow_node_remove(producer);
}

void glow_instr_remove_into(GlowNode *n, GlowNode *fused) {
  GlowValue *out = n->operands[0].value;
  keep_buffers(n, fused);
  glow_node_remove(n);
  glow_buffer_remove(out);
}

/* ---- Scalar bodies --------------------------------------------------------------------------- */

const GlowType *glow_scalar_type(GlowContext *ctx, const GlowType *t) {
  return glow_type_with_dims(ctx, t, 0, NULL);
}

uint32_t glow_scalar_steps(const GlowNode *n) {
  const GlowBlock *body = glow_node_epilogue(n);
  uint32_t steps = 0;
  for (const GlowNode *step = body ? body->first : NULL; step; step = step->next)
    steps++;
  return steps ? steps : 1;
}

/* Whether one loop visits the elements of an operand beside those of the result: it has them in the
 * same layout, or, if it is an input, broadcasts. A limit of Clip may have more axes. */
static bool goes_along(const GlowType *t, const GlowType *out, bool input) {
  if (!glow_type_is_known(t) || t->rank > out->rank)
    return false;
  bool same = t->rank == out->rank && !memcmp(t->dims, out->dims, t->rank * sizeof *t->dims);
  return same ? t->layout == out->layout : input && (!t->layout || out->layout);
}

bool glow_scalar_can_hold(const GlowNode *n) {
  const GlowOpDesc *d = glow_node_desc(n);
  if (!GLOW_HAS(d, ELEMENTWISE) || !n->nouts)
    return false;
  bool is_cast = !d->has_scalar && !d->body;
  for (uint32_t i = 0; i < n->noperands; i++) {
    const GlowValue *v = n->operands[i].value;
    if (v && (!goes_along(v->type, n->operands[0].value->type, i >= n->nouts) ||
              (is_cast && !glow_kind_is_data(v->type->kind))))
      return false;
  }
  return true;
}

/* The splat instruction that alone fills a buffer of rank 0. NULL if there is none. */
static const GlowNode *filler_of(GlowValue *v) {
  if (v->type->rank != 0 || !glow_buffer_is_plain_alloc(v))
    return NULL;
  const GlowNode *splat = NULL;
  for (const GlowUse *u = v->uses; u; u = u->next) {
    if (u->qual == GLOW_QUAL_IN || u->user->op == GLOW_OP_DEALLOC)
      continue;
    if (splat || u->user->op != GLOW_OP_SPLAT || u->user->pred.value)
      return NULL;
    splat = u->user;
  }
  return splat;
}

/* Whether v is one number that is known now. Code that has the number in it is better than code
 * that loads it: it need not ask, for example, whether a limit is NaN or zero. */
static bool is_literal(GlowValue *v, GlowScalar *value) {
  const GlowNode *splat = filler_of(v);
  if (splat)
    *value = ((const GlowSplatMembers *)splat->members)->value;
  return splat || (v->kind == GLOW_VALUE_STORAGE && glow_type_elements(v->type) == 1 &&
                   (glow_op_desc[GLOW_OP_SPLAT].vars[0].kinds & GLOW_KIND_BIT(v->type->kind)) &&
                   glow_value_splat(v, value));
}

GlowValue *glow_scalar_value(const GlowScalarBody *s, const GlowValue *buffer) {
  for (uint32_t i = 0; i < s->values.count; i++)
    if (s->values.data[i].buffer == buffer)
      return s->values.data[i].value;
  return NULL;
}

void glow_scalar_define(GlowScalarBody *s, const GlowValue *buffer, GlowValue *value) {
  for (uint32_t i = 0; i < s->values.count; i++)
    if (s->values.data[i].buffer == buffer) {
      s->values.data[i].value = value;
      return;
    }
  glow_vec_push(s->arena, &s->values, ((GlowScalarValue){buffer, value}));
}

/* The value of buffer v inside the body: what the body computed, a literal, or the parameter for
 * this buffer, which is added if there is none yet. */
static GlowValue *scalar_input(GlowScalarBody *s, GlowValue *v) {
  GlowContext *ctx = s->body->module->ctx;
  GlowValue *known = glow_scalar_value(s, v);
  if (known)
    return known;
  GlowSplatMembers literal = {0};
  if (is_literal(v, &literal.value)) {
    const GlowType *type = glow_scalar_type(ctx, v->type);
    GlowBuilder b = glow_builder_at_end(s->body);
    GlowNodeSpec spec = {.op = GLOW_OP_SPLAT, .members = &literal, .types = &type};
    GlowNode *n = glow_node_create(&b, &spec);
    return n ? &n->results[0] : NULL;
  }
  for (uint32_t i = 0; i < s->inputs.count; i++)
    if (s->inputs.data[i] == v)
      return s->body->params[s->first_param + i];
  glow_vec_push(s->arena, &s->inputs, v);
  return glow_block_add_param(s->body, NULL, glow_scalar_type(ctx, v->type));
}

GlowScalarBody glow_scalar_begin(GlowModule *m, GlowArena *arena, const char *label) {
  GlowScalarBody s = {.arena = arena};
  s.body = glow_block_create(m, GLOW_LEVEL_GRAPH, NULL, glow_str(m->ctx, label));
  s.body->scalar = true;
  return s;
}

GlowScalarBody glow_scalar_continue(GlowArena *arena, GlowNode *stack) {
  GlowScalarBody s = {.body = glow_node_epilogue(stack), .arena = arena};
  GlowNode *end = glow_block_terminator(s.body);
  for (uint32_t i = 0; i < glow_node_nins(stack); i++)
    glow_vec_push(arena, &s.inputs, glow_node_in(stack, i));
  for (uint32_t i = 0; i < stack->nouts; i++)
    glow_scalar_define(&s, stack->operands[i].value, end->operands[i].value);
  glow_node_remove(end);
  stack->regions[stack->nregions - 1] = NULL;
  return s;
}

void glow_scalar_inline(GlowScalarBody *s, const GlowBlock *body, GlowValue *const *args,
                        GlowValue **values) {
  GlowMap *map = glow_map_create(s->arena);
  GlowBuilder b = glow_builder_at_end(s->body);
  for (uint32_t i = 0; i < body->nparams; i++)
    glow_map_set(map, body->params[i], args[i]);
  const GlowNode *end = glow_block_terminator(body);
  for (const GlowNode *n = body->first; n != end; n = n->next)
    glow_node_renumber(glow_node_clone(&b, n, map));
  for (uint32_t i = 0; i < end->noperands; i++) {
    GlowValue *v = end->operands[i].value, *mapped = glow_map_get(map, v);
    values[i] = mapped ? mapped : v;
  }
}

/* What n computes of its operands' elements. A quantized result has the parameters of n's output.
 */
static GlowNode *build_scalar(GlowBuilder *b, const GlowNode *n, GlowValue *const *args,
                              uint32_t nins) {
  const GlowType *y = n->operands[0].value->type;
  if (!y->quantized)
    return glow_build(b, n->op, args, nins, n->members, NULL);
  const GlowType *type = glow_scalar_type(b->module->ctx, y);
  return glow_node_create(
      b, &(GlowNodeSpec){
             .op = n->op, .ins = args, .nins = nins, .members = n->members, .types = &type});
}

bool glow_scalar_apply(GlowScalarBody *s, const GlowNode *n) {
  uint32_t nins = glow_node_nins(n);
  GlowValue **args = GLOW_NEW_ARRAY(s->arena, GlowValue *, nins);
  GlowValue **values = GLOW_NEW_ARRAY(s->arena, GlowValue *, n->nouts);
  for (uint32_t i = 0; i < nins; i++) {
    GlowValue *v = glow_node_in(n, i);
    args[i] = v ? scalar_input(s, v) : NULL;
    if (v && !args[i])
      return false;
  }
  if (glow_node_desc(n)->body) {
    glow_scalar_inline(s, glow_node_epilogue(n), args, values);
  } else {
    GlowBuilder b = glow_builder_at_end(s->body);
    b.src = n->src;
    b.origin = n->origin;
    GlowNode *scalar = build_scalar(&b, n, args, nins);
    if (!scalar)
      return false;
    values[0] = &scalar->results[0];
  }
  for (uint32_t i = 0; i < n->nouts; i++)
    glow_scalar_define(s, n->operands[i].value, values[i]);
  return true;
}
