/* The rules of If and Loop. Their regions are copied, which computes their values again, and the
 * copies are differentiated by a sweep of their own.
 *
 * If: an If on the same condition, whose regions yield a derivative for each captured value.
 *
 * Loop: a Loop that runs from the last iteration to the first
 *
 *   ^body(j, go, dh..., sums...):  k = T - 1 - j
 *     h... = Gather(tape, k)       what the loop carried at the start of iteration k
 *     the body again, and its derivatives by h and by captured values
 *     yield go, dh..., sums + what this iteration adds
 *
 * The tapes are further stacked results of the loop, one for each carried value that the copy
 * reads, and one for each of its products that takes more work than to store it, with what the body
 * adds to the product. T is the extent of a tape, or the trip count where that is known.
 *
 * A captured value that the body only reads as slice i, or as slice T - 1 - i, in iteration i gets
 * no sum: its derivative is what the iterations yield for their slices, stacked. */
#include "autodiff/sweep.h"
#include "ir/dead.h"
#include "ir/loop.h"
#include "lower/lower.h"
#include "ops/infer.h"

typedef GLOW_VEC(GlowValue *) Values;

/* ---- Captured values ------------------------------------------------------------------------- */

static bool is_block_inside(const GlowNode *n, const GlowBlock *b) {
  for (; b; b = glow_block_parent(b))
    if (b->owner == GLOW_BLOCK_REGION && b->of.node == n)
      return true;
  return false;
}

/* Whether v is defined in a region of n. */
static bool is_inside(const GlowNode *n, const GlowValue *v) {
  return is_block_inside(n, glow_value_block(v));
}

/* The active values outside of n that its regions read, in the order of the text. */
static Values captured(const GlowSweep *s, const GlowNode *n) {
  Values found = {0};
  GlowMap *seen = glow_map_create(s->arena);
  for (uint32_t r = 0; r < n->nregions; r++) {
    GlowNode *end = n->regions[r]->last;
    for (GlowNode *k = n->regions[r]->first; k; k = k == end ? NULL : glow_next_in_walk(k))
      for (uint32_t i = 0; i < k->noperands; i++) {
        GlowValue *v = k->operands[i].value;
        if (!v || !glow_sweep_is_active(s, v) || glow_map_get(seen, v) || is_inside(n, v))
          continue;
        glow_map_set(seen, v, v);
        glow_vec_push(s->arena, &found, v);
      }
  }
  return found;
}

/* ---- Copies of regions ----------------------------------------------------------------------- */

static GlowValue *mapped(const GlowMap *map, GlowValue *v) {
  GlowValue *to = v ? glow_map_get(map, v) : NULL;
  return to ? to : v;
}

/* Copies the nodes of a region to b, up to its terminator. */
static void copy_nodes(GlowBuilder *b, const GlowBlock *from, GlowMap *map) {
  const GlowNode *end = glow_block_terminator(from);
  for (const GlowNode *n = from->first; n != end; n = n->next)
    glow_node_renumber(glow_node_clone(b, n, map));
}

/* ---- If -------------------------------------------------------------------------------------- */

/* Makes region r of the derivative, without its terminator, and sets dx[i] to the derivatives by
 * the captured values, NULL for zeros. NULL after a diagnostic. */
static GlowBlock *derive_branch(GlowSweep *s, const GlowNode *n, uint32_t r, GlowValue *const *dy,
                                const Values *xs, GlowValue **dx) {
  GlowBuilder b;
  const GlowBlock *from = n->regions[r];
  GlowBlock *block = glow_build_region(s->b, from->label, &b);
  GlowMap *map = glow_map_create(s->arena);
  GlowValue **ys = GLOW_NEW_ARRAY(s->arena, GlowValue *, n->nresults + 1);
  GlowValue **seeds = GLOW_NEW_ARRAY(s->arena, GlowValue *, n->nresults + 1);
  uint32_t count = 0;
  copy_nodes(&b, from, map);
  for (uint32_t i = 0; i < n->nresults; i++) {
    GlowValue *y = glow_block_terminator(from)->operands[i].value;
    if (!dy[i] || !glow_sweep_is_active(s, y))
      continue;
    ys[count] = mapped(map, y);
    seeds[count++] = dy[i];
  }
  GlowDerivatives d = {
      .ys = ys, .seeds = seeds, .nys = count, .xs = xs->data, .nxs = xs->count, .results = dx};
  return glow_sweep_block(s, &b, &d) ? block : NULL;
}

/* Ends a region with the derivatives by the values that either branch depends on. */
static bool end_branch(GlowSweep *s, GlowBlock *block, const Values *xs, GlowValue **dx,
                       GlowValue *const *other) {
  GlowBuilder b = glow_builder_at_end(block);
  uint32_t count = 0;
  for (uint32_t i = 0; i < xs->count; i++) {
    if (!dx[i] && !other[i])
      continue;
    GlowValue *v = dx[i] ? dx[i] : glow_grad_filled(&b, xs->data[i], 0);
    if (!v)
      return false;
    dx[i] = v;
    count++;
  }
  GlowValue **yields = GLOW_NEW_ARRAY(s->arena, GlowValue *, count + 1);
  for (uint32_t i = 0, k = 0; i < xs->count; i++)
    if (dx[i])
      yields[k++] = dx[i];
  glow_build_terminator(block, GLOW_OP_YIELD, yields, count)->src = s->b->src;
  glow_remove_unneeded(block);
  return true;
}

static bool derive_if(GlowSweep *s, const GlowNode *n, GlowValue *const *dy) {
  Values xs = captured(s, n);
  GlowBlock *blocks[2];
  GlowValue **dx[2];
  GlowValue *cond = glow_node_in(n, 0);
  for (uint32_t r = 0; r < 2; r++) {
    dx[r] = GLOW_NEW_ARRAY(s->arena, GlowValue *, xs.count + 1);
    blocks[r] = derive_branch(s, n, r, dy, &xs, dx[r]);
    if (!blocks[r])
      return false;
  }
  if (!end_branch(s, blocks[0], &xs, dx[0], dx[1]) || !end_branch(s, blocks[1], &xs, dx[1], dx[0]))
    return false;
  uint32_t count = glow_block_terminator(blocks[0])->noperands;
  if (!count)
    return true;
  GlowNode *made = glow_node_create(s->b, &(GlowNodeSpec){.op = GLOW_OP_IF,
                                                          .ins = &cond,
                                                          .nins = 1,
                                                          .regions = blocks,
                                                          .nregions = 2,
                                                          .nresults = count});
  for (uint32_t i = 0, k = 0; made && i < xs.count; i++)
    if (dx[0][i] && !glow_sweep_add(s, n, xs.data[i], &made->results[k++]))
      return false;
  return made != NULL;
}

/* ---- Loop ------------------------------------------------------------------------------------ */

/* A Gather in the body of a loop that reads slice i, or `last` - i, of a captured value in
 * iteration i. */
typedef struct Pick {
  GlowNode *gather;
  bool backwards;
  GlowValue *dx; /* what an iteration yields for its slice, in the reverse body; NULL: nothing */
} Pick;

typedef struct Reverse {
  GlowSweep *s;
  GlowNode *n;
  GlowValue *const *dy;
  uint32_t carried; /* values that n carries */
  bool *varied;     /* by carried value: whether it has a derivative */
  Values xs;        /* captured, but those that picks read */
  GLOW_VEC(Pick) picks;
  GlowValue **dx; /* what an iteration adds to their derivatives, in the body; NULL: nothing */
  GlowBlock *body;
  GlowBuilder b;      /* at the end of the body */
  Values sources;     /* in n's body: what it carries, then products; tapes may have them */
  GlowValue *index;   /* parameters of the body at first: the iteration, */
  GlowValue **starts; /* and by source: its value in the iteration */
  GlowValue **tapes;  /* by source: what n stacks of it; NULL: not needed */
  GlowValue *trip;    /* how often n ran */
  GlowValue *last;    /* less 1 */
} Reverse;

static GlowNode *end_of(const GlowNode *n) { return glow_block_terminator(n->regions[0]); }

/* Whether `use`, of a captured value, is a Pick of a loop that runs `trips` times. */
static bool read_pick(const GlowNode *n, const GlowUse *use, int64_t trips, Pick *pick) {
  GlowNode *gather = use->user;
  *pick = (Pick){.gather = gather};
  if (use != &gather->operands[0] || !glow_loop_picks(n, gather, trips, &pick->backwards))
    return false;
  const GlowType *t = use->value->type;
  int64_t axis = ((const GlowGatherMembers *)gather->members)->axis;
  axis += axis < 0 ? t->rank : 0;
  return glow_type_is_static(t) && t->dims[axis].size == trips;
}

/* Moves the captured values that the body only picks slices of from xs to picks. */
static void find_picks(Reverse *r) {
  int64_t trips = glow_loop_trips(r->n);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < r->xs.count; i++) {
    GlowValue *x = r->xs.data[i];
    uint32_t before = r->picks.count;
    bool all = trips > 0;
    for (const GlowUse *u = x->uses; all && u; u = u->next) {
      Pick pick;
      if (!is_block_inside(r->n, u->user->block))
        continue;
      all = read_pick(r->n, u, trips, &pick);
      if (all)
        glow_vec_push(r->s->arena, &r->picks, pick);
    }
    if (all)
      continue;
    r->picks.count = before;
    r->xs.data[kept++] = x;
  }
  r->xs.count = kept;
}

static GlowValue *picked(GlowBuilder *b, GlowValue *v, GlowValue *index, const char *name) {
  GlowGatherMembers members = {.axis = 0};
  GlowValue *ins[] = {v, index};
  GlowNode *n = v && index ? glow_build(b, GLOW_OP_GATHER, ins, 2, &members,
                                        name ? glow_str(b->module->ctx, name) : NULL)
                           : NULL;
  return n ? &n->results[0] : NULL;
}

/* Multiply-adds for a byte of the result from which on it is stored instead of computed again. */
enum { WORK_FOR_A_BYTE = 32 };

static bool is_work(const GlowNode *n) {
  if (!glow_macs_hooks[n->op] || n->nresults != 1 || n->pred.value ||
      !glow_type_is_static(n->results[0].type))
    return false;
  return glow_macs_hooks[n->op](n) / WORK_FOR_A_BYTE >= glow_type_bytes(n->results[0].type);
}

/* What the body makes of a product by adding to it: the copy then needs neither the product nor what
 * is added. */
static GlowValue *sum_of(GlowValue *product) {
  GlowValue *v = product;
  for (GlowNode *add; v->uses && !v->uses->next; v = &add->results[0]) {
    add = v->uses->user;
    if (add->op != GLOW_OP_ADD || add->block != glow_value_block(v) || add->pred.value ||
        add->results[0].type != v->type)
      break;
  }
  return v;
}

static void add_source(Reverse *r, GlowValue *v) {
  for (uint32_t i = 0; i < r->sources.count; i++)
    if (r->sources.data[i] == v)
      return; /* the sum of two products */
  glow_vec_push(r->s->arena, &r->sources, v);
}

static void find_sources(Reverse *r) {
  const GlowBlock *from = r->n->regions[0];
  for (uint32_t k = 2; k < from->nparams; k++)
    glow_vec_push(r->s->arena, &r->sources, from->params[k]);
  for (GlowNode *k = from->first; k; k = k->next)
    if (is_work(k))
      add_source(r, sum_of(&k->results[0]));
  r->starts = GLOW_NEW_ARRAY(r->s->arena, GlowValue *, r->sources.count + 1);
  r->tapes = GLOW_NEW_ARRAY(r->s->arena, GlowValue *, r->sources.count + 1);
}

/* The parameters of the body, but those for sums; index and starts are among them for now. */
static void add_params(Reverse *r) {
  GlowContext *ctx = r->s->b->module->ctx;
  const GlowBlock *from = r->n->regions[0];
  glow_block_add_param(r->body, NULL, glow_type_scalar(ctx, GLOW_KIND_I64));
  glow_block_add_param(r->body, NULL, glow_type_scalar(ctx, GLOW_KIND_BOOL));
  for (uint32_t k = 0; k < r->carried; k++)
    if (r->varied[k])
      glow_block_add_param(r->body, glow_str_printf(ctx, "%s.grad", from->params[k + 2]->name),
                           from->params[k + 2]->type);
  r->index = glow_block_add_param(r->body, NULL, glow_type_scalar(ctx, GLOW_KIND_I64));
  for (uint32_t k = 0; k < r->sources.count; k++)
    r->starts[k] =
        glow_block_add_param(r->body, r->sources.data[k]->name, r->sources.data[k]->type);
}

/* Copies the body of n and differentiates the copy. Sets dh[k] to the derivatives by the carried
 * values that vary, and r->dx. */
static bool derive_body(Reverse *r, GlowValue **dh) {
  GlowSweep *s = r->s;
  GlowNode *n = r->n, *end = end_of(n);
  const GlowBlock *from = n->regions[0];
  GlowMap *map = glow_map_create(s->arena);
  uint32_t most = n->nresults + r->carried + r->xs.count + r->picks.count + 1;
  uint32_t nys = 0, nxs = 0, param = 2;
  GlowValue **ys = GLOW_NEW_ARRAY(s->arena, GlowValue *, most);
  GlowValue **seeds = GLOW_NEW_ARRAY(s->arena, GlowValue *, most);
  GlowValue **xs = GLOW_NEW_ARRAY(s->arena, GlowValue *, most);
  GlowValue **results = GLOW_NEW_ARRAY(s->arena, GlowValue *, most);
  glow_map_set(map, from->params[0], r->index);
  GlowSplatMembers yes = {.value = {.is_int = true, .i = 1, .f = 1}};
  const GlowType *flag = from->params[1]->type;
  GlowNode *go = glow_node_create(
      &r->b, &(GlowNodeSpec){.op = GLOW_OP_SPLAT, .members = &yes, .types = &flag});
  if (!go)
    return false;
  glow_map_set(map, from->params[1], &go->results[0]);
  for (uint32_t k = 0; k < r->carried; k++)
    glow_map_set(map, from->params[k + 2], r->starts[k]);
  copy_nodes(&r->b, from, map);
  for (uint32_t i = 0; i < n->nresults; i++) {
    GlowValue *y = end->operands[i + 1].value;
    bool carried = i < r->carried;
    GlowValue *seed = carried ? (r->varied[i] ? r->body->params[param++] : NULL) : r->dy[i];
    if (!seed || !glow_sweep_is_active(s, y))
      continue;
    ys[nys] = mapped(map, y);
    seeds[nys++] = carried ? seed : picked(&r->b, seed, r->index, NULL);
    if (!seeds[nys - 1])
      return false;
  }
  for (uint32_t k = 0; k < r->carried; k++)
    if (r->varied[k])
      xs[nxs++] = r->starts[k];
  for (uint32_t i = 0; i < r->xs.count; i++)
    xs[nxs++] = r->xs.data[i];
  for (uint32_t i = 0; i < r->picks.count; i++)
    xs[nxs++] = mapped(map, &r->picks.data[i].gather->results[0]);
  GlowDerivatives d = {
      .ys = ys, .seeds = seeds, .nys = nys, .xs = xs, .nxs = nxs, .results = results};
  if (!glow_sweep_block(s, &r->b, &d))
    return false;
  for (uint32_t k = r->carried; k < r->sources.count; k++)
    glow_value_replace_uses(mapped(map, r->sources.data[k]), r->starts[k]);
  nxs = 0;
  for (uint32_t k = 0; k < r->carried; k++) {
    if (!r->varied[k])
      continue;
    dh[k] = results[nxs] ? results[nxs] : glow_grad_filled(&r->b, xs[nxs], 0);
    nxs++;
    if (!dh[k])
      return false;
  }
  r->dx = results + nxs;
  for (uint32_t i = 0; i < r->picks.count; i++)
    r->picks.data[i].dx = r->dx[r->xs.count + i];
  return true;
}

/* Ends the body, with sums as further parameters, and slices behind them; deletes what it does not
 * need. */
static bool end_body(Reverse *r, GlowValue **dh) {
  uint32_t most = 1 + r->carried + r->xs.count + r->picks.count;
  GlowValue **yields = GLOW_NEW_ARRAY(r->s->arena, GlowValue *, most);
  uint32_t count = 0;
  yields[count++] = r->body->params[1];
  for (uint32_t k = 0; k < r->carried; k++)
    if (r->varied[k])
      yields[count++] = dh[k];
  for (uint32_t i = 0; i < r->xs.count; i++) {
    if (!r->dx[i])
      continue;
    GlowValue *sum =
        glow_block_add_param(r->body, glow_str(r->s->b->module->ctx, "sum"), r->xs.data[i]->type);
    yields[count] = glow_then2(&r->b, GLOW_OP_ADD, sum, r->dx[i]);
    if (!yields[count++])
      return false;
  }
  for (uint32_t i = 0; i < r->picks.count; i++)
    if (r->picks.data[i].dx)
      yields[count++] = r->picks.data[i].dx;
  glow_build_terminator(r->body, GLOW_OP_YIELD, yields, count)->src = r->s->b->src;
  glow_remove_unneeded(r->body);
  return true;
}

/* Puts a copy of n before it that also stacks the parameters `taped` of its body, as its last
 * results. The copy takes the uses of n. NULL after a diagnostic. */
static GlowNode *with_tapes(Reverse *r, GlowValue *const *taped, uint32_t count) {
  GlowNode *n = r->n;
  GlowModule *m = r->s->b->module;
  const GlowBlock *from = n->regions[0];
  GlowBuilder at = glow_builder_before(n), b;
  GlowBlock *body = glow_build_region(r->s->b, from->label, &b);
  GlowMap *map = glow_map_create(r->s->arena);
  uint32_t nresults = n->nresults + count;
  GlowValue **ins = GLOW_NEW_ARRAY(r->s->arena, GlowValue *, n->noperands + 1);
  GlowValue **yields = GLOW_NEW_ARRAY(r->s->arena, GlowValue *, nresults + 1);
  const GlowType **types = GLOW_NEW_ARRAY(r->s->arena, const GlowType *, nresults);
  GlowStr *names = GLOW_NEW_ARRAY(r->s->arena, GlowStr, nresults);
  for (uint32_t i = 0; i < n->noperands; i++)
    ins[i] = glow_node_in(n, i);
  for (uint32_t i = 0; i < from->nparams; i++)
    glow_map_set(map, from->params[i],
                 glow_block_add_param(body, from->params[i]->name, from->params[i]->type));
  copy_nodes(&b, from, map);
  for (uint32_t i = 0; i <= n->nresults; i++)
    yields[i] = mapped(map, end_of(n)->operands[i].value);
  for (uint32_t i = 0; i < count; i++) {
    yields[n->nresults + 1 + i] = mapped(map, taped[i]);
    names[n->nresults + i] = glow_str_printf(m->ctx, "%s.tape", taped[i]->name);
  }
  for (uint32_t i = 0; i < n->nresults; i++)
    types[i] = n->results[i].type;
  glow_build_terminator(body, GLOW_OP_YIELD, yields, nresults + 1)->src = end_of(n)->src;
  return glow_node_create(&at, &(GlowNodeSpec){.op = GLOW_OP_LOOP,
                                               .ins = ins,
                                               .nins = n->noperands,
                                               .regions = &body,
                                               .nregions = 1,
                                               .nresults = nresults,
                                               .types = types,
                                               .names = names});
}

/* Sets the tapes, trip and last. */
static bool tape(Reverse *r) {
  GlowModule *m = r->s->b->module;
  GlowNode *n = r->n;
  const GlowBlock *from = n->regions[0];
  int64_t trips = glow_loop_trips(n);
  GlowValue **taped = GLOW_NEW_ARRAY(r->s->arena, GlowValue *, r->sources.count + 1);
  uint32_t count = 0;
  for (uint32_t k = 0; k < r->sources.count; k++)
    if (r->starts[k]->uses)
      taped[count++] = r->sources.data[k];
  if (!count && trips < 0)
    taped[count++] = from->params[0];
  GlowNode *loop = count ? with_tapes(r, taped, count) : NULL;
  if (count && !loop)
    return false;
  for (uint32_t k = 0, i = n->nresults; k < r->sources.count; k++)
    if (r->starts[k]->uses)
      r->tapes[k] = &loop->results[i++];
  if (trips >= 0) {
    r->trip = glow_constant_int(m, n, "trips", trips);
    r->last = glow_constant_int(m, n, "last", trips - 1);
  } else {
    r->trip = glow_build_extent(r->s->b, n, &loop->results[n->nresults], 0);
    r->last = glow_then2(r->s->b, GLOW_OP_SUB, r->trip, glow_constant_int(m, n, "one", 1));
  }
  for (uint32_t i = 0; loop && i < n->nresults; i++)
    if (!glow_map_get(r->s->independent, &n->results[i])) {
      GlowStr name = n->results[i].name;
      glow_value_replace_uses(&n->results[i], &loop->results[i]);
      glow_value_set_name(&n->results[i], NULL);
      glow_value_set_name(&loop->results[i], name);
    }
  return r->last != NULL;
}

/* Computes index and starts at the head of the body, in place of the parameters. */
static bool read_tapes(Reverse *r) {
  GlowBuilder b = r->b;
  b.before = r->body->first;
  GlowValue *index = glow_then2(&b, GLOW_OP_SUB, r->last, r->body->params[0]);
  for (uint32_t k = 0; index && k < r->sources.count; k++) {
    if (!r->tapes[k])
      continue;
    GlowStr name = r->starts[k]->name;
    glow_value_set_name(r->starts[k], NULL);
    GlowValue *start = picked(&b, r->tapes[k], index, name);
    if (!start)
      return false;
    glow_value_replace_uses(r->starts[k], start);
  }
  if (!index)
    return false;
  glow_value_replace_uses(r->index, index);
  uint32_t first = r->index->index;
  for (uint32_t k = r->sources.count + 1; k-- > 0;)
    glow_block_remove_param(r->body, first + k);
  glow_remove_unneeded(r->body);
  return true;
}

/* Adds the slices of a pick, which are stacked from the last iteration to the first, to the
 * derivative of what it reads. */
static bool add_slices(const Reverse *r, const Pick *pick, GlowValue *stack) {
  GlowSweep *s = r->s;
  GlowValue *x = glow_node_in(pick->gather, 0);
  int64_t axis = ((const GlowGatherMembers *)pick->gather->members)->axis;
  uint32_t perm[GLOW_MAX_RANK], rank = x->type->rank;
  axis += axis < 0 ? rank : 0;
  for (uint32_t i = 0; i < rank; i++)
    perm[i] = i < axis ? i + 1 : i == axis ? 0 : i;
  if (!pick->backwards)
    stack = glow_build_part(s->b, r->n, stack, 0, -1, INT64_MIN, -1);
  if (axis)
    stack = glow_build_permuted(s->b, stack, perm, rank);
  return glow_sweep_add(s, r->n, x, stack);
}

/* The Loop over the body, at the sweep's place; adds its results to the derivatives. */
static bool run_reverse(Reverse *r) {
  GlowSweep *s = r->s;
  uint32_t count = r->body->nparams;
  GlowValue **ins = GLOW_NEW_ARRAY(s->arena, GlowValue *, count);
  GlowValue **xs = GLOW_NEW_ARRAY(s->arena, GlowValue *, count);
  uint32_t nins = 0;
  ins[nins++] = r->trip;
  ins[nins++] = NULL;
  for (uint32_t k = 0; k < r->carried; k++) {
    if (!r->varied[k])
      continue;
    GlowValue *init = glow_node_in(r->n, GLOW_LOOP_IN_INIT + k);
    xs[nins] = glow_sweep_is_active(s, init) ? init : NULL;
    ins[nins++] = r->dy[k] ? r->dy[k] : glow_grad_filled(s->b, &r->n->results[k], 0);
  }
  for (uint32_t i = 0; i < r->xs.count; i++)
    if (r->dx[i]) {
      xs[nins] = r->xs.data[i];
      ins[nins++] = glow_grad_filled(s->b, r->xs.data[i], 0);
    }
  for (uint32_t i = 2; i < nins; i++)
    if (!ins[i])
      return false;
  uint32_t nresults = glow_block_terminator(r->body)->noperands - 1;
  GlowNode *loop = glow_node_create(s->b, &(GlowNodeSpec){.op = GLOW_OP_LOOP,
                                                          .ins = ins,
                                                          .nins = nins,
                                                          .regions = &r->body,
                                                          .nregions = 1,
                                                          .nresults = nresults});
  for (uint32_t i = 2; loop && i < nins; i++)
    if (xs[i] && !glow_sweep_add(s, r->n, xs[i], &loop->results[i - 2]))
      return false;
  for (uint32_t i = 0, k = nins - 2; loop && i < r->picks.count; i++)
    if (r->picks.data[i].dx && !add_slices(r, &r->picks.data[i], &loop->results[k++]))
      return false;
  return loop != NULL;
}

static bool derive_loop(GlowSweep *s, GlowNode *n, GlowValue *const *dy) {
  Reverse r = {.s = s, .n = n, .dy = dy, .carried = n->regions[0]->nparams - 2};
  r.varied = GLOW_NEW_ARRAY(s->arena, bool, r.carried + 1);
  find_sources(&r);
  GlowValue **dh = GLOW_NEW_ARRAY(s->arena, GlowValue *, r.carried + 1);
  for (uint32_t k = 0; k < r.carried; k++)
    r.varied[k] = glow_sweep_is_active(s, n->regions[0]->params[k + 2]);
  r.xs = captured(s, n);
  find_picks(&r);
  r.body = glow_build_region(s->b, "body", &r.b);
  add_params(&r);
  return derive_body(&r, dh) && end_body(&r, dh) && tape(&r) && read_tapes(&r) && run_reverse(&r);
}

bool glow_sweep_visit_regions(GlowSweep *s, GlowNode *n, GlowValue *const *dy) {
  return n->op == GLOW_OP_IF ? derive_if(s, n, dy) : derive_loop(s, n, dy);
}

/* ---- Activity -------------------------------------------------------------------------------- */

/* Marks v as what b yields as value i is marked; true if that is news. */
static bool flow_yield(GlowSweep *s, const GlowBlock *b, uint32_t i, GlowValue *v) {
  const GlowValue *from = glow_block_terminator(b)->operands[i].value;
  return from && glow_sweep_flow(s, from, v);
}

static void mark_if(GlowSweep *s, GlowNode *n) {
  for (uint32_t r = 0; r < n->nregions; r++)
    glow_sweep_mark_block(s, n->regions[r], NULL);
  for (uint32_t i = 0; i < n->nresults; i++)
    for (uint32_t r = 0; r < n->nregions; r++)
      flow_yield(s, n->regions[r], i, &n->results[i]);
}

/* A carried value is active if it starts so, or becomes so in an iteration. */
static void mark_loop(GlowSweep *s, GlowNode *n) {
  GlowBlock *body = n->regions[0];
  bool changed;
  do {
    changed = false;
    for (uint32_t k = 2; k < body->nparams; k++)
      glow_sweep_flow(s, glow_node_in(n, k), body->params[k]);
    glow_sweep_mark_block(s, body, NULL);
    for (uint32_t k = 2; k < body->nparams; k++)
      changed |= flow_yield(s, body, k - 1, body->params[k]);
  } while (changed);
  for (uint32_t i = 0; i < n->nresults; i++) {
    flow_yield(s, body, i + 1, &n->results[i]);
    if (i + 2 < body->nparams)
      glow_sweep_flow(s, body->params[i + 2], &n->results[i]);
  }
}

void glow_sweep_mark_regions(GlowSweep *s, GlowNode *n) {
  if (n->op == GLOW_OP_IF)
    mark_if(s, n);
  else
    mark_loop(s, n);
}
