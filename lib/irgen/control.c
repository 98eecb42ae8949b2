/* If and Loop as instructions: regions write buffers that live outside of them.
 *
 *   If     A buffer for each result stands before it. Each region fills these buffers at its end.
 *   Loop   A buffer for each carried value and one for the condition stand before it, filled. They
 *          take the place of the body's parameters, but for the iteration. The end of the body
 *          copies the next values into them. A stacked result of known extents is a buffer,
 *          into which each iteration puts its slice with a `scatter_nd` in place. Any other
 *          stacked result is a buffer with bounds, which grows by `append`. */
#include "analysis/buffers.h"
#include "ir/infer.h"
#include "ir/loop.h"
#include "irgen/irgen_internal.h"

/* Starts a region of the program and sends instructions into it. */
static GlowBlock *open_region(GlowIrgen *g, const GlowBlock *region, GlowBuilder *outer) {
  GlowBlock *b =
      glow_block_create(g->module, GLOW_LEVEL_PROGRAM, g->program->body->names, region->label);
  *outer = g->b;
  g->b = glow_builder_at_end(b);
  return b;
}

/* The instruction n with regions, inputs ins and no outputs. */
static bool build_control(GlowIrgen *g, const GlowNode *n, GlowValue *const *ins, uint32_t nins,
                          GlowBlock *const *regions) {
  g->b.src = n->src;
  g->b.origin = n->origin;
  g->b.pred = glow_irgen_get(g, n->pred.value);
  GlowNodeSpec spec = {.op = n->op,
                       .ins = ins,
                       .nins = nins,
                       .members = n->members,
                       .regions = regions,
                       .nregions = n->nregions};
  bool ok = glow_node_create(&g->b, &spec) != NULL;
  g->b.pred = NULL;
  return ok;
}

/* ---- If -------------------------------------------------------------------------------------- */

/* One region, which leaves its values in the buffers of n's results. */
static bool emit_branch(GlowIrgen *g, const GlowNode *n, const GlowBlock *region,
                        GlowBlock **made) {
  GlowBuilder outer;
  const GlowNode *end = glow_block_terminator(region);
  *made = open_region(g, region, &outer);
  for (uint32_t i = 0; i < n->nresults; i++) {
    const GlowValue *v = end->operands[i].value;
    GlowValue *result = glow_map_get(g->buffers, &n->results[i]);
    if (result && v->kind == GLOW_VALUE_RESULT && v->def.node->block == region &&
        !glow_map_get(g->targets, v))
      glow_map_set(g->targets, v, result);
  }
  bool ok = glow_irgen_block(g, region);
  for (uint32_t i = 0; i < n->nresults && ok; i++) {
    GlowValue *result = glow_map_get(g->buffers, &n->results[i]);
    GlowValue *v = result ? glow_irgen_get(g, end->operands[i].value) : NULL;
    g->b.src = end->src;
    ok = v == result || glow_irgen_copy(g, result, v);
  }
  g->b = outer;
  return ok;
}

bool glow_irgen_if(GlowIrgen *g, const GlowNode *n) {
  for (uint32_t i = 0; i < n->nresults; i++) {
    const GlowValue *v = &n->results[i];
    GlowValue *target = glow_map_get(g->targets, v);
    if (v->uses)
      glow_irgen_set(g, v, target ? target : glow_irgen_alloc(g, v, v->type));
  }
  GlowBlock **regions = GLOW_NEW_ARRAY(g->arena, GlowBlock *, n->nregions);
  for (uint32_t i = 0; i < n->nregions; i++)
    if (!emit_branch(g, n, n->regions[i], &regions[i]))
      return false;
  GlowValue *cond = glow_irgen_get(g, glow_node_in(n, GLOW_IF_IN_COND));
  return build_control(g, n, &cond, 1, regions);
}

/* ---- Loop ------------------------------------------------------------------------------------ */

/* A Loop that is being converted. Parameters of its body are iteration, condition, carried values;
 * the body yields condition, carried values, values to stack. */
typedef struct Loop {
  const GlowNode *n;
  const GlowBlock *body;
  const GlowNode *end;
  uint32_t ncarried, nstacked;
  GlowValue **state;  /* buffers of the condition and the carried values */
  GlowValue **stacks; /* of stacked results; NULL if unused */
} Loop;

/* Allocates and fills the buffers that one iteration hands to the next. */
static bool make_state(GlowIrgen *g, Loop *l) {
  GlowValue *initial = glow_node_in(l->n, GLOW_LOOP_IN_COND);
  l->state = GLOW_NEW_ARRAY(g->arena, GlowValue *, l->ncarried + 1);
  l->state[0] = glow_irgen_alloc(g, NULL, glow_type_scalar(g->ctx, GLOW_KIND_BOOL));
  if (initial) {
    if (!glow_irgen_copy(g, l->state[0], glow_irgen_get(g, initial)))
      return false;
  } else {
    GlowSplatMembers always = {.value = {.is_int = true, .i = 1, .f = 1}};
    if (!glow_build_instr(&g->b, GLOW_OP_SPLAT, &l->state[0], 1, NULL, 0, &always))
      return false;
  }
  for (uint32_t i = 0; i < l->ncarried; i++) {
    const GlowValue *param = l->body->params[2 + i];
    l->state[1 + i] = glow_irgen_alloc(g, param, param->type);
    GlowValue *init = glow_irgen_get(g, glow_node_in(l->n, GLOW_LOOP_IN_INIT + i));
    if (!glow_irgen_copy(g, l->state[1 + i], init))
      return false;
  }
  return true;
}

/* Zeros for a stack of known extents, since the body may not run. Where the number of iterations is
 * a constant, each slice gets its values in the loop; zeros in the first one tell the verifier,
 * which assumes of any body that it may not run, that the stack is written. */
static bool fill_stack(GlowIrgen *g, const GlowNode *n, GlowValue *stack) {
  GlowSplatMembers zeros = {.value = {.is_int = true}};
  GlowDim dims[GLOW_MAX_RANK];
  if (glow_loop_trips(n) > 0 && !n->pred.value && !stack->type->layout) {
    memcpy(dims, stack->type->dims, stack->type->rank * sizeof *dims);
    dims[0] = GLOW_EXACT(1);
    stack = glow_irgen_view(g, NULL, stack,
                            glow_type_with_dims(g->ctx, stack->type, stack->type->rank, dims));
  }
  return stack && glow_build_instr(&g->b, GLOW_OP_SPLAT, &stack, 1, NULL, 0, &zeros);
}

/* Makes the buffers of stacked results; `proved` are the types of the loop's results. */
static bool make_stacks(GlowIrgen *g, Loop *l, const GlowType *const *proved) {
  l->stacks = GLOW_NEW_ARRAY(g->arena, GlowValue *, l->nstacked);
  for (uint32_t i = 0; i < l->nstacked; i++) {
    const GlowValue *v = &l->n->results[l->ncarried + i];
    GlowDim dims[GLOW_MAX_RANK];
    if (!v->uses)
      continue;
    if (glow_type_is_known(v->type) && v->type == proved[l->ncarried + i]) {
      l->stacks[i] = glow_irgen_alloc(g, v, v->type);
      if (!fill_stack(g, l->n, l->stacks[i]))
        return false;
      continue;
    }
    memcpy(dims, v->type->dims, v->type->rank * sizeof *dims);
    dims[0] = GLOW_BOUND(dims[0].size);
    const GlowType *type = glow_type_with_dims(g->ctx, v->type, v->type->rank, dims);
    l->stacks[i] = glow_irgen_alloc(g, v, type);
  }
  return true;
}

/* Writes `slice` into `stack`, as slice number `iteration`. */
static bool put_slice(GlowIrgen *g, GlowValue *stack, GlowValue *slice, GlowValue *iteration) {
  if (!glow_type_is_known(stack->type))
    return glow_build_instr(&g->b, GLOW_OP_APPEND, &stack, 1, (GlowValue *[]){slice, iteration}, 2,
                            NULL) != NULL;
  GlowDim one = GLOW_EXACT(1);
  const GlowType *vector = glow_type_with_dims(g->ctx, iteration->type, 1, &one);
  GlowValue *ins[] = {stack, glow_irgen_view(g, NULL, iteration, vector), slice};
  return ins[1] && glow_build_instr(&g->b, GLOW_OP_SCATTER_ND, &stack, 1, ins, 3, NULL);
}

/* Emits the end of the body: slices are put into the stacks, then the next values are copied into
 * the state. These copies are made one after the other; so a next value that lies in another buffer
 * of the state is saved before the first. */
static bool emit_end(GlowIrgen *g, const Loop *l, GlowValue *iteration) {
  uint32_t nstate = l->ncarried + 1;
  GlowValue **next = GLOW_NEW_ARRAY(g->arena, GlowValue *, nstate);
  g->b.src = l->end->src;
  for (uint32_t i = 0; i < l->nstacked; i++) {
    GlowValue *slice = glow_irgen_get(g, l->end->operands[nstate + i].value);
    if (l->stacks[i] && !put_slice(g, l->stacks[i], slice, iteration))
      return false;
  }
  for (uint32_t i = 0; i < nstate; i++) {
    next[i] = glow_irgen_get(g, l->end->operands[i].value);
    const GlowValue *base = glow_buffer_base(next[i]);
    bool in_state = false;
    for (uint32_t k = 0; k < nstate; k++)
      in_state |= base == l->state[k];
    if (!in_state || next[i] == l->state[i])
      continue;
    GlowValue *old = glow_irgen_alloc(g, NULL, next[i]->type);
    if (!glow_irgen_copy(g, old, next[i]))
      return false;
    next[i] = old;
  }
  for (uint32_t i = 0; i < nstate; i++)
    if (next[i] != l->state[i] && !glow_irgen_copy(g, l->state[i], next[i]))
      return false;
  return true;
}

static bool emit_body(GlowIrgen *g, const Loop *l, GlowBlock **made) {
  GlowBuilder outer;
  const GlowValue *count = l->body->params[0];
  *made = open_region(g, l->body, &outer);
  GlowValue *iteration = glow_block_add_param(*made, count->name, count->type);
  glow_irgen_set(g, count, iteration);
  for (uint32_t i = 0; i <= l->ncarried; i++)
    glow_irgen_set(g, l->body->params[1 + i], l->state[i]);
  bool ok = glow_irgen_block(g, l->body) && emit_end(g, l, iteration);
  g->b = outer;
  return ok;
}

bool glow_irgen_loop(GlowIrgen *g, const GlowNode *n) {
  Loop l = {.n = n, .body = n->regions[0]};
  l.end = glow_block_terminator(l.body);
  l.ncarried = l.body->nparams - 2;
  l.nstacked = n->nresults - l.ncarried;
  GlowBlock *made;
  const GlowType **proved = GLOW_NEW_ARRAY(g->arena, const GlowType *, n->nresults);
  if (!glow_node_infer(n, proved) || !make_stacks(g, &l, proved) || !make_state(g, &l) ||
      !emit_body(g, &l, &made))
    return false;
  GlowValue *ins[] = {glow_irgen_get(g, glow_node_in(n, GLOW_LOOP_IN_TRIP)), l.state[0]};
  if (!build_control(g, n, ins, 2, &made))
    return false;
  for (uint32_t i = 0; i < n->nresults; i++) {
    GlowValue *buffer = i < l.ncarried ? l.state[1 + i] : l.stacks[i - l.ncarried];
    if (n->results[i].uses && !glow_irgen_finish(g, &n->results[i], buffer, proved[i]))
      return false;
  }
  return true;
}
