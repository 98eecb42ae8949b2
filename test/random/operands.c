/* Operands by port: values that are there where kinds fit, else new ones whose shape is derived
 * from the first operand's in one of the usual ways. Ports that list axes, shapes or sizes get
 * constants. */
#include <string.h>

#include "test/random/internal.h"

typedef struct Dims {
  uint32_t rank;
  int64_t at[GLOW_MAX_RANK];
} Dims;

static bool ranked(const GlowType *t) { return t && glow_type_is_tensor(t) && !t->unranked; }

static Dims dims_of(const GlowValue *v) {
  Dims d = {0};
  if (!v || !ranked(v->type))
    return d;
  d.rank = v->type->rank;
  for (uint32_t i = 0; i < d.rank; i++)
    d.at[i] = v->type->dims[i].kind == GLOW_DIM_UNKNOWN ? 1 : v->type->dims[i].size;
  return d;
}

/* ---- Lists of integers ----------------------------------------------------------------------- */

typedef struct Ints {
  uint32_t count;
  int64_t at[MAX_LIST];
  bool scalar;
} Ints;

static void put(Ints *l, int64_t v) {
  if (l->count < MAX_LIST)
    l->at[l->count++] = v;
}

static void axes_list(GlowGen *g, GlowDraft *d, Dims x, Ints *l) {
  uint32_t first = x.rank ? CHOOSE(g, x.rank) : 0;
  for (uint32_t i = 0; i < d->naxes; i++) {
    int64_t axis = (int64_t)((first + i) % (x.rank ? x.rank : 1));
    put(l, CHOOSE(g, 2) ? axis : axis - (int64_t)x.rank);
  }
}

/* The extents of x in another grouping, or with others that broadcast. */
static void shape_list(GlowGen *g, GlowDraft *d, Dims x, Ints *l) {
  (void)d;
  int64_t total = 1;
  uint32_t way = CHOOSE(g, 4);
  for (uint32_t i = 0; i < x.rank; i++)
    total *= x.at[i];
  if (way == 0 && x.rank) { /* two axes become one, or -1 */
    uint32_t k = CHOOSE(g, x.rank);
    for (uint32_t i = 0; i < x.rank; i++) {
      bool joined = i > 0 && i == k;
      if (joined)
        l->at[l->count - 1] *= x.at[i];
      else
        put(l, x.at[i]);
    }
    if (CHOOSE(g, 2))
      l->at[CHOOSE(g, l->count)] = -1;
  } else if (way == 1) {
    put(l, total % 2 == 0 ? 2 : 1);
    put(l, -1);
    if (CHOOSE(g, 2))
      put(l, 1);
  } else if (way == 2) { /* broadcasting */
    if (CHOOSE(g, 2))
      put(l, 2);
    for (uint32_t i = 0; i < x.rank; i++)
      put(l, x.at[i] == 1 && CHOOSE(g, 2) ? glow_gen_extent(g) : x.at[i]);
  } else {
    put(l, total);
  }
}

static void starts_list(GlowGen *g, GlowDraft *d, Dims x, Ints *l) {
  (void)x;
  for (uint32_t i = 0; i < d->naxes; i++)
    put(l, (int64_t)CHOOSE(g, 4) - 1);
}

static void ends_list(GlowGen *g, GlowDraft *d, Dims x, Ints *l) {
  (void)x;
  for (uint32_t i = 0; i < d->naxes; i++)
    put(l, ONCE_IN(g, 4) ? INT64_MAX : (int64_t)CHOOSE(g, 6) - 1);
}

static void steps_list(GlowGen *g, GlowDraft *d, Dims x, Ints *l) {
  static const int64_t steps[] = {1, 1, 2, -1, 1, -2};
  (void)x;
  for (uint32_t i = 0; i < d->naxes; i++)
    put(l, steps[CHOOSE(g, 6)]);
}

static void pads_list(GlowGen *g, GlowDraft *d, Dims x, Ints *l) {
  uint32_t axes = ONCE_IN(g, 4) ? d->naxes : x.rank;
  for (uint32_t i = 0; i < 2 * axes; i++)
    put(l, ONCE_IN(g, 8) ? -1 : (int64_t)CHOOSE(g, 3));
}

static void repeats_list(GlowGen *g, GlowDraft *d, Dims x, Ints *l) {
  (void)d;
  for (uint32_t i = 0; i < x.rank; i++)
    put(l, 1 + (int64_t)CHOOSE(g, 2) - ONCE_IN(g, 12));
}

/* The extent of the axis in parts. */
static void sizes_list(GlowGen *g, GlowDraft *d, Dims x, Ints *l) {
  int64_t axis = glow_gen_member(d, "axis", 0);
  axis += axis < 0 ? (int64_t)x.rank : 0;
  int64_t left = axis >= 0 && axis < (int64_t)x.rank ? x.at[axis] : 1;
  while (left > 0 && l->count < 4) {
    int64_t part = l->count == 3 ? left : 1 + (int64_t)CHOOSE(g, (uint32_t)left);
    put(l, part);
    left -= part;
  }
}

static void small_list(GlowGen *g, GlowDraft *d, Dims x, Ints *l) {
  (void)d, (void)x;
  for (uint32_t n = 1 + CHOOSE(g, 3); n-- > 0;)
    put(l, (int64_t)CHOOSE(g, 4));
}

static void one_number(GlowGen *g, GlowDraft *d, Dims x, Ints *l) {
  (void)d, (void)x;
  put(l, (int64_t)CHOOSE(g, 3));
  l->scalar = CHOOSE(g, 2);
}

static void state_list(GlowGen *g, GlowDraft *d, Dims x, Ints *l) {
  (void)d, (void)x;
  put(l, (int64_t)CHOOSE(g, 100));
  put(l, (int64_t)CHOOSE(g, 100));
}

/* What an integer port of this name means, in every operator that has one. */
static const struct {
  const char *name;
  void (*fill)(GlowGen *g, GlowDraft *d, Dims x, Ints *l);
} lists[] = {
    {"Axes", axes_list},   {"Shape", shape_list},     {"Starts", starts_list},
    {"Ends", ends_list},   {"Steps", steps_list},     {"Pads", pads_list},
    {"Sizes", sizes_list}, {"Repeats", repeats_list}, {"Split", sizes_list},
    {"K", one_number},     {"State", state_list},     {"Position", one_number},
    {"Axis", one_number},  {"Depth", one_number},
};

static GlowValue *list_operand(GlowGen *g, GlowDraft *d, const GlowOpPort *port, GlowKind kind) {
  Ints l = {0};
  uint32_t i = 0, count = sizeof lists / sizeof *lists;
  while (i < count && strcmp(lists[i].name, port->name))
    i++;
  Dims x = dims_of(d->nin ? d->in[0] : NULL);
  (i < count ? lists[i].fill : small_list)(g, d, x, &l);
  bool scalar = port->scalar || (l.scalar && l.count == 1);
  const GlowType *t = glow_type_exact(g->ctx, kind, !scalar, (int64_t[]){l.count});
  return glow_gen_ints(g, t, l.at);
}

static bool is_list(const GlowOpPort *port) {
  for (uint32_t i = 0; i < sizeof lists / sizeof *lists; i++)
    if (!strcmp(lists[i].name, port->name))
      return true;
  return false;
}

/* ---- Shapes ---------------------------------------------------------------------------------- */

/* The filter of a convolution, [M, C / group, window...] or with the channels last, and its bias.
 */
static bool filter_shape(GlowGen *g, const GlowDraft *d, uint32_t port, Dims *s) {
  if (!d->members || !glow_op_member(d->desc, "group") || port == 0 || port > 2)
    return false;
  Dims x = dims_of(d->in[0]);
  if (port == 2) {
    Dims w = dims_of(d->in[1]);
    *s = (Dims){1, {w.at[0]}};
    return true;
  }
  if (x.rank < 3)
    return false;
  bool last = glow_gen_member(d, "layout", GLOW_LAYOUT_NCHW) == GLOW_LAYOUT_NHWC;
  int64_t group = glow_gen_member(d, "group", 1), channels = last ? x.at[x.rank - 1] : x.at[1];
  s->rank = x.rank;
  for (uint32_t i = 1; i < s->rank; i++)
    s->at[i] = 1 + (int64_t)CHOOSE(g, 3);
  s->at[0] = group * (1 + (int64_t)CHOOSE(g, 4));
  s->at[last ? s->rank - 1 : 1] = group > 0 ? channels / group : channels;
  return true;
}

static Dims derived_shape(GlowGen *g, const GlowDraft *d, uint32_t port) {
  Dims x = dims_of(d->nin ? d->in[0] : NULL), s = x;
  uint32_t way = CHOOSE(g, 9);
  if (!ONCE_IN(g, 6) && filter_shape(g, d, port, &s))
    return s;
  switch (way) {
  case 0: /* extents of 1 */
    for (uint32_t i = 0; i < s.rank; i++)
      s.at[i] = CHOOSE(g, 2) ? 1 : s.at[i];
    return s;
  case 1: /* the channels */
    return x.rank > 1 ? (Dims){1, {x.at[1]}} : s;
  case 2: /* the last axis */
    return x.rank ? (Dims){1, {x.at[x.rank - 1]}} : s;
  case 3:
    return (Dims){0};
  case 4: { /* the other factor of a product */
    Dims p = {2, {x.rank ? x.at[x.rank - 1] : 1, glow_gen_extent(g)}};
    return p;
  }
  case 5:
    if (s.rank)
      s.at[s.rank - 1] = glow_gen_extent(g);
    return s;
  case 6: /* without leading axes */
    if (s.rank > 1) {
      memmove(s.at, s.at + 1, (s.rank - 1) * sizeof *s.at);
      s.rank--;
    }
    return s;
  case 7: /* channels, to broadcast over the rest */
    for (uint32_t i = 0; i < s.rank; i++)
      s.at[i] = i == 1 ? s.at[i] : 1;
    return s;
  default:
    return s;
  }
}

/* ---- Kinds ----------------------------------------------------------------------------------- */

static GlowKindSet bit_of(const GlowType *t) {
  return t->quantized ? GLOW_KINDS_QUANTIZED : GLOW_KIND_BIT(t->kind);
}

static bool in_set(const GlowValue *v, const void *set) {
  return ranked(v->type) && (bit_of(v->type) & *(const GlowKindSet *)set);
}

static bool same_kind(const GlowValue *v, const void *arg) {
  const GlowType *t = arg;
  return ranked(v->type) && v->type->kind == t->kind && v->type->quantized == t->quantized;
}

typedef struct Like {
  const GlowType *kind;
  const GlowType *shape;
} Like;

static bool same_shape(const GlowValue *v, const void *arg) {
  const Like *like = arg;
  if (!same_kind(v, like->kind) || v->type->rank != like->shape->rank)
    return false;
  for (uint32_t i = 0; i < v->type->rank; i++)
    if (v->type->dims[i].size != like->shape->dims[i].size)
      return false;
  return true;
}

static const GlowType *random_kind(GlowGen *g, GlowKindSet set) {
  GlowKind kinds[GLOW_KIND_COUNT];
  uint32_t n = 0;
  for (uint32_t k = 0; k < GLOW_KIND_COUNT; k++)
    if (set & GLOW_KIND_BIT(k))
      kinds[n++] = (GlowKind)k;
  if ((set & GLOW_KINDS_QUANTIZED) && (n == 0 || ONCE_IN(g, 12)))
    return glow_type_with_quant(
        g->ctx, glow_type_scalar(g->ctx, CHOOSE(g, 2) ? GLOW_KIND_I8 : GLOW_KIND_U8), true,
        CHOOSE(g, 2) ? 0.25f : 0.1f, (int32_t)CHOOSE(g, 5));
  if ((set & GLOW_KIND_BIT(GLOW_KIND_FLOAT)) && CHOOSE(g, 2))
    return glow_type_scalar(g->ctx, GLOW_KIND_FLOAT);
  return n ? glow_type_scalar(g->ctx, kinds[CHOOSE(g, n)]) : NULL;
}

/* ---- Operands -------------------------------------------------------------------------------- */

static GlowValue *fresh_like(GlowGen *g, const GlowType *kind, Dims s) {
  GlowDim dims[GLOW_MAX_RANK];
  int64_t total = 1;
  for (uint32_t i = 0; i < s.rank; i++) {
    dims[i] = GLOW_EXACT(s.at[i]);
    total *= s.at[i];
  }
  return total > MAX_ELEMENTS ? NULL
                              : glow_gen_fresh(g, glow_type_with_dims(g->ctx, kind, s.rank, dims));
}

static GlowValue *first_operand(GlowGen *g, GlowDraft *d, const GlowOpPort *port) {
  GlowKindSet set = d->desc->vars[port->var].kinds;
  GlowValue *v = ONCE_IN(g, 8) ? NULL : glow_gen_pick(g, in_set, &set);
  if (v)
    return v;
  const GlowType *t = random_kind(g, set);
  return t ? glow_gen_fresh(g, glow_type_with_dims(g->ctx, t, 0, NULL)->quantized
                                   ? glow_type_with_quant(g->ctx, glow_gen_type(g, t->kind), true,
                                                          t->scale, t->offset)
                                   : glow_gen_type(g, t->kind))
           : NULL;
}

static GlowValue *variable_operand(GlowGen *g, GlowDraft *d, const GlowOpPort *port, uint32_t i) {
  const GlowType *kind = d->vars[port->var];
  if (i == 0)
    return first_operand(g, d, port);
  if (!kind)
    kind = random_kind(g, d->desc->vars[port->var].kinds);
  if (!kind)
    return NULL;
  if (is_list(port) && glow_kind_is_integer(kind->kind))
    return list_operand(g, d, port, kind->kind);
  uint32_t way = CHOOSE(g, 4);
  GlowValue *v = NULL;
  if (way == 0) {
    v = glow_gen_pick(g, same_kind, kind);
  } else if (way == 1 && d->in[0] && ranked(d->in[0]->type)) {
    Like like = {kind, d->in[0]->type};
    v = glow_gen_pick(g, same_shape, &like);
  }
  return v ? v : fresh_like(g, kind, derived_shape(g, d, i));
}

static bool of_class(const GlowValue *v, const void *cls) {
  return v->type->cls == *(const GlowTypeClass *)cls;
}
static bool any_value(const GlowValue *v, const void *arg) { return v->type && !arg; }

static GlowValue *fixed_operand(GlowGen *g, GlowDraft *d, const GlowOpPort *port, uint32_t i) {
  GlowKind kind = (GlowKind)port->var;
  const GlowType *t = glow_type_scalar(g->ctx, kind);
  if (glow_kind_is_integer(kind) && (is_list(port) || !ONCE_IN(g, 3)))
    return list_operand(g, d, port, kind);
  if (port->scalar) {
    GlowValue *v = CHOOSE(g, 2) ? glow_gen_pick(g, glow_gen_same_type, t) : NULL;
    return v ? v : glow_gen_fresh(g, t);
  }
  GlowValue *v = CHOOSE(g, 2) ? glow_gen_pick(g, same_kind, t) : NULL;
  if (v)
    return v;
  return i ? fresh_like(g, t, derived_shape(g, d, i)) : glow_gen_fresh(g, glow_gen_type(g, kind));
}

static GlowValue *operand(GlowGen *g, GlowDraft *d, const GlowOpPort *port, uint32_t i) {
  GlowTypeClass seq = GLOW_TYPE_SEQ, opt = GLOW_TYPE_OPT;
  switch ((GlowPortTypeKind)port->type) {
  case GLOW_PORT_VAR:
    return variable_operand(g, d, port, i);
  case GLOW_PORT_KIND:
    return fixed_operand(g, d, port, i);
  case GLOW_PORT_SEQ:
    return glow_gen_pick(g, of_class, &seq);
  case GLOW_PORT_OPT:
    return glow_gen_pick(g, of_class, &opt);
  case GLOW_PORT_ANY:
    return glow_gen_pick(g, any_value, NULL);
  }
  return NULL;
}

static bool add(GlowGen *g, GlowDraft *d, const GlowOpPort *port) {
  uint32_t i = d->nin;
  GlowValue *v = operand(g, d, port, i);
  if (!v)
    return false;
  d->in[d->nin++] = v;
  if (port->type == GLOW_PORT_VAR && port->var < 8 && !d->vars[port->var] && ranked(v->type))
    d->vars[port->var] = glow_type_with_dims(g->ctx, v->type, 0, NULL);
  return true;
}

/* The first operand comes before the members, which speak of its axes. */
bool glow_gen_operands(GlowGen *g, GlowDraft *d) {
  const GlowOpDesc *desc = d->desc;
  for (uint32_t i = 0; i < desc->nin && i < MAX_OPERANDS - 4; i++) {
    const GlowOpPort *port = &desc->in[i];
    uint32_t count = port->flags & GLOW_PORT_VARIADIC ? 1 + CHOOSE(g, 3) : 1;
    if ((port->flags & GLOW_PORT_OPTIONAL) && CHOOSE(g, 2)) {
      d->in[d->nin++] = NULL;
      continue;
    }
    for (uint32_t k = 0; k < count; k++) {
      if (!add(g, d, port))
        return false;
      if (d->nin == 1) {
        Dims x = dims_of(d->in[0]);
        d->naxes = x.rank ? 1 + CHOOSE(g, x.rank) : 0;
        if (!glow_gen_members(g, d))
          return false;
      }
    }
  }
  return d->nin || glow_gen_members(g, d);
}
