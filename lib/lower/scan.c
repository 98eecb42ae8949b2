/* Scan is a Loop over the extent of what it scans:
 *
 *   Loop(T) ^body(i, go, states...): slice k is Gather(x_k, i), or Gather(x_k, T - 1 - i) backwards
 *
 * A stacked result has the new axis in front; a Transpose moves the axis, a Slice turns it round.
 * The nodes of the body are copied, and their names go to the copies. */
#include "lower/lower.h"
#include "ops/lower.h"

typedef struct Rule {
  GlowBuilder *b;
  const GlowNode *n;
  const GlowScanMembers *m;
  uint32_t states;        /* how many; operands and results begin with them */
  GlowValue *trip, *last; /* T, and T - 1 if an operand is read backwards */
} Rule;

static bool flag(GlowArray list, uint32_t i) {
  return i < list.count && glow_array_at(list, bool, i);
}

static uint32_t axis_of(GlowArray list, uint32_t i, uint32_t rank) {
  int64_t axis = i < list.count ? glow_array_at(list, int64_t, i) : 0;
  return (uint32_t)(axis < 0 ? axis + rank : axis);
}

static GlowValue *scanned(const Rule *r, uint32_t k) { return glow_node_in(r->n, r->states + k); }

static bool can_gather(const GlowType *t) {
  return glow_type_is_tensor(t) && !t->unranked && !t->layout &&
         glow_kind_info[t->kind].cls != GLOW_CLASS_STRING;
}

/* Whether the types say enough. */
static bool applies(const Rule *r) {
  for (uint32_t k = 0; k < r->m->num_scan; k++)
    if (!can_gather(scanned(r, k)->type))
      return false;
  for (uint32_t i = r->states; i < r->n->nresults; i++)
    if (!can_gather(r->n->results[i].type))
      return false;
  return true;
}

static uint32_t scanned_axis(const Rule *r, uint32_t k) {
  return axis_of(r->m->in_axes, k, scanned(r, k)->type->rank);
}

/* T, after a check at run time that operand k has as many slices: an If with a Fail in its other
 * branch. NULL after a diagnostic. */
static GlowValue *checked_steps(const Rule *r, uint32_t k) {
  GlowContext *ctx = r->b->module->ctx;
  GlowBuilder b;
  GlowValue *x = scanned(r, k), *trip = r->trip;
  GlowValue *same =
      glow_then2(r->b, GLOW_OP_EQUAL, trip, glow_build_extent(r->b, r->n, x, scanned_axis(r, k)));
  GlowBlock *blocks[2];
  blocks[0] = glow_build_region(r->b, "then", &b);
  blocks[1] = glow_build_region(r->b, "else", &b);
  GlowStr why = glow_str_printf(
      ctx, "operand %u of Scan has another number of slices than the others", r->states + k);
  GlowValue *none = glow_build_fail(&b, why, trip->type);
  glow_build_terminator(blocks[0], GLOW_OP_YIELD, &trip, 1);
  glow_build_terminator(blocks[1], GLOW_OP_YIELD, &none, 1);
  GlowNode *n = same && none ? glow_node_create(r->b, &(GlowNodeSpec){.op = GLOW_OP_IF,
                                                                      .ins = &same,
                                                                      .nins = 1,
                                                                      .regions = blocks,
                                                                      .nregions = 2,
                                                                      .nresults = 1})
                             : NULL;
  return n ? &n->results[0] : NULL;
}

/* Sets r->trip to T, the extent of the first operand whose extent is known, else of the first
 * operand. Operands of unknown extents are checked at run time. Sets r->last if an operand needs
 * it. */
static bool count_steps(Rule *r) {
  uint32_t from = 0, count = r->m->num_scan;
  bool backwards = false;
  for (uint32_t k = count; k-- > 0;) {
    if (scanned(r, k)->type->dims[scanned_axis(r, k)].kind == GLOW_DIM_EXACT)
      from = k;
    backwards |= flag(r->m->in_reverse, k);
  }
  GlowValue *x = scanned(r, from);
  uint32_t axis = scanned_axis(r, from);
  r->trip = glow_build_extent(r->b, r->n, x, axis);
  for (uint32_t k = 0; r->trip && k < count; k++)
    if (k != from && scanned(r, k)->type->dims[scanned_axis(r, k)].kind != GLOW_DIM_EXACT)
      r->trip = checked_steps(r, k);
  if (!r->trip || !backwards)
    return r->trip != NULL;
  GlowDim steps = x->type->dims[axis];
  r->last =
      steps.kind == GLOW_DIM_EXACT
          ? glow_constant_int(r->b->module, r->n, "last", steps.size - 1)
          : glow_then2(r->b, GLOW_OP_SUB, r->trip, glow_constant_int(r->b->module, r->n, "one", 1));
  return r->last != NULL;
}

/* Takes the name away from a value of the Scan's body, so that another value can have it. */
static GlowStr take_name(GlowValue *v) {
  GlowStr name = v->name;
  if (name)
    glow_value_set_name(v, NULL);
  return name;
}

/* Slice number `iteration` of scanned operand k, at b. NULL after a diagnostic. */
static GlowValue *slice(const Rule *r, GlowBuilder *b, GlowValue *iteration, uint32_t k) {
  GlowContext *ctx = b->module->ctx;
  GlowValue *x = scanned(r, k), *param = r->n->regions[0]->params[r->states + k];
  if (flag(r->m->in_reverse, k))
    iteration = glow_then2(b, GLOW_OP_SUB, r->last, iteration);
  GlowGatherMembers members = {.axis = axis_of(r->m->in_axes, k, x->type->rank)};
  GlowNode *part = iteration ? glow_build(b, GLOW_OP_GATHER, (GlowValue *[]){x, iteration}, 2,
                                          &members, take_name(param))
                             : NULL;
  if (!part)
    return NULL;
  const GlowType *claim = glow_type_meet(ctx, part->results[0].type, param->type);
  part->results[0].type = claim ? claim : part->results[0].type;
  return &part->results[0];
}

/* Copies the nodes of the Scan's body to the end of `to`, up to the terminator. */
static void copy_nodes(const Rule *r, GlowBlock *to, GlowMap *map) {
  GlowBuilder b = glow_builder_at_end(to);
  const GlowNode *end = glow_block_terminator(r->n->regions[0]);
  for (const GlowNode *n = r->n->regions[0]->first; n != end; n = n->next) {
    GlowStr *names = GLOW_NEW_ARRAY(to->module->arena, GlowStr, n->nresults + 1);
    for (uint32_t i = 0; i < n->nresults; i++)
      names[i] = take_name(&n->results[i]);
    GlowNode *copy = glow_node_clone(&b, n, map);
    for (uint32_t i = 0; i < n->nresults; i++)
      if (names[i])
        glow_value_set_name(&copy->results[i], names[i]);
  }
}

/* The body of the Loop. NULL after a diagnostic. */
static GlowBlock *make_body(const Rule *r) {
  GlowModule *m = r->b->module;
  GlowContext *ctx = m->ctx;
  const GlowBlock *from = r->n->regions[0];
  const GlowNode *end = glow_block_terminator(from);
  GlowMap *map = glow_map_create(m->arena);
  GlowBuilder b;
  GlowBlock *to = glow_build_region(r->b, "body", &b);
  GlowValue *iteration = glow_block_add_param(to, NULL, glow_type_scalar(ctx, GLOW_KIND_I64));
  GlowValue *go = glow_block_add_param(to, NULL, glow_type_scalar(ctx, GLOW_KIND_BOOL));
  for (uint32_t i = 0; i < from->nparams; i++) {
    GlowValue *param = from->params[i];
    GlowValue *value = i < r->states ? glow_block_add_param(to, take_name(param), param->type)
                                     : slice(r, &b, iteration, i - r->states);
    if (!value)
      return NULL;
    glow_map_set(map, param, value);
  }
  copy_nodes(r, to, map);
  GlowValue **yields = GLOW_NEW_ARRAY(m->arena, GlowValue *, end->noperands + 1);
  yields[0] = go;
  for (uint32_t i = 0; i < end->noperands; i++) {
    GlowValue *v = end->operands[i].value, *copy = glow_map_get(map, v);
    yields[i + 1] = copy ? copy : v;
  }
  glow_build_terminator(to, GLOW_OP_YIELD, yields, end->noperands + 1)->src = end->src;
  return to;
}

/* The type of stacked result i with the new axis, which is `axis`, in front. */
static const GlowType *stacked_type(const Rule *r, uint32_t i, uint32_t axis) {
  const GlowType *t = r->n->results[i].type;
  GlowDim dims[GLOW_MAX_RANK];
  dims[0] = t->dims[axis];
  for (uint32_t a = 1; a < t->rank; a++)
    dims[a] = t->dims[a - (a <= axis)];
  return glow_type_with_dims(r->b->module->ctx, t, t->rank, dims);
}

static GlowNode *make_loop(const Rule *r) {
  GlowModule *m = r->b->module;
  GlowBlock *body = make_body(r);
  if (!body)
    return NULL;
  GlowValue **ins = GLOW_NEW_ARRAY(m->arena, GlowValue *, r->states + 2);
  const GlowType **types = GLOW_NEW_ARRAY(m->arena, const GlowType *, r->n->nresults);
  ins[GLOW_LOOP_IN_TRIP] = r->trip;
  for (uint32_t i = 0; i < r->states; i++)
    ins[GLOW_LOOP_IN_INIT + i] = glow_node_in(r->n, i);
  for (uint32_t i = 0; i < r->n->nresults; i++) {
    const GlowType *t = r->n->results[i].type;
    types[i] =
        i < r->states ? t : stacked_type(r, i, axis_of(r->m->out_axes, i - r->states, t->rank));
  }
  return glow_node_create(r->b, &(GlowNodeSpec){.op = GLOW_OP_LOOP,
                                                .ins = ins,
                                                .nins = r->states + GLOW_LOOP_IN_INIT,
                                                .types = types,
                                                .regions = &body,
                                                .nregions = 1,
                                                .nresults = r->n->nresults});
}

/* Stacked result i from the Loop's. */
static GlowValue *finish(const Rule *r, GlowValue *stack, uint32_t i) {
  uint32_t k = i - r->states, rank = stack->type->rank;
  uint32_t axis = axis_of(r->m->out_axes, k, rank), perm[GLOW_MAX_RANK];
  if (flag(r->m->out_reverse, k))
    stack = glow_build_part(r->b, r->n, stack, 0, -1, INT64_MIN, -1);
  if (!stack || axis == 0)
    return stack;
  for (uint32_t a = 0; a < rank; a++)
    perm[a] = a < axis ? a + 1 : a == axis ? 0 : a;
  return glow_build_permuted(r->b, stack, perm, rank);
}

bool glow_lower_scan(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  Rule r = {.b = b, .n = n, .m = n->members};
  r.states = n->noperands - r.m->num_scan;
  if (!applies(&r) || !count_steps(&r))
    return false;
  GlowNode *loop = make_loop(&r);
  for (uint32_t i = 0; loop && i < n->nresults; i++) {
    results[i] = i < r.states ? &loop->results[i] : finish(&r, &loop->results[i], i);
    if (!results[i])
      return false;
  }
  return loop != NULL;
}
