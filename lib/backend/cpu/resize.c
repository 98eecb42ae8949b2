/* Resize as tables of indices and weights, which become constants of the kernels. Scales, sizes and
 * crops must be known; blocked axes stay as they are. */
#include "cpu/work.h"
#include "kernels/ref/resize_plan.h"
#include "num/bits.h"

/* Parameters under construction. */
typedef struct Tables {
  GlowSelect *s;
  const GlowResizePlan *plan;
  GLOW_VEC(int64_t) table;
  GlowResizeParams params; /* without its table, so it stands last */
} Tables;

/* ---- The plan -------------------------------------------------------------------------------- */

/* Makes the plan from the operands of n, all of which but X must be known. */
static bool read_plan(GlowSelect *s, const GlowNode *n, GlowResizePlan *p) {
  const GlowCall *call = glow_select_call(s, n);
  if (!call)
    return false;
  for (uint32_t i = 1; i < call->nin; i++) {
    const GlowValue *v = glow_node_in(n, i);
    const GlowTensor *known = v ? glow_value_known(v) : NULL;
    if (v && !known)
      return glow_select_fail(s, "an operand that says where is not known before it runs");
    call->in[i].data = known ? known->data : NULL;
  }
  return glow_resize_plan(call, p) ||
         glow_select_fail(s, "its operands contradict the extents of its result");
}

/* Puts the axes from the first to the last one that changes at the end of `axes`. */
static bool choose_axes(Tables *t, int64_t *images, const GlowResizeAxis **axes) {
  static const GlowResizeAxis none = {.in = 1, .out = 1, .same = true};
  const GlowResizePlan *plan = t->plan;
  GlowResizeParams *p = &t->params;
  uint32_t first = 0, end = plan->rank;
  while (first < end && plan->axes[first].same)
    first++;
  while (end > first && plan->axes[end - 1].same)
    end--;
  if (end - first > GLOW_RESIZE_AXES)
    return glow_select_fail(t->s, "more than three axes lie between those that change");
  *images = p->run = 1;
  for (uint32_t a = 0; a < first; a++)
    *images *= plan->axes[a].in;
  for (uint32_t a = end; a < plan->rank; a++)
    p->run *= plan->axes[a].in;
  for (uint32_t a = 0; a < GLOW_RESIZE_AXES; a++) {
    uint32_t lead = GLOW_RESIZE_AXES - (end - first);
    axes[a] = a < lead ? &none : &plan->axes[first + a - lead];
    p->in[a] = axes[a]->in;
    p->out[a] = axes[a]->out;
    p->changes[a] = !axes[a]->same;
  }
  return true;
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static void push(Tables *t, int64_t v) { glow_vec_push(t->s->arena, &t->table, v); }

static void push_nearest(Tables *t, const GlowResizeAxis *a, uint32_t axis) {
  t->params.places[axis] = t->table.count;
  for (int64_t i = 0; i < a->out; i++) {
    int64_t at = glow_resize_nearest(t->plan, a, i);
    t->params.fills |= at < 0;
    push(t, at);
  }
}

/* Whether the elements of the last axis stand twice each, alone. */
static bool doubles(const Tables *t) {
  const GlowResizeParams *p = &t->params;
  if (p->run * p->bytes != 4 || p->out[2] != 2 * p->in[2])
    return false;
  for (int64_t i = 0; i < p->out[2]; i++)
    if (t->table.data[p->places[2] + i] != i / 2)
      return false;
  return true;
}

/* Appends the list of place i. */
static void push_list(Tables *t, const GlowResizeAxis *a, uint32_t axis, int64_t i,
                      double *weights) {
  GlowTaps taps = {.first = i, .count = 1, .weights = weights};
  uint32_t start = t->table.count;
  weights[0] = 1;
  push(t, 0);
  if (!a->same && glow_resize_is_outside(t->plan, a, i)) {
    t->table.data[start] = -1;
    t->params.fills = 1;
    taps.count = 0;
  } else if (!a->same) {
    glow_resize_taps(t->plan, a, i, &taps);
  }
  int64_t first = 0, end = 0; /* of the taps with a weight */
  for (int64_t k = 0; k < taps.count; k++) {
    if (weights[k] == 0)
      continue;
    first = end ? first : k;
    end = k + 1;
    push(t, taps.first + k);
    push(t, (int64_t)glow_double_bits(weights[k]));
    t->table.data[start]++;
  }
  if (end - first > t->params.span[axis])
    t->params.span[axis] = end - first;
}

/* Appends the indices and weights of the last axis once more, if its lists have one element or two
 * each: see `pairs` of ResizeParams. */
static void push_pairs(Tables *t) {
  const int64_t n = t->params.out[GLOW_RESIZE_AXES - 1];
  const int64_t places = t->params.places[GLOW_RESIZE_AXES - 1];
  const uint32_t pairs = t->table.count;
  for (int64_t i = 0; i < n; i++) {
    const int64_t count = t->table.data[t->table.data[places + i]];
    if (count < 1 || count > 2)
      return;
  }
  for (int part = 0; part < 4; part++) {
    for (int64_t i = 0; i < n; i++) {
      const int64_t *list = &t->table.data[t->table.data[places + i]];
      bool second = part % 2, weight = part >= 2;
      push(t, second && list[0] < 2 ? 0 : list[1 + 2 * second + weight]);
    }
  }
  t->params.pairs = pairs;
}

static void push_lists(Tables *t, const GlowResizeAxis *a, uint32_t axis) {
  uint32_t places = t->table.count;
  double *weights = GLOW_NEW_ARRAY(t->s->arena, double, a->in);
  t->params.places[axis] = places;
  t->params.span[axis] = 1;
  for (int64_t i = 0; i < a->out; i++)
    push(t, 0);
  for (int64_t i = 0; i < a->out; i++) {
    t->table.data[places + i] = t->table.count;
    push_list(t, a, axis, i, weights);
  }
}

/* Whether any `band` neighbouring lines of Y read no more than `slots` neighbouring lines of X. */
static bool fits(const Tables *t, int64_t band, int64_t slots) {
  const int64_t *table = t->table.data, *places = table + t->params.places[1];
  for (int64_t line = 0; line + band <= t->params.out[1]; line++) {
    int64_t low = INT64_MAX, high = 0;
    for (int64_t i = line; i < line + band; i++) {
      const int64_t *list = table + places[i];
      for (int64_t k = 0; k < list[0]; k++) {
        low = list[1 + 2 * k] < low ? list[1 + 2 * k] : low;
        high = list[1 + 2 * k] > high ? list[1 + 2 * k] : high;
      }
    }
    if (high - low >= slots)
      return false;
  }
  return true;
}

/* Decides how many resampled rows of X scratch memory keeps: those that a sum reads; more, so that
 * several lines of Y find theirs there; or all of the planes that a sum reads, which the next plane
 * then finds. As many as a cache holds, and as have a use. */
static void choose_slots(Tables *t, int64_t images) {
  enum { KEPT = 32768, BAND = 64 }; /* bytes; lines */
  GlowResizeParams *p = &t->params;
  const int64_t row = p->out[2] * p->run * (int64_t)sizeof(double);
  for (int a = 0; a < GLOW_RESIZE_AXES; a++) {
    const int64_t least = p->span[a];
    for (p->span[a] = 1; p->span[a] < least;)
      p->span[a] *= 2;
  }
  p->band = 1;
  if (p->fills)
    return;
  if (2 * p->out[1] >= p->in[1] && p->span[0] * p->in[1] * row <= KEPT) {
    while (p->span[1] < p->in[1])
      p->span[1] *= 2;
    while (p->in[0] == 1 && !p->changes[0] && 2 * p->span[0] * p->span[1] * row <= KEPT / 2 &&
           p->span[0] < images)
      p->span[0] *= 2;
    p->band = p->out[1];
    return;
  }
  while (2 * p->span[0] * p->span[1] * row <= KEPT / 2 && p->span[1] < p->in[1])
    p->span[1] *= 2;
  while (p->band < BAND && 2 * p->band < p->out[1] && fits(t, 2 * p->band, p->span[1]))
    p->band *= 2;
}

/* ---- Selection ------------------------------------------------------------------------------- */

/* The bits of an element that fills the crop. */
static int64_t fill_bits(const GlowResizeMembers *m, GlowKind kind) {
  int64_t bits = 0;
  GlowBuf one = {.data = &bits, .kind = kind};
  glow_ref_store_number(&one, 0, (double)m->extrapolation_value);
  return bits;
}

static int64_t scratch_bytes(const GlowResizeParams *p) {
  int64_t slots = p->span[0] * p->span[1], row = (p->out[2] * p->run + 15) / 16 * 16;
  return (slots + 7) / 8 * 128 + slots * row * (int64_t)sizeof(double);
}

bool glow_select_resize(GlowSelect *s, const GlowNode *n) {
  const GlowResizeMembers *m = n->members;
  const GlowResizeAxis *axes[GLOW_RESIZE_AXES];
  bool nearest = m->mode == GLOW_RESIZE_MODE_NEAREST;
  GlowResizePlan plan;
  GlowView x, y;
  Tables t = {.s = s, .plan = &plan};
  int64_t images;
  if (!glow_select_view(s, glow_node_in(n, 0), &x) || !glow_select_view(s, glow_node_out(n, 0), &y))
    return false;
  GlowKind kind = y.type->kind;
  if (glow_kind_info[kind].bits % 8 || glow_kind_info[kind].bits > 64 ||
      (!nearest && !glow_find_resize(kind)))
    return glow_select_fail(s, "there is no kernel for its kind");
  if (!glow_view_is_dense(&x) || !glow_view_is_dense(&y))
    return glow_select_fail(s, "an operand is not dense");
  if (glow_type_elements(y.type) == 0)
    return true;
  if (!read_plan(s, n, &plan) || !choose_axes(&t, &images, axes))
    return false;
  for (uint32_t a = 0; a < GLOW_RESIZE_AXES; a++) {
    if (nearest)
      push_nearest(&t, axes[a], a);
    else
      push_lists(&t, axes[a], a);
  }
  if (!nearest)
    choose_slots(&t, images);
  if (!nearest && t.params.run == 1 && t.params.changes[GLOW_RESIZE_AXES - 1])
    push_pairs(&t);
  t.params.bytes = glow_kind_info[kind].bits / 8;
  t.params.fill = fill_bits(m, kind);
  t.params.doubles = nearest && doubles(&t);
  GlowWorkSpec spec = {.units = images * t.params.out[0] * t.params.out[1]};
  if (nearest)
    glow_work_resize_nearest(s, n, &t.params, t.table.data, t.table.count,
                             &(GlowResizeNearestPlaces){.y = y.place, .x = x.place}, &spec);
  else
    glow_work_resize(s, n, kind, &t.params, t.table.data, t.table.count,
                     &(GlowResizePlaces){.y = y.place, .x = x.place}, &spec)
        ->scratch = scratch_bytes(&t.params);
  return glow_select_zero_padding(s, n, &y);
}
