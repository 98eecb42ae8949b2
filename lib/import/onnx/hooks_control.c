/* Control flow: If, Loop and Scan. */
#include <string.h>

#include "import/onnx/hooks.h"
#include "import/onnx/subgraph.h"

/* ---- If, Loop ------------------------------------------------------------------------------- */

/* A branch, and what was reported about it. */
typedef struct Branch {
  GlowOnnxSubgraph sub;
  const char *label;
  GlowHold reports;
  bool ok;
  bool untyped; /* it failed for one reason alone: its types contradict each other */
} Branch;

static bool read_branch(GlowOnnxNode *n, const char *attr, Branch *b) {
  if (!glow_onnx_open_region(n, attr, b->label, GLOW_ONNX_REGION_BRANCH, 0, &b->sub))
    return false;
  return (glow_onnx_add_parameters(n, &b->sub, 0, NULL, NULL) &&
          glow_onnx_close_region(n, &b->sub, n->proto.outputs.count, false)) ||
         glow_onnx_leave_region(n, &b->sub);
}

static Branch branch(GlowOnnxNode *n, const char *attr, const char *label) {
  Branch b = {.label = label};
  uint32_t before = n->im->contradictions, gaps = n->im->gaps.count;
  glow_hold_begin(n->im->ctx, &b.reports);
  b.ok = read_branch(n, attr, &b);
  glow_hold_end(&b.reports);
  unsigned errors = glow_held_errors(&b.reports);
  b.untyped = !b.ok && errors && errors == n->im->contradictions - before &&
              gaps == n->im->gaps.count && !b.sub.r->states.count;
  return b;
}

/* A branch may be written for other shapes than the model is bound to. It becomes Fail, with the
 * types of the other branch. */
static bool fail_branch(GlowOnnxNode *n, Branch *b, const Branch *other) {
  GlowContext *ctx = n->im->ctx;
  GlowBlock *block = b->sub.r->block;
  GlowStr why = glow_held_error(&b->reports);
  if (!n->im->quiet)
    glow_note(ctx, n->loc, "%s: ^%s has no types for these shapes, and fails if it runs: %s", n->op,
              b->label, why);
  GlowStr message = glow_str_printf(ctx, "^%s has no types for these shapes: %s", b->label, why);
  glow_block_clear(block);
  GlowBuilder saved = n->b;
  n->b.block = block;
  n->b.before = NULL;
  b->sub.nyields = other->sub.nyields;
  b->sub.yields = GLOW_NEW_ARRAY(n->im->arena, GlowValue *, b->sub.nyields);
  bool ok = true;
  for (uint32_t i = 0; ok && i < b->sub.nyields; i++) {
    b->sub.yields[i] = glow_build_fail(&n->b, message, other->sub.yields[i]->type);
    ok = b->sub.yields[i] != NULL;
  }
  n->b = saved;
  return ok;
}

/* Reports diagnostics that were held back; at most one of the branches may stay without types. */
static bool settle_branches(GlowOnnxNode *n, Branch *then_branch, Branch *else_branch) {
  bool fails[] = {then_branch->untyped && else_branch->ok, else_branch->untyped && then_branch->ok};
  if (!fails[0])
    glow_held_report(&then_branch->reports);
  if (!fails[1])
    glow_held_report(&else_branch->reports);
  if (fails[0])
    return fail_branch(n, then_branch, else_branch);
  if (fails[1])
    return fail_branch(n, else_branch, then_branch);
  return then_branch->ok && else_branch->ok;
}

/* Random states that `from` changes pass through `to` unchanged. */
static void share_states(GlowOnnxNode *n, const GlowOnnxRegion *from, GlowOnnxRegion *to) {
  for (uint32_t i = 0; i < from->states.count; i++) {
    GlowOnnxState s = from->states.data[i];
    s.next = s.outer;
    if (!glow_onnx_region_state(to, s.variable))
      glow_vec_push(n->im->arena, &to->states, s);
  }
}

bool glow_onnx_if(GlowOnnxNode *n) {
  uint32_t count = n->proto.outputs.count;
  if (!glow_onnx_check_ins(n, 1, 1))
    return false;
  Branch then_branch = branch(n, "then_branch", "then");
  Branch else_branch = branch(n, "else_branch", "else");
  if (!settle_branches(n, &then_branch, &else_branch))
    return false;
  GlowOnnxSubgraph then_region = then_branch.sub, else_region = else_branch.sub;
  /* Each variable belongs to one node, so the branches have none in common: then's come first. */
  GlowOnnxRegion mine = *else_region.r;
  else_region.r->states.data = NULL;
  else_region.r->states.count = else_region.r->states.capacity = 0;
  share_states(n, then_region.r, else_region.r);
  for (uint32_t i = 0; i < mine.states.count; i++)
    glow_vec_push(n->im->arena, &else_region.r->states, mine.states.data[i]);
  share_states(n, &mine, then_region.r);
  glow_onnx_end_region(n, &then_region, count);
  glow_onnx_end_region(n, &else_region, count);
  return glow_onnx_finish_regions(n, GLOW_OP_IF, n->ins, 1, NULL,
                                  (GlowBlock *[]){then_region.r->block, else_region.r->block}, 2,
                                  count, then_region.r);
}

/* Checks that carried operands are there; returns how many there are. */
static bool count_carried(GlowOnnxNode *n, uint32_t first, uint32_t *count) {
  *count = n->nins > first ? n->nins - first : 0;
  for (uint32_t i = first; i < n->nins; i++)
    if (!n->ins[i])
      return glow_onnx_fail(n, "operand %u is missing", i);
  return true;
}

/* glow_onnx_close_region made some carried values optionals. What such a value holds after the last
 * iteration is n's result. */
static bool unwrap_results(GlowOnnxNode *n, const GlowOnnxSubgraph *r, uint32_t carried) {
  for (uint32_t i = 0; i < carried && i < n->nouts; i++) {
    if (!n->outs[i] || !r->wrapped[i + 1])
      continue;
    GlowValue *opt = n->results[i];
    glow_value_set_name(opt, glow_onnx_part_name(n, "optional"));
    if (!glow_onnx_result(n, i, GLOW_OP_OPTIONAL_GET_ELEMENT, &opt, 1, NULL))
      return false;
  }
  return true;
}

bool glow_onnx_loop(GlowOnnxNode *n) {
  GlowContext *ctx = n->im->ctx;
  uint32_t carried;
  if (!count_carried(n, 2, &carried))
    return false;
  const GlowType **known = GLOW_NEW_ARRAY(n->im->arena, const GlowType *, carried + 2);
  const GlowType **initial = GLOW_NEW_ARRAY(n->im->arena, const GlowType *, carried + 2);
  known[0] = glow_type_scalar(ctx, GLOW_KIND_I64);
  known[1] = glow_type_scalar(ctx, GLOW_KIND_BOOL);
  for (uint32_t i = 0; i < carried; i++)
    initial[i + 2] = n->ins[i + 2]->type;
  GlowOnnxSubgraph r;
  if (!glow_onnx_open_region(n, "body", "body", GLOW_ONNX_REGION_LOOP, 0, &r))
    return false;
  if (!glow_onnx_add_parameters(n, &r, carried + 2, known, initial) ||
      !glow_onnx_close_region(n, &r, n->proto.outputs.count + 1, true))
    return glow_onnx_leave_region(n, &r);
  if (carried > n->proto.outputs.count)
    return glow_onnx_fail(n, "%u results for %u carried values", n->proto.outputs.count, carried);
  glow_onnx_end_region(n, &r, carried + 1);
  uint32_t nins = 2 + carried, nstates = r.r->states.count;
  GlowValue **ins = GLOW_NEW_ARRAY(n->im->arena, GlowValue *, nins + nstates);
  for (uint32_t i = 0; i < nins && i < n->nins; i++)
    ins[i] = n->ins[i];
  for (uint32_t i = 0; i < nstates; i++)
    ins[nins + i] = r.r->states.data[i].outer;
  return glow_onnx_finish_regions(n, GLOW_OP_LOOP, ins, nins + nstates, NULL, &r.r->block, 1,
                                  carried, r.r) &&
         unwrap_results(n, &r, carried);
}

/* ---- Scan ----------------------------------------------------------------------------------- */

/* t without one axis; NULL if it has none such. */
static const GlowType *slice_type(GlowOnnxNode *n, const GlowType *t, int64_t axis) {
  if (!glow_type_is_tensor(t)) {
    glow_onnx_fail(n, "an operand that is scanned is %s", glow_type_str(n->im->ctx, t));
    return NULL;
  }
  if (t->unranked)
    return t;
  axis += axis < 0 ? t->rank : 0;
  if (axis < 0 || axis >= t->rank) {
    glow_onnx_fail(n, "axis %lld is out of range for rank %u", (long long)axis, t->rank);
    return NULL;
  }
  GlowDim dims[GLOW_MAX_RANK];
  uint32_t rank = 0;
  for (uint32_t i = 0; i < t->rank; i++)
    if (i != axis)
      dims[rank++] = t->dims[i];
  return glow_type_with_dims(n->im->ctx, t, rank, dims);
}

/* Directions: 0 forward, 1 backward. */
static bool read_directions(GlowOnnxNode *n, const char *name, GlowArray *out) {
  GlowArray ints = {0};
  if (!glow_onnx_ints(n, name, &ints))
    return false;
  bool *data = GLOW_NEW_ARRAY(n->im->m->arena, bool, ints.count);
  for (uint32_t i = 0; i < ints.count; i++)
    data[i] = glow_array_at(ints, int64_t, i) != 0;
  *out = (GlowArray){ints.count, data};
  return true;
}

static bool read_num_scan(GlowOnnxNode *n, uint32_t nins, uint32_t *num) {
  int64_t v = 0;
  if (!glow_onnx_int(n, "num_scan_inputs", &v))
    return false;
  if (v < 1 || v > nins)
    return glow_onnx_fail(n, "attribute 'num_scan_inputs' is %lld for %u operands", (long long)v,
                          nins);
  *num = (uint32_t)v;
  return true;
}

/* Builds the body region of a Scan over operands of the types `types`. */
static bool scan_body(GlowOnnxNode *n, const GlowType *const *types, uint32_t nins,
                      const GlowScanMembers *m, unsigned extra, uint32_t nouts, GlowBlock **block) {
  const GlowType **known = GLOW_NEW_ARRAY(n->im->arena, const GlowType *, nins);
  uint32_t states = nins - m->num_scan;
  for (uint32_t i = 0; i < nins; i++) {
    uint32_t k = i - states;
    int64_t axis = i >= states && k < m->in_axes.count ? glow_array_at(m->in_axes, int64_t, k) : 0;
    known[i] = i < states ? types[i] : slice_type(n, types[i], axis);
    if (!known[i])
      return false;
  }
  GlowOnnxSubgraph r;
  if (!glow_onnx_open_region(n, "body", "body", GLOW_ONNX_REGION_SCAN, extra, &r))
    return false;
  if (!glow_onnx_add_parameters(n, &r, nins, known, NULL) ||
      !glow_onnx_close_region(n, &r, nouts, false))
    return glow_onnx_leave_region(n, &r);
  glow_onnx_end_region(n, &r, nouts);
  *block = r.r->block;
  return true;
}

static const GlowType **types_of(GlowOnnxNode *n, GlowValue *const *values, uint32_t count) {
  const GlowType **types = GLOW_NEW_ARRAY(n->im->arena, const GlowType *, count);
  for (uint32_t i = 0; i < count; i++)
    types[i] = values[i]->type;
  return types;
}

bool glow_onnx_scan(GlowOnnxNode *n) {
  GlowScanMembers m = {0};
  uint32_t count;
  if (!count_carried(n, 0, &count) || !read_num_scan(n, count, &m.num_scan) ||
      !glow_onnx_ints(n, "scan_input_axes", &m.in_axes) ||
      !glow_onnx_ints(n, "scan_output_axes", &m.out_axes) ||
      !read_directions(n, "scan_input_directions", &m.in_reverse) ||
      !read_directions(n, "scan_output_directions", &m.out_reverse))
    return false;
  GlowBlock *body;
  return scan_body(n, types_of(n, n->ins, count), count, &m, 0, n->proto.outputs.count, &body) &&
         glow_onnx_finish(n, GLOW_OP_SCAN, n->ins, count, &m, &body, 1);
}

/* The inner Scan of one example, inside the region of the batch; ends that region. */
static bool scan_example(GlowOnnxNode *n, GlowBlock *batch, GlowValue *const *ins, uint32_t count,
                         const GlowScanMembers *m) {
  GlowBlock *body;
  uint32_t nouts = n->proto.outputs.count;
  if (!scan_body(n, types_of(n, ins, count), count, m, 1, nouts, &body))
    return false;
  GlowNode *inner = glow_node_create(&n->b, &(GlowNodeSpec){.op = GLOW_OP_SCAN,
                                                            .ins = ins,
                                                            .nins = count,
                                                            .members = m,
                                                            .regions = &body,
                                                            .nregions = 1,
                                                            .nresults = nouts});
  if (!inner)
    return false;
  GlowValue **yields = GLOW_NEW_ARRAY(n->im->arena, GlowValue *, nouts);
  for (uint32_t i = 0; i < nouts; i++)
    yields[i] = &inner->results[i];
  glow_build_terminator(batch, GLOW_OP_YIELD, yields, nouts);
  return true;
}

/* Scan of operator set 8 has a batch axis in front of everything: a Scan over the batch, whose body
 * is the Scan of one example. */
bool glow_onnx_scan_batch(GlowOnnxNode *n) {
  GlowScanMembers m = {0};
  uint32_t count;
  if (n->nins && n->ins[0])
    return glow_onnx_unsupported(n, "lengths of sequences (operand 0)");
  if (!count_carried(n, 1, &count) || !read_num_scan(n, count, &m.num_scan) ||
      !read_directions(n, "directions", &m.in_reverse))
    return false;
  GlowValue **params = GLOW_NEW_ARRAY(n->im->arena, GlowValue *, count);
  GlowBlock *batch = glow_block_create(n->im->m, GLOW_LEVEL_GRAPH, n->im->func->body->names,
                                       glow_str(n->im->ctx, "body"));
  for (uint32_t i = 0; i < count; i++) {
    const GlowType *t = slice_type(n, n->ins[i + 1]->type, 0);
    if (!t)
      return false;
    params[i] = glow_block_add_param(batch, NULL, t);
  }
  GlowBuilder saved = n->b;
  n->b.block = batch;
  n->b.before = NULL;
  bool ok = scan_example(n, batch, params, count, &m);
  n->b = saved;
  GlowScanMembers outer = {.num_scan = count};
  return ok && glow_onnx_finish(n, GLOW_OP_SCAN, n->ins + 1, count, &outer, &batch, 1);
}
