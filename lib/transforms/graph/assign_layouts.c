/* Blocked layouts through the graph, from what the target offers (GlowChoice): on a CPU NCHW16c for
 * what convolutions and pools read and write, packed filters in `eval` constants.
 *
 *   y = Relu(Convolution(x, w))   becomes   c = Convolution(Relayout(x), w.packed)  | NCHW16c
 *                                           y = Relayout(Relu(c))
 *
 * Nodes with a choice begin a blocked stretch. Element-wise nodes, Concat, Slice, Split, Pad and
 * Resize join it if the larger part of what they read is in it; a Resize to more elements also if
 * those who read it would lay out the larger result. Pieces may begin inside a block.
 * Maps of bytes have all channels in one block; element-wise nodes and BitCast alone join these.
 * Relayouts that meet cancel, so that they remain where a stretch is entered and left. Small
 * operands with one value for each channel stay plain; constants are relaid out in `eval`
 * initializers.
 *
 * Constant right operands of products are packed too, in panels of the columns of a tile; one that
 * is no constant would be packed at each run, so it stays as it is.
 *
 * Works from any layout. What is packed depends on the target, which is the module's or this host,
 * and is written into the module. Exact: kernels add up in the same order in every layout. */
#include "target/target.h"
#include "transforms/pieces.h"
#include "transforms/relayout.h"
#include "transforms/rules.h"

typedef struct Assign {
  GlowPassRun *run;
  const GlowTarget *target;
  const GlowLayout *blocked; /* of values in a blocked stretch; on a CPU NCHW16c */
  GlowRelayouts relayouts;
  GLOW_VEC(GlowNode *) nodes; /* of the function, in order */
} Assign;

/* What becomes of a node. */
typedef struct Plan {
  GlowValue **ins;       /* new operands */
  const GlowLayout *out; /* of the results; NULL: as it is */
  bool packed;           /* an operand is laid out for the target */
} Plan;

static bool is_blocked(const Assign *a, GlowValue *v) { return glow_value_comes_in(v, a->blocked); }

/* ---- What the target has layouts for --------------------------------------------------------- */

/* How many operands would need a Relayout at each run for this choice. A constant that is packed
 * does not count, since it is packed once. */
static uint32_t relayouts(const Plan *p, const GlowNode *n, const GlowChoice *c) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < n->noperands && i < GLOW_CHOICE_PORTS; i++) {
    GlowValue *v = p->ins[i];
    bool once =
        v && c->packed >> i & 1 && glow_value_is_constant(v) && !glow_value_def(v, GLOW_OP_SPLAT);
    count += v && !once && !glow_value_comes_in(v, c->in[i]);
  }
  return count;
}

/* The choice with the fewest Relayouts, the target's first of these. */
static bool plan_choice(Assign *a, GlowNode *n, Plan *p, const GlowChoice *choices,
                        uint32_t count) {
  const GlowChoice *best = choices;
  for (uint32_t k = 1; k < count; k++)
    if (relayouts(p, n, &choices[k]) < relayouts(p, n, best))
      best = &choices[k];
  p->out = best->out;
  p->packed = best->packed != 0;
  for (uint32_t i = 0; i < n->noperands && i < GLOW_CHOICE_PORTS; i++) {
    GlowValue *v = p->ins[i];
    if (v && v->type->layout != best->in[i] &&
        !(p->ins[i] = glow_value_in(&a->relayouts, v, best->in[i], n)))
      return false;
  }
  return true;
}

/* ---- What joins a blocked stretch ------------------------------------------------------------ */

static bool is_blockable(const GlowType *t) {
  return glow_type_is_known(t) && t->rank == 4 && t->dims[1].kind == GLOW_DIM_EXACT &&
         !t->quantized && glow_type_elements(t) > 0;
}

/* Whether a value of type t cannot stay plain beside blocked values of four axes. It can if it does
 * not differ between channels, or has one number for each channel and fills whole blocks. */
static bool needs_blocks(const Assign *a, const GlowType *t) {
  if (t->rank < 3)
    return false;
  int64_t channels = t->dims[t->rank - 3].size;
  int64_t places = t->dims[t->rank - 2].size * t->dims[t->rank - 1].size;
  return channels > 1 && (places > 1 || channels % a->blocked->blocks[0].size);
}

/* Whether the larger part of what n reads is blocked; only the first `count` operands are looked
 * at. Constants do not count, since a Relayout of them costs nothing. */
static bool joins(const Assign *a, const GlowNode *n, uint32_t count) {
  int64_t blocked = 0, plain = 0;
  for (uint32_t i = 0; i < count; i++) {
    GlowValue *v = glow_node_in(n, i);
    if (!v)
      continue;
    if (!glow_type_is_known(v->type) || v->type->rank > 4 || v->type->quantized)
      return false;
    if (is_blocked(a, v))
      blocked += glow_type_elements(v->type);
    else if (needs_blocks(a, v->type) && !glow_value_is_constant(v) &&
             !glow_map_get(a->relayouts.known, v))
      plain += glow_type_elements(v->type);
  }
  return blocked && blocked >= plain;
}

static bool has_blockable_results(const GlowNode *n) {
  for (uint32_t i = 0; i < n->nresults; i++)
    if (!is_blockable(n->results[i].type))
      return false;
  return n->nresults > 0;
}

static bool plan_elementwise(Assign *a, GlowNode *n, Plan *p) {
  uint32_t nins = glow_node_nins(n);
  if (!has_blockable_results(n) || !joins(a, n, nins))
    return false;
  p->out = a->blocked;
  for (uint32_t i = 0; i < nins; i++) {
    GlowValue *v = p->ins[i];
    if (!v || !(needs_blocks(a, v->type) || is_blocked(a, v)))
      continue;
    v = glow_value_with_four_axes(&a->relayouts, v, n);
    p->ins[i] = v ? glow_value_in(&a->relayouts, v, a->blocked, n) : NULL;
    if (!p->ins[i])
      return false;
  }
  return true;
}

/* The layout in one block of all channels that v has, or had before a Relayout; NULL if it has
 * none. Kernels of bytes have such maps. */
static const GlowLayout *channels_layout(const GlowValue *v) {
  const GlowNode *relayout = glow_value_def(v, GLOW_OP_RELAYOUT);
  const GlowType *t = relayout ? glow_node_in(relayout, 0)->type : v->type;
  const GlowLayout *l = t->layout;
  bool one = l && glow_type_is_known(t) && t->rank == 4 && l->nblocks == 1 &&
             l->blocks[0].axis == 1 && l->blocks[0].size == t->dims[1].size;
  return one ? l : NULL;
}

/* Whether v has one number, or one for each channel. */
static bool is_small(const GlowValue *v) {
  const GlowType *t = v->type;
  return glow_type_is_known(t) && !t->layout && t->rank <= 3 &&
         (t->rank < 2 || t->dims[t->rank - 1].size * t->dims[t->rank - 2].size == 1) &&
         (t->rank != 1 || t->dims[0].size == 1);
}

/* Element-wise nodes, and BitCast, on maps in one block of channels: all operands but small ones
 * come so. */
static bool plan_channels(Assign *a, GlowNode *n, Plan *p) {
  const GlowLayout *l = NULL;
  uint32_t nins = glow_node_nins(n);
  if (n->nresults != 1 || !glow_type_is_known(n->results[0].type) || n->results[0].type->rank != 4)
    return false;
  for (uint32_t i = 0; i < nins; i++) {
    const GlowValue *v = p->ins[i];
    const GlowLayout *own = v ? channels_layout(v) : NULL;
    if (v && !own && !is_small(v))
      return false;
    if (own && l && own != l)
      return false;
    l = own ? own : l;
  }
  if (!l)
    return false;
  p->out = l;
  for (uint32_t i = 0; i < nins; i++)
    if (p->ins[i] && channels_layout(p->ins[i]) &&
        !(p->ins[i] = glow_value_in(&a->relayouts, p->ins[i], l, n)))
      return false;
  return true;
}

static bool takes_no_steps(const GlowNode *n) {
  for (uint32_t i = 0; i < n->nresults; i++) {
    GlowPiece piece;
    if (!glow_piece_cut(n, i, &piece) || piece.step[1] != 1)
      return false;
  }
  return true;
}

static bool pad_keeps_blocks(const GlowNode *n) {
  int64_t amounts[2 * GLOW_MAX_RANK];
  return glow_pad_amounts(n, 4, amounts) && amounts[1] == 0 && amounts[4 + 1] == 0;
}

static bool keeps_blocks(const GlowNode *n) {
  switch (n->op) {
  case GLOW_OP_CONCAT:
  case GLOW_OP_BARRIER:
  case GLOW_OP_BIT_CAST:
    return true;
  case GLOW_OP_SLICE:
  case GLOW_OP_SPLIT:
    return takes_no_steps(n);
  case GLOW_OP_PAD:
    return pad_keeps_blocks(n);
  default:
    return false;
  }
}

/* Movement: the values of a Concat, the first operand of the others. */
static bool plan_movement(Assign *a, GlowNode *n, Plan *p) {
  uint32_t count = n->op == GLOW_OP_CONCAT ? glow_node_nins(n) : 1;
  if (!has_blockable_results(n) || !joins(a, n, count) || !keeps_blocks(n))
    return false;
  p->out = a->blocked;
  for (uint32_t i = 0; i < count; i++)
    if (!(p->ins[i] = glow_value_in(&a->relayouts, p->ins[i], a->blocked, n)))
      return false;
  return true;
}

/* Whether a Resize leaves the channels alone: the result has as many, and the scale along them is
 * 1. */
static bool resize_keeps_channels(const GlowNode *n) {
  const GlowResizeMembers *m = n->members;
  const GlowValue *scales = glow_node_in(n, GLOW_RESIZE_IN_SCALES);
  const GlowTensor *known = scales ? glow_value_known(scales) : NULL;
  if (m->coordinate_transformation_mode == GLOW_COORDINATES_TF_CROP_AND_RESIZE ||
      n->results[0].type->dims[1].size != glow_node_in(n, 0)->type->dims[1].size)
    return false;
  if (!scales || glow_type_elements(scales->type) == 0)
    return m->keep_aspect_ratio_policy == GLOW_ASPECT_POLICY_STRETCH;
  for (int64_t k = 0; known && k < glow_tensor_elements(known); k++) {
    int64_t axis = m->axes.count ? glow_array_at(m->axes, int64_t, (uint32_t)k) : k;
    if ((axis == 1 || axis == -3) && glow_tensor_get_double(known, k) != 1)
      return false;
  }
  return known != NULL;
}

/* Whether n makes more elements than it reads, and element-wise nodes that are its only readers
 * read as many in blocks already: then the smaller operand is laid out, not the result. */
static bool grows_into_blocks(const Assign *a, const GlowNode *n) {
  const GlowValue *y = &n->results[0];
  const GlowType *x = glow_node_in(n, 0)->type;
  if (!is_blockable(x) || glow_type_elements(x) >= glow_type_elements(y->type) || !y->uses)
    return false;
  for (const GlowUse *u = y->uses; u; u = u->next) {
    bool blocked = false;
    for (uint32_t i = 0; i < u->user->noperands; i++) {
      GlowValue *v = u->user->operands[i].value;
      blocked |= v && v != y && is_blocked(a, v) &&
                 glow_type_elements(v->type) >= glow_type_elements(y->type);
    }
    if (!blocked || !GLOW_HAS(glow_node_desc(u->user), ANY_LAYOUT))
      return false;
  }
  return true;
}

static bool plan_resize(Assign *a, GlowNode *n, Plan *p) {
  if (!has_blockable_results(n) || !(joins(a, n, 1) || grows_into_blocks(a, n)) ||
      !resize_keeps_channels(n))
    return false;
  p->out = a->blocked;
  p->ins[0] = glow_value_in(&a->relayouts, p->ins[0], a->blocked, n);
  return p->ins[0] != NULL;
}

/* ---- The rewrite ----------------------------------------------------------------------------- */

static bool plan(Assign *a, GlowNode *n, Plan *p) {
  const GlowOpDesc *d = glow_node_desc(n);
  GlowChoice choices[GLOW_CHOICES];
  const char *why = NULL;
  uint32_t count = glow_target_choices(a->target, n, choices, &why);
  if (count)
    return plan_choice(a, n, p, choices, count);
  if (why)
    glow_pass_remark(a->run, glow_node_loc(n), "%s stays plain: %s", d->node, why);
  if (why || !GLOW_HAS(d, PURE) || n->nregions)
    return false;
  if (n->op == GLOW_OP_RESIZE)
    return plan_resize(a, n, p);
  if (GLOW_HAS(d, BLOCKS))
    return (n->op == GLOW_OP_BIT_CAST && plan_channels(a, n, p)) || plan_movement(a, n, p);
  return GLOW_HAS(d, ANY_LAYOUT) && (plan_channels(a, n, p) || plan_elementwise(a, n, p));
}

/* The types of n's results under the plan. Results behind the first that nobody uses keep
 * theirs. */
static const GlowType **planned_types(const Assign *a, const GlowNode *n, const Plan *p) {
  const GlowType **types = GLOW_NEW_ARRAY(a->run->arena, const GlowType *, n->nresults);
  for (uint32_t i = 0; i < n->nresults; i++) {
    const GlowValue *y = &n->results[i];
    bool blocked = p->out && (y->uses || i == 0);
    types[i] = blocked ? glow_type_with_layout(a->run->ctx, y->type, p->out) : y->type;
  }
  return types;
}

static bool convert(Assign *a, GlowNode *n) {
  GlowContext *ctx = a->run->ctx;
  unsigned errors = glow_context_error_count(ctx);
  Plan p = {.ins = GLOW_NEW_ARRAY(a->run->arena, GlowValue *, n->noperands)};
  for (uint32_t i = 0; i < n->noperands; i++)
    p.ins[i] = n->operands[i].value;
  glow_pass_check_limit(a->run);
  if (!plan(a, n, &p))
    return glow_context_error_count(ctx) == errors;
  bool changed;
  const char *what = glow_arena_printf(a->run->arena, "%s in %s", glow_node_desc(n)->node,
                                       p.out ? p.out->text : "panels");
  if (!glow_node_rebuild(&a->relayouts, n, p.ins, planned_types(a, n, &p), what, &changed))
    return false;
  if (changed && p.packed && !a->run->module->target)
    a->run->module->target = glow_str(ctx, a->target->name);
  return true;
}

/* ---- The end --------------------------------------------------------------------------------- */

static bool count_relayout(GlowNode *n, void *arg) {
  Assign *a = arg;
  const GlowValue *y = n->nresults ? &n->results[0] : NULL;
  if (n->op != GLOW_OP_RELAYOUT)
    return true;
  const GlowType *x = glow_node_in(n, 0)->type;
  if (glow_layouts_agree(x, y->type)) {
    glow_pass_count(a->run, "relayouts that move nothing", 1);
    return true;
  }
  glow_pass_count(a->run, "relayouts", 1);
  const GlowNode *user = y->uses ? y->uses->user : NULL;
  glow_pass_remark(a->run, glow_node_loc(n), "a Relayout to %s stays: %s",
                   y->type->layout ? y->type->layout->text : "plain",
                   user
                       ? glow_arena_printf(a->run->arena, "%s reads it", glow_node_desc(user)->node)
                       : "nothing reads it");
  return true;
}

static bool collect(GlowNode *n, void *arg) {
  Assign *a = arg;
  glow_vec_push(a->run->arena, &a->nodes, n);
  return true;
}

bool glow_pass_assign_layouts(GlowPassRun *run) {
  Assign a = {.run = run};
  if (!glow_target_of(run->module, &a.target))
    return false;
  if (!a.target) {
    glow_pass_remark(run, GLOW_NOWHERE, "there is no target for this machine; layouts stay plain");
    return true;
  }
  if (!a.target->family->blocks)
    return true;
  a.blocked = glow_layout_named(run->ctx, a.target->family->blocks, 4);
  a.relayouts = glow_relayouts_begin(run);
  glow_block_walk(run->function->body, collect, &a);
  for (uint32_t i = 0; i < a.nodes.count; i++) {
    GlowNode *n = a.nodes.data[i];
    if (n->op == GLOW_OP_RELAYOUT)
      glow_relayout_shorten(&a.relayouts, n);
    else if (!convert(&a, n))
      return false;
  }
  glow_relayouts_end(&a.relayouts);
  glow_block_walk(run->function->body, count_relayout, &a);
  return true;
}
