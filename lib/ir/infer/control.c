/* Inference and verification of operators that run regions or functions, at both levels. The
 * regions of a node yield its results. The regions of an instruction write buffers outside of them
 * and yield nothing. */
#include "ir/infer/hooks.h"

/* Whether there is nothing to infer: instructions have no results, and at run time the regions give
 * them. */
static bool no_results(const GlowInfer *in) { return !in->node || glow_node_is_instr(in->node); }

static uint32_t yield_count(const GlowBlock *b) {
  const GlowNode *end = glow_block_terminator(b);
  return end ? end->noperands : 0;
}

/* The type of the value that a block yields at position i; NULL if there is none. */
static const GlowType *yield_type(const GlowBlock *b, uint32_t i) {
  const GlowNode *end = glow_block_terminator(b);
  return end && i < end->noperands && end->operands[i].value ? end->operands[i].value->type : NULL;
}

static bool check_no_yield(const GlowNode *n, const GlowBlock *b) {
  if (yield_count(b) == 0)
    return true;
  return glow_verify_error(n, "^%s of an instruction yields nothing", b->label);
}

static bool check_param(const GlowNode *n, const GlowBlock *b, uint32_t i, const GlowType *t,
                        const char *what) {
  GlowContext *ctx = n->block->module->ctx;
  const GlowType *p = b->params[i]->type;
  if (!t || glow_type_fit(p, t) != GLOW_FIT_CONTRADICTS)
    return true;
  return glow_verify_error(n, "parameter %u of ^%s has type %s, but %s %s", i, b->label,
                           glow_type_str(ctx, p), what, glow_type_str(ctx, t));
}

static bool check_is(const GlowNode *n, const GlowType *t, GlowKind kind, const char *what) {
  if (t && glow_type_is_tensor(t) && t->kind == kind && !t->quantized &&
      (t->unranked || t->rank == 0))
    return true;
  return glow_verify_error(n, "%s must have type %s<>", what, glow_kind_info[kind].name);
}

/* ---- If -------------------------------------------------------------------------------------- */

/* Whether value i of a branch is never computed, since the branch ends the run (Fail). */
static bool never(const GlowBlock *b, uint32_t i) {
  return glow_value_def(glow_block_terminator(b)->operands[i].value, GLOW_OP_FAIL) != NULL;
}

bool glow_infer_if(GlowInfer *in) {
  if (no_results(in))
    return true;
  const GlowBlock *yes = glow_node_region(in->node, "then"),
                  *no = glow_node_region(in->node, "else");
  if (yield_count(yes) != in->nout || yield_count(no) != in->nout)
    return glow_infer_error(in, "^then yields %u and ^else %u values, for %u result%s",
                            yield_count(yes), yield_count(no), in->nout, in->nout == 1 ? "" : "s");
  for (uint32_t i = 0; i < in->nout; i++) {
    const GlowType *a = yield_type(yes, i), *b = yield_type(no, i);
    if (!a || !b)
      return glow_infer_error(in, "value %u of a yield is none", i);
    in->out[i] = never(yes, i) ? b : never(no, i) ? a : glow_type_join(in->ctx, a, b);
    if (!in->out[i])
      return glow_infer_error(in, "value %u has type %s in ^then and %s in ^else", i,
                              glow_type_str(in->ctx, a), glow_type_str(in->ctx, b));
  }
  return true;
}

bool glow_verify_if(const GlowNode *n) {
  const GlowBlock *blocks[2] = {glow_node_region(n, "then"), glow_node_region(n, "else")};
  static const char *const labels[2] = {"then", "else"};
  for (int i = 0; i < 2; i++) {
    if (blocks[i]->nparams)
      return glow_verify_error(n, "^%s takes no parameters", labels[i]);
    if (glow_node_is_instr(n) && !check_no_yield(n, blocks[i]))
      return false;
  }
  return true;
}

/* ---- Loop ------------------------------------------------------------------------------------ */

/* Whether the condition is certainly true before the loop and after each iteration. */
static bool always_goes_on(const GlowInfer *in, const GlowBlock *body) {
  const GlowNode *end = glow_block_terminator(body);
  const GlowValue *next = end && end->noperands ? end->operands[0].value : NULL;
  const GlowTensor *start = glow_infer_known(in, GLOW_LOOP_IN_COND);
  if (glow_infer_in(in, GLOW_LOOP_IN_COND) &&
      !(start && glow_tensor_elements(start) == 1 && glow_tensor_get_int(start, 0)))
    return false;
  if (!next)
    return false;
  if (body->nparams > 1 && next == body->params[1])
    return true;
  const GlowTensor *known = glow_value_known(next);
  return known && glow_tensor_elements(known) == 1 && glow_tensor_get_int(known, 0);
}

/* The number of slices that the loop stacks: its iterations. */
static GlowDim trip_count(const GlowInfer *in, const GlowBlock *body) {
  uint32_t count;
  GlowSizes sizes;
  GlowDim n;
  const int64_t *trip = glow_infer_ints(in, GLOW_LOOP_IN_TRIP, &count);
  if (trip && count == 1)
    n = GLOW_EXACT(trip[0] < 0 ? 0 : trip[0]);
  else if (!trip && glow_infer_sizes(in, GLOW_LOOP_IN_TRIP, &sizes) && sizes.count == 1)
    n = sizes.items[0].size < 0 ? GLOW_EXACT(0) : glow_size_dim(sizes.items[0]);
  else
    return GLOW_UNKNOWN;
  return always_goes_on(in, body) ? n : glow_dim_part(n);
}

/* Result i: `elem` with a new axis of extent `d` at `axis`. */
static bool stack_slices(GlowInfer *in, uint32_t i, const GlowType *elem, uint32_t axis,
                         GlowDim d) {
  if (!glow_type_is_tensor(elem))
    return glow_infer_error(in, "result %u would stack values of type %s", i,
                            glow_type_str(in->ctx, elem));
  if (elem->unranked)
    return glow_infer_set_unknown(in, i, elem, -1);
  GlowDim dims[GLOW_MAX_RANK + 1];
  memcpy(dims, elem->dims, axis * sizeof *dims);
  dims[axis] = d;
  memcpy(dims + axis + 1, elem->dims + axis, (elem->rank - axis) * sizeof *dims);
  return glow_infer_set(in, i, elem, elem->rank + 1, dims);
}

static bool carry(GlowInfer *in, uint32_t i, const GlowType *init, const GlowType *next) {
  if (!init || !next)
    return glow_infer_error(in, "carried value %u is none", i);
  in->out[i] = glow_type_join(in->ctx, init, next);
  return in->out[i] ||
         glow_infer_error(in, "carried value %u starts with type %s, but ^body yields %s", i,
                          glow_type_str(in->ctx, init), glow_type_str(in->ctx, next));
}

bool glow_infer_loop(GlowInfer *in) {
  if (no_results(in))
    return true;
  const GlowBlock *body = glow_node_region(in->node, "body");
  uint32_t carried = in->nin > GLOW_LOOP_IN_INIT ? in->nin - GLOW_LOOP_IN_INIT : 0;
  if (in->nout < carried || yield_count(body) != in->nout + 1)
    return glow_infer_error(in,
                            "^body yields %u values for a condition, %u carried values and %u "
                            "results in all",
                            yield_count(body), carried, in->nout);
  for (uint32_t i = 0; i < carried; i++)
    if (!carry(in, i, in->in[GLOW_LOOP_IN_INIT + i], yield_type(body, i + 1)))
      return false;
  GlowDim trip = trip_count(in, body);
  for (uint32_t i = carried; i < in->nout; i++) {
    const GlowType *elem = yield_type(body, i + 1);
    if (!elem)
      return glow_infer_error(in, "value %u of the yield is none", i + 1);
    if (!stack_slices(in, i, elem, 0, trip))
      return false;
  }
  return true;
}

static bool verify_loop_instr(const GlowNode *n, const GlowBlock *body) {
  if (body->nparams != 1)
    return glow_verify_error(n, "^body has %u parameters, expected 1: the iteration",
                             body->nparams);
  return check_is(n, body->params[0]->type, GLOW_KIND_I64, "the iteration") &&
         check_no_yield(n, body);
}

bool glow_verify_loop(const GlowNode *n) {
  const GlowBlock *body = glow_node_region(n, "body");
  if (glow_node_is_instr(n))
    return verify_loop_instr(n, body);
  uint32_t nins = glow_node_nins(n),
           carried = nins > GLOW_LOOP_IN_INIT ? nins - GLOW_LOOP_IN_INIT : 0;
  if (body->nparams != carried + 2)
    return glow_verify_error(n,
                             "^body has %u parameters, expected %u: iteration, condition and "
                             "carried values",
                             body->nparams, carried + 2);
  if (!check_is(n, body->params[0]->type, GLOW_KIND_I64, "the iteration") ||
      !check_is(n, body->params[1]->type, GLOW_KIND_BOOL, "the condition") ||
      !check_is(n, yield_type(body, 0), GLOW_KIND_BOOL, "the condition that ^body yields"))
    return false;
  for (uint32_t i = 0; i < carried; i++) {
    const GlowValue *init = glow_node_in(n, GLOW_LOOP_IN_INIT + i);
    if (!check_param(n, body, i + 2, init ? init->type : NULL, "the loop starts with") ||
        !check_param(n, body, i + 2, yield_type(body, i + 1), "^body yields"))
      return false;
  }
  return true;
}

/* ---- Scan ------------------------------------------------------------------------------------ */

static bool check_counts(const GlowInfer *in, const GlowScanMembers *m, const GlowBlock *body,
                         uint32_t *states) {
  if (m->num_scan == 0 || m->num_scan > in->nin)
    return glow_infer_error(in, "num_scan is %u for %u operands", m->num_scan, in->nin);
  *states = in->nin - m->num_scan;
  uint32_t stacked = in->nout - *states;
  if (in->nout < *states || yield_count(body) != in->nout || body->nparams != in->nin)
    return glow_infer_error(in,
                            "^body takes %u values and yields %u, for %u operands and %u results",
                            body->nparams, yield_count(body), in->nin, in->nout);
  const GlowArray lists[] = {m->in_axes, m->in_reverse, m->out_axes, m->out_reverse};
  static const char *const names[] = {"in_axes", "in_reverse", "out_axes", "out_reverse"};
  for (int i = 0; i < 4; i++) {
    uint32_t expected = i < 2 ? m->num_scan : stacked;
    if (lists[i].count && lists[i].count != expected)
      return glow_infer_error(in, "%s has %u values, expected %u", names[i], lists[i].count,
                              expected);
  }
  return true;
}

/* The common extent of the scanned axes. */
static bool scan_length(const GlowInfer *in, const GlowScanMembers *m, uint32_t states,
                        GlowDim *length) {
  *length = GLOW_UNKNOWN;
  for (uint32_t i = 0; i < m->num_scan; i++) {
    const GlowType *t = glow_infer_in(in, states + i);
    uint32_t axis;
    if (!t || !glow_type_is_tensor(t))
      return glow_infer_error(in, "operand %u is scanned, so it must be a tensor", states + i);
    if (t->unranked)
      continue;
    if (!glow_infer_axis(in, m->in_axes.count ? glow_array_at(m->in_axes, int64_t, i) : 0, t->rank,
                         &axis))
      return false;
    if (!glow_dim_meet(*length, t->dims[axis], length))
      return glow_infer_error(in, "operand %u has %s slices, another %s", states + i,
                              glow_dim_str(in->ctx, t->dims[axis]), glow_dim_str(in->ctx, *length));
  }
  return true;
}

bool glow_infer_scan(GlowInfer *in) {
  const GlowScanMembers *m = in->members;
  if (no_results(in))
    return true;
  const GlowBlock *body = glow_node_region(in->node, "body");
  uint32_t states = 0;
  GlowDim length;
  if (!check_counts(in, m, body, &states) || !scan_length(in, m, states, &length))
    return false;
  for (uint32_t i = 0; i < states; i++)
    if (!carry(in, i, in->in[i], yield_type(body, i)))
      return false;
  for (uint32_t i = states; i < in->nout; i++) {
    const GlowType *elem = yield_type(body, i);
    uint32_t axis = 0, k = i - states;
    if (!elem)
      return glow_infer_error(in, "value %u of the yield is none", i);
    if (m->out_axes.count && !elem->unranked &&
        !glow_infer_axis(in, glow_array_at(m->out_axes, int64_t, k), elem->rank + 1, &axis))
      return false;
    if (!stack_slices(in, i, elem, axis, length))
      return false;
  }
  return true;
}

/* The type of one slice of a scanned operand. */
static const GlowType *slice_type(GlowContext *ctx, const GlowType *t, int64_t axis) {
  GlowDim dims[GLOW_MAX_RANK];
  if (t->unranked || t->rank == 0)
    return t;
  uint32_t at = (uint32_t)(axis < 0 ? axis + t->rank : axis);
  for (uint32_t i = 0, k = 0; i < t->rank; i++)
    if (i != at)
      dims[k++] = t->dims[i];
  return glow_type_with_dims(ctx, t, t->rank - 1, dims);
}

bool glow_verify_scan(const GlowNode *n) {
  const GlowScanMembers *m = n->members;
  const GlowBlock *body = glow_node_region(n, "body");
  uint32_t states = glow_node_nins(n) - m->num_scan;
  for (uint32_t i = 0; i < glow_node_nins(n); i++) {
    const GlowType *t = glow_node_in(n, i)->type;
    if (i >= states)
      t = slice_type(n->block->module->ctx, t,
                     m->in_axes.count ? glow_array_at(m->in_axes, int64_t, i - states) : 0);
    if (!check_param(n, body, i, t, i < states ? "the scan starts with" : "a slice has type"))
      return false;
    if (i < states && !check_param(n, body, i, yield_type(body, i), "^body yields"))
      return false;
  }
  return true;
}

/* ---- Call and Save --------------------------------------------------------------------------- */

static uint32_t result_count(const GlowFunction *f) {
  const GlowNode *end = f->body ? glow_block_terminator(f->body) : NULL;
  return f->has_results ? f->nresults : end ? end->noperands : 0;
}

/* If the callee does not exist yet (a text may refer forward), the results stay free. */
bool glow_infer_call(GlowInfer *in) {
  const GlowCallMembers *m = in->members;
  const GlowFunction *f =
      in->node ? glow_module_function(in->node->block->module, m->callee) : NULL;
  const GlowNode *end = f && f->body ? glow_block_terminator(f->body) : NULL;
  if (!f || result_count(f) != in->nout)
    return true;
  for (uint32_t i = 0; i < in->nout; i++)
    in->out[i] = f->has_results           ? f->results[i]
                 : end->operands[i].value ? end->operands[i].value->type
                                          : NULL;
  return true;
}

bool glow_verify_call(const GlowNode *n) {
  const GlowCallMembers *m = n->members;
  GlowContext *ctx = n->block->module->ctx;
  const GlowFunction *f = m->callee ? glow_module_function(n->block->module, m->callee) : NULL;
  if (!f)
    return glow_verify_error(n, "there is no function @%s", m->callee ? m->callee : "");
  if (f->kind == GLOW_PROGRAM)
    return glow_verify_error(n, "@%s is a program; only functions can be called", m->callee);
  uint32_t nparams = f->body ? f->body->nparams : 0;
  if (glow_node_nins(n) != nparams)
    return glow_verify_error(n, "@%s takes %u operands, found %u", m->callee, nparams,
                             glow_node_nins(n));
  for (uint32_t i = 0; i < nparams; i++) {
    const GlowType *t = glow_node_in(n, i)->type, *p = f->body->params[i]->type;
    if (glow_type_fit(t, p) == GLOW_FIT_CONTRADICTS)
      return glow_verify_error(n, "operand %u has type %s, but @%s takes %s", i,
                               glow_type_str(ctx, t), m->callee, glow_type_str(ctx, p));
  }
  if (result_count(f) != n->nresults)
    return glow_verify_error(n, "@%s has %u results, found %u", m->callee, result_count(f),
                             n->nresults);
  return true;
}

/* A variable that grows takes values of as many rows as it has room for. */
static bool fits_growth(const GlowType *value, const GlowType *variable, GlowContext *ctx) {
  return glow_type_is_tensor(value) && !value->unranked && value->rank == variable->rank &&
         glow_type_with_rows(ctx, value, variable->dims[0]) == variable &&
         glow_type_takes_rows(variable, value->dims[0]);
}

bool glow_verify_save(const GlowNode *n) {
  GlowContext *ctx = n->block->module->ctx;
  const GlowValue *value = glow_node_in(n, GLOW_SAVE_IN_VALUE);
  const GlowValue *storage = glow_node_in(n, GLOW_SAVE_IN_STORAGE);
  if (storage->kind != GLOW_VALUE_STORAGE)
    return glow_verify_error(n, "Storage must be a placeholder or a variable");
  if (storage->def.storage->cls == GLOW_CONSTANT)
    return glow_verify_error(n, "@%s is a constant", storage->name);
  bool grows = storage->def.storage->cls == GLOW_VARIABLE && glow_type_grows(storage->type);
  if (grows ? !fits_growth(value->type, storage->type, ctx)
            : glow_type_fit(value->type, storage->type) == GLOW_FIT_CONTRADICTS)
    return glow_verify_error(n, "Value has type %s, but @%s %s", glow_type_str(ctx, value->type),
                             storage->name, glow_type_str(ctx, storage->type));
  return true;
}
