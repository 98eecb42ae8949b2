/* Control flow whose course is known.
 *
 *   If with equal regions, or Not in its condition   -> the region; the regions exchanged
 *   If that yields the same value from both regions  -> that value
 *   Loop that carries a value without changing it    -> the value itself
 *   Loop that stacks a value twice                   -> once
 *   Loop that never runs                             -> its initial values
 *   Loop or Scan that runs a known, small number of times -> its body, so often
 *
 * trips=N is the largest number of iterations that are unrolled (4), nodes=N the largest number of
 * copied nodes of one loop (64), literals and the yield not counted. One iteration is always
 * unrolled. An If on a constant condition is left to -constant-fold. */
#include "ir/loop.h"
#include "transforms/pieces.h"
#include "transforms/rules.h"

typedef struct Control {
  GlowPassRun *run;
  int64_t trips, nodes;
} Control;

static GlowNode *end_of(const GlowNode *n, uint32_t region) {
  return glow_block_terminator(n->regions[region]);
}

/* ---- If -------------------------------------------------------------------------------------- */

static bool swap_if_not(GlowPassRun *run, GlowNode *n) {
  const GlowNode *not_node = glow_match(glow_node_in(n, GLOW_IF_IN_COND), GLOW_OP_NOT, n);
  if (!not_node)
    return false;
  glow_pass_changed(run, n, "exchanged the regions of an If on Not");
  GlowBlock *first = n->regions[0], *second = n->regions[1];
  GlowStr label = first->label;
  first->label = second->label;
  second->label = label;
  n->regions[0] = second;
  n->regions[1] = first;
  glow_use_set(&n->operands[GLOW_IF_IN_COND], glow_node_in(not_node, 0));
  return true;
}

static bool join_equal_regions(GlowPassRun *run, GlowNode *n) {
  if (n->pred.value || !glow_blocks_compute_same(n->regions[0], n->regions[1]))
    return false;
  glow_pass_changed(run, n, "both regions of the If are the same");
  GlowNode *end = end_of(n, 0);
  while (n->regions[0]->first != end)
    glow_node_move_before(n->regions[0]->first, n);
  GlowValue **values = GLOW_NEW_ARRAY(run->arena, GlowValue *, n->nresults);
  for (uint32_t i = 0; i < n->nresults; i++)
    values[i] = end->operands[i].value;
  glow_node_replace(n, values, n->nresults);
  return true;
}

static void join_equal_yields(GlowPassRun *run, GlowNode *n) {
  for (uint32_t i = 0; i < n->nresults; i++) {
    GlowValue *v = end_of(n, 0)->operands[i].value;
    if (v != end_of(n, 1)->operands[i].value || !n->results[i].uses)
      continue;
    glow_pass_changed(run, n, "both regions of the If yield '%s'", v->name);
    glow_value_replace_uses(&n->results[i], v);
  }
}

/* ---- How often a loop runs ------------------------------------------------------------------- */

static int64_t scan_trips(const GlowNode *n) {
  const GlowScanMembers *m = n->members;
  uint32_t first = n->noperands - m->num_scan;
  const GlowType *t = glow_node_in(n, first)->type;
  int64_t axis = m->in_axes.count ? glow_array_at(m->in_axes, int64_t, 0) : 0;
  if (!glow_type_is_static(t))
    return -1;
  return t->dims[axis < 0 ? axis + t->rank : axis].size;
}

/* ---- Unrolling ------------------------------------------------------------------------------- */

/* One loop that is being unrolled. */
typedef struct Unroll {
  GlowPassRun *run;
  GlowNode *n;
  GlowBuilder b;
  int64_t trips;
  uint32_t carried, first; /* values that the body yields before those it carries */
  GlowValue **state;       /* carried */
  GlowValue **slices;      /* of stacked results: trips each */
} Unroll;

static GlowValue *constant(GlowModule *m, const GlowNode *n, GlowKind kind, int64_t v) {
  if (kind == GLOW_KIND_I64)
    return glow_constant_int(m, n, "at", v);
  GlowInit init = {.kind = GLOW_INIT_SPLAT, .splat = {.is_int = true, .i = v, .f = (double)v}};
  GlowStr name = glow_str_printf(m->ctx, "%s.go", n->results[0].name ? n->results[0].name : "c");
  return &glow_storage_create(m, GLOW_CONSTANT, name, glow_type_scalar(m->ctx, kind), init)->value;
}

/* Slice `at` of scanned operand i, without the axis. */
static GlowValue *scanned(Unroll *u, uint32_t i, int64_t at) {
  const GlowScanMembers *m = u->n->members;
  GlowValue *x = glow_node_in(u->n, u->carried + i);
  int64_t axis = m->in_axes.count ? glow_array_at(m->in_axes, int64_t, i) : 0;
  uint32_t k = (uint32_t)(axis < 0 ? axis + x->type->rank : axis);
  GlowPiece p = glow_piece_whole(x);
  bool reverse = m->in_reverse.count && glow_array_at(m->in_reverse, bool, i);
  p.start[k] = reverse ? u->trips - 1 - at : at;
  p.size[k] = 1;
  GlowValue *slice = glow_piece_build(&u->b, u->n, &p);
  GlowDim dims[GLOW_MAX_RANK];
  for (uint32_t d = 0, out = 0; d < x->type->rank; d++)
    if (d != k)
      dims[out++] = x->type->dims[d];
  return slice ? glow_build_reshape(&u->b, u->n, slice, x->type->rank - 1, dims) : NULL;
}

/* Maps the body's parameters to their values in iteration `at`. */
static bool bind_params(Unroll *u, GlowMap *map, int64_t at) {
  GlowBlock *body = u->n->regions[0];
  GlowModule *m = u->run->module;
  uint32_t first = 0;
  if (u->n->op == GLOW_OP_LOOP) {
    first = 2;
    if (body->params[0]->uses)
      glow_map_set(map, body->params[0], constant(m, u->n, GLOW_KIND_I64, at));
    if (body->params[1]->uses)
      glow_map_set(map, body->params[1], constant(m, u->n, GLOW_KIND_BOOL, 1));
  }
  for (uint32_t i = 0; i < u->carried; i++)
    glow_map_set(map, body->params[first + i], u->state[i]);
  for (uint32_t i = first + u->carried; i < body->nparams; i++) {
    GlowValue *slice = scanned(u, i - u->carried, at);
    if (!slice)
      return false;
    glow_map_set(map, body->params[i], slice);
  }
  return true;
}

static bool run_iteration(Unroll *u, int64_t at) {
  GlowMap *map = glow_map_create(u->run->arena);
  GlowNode *end = end_of(u->n, 0);
  if (!bind_params(u, map, at))
    return false;
  for (const GlowNode *n = u->n->regions[0]->first; n != end; n = n->next)
    glow_node_renumber(glow_node_clone(&u->b, n, map));
  for (uint32_t i = 0; i < u->n->nresults; i++) {
    GlowValue *v = end->operands[u->first + i].value, *copy = glow_map_get(map, v);
    v = copy ? copy : v;
    if (i < u->carried)
      u->state[i] = v;
    else
      u->slices[(i - u->carried) * u->trips + at] = v;
  }
  return true;
}

/* Stacked result i: its slices with a new axis, one after the other. */
static GlowValue *stack(Unroll *u, uint32_t i) {
  const GlowScanMembers *m = u->n->op == GLOW_OP_SCAN ? u->n->members : NULL;
  const GlowType *t = u->n->results[u->carried + i].type;
  int64_t axis = m && m->out_axes.count ? glow_array_at(m->out_axes, int64_t, i) : 0;
  uint32_t k = (uint32_t)(axis < 0 ? axis + t->rank : axis);
  bool reverse = m && m->out_reverse.count && glow_array_at(m->out_reverse, bool, i);
  GlowValue **parts = GLOW_NEW_ARRAY(u->run->arena, GlowValue *, (size_t)u->trips);
  for (int64_t at = 0; at < u->trips; at++) {
    GlowValue *slice = u->slices[i * u->trips + (reverse ? u->trips - 1 - at : at)];
    GlowDim dims[GLOW_MAX_RANK];
    memcpy(dims, t->dims, sizeof dims);
    dims[k] = GLOW_EXACT(1);
    parts[at] = glow_build_reshape(&u->b, u->n, slice, t->rank, dims);
    if (!parts[at])
      return NULL;
  }
  if (u->trips == 1)
    return parts[0];
  GlowConcatMembers members = {.axis = k};
  GlowNode *all = glow_build(&u->b, GLOW_OP_CONCAT, parts, (uint32_t)u->trips, &members, NULL);
  return all ? &all->results[0] : NULL;
}

/* Whether values of this type can be cut and stacked. */
static bool can_move(const GlowType *t) {
  return glow_type_is_static(t) && !t->layout && glow_op_moves(GLOW_OP_SLICE, t) &&
         glow_op_moves(GLOW_OP_RESHAPE, t) && glow_op_moves(GLOW_OP_CONCAT, t);
}

/* Whether copies of the body can take the place of n: values that are scanned or stacked have known
 * extents, and carried values have the type of their result. */
static bool can_unroll(const Control *c, const GlowNode *n, int64_t trips, uint32_t carried) {
  int64_t nodes = 0;
  const GlowBlock *body = n->regions[0];
  for (const GlowNode *inner = body->first; inner != end_of(n, 0); inner = inner->next)
    nodes += inner->nregions ? c->nodes + 1 : inner->op != GLOW_OP_SPLAT;
  if (trips < 0 || n->pred.value || trips > (c->trips > 1 ? c->trips : 1) ||
      (trips > 1 && nodes * trips > c->nodes))
    return false;
  for (uint32_t i = carried; i < n->nresults; i++)
    if (!can_move(n->results[i].type) || trips == 0)
      return false;
  for (uint32_t i = carried; n->op == GLOW_OP_SCAN && i < n->noperands; i++)
    if (!can_move(glow_node_in(n, i)->type))
      return false;
  return true;
}

static bool unroll(const Control *c, GlowNode *n) {
  bool loop = n->op == GLOW_OP_LOOP;
  Unroll u = {.run = c->run, .n = n, .b = glow_builder_before(n), .first = loop ? 1 : 0};
  u.carried = n->regions[0]->nparams - (loop ? 2 : ((const GlowScanMembers *)n->members)->num_scan);
  u.trips = loop ? glow_loop_trips(n) : scan_trips(n);
  if (!can_unroll(c, n, u.trips, u.carried))
    return false;
  u.state = GLOW_NEW_ARRAY(c->run->arena, GlowValue *, u.carried + 1);
  u.slices = GLOW_NEW_ARRAY(c->run->arena, GlowValue *, (n->nresults + 1) * (size_t)(u.trips + 1));
  for (uint32_t i = 0; i < u.carried; i++)
    u.state[i] = glow_node_in(n, i + (loop ? 2 : 0));
  for (int64_t at = 0; at < u.trips; at++)
    if (!run_iteration(&u, at))
      return false;
  GlowValue **values = GLOW_NEW_ARRAY(c->run->arena, GlowValue *, n->nresults);
  for (uint32_t i = 0; i < n->nresults; i++) {
    values[i] = i < u.carried ? u.state[i] : stack(&u, i - u.carried);
    if (!values[i])
      return false;
  }
  glow_pass_changed(c->run, n, "unrolled %s: it runs %lld times", glow_node_desc(n)->node,
                    (long long)u.trips);
  glow_node_replace(n, values, n->nresults);
  return true;
}

/* ---- Values that a loop does not change ------------------------------------------------------ */

static void drop_invariant(GlowPassRun *run, GlowNode *n) {
  GlowBlock *body = n->regions[0];
  for (uint32_t i = 2; i < body->nparams; i++) {
    GlowValue *param = body->params[i], *init = glow_node_in(n, i), *result = &n->results[i - 2];
    if (end_of(n, 0)->operands[i - 1].value != param || (!param->uses->next && !result->uses) ||
        init->type != param->type || init->type != result->type)
      continue;
    glow_pass_changed(run, n, "'%%%s' does not change in the Loop", param->name);
    glow_value_replace_uses(result, init);
    glow_value_replace_uses(param, init);
    glow_use_set(&end_of(n, 0)->operands[i - 1], param);
  }
}

/* Of stacked results whose slices are the same value, the first one serves the uses of all. */
static void join_stacks(GlowPassRun *run, GlowNode *n) {
  const GlowNode *end = end_of(n, 0);
  for (uint32_t i = n->regions[0]->nparams - 2; i < n->nresults; i++)
    for (uint32_t k = i + 1; k < n->nresults; k++) {
      GlowValue *first = &n->results[i], *other = &n->results[k];
      if (!other->uses || first->type != other->type ||
          end->operands[i + 1].value != end->operands[k + 1].value)
        continue;
      glow_pass_changed(run, n, "'%%%s' stacks what '%%%s' does", other->name, first->name);
      glow_value_replace_uses(other, first);
    }
}

/* Gives a carried parameter the type that its initial value and its next value share. */
static void narrow_params(GlowPassRun *run, GlowNode *n) {
  GlowBlock *body = n->regions[0];
  for (uint32_t i = 2; i < body->nparams; i++) {
    GlowValue *param = body->params[i];
    const GlowType *t = glow_node_in(n, i)->type;
    const GlowValue *next = end_of(n, 0)->operands[i - 1].value;
    if (t == param->type || (next->type != t && next != param) ||
        glow_type_fit(t, param->type) != GLOW_FIT_NARROWER)
      continue;
    glow_pass_changed(run, n, "'%%%s' has the type of its initial value", param->name);
    param->type = t;
  }
}

static bool simplify(GlowNode *n, void *arg) {
  const Control *c = arg;
  if (n->op == GLOW_OP_IF) {
    swap_if_not(c->run, n);
    if (!join_equal_regions(c->run, n))
      join_equal_yields(c->run, n);
  } else if (n->op == GLOW_OP_LOOP && !unroll(c, n)) {
    narrow_params(c->run, n);
    drop_invariant(c->run, n);
    join_stacks(c->run, n);
  } else if (n->op == GLOW_OP_SCAN) {
    unroll(c, n);
  }
  return true;
}

bool glow_pass_simplify_control(GlowPassRun *run) {
  bool ok = true;
  Control c = {.run = run};
  c.trips = glow_pass_option_int(run, "trips", 4, &ok);
  c.nodes = ok ? glow_pass_option_int(run, "nodes", 64, &ok) : 0;
  unsigned errors = glow_context_error_count(run->ctx);
  if (ok)
    glow_block_walk(run->function->body, simplify, &c);
  return ok && glow_context_error_count(run->ctx) == errors;
}
