/* See lanes.h. An operator with a scalar body is one call; kinds that no lanes compute in, such as
 * 16-bit floats and quantized integers, are converted around the call, and every result is rounded
 * to its type. */
#include "backend/cpu/lanes.h"

#include <string.h>

#include "backend/interp/interp_internal.h"
#include "kernels/cpu/lane_scale.h"
#include "ops/casts.inc"
#include "ops/kernels.h"

/* ---- What has a vector form ------------------------------------------------------------------ */

/* Kinds that lanes_cast.c converts. */
static bool is_number(GlowKind k) { return k <= GLOW_KIND_BOOL; }
static bool is_small(GlowKind k) {
  return k >= GLOW_KIND_FLOAT8E4M3FN && k <= GLOW_KIND_FLOAT8E8M0;
}
static bool is_short(GlowKind k) { return glow_kind_info[k].bits <= 16; }
static bool is_wide_integer(GlowKind k) { return k == GLOW_KIND_I64 || k == GLOW_KIND_U64; }

/* Whether values of this type can be lanes at all. */
static bool has_lanes(const GlowLane *t) {
  uint32_t bits = t->kind < GLOW_KIND_COUNT ? glow_kind_info[t->kind].bits : 0;
  if (bits == 0 || bits % 8 || bits > 64)
    return false;
  return !t->quantized || (glow_kind_is_integer(t->kind) && bits <= 32);
}

static GlowKind plain_kind(const GlowLane *t) { return t->quantized ? GLOW_KIND_FLOAT : t->kind; }

static bool is_absent(const GlowLane *t) { return t->value == GLOW_BODY_ABSENT; }

/* The kind that an operator with a scalar body computes in; its lanes functions are called by it.
 */
static GlowKind compute_kind(const GlowNode *n, const GlowLane *in) {
  const GlowOpDesc *d = glow_node_desc(n);
  GlowKind kinds[GLOW_MAX_RANK];
  /* Where only chooses, so the width is all that matters. */
  if (n->op == GLOW_OP_WHERE) {
    uint32_t bits = glow_kind_info[in[1].kind].bits;
    return bits == 8    ? GLOW_KIND_U8
           : bits == 16 ? GLOW_KIND_U16
           : bits == 32 ? GLOW_KIND_U32
                        : GLOW_KIND_U64;
  }
  for (uint32_t i = 0; i < d->nin; i++) {
    bool here = i < glow_node_nins(n) && !is_absent(&in[i]);
    kinds[i] = here ? plain_kind(&in[i]) : GLOW_KIND_COUNT;
  }
  GlowKind k = glow_op_compute_kind(d, kinds, d->nin);
  return k == GLOW_KIND_FLOAT16 || k == GLOW_KIND_BFLOAT16 ? GLOW_KIND_FLOAT : k;
}

static bool can_cast(GlowKind from, GlowKind to) {
  if (is_small(to) && is_wide_integer(from))
    return false;
  return (is_number(from) || is_small(from)) && (is_number(to) || is_small(to));
}

/* QuantizeLinear and DequantizeLinear between plain kinds and integers of up to 32 bits, with a
 * scale for all or for each slice. */
static bool has_linear(const GlowNode *n, const GlowLane *in, const GlowLane *y) {
  bool quantize = n->op == GLOW_OP_QUANTIZE_LINEAR, zero = glow_node_nins(n) > 2;
  int64_t block = quantize ? ((const GlowQuantizeLinearMembers *)n->members)->block
                           : ((const GlowDequantizeLinearMembers *)n->members)->block;
  GlowKind real = quantize ? in[0].kind : y->kind, stored = quantize ? y->kind : in[0].kind;
  return block == 0 && is_number(real) && glow_kind_is_integer(stored) &&
         glow_kind_info[stored].bits <= 32 && (!zero || is_absent(&in[2]) || in[2].kind == stored);
}

static bool has_form(const GlowNode *n, const GlowLane *in, const GlowLane *out) {
  if (!has_lanes(out))
    return false;
  for (uint32_t i = 0; i < glow_node_nins(n); i++)
    if (!is_absent(&in[i]) && !has_lanes(&in[i]))
      return false;
  switch (n->op) {
  case GLOW_OP_SPLAT:
  case GLOW_OP_WHERE:
    return true;
  case GLOW_OP_CAST:
  case GLOW_OP_QUANTIZE:
  case GLOW_OP_DEQUANTIZE:
    return !is_absent(&in[0]) && can_cast(plain_kind(&in[0]), plain_kind(out));
  case GLOW_OP_QUANTIZE_LINEAR:
  case GLOW_OP_DEQUANTIZE_LINEAR:
    return has_linear(n, in, out);
  default:
    return glow_node_desc(n)->has_scalar && is_number(compute_kind(n, in));
  }
}

/* ---- Calls ----------------------------------------------------------------------------------- */

/* What a function of lanes reads besides lanes. */
typedef struct Members {
  const void *data;
  uint32_t bytes;
} Members;

/* The members that scalar bodies can read, in the layout of the struct; the others are zero. */
static Members members_of(GlowLaneList *l, const GlowNode *n) {
  const GlowOpDesc *d = glow_node_desc(n);
  if (!d->member_size)
    return (Members){0};
  char *bytes = glow_arena_alloc(l->arena, d->member_size);
  for (uint32_t i = 0; i < d->nmembers; i++) {
    const GlowMember *m = &d->members[i];
    bool pointer = m->array || glow_member_is_text(m) || m->type == GLOW_MEMBER_TYPE;
    if (!pointer && m->type != GLOW_MEMBER_SCALAR && m->type != GLOW_MEMBER_SIZE)
      memcpy(bytes + m->offset, (const char *)n->members + m->offset, glow_member_size(m));
  }
  return (Members){bytes, d->member_size};
}

static uint32_t append(GlowLaneList *l, GlowLaneCall call, GlowKind kind) {
  call.loc = l->loc;
  glow_vec_push(l->arena, &l->calls, call);
  glow_vec_push(l->arena, &l->kinds, kind);
  return l->kinds.count - 1;
}

/* Calls a function of the library. Bit i of `optional`: operand i may be absent. */
static uint32_t call(GlowLaneList *l, uint32_t lane, Members members, GlowKind result,
                     const uint32_t *ins, uint32_t nins, uint32_t optional) {
  GLOW_CHECK(l->ctx, lane, "the library has lanes of the kind");
  GlowLaneCall c = {.lane = lane,
                    .turns = lanes_turns[lane],
                    .members = members.data,
                    .bytes = members.bytes,
                    .ins = glow_arena_copy(l->arena, ins, nins * sizeof *ins),
                    .nins = nins,
                    .optional = optional};
  return append(l, c, result);
}

uint32_t glow_lanes_constant(GlowLaneList *l, const void *element, GlowKind kind) {
  uint32_t bytes = glow_kind_info[kind].bits / 8;
  GlowLaneCall c = {.members = glow_arena_copy(l->arena, element, bytes), .bytes = bytes};
  return append(l, c, kind);
}

/* ---- Conversions ----------------------------------------------------------------------------- */

/* Converts a value by a function from one of the lists of ops/casts.inc. */
static uint32_t convert(GlowLaneList *l, const uint16_t (*list)[GLOW_KIND_COUNT], Members members,
                        uint32_t v, GlowKind to) {
  return call(l, list[to][l->kinds.data[v]], members, to, &v, 1, 0);
}

static uint32_t cast(GlowLaneList *l, uint32_t v, GlowKind to, Members members) {
  GlowKind from = l->kinds.data[v];
  if (from == to)
    return v;
  /* To small floats from float and double only; both ways through one of them are exact. */
  if (is_small(from) && to != GLOW_KIND_FLOAT)
    v = convert(l, lanes_cast, members, v, GLOW_KIND_FLOAT);
  else if (is_small(to) && from != GLOW_KIND_FLOAT && from != GLOW_KIND_DOUBLE)
    v = convert(l, lanes_cast, members, v, GLOW_KIND_DOUBLE);
  return convert(l, lanes_cast, members, v, to);
}

uint32_t glow_lanes_cast(GlowLaneList *l, uint32_t v, GlowKind to) {
  return cast(l, v, to, (Members){0});
}

bool glow_lane_casts(const GlowLaneCall *c, GlowKind from, GlowKind to) {
  return c->lane && c->lane == lanes_cast[to][from];
}

bool glow_lane_quantizes(const GlowLaneCall *c, GlowKind to) {
  return c->lane && c->lane == lanes_quantize[to][GLOW_KIND_FLOAT];
}

/* Appends a number. Stored integers are little-endian, so the first bytes are the number in any
 * narrower kind. */
static void add_number(GlowLaneNumbers *n, GlowKind kind, const void *number, size_t bytes) {
  n->kinds[n->count] = kind;
  memcpy(&n->values[n->count++], number, bytes);
}

/* To a quantized kind: scales of 1 need no division. */
static void add_divisor(GlowLaneNumbers *n, const GlowLaneScale *s, GlowKind from, GlowKind to) {
  const float inverse = 1 / s->scale;
  const int64_t zero = s->offset;
  n->lane = s->scale == 1 ? lanes_offset[to][from] : lanes_divide[to][from];
  if (s->scale != 1) {
    add_number(n, GLOW_KIND_FLOAT, &s->scale, sizeof s->scale);
    add_number(n, GLOW_KIND_FLOAT, &inverse, sizeof inverse);
  }
  add_number(n, to, &zero, sizeof zero);
}

static void add_factor(GlowLaneNumbers *n, const GlowLaneScale *s, GlowKind from, GlowKind to) {
  const int64_t zero = s->offset;
  n->lane = lanes_linear[to][from];
  add_number(n, GLOW_KIND_FLOAT, &s->scale, sizeof s->scale);
  add_number(n, from, &zero, sizeof zero);
}

GlowLaneNumbers glow_lane_numbers(const GlowLaneCall *c, GlowKind from, GlowKind to) {
  GlowLaneNumbers n = {0};
  const GlowLaneScale *s = c->members;
  if (!c->lane)
    add_number(&n, to, c->members, c->bytes);
  else if (glow_lane_quantizes(c, to) && is_short(to) && GLOW_LANE_SCALE_IS_USUAL(s->scale))
    add_divisor(&n, s, from, to);
  else if (to == GLOW_KIND_FLOAT && c->lane == lanes_dequantize[to][from] && is_short(from))
    add_factor(&n, s, from, to);
  return n;
}

static Members scale_of(GlowLaneList *l, const GlowLane *t) {
  GlowLaneScale s = {t->scale, t->offset};
  return (Members){glow_arena_copy(l->arena, &s, sizeof s), sizeof s};
}

/* A value of a type as lanes of a plain kind, and back: quantized elements are floats, or doubles
 * where the other side is double. */
static uint32_t read_as(GlowLaneList *l, const GlowLane *t, GlowKind kind, Members members) {
  if (!t->quantized)
    return cast(l, t->value, kind, members);
  GlowKind wide = kind == GLOW_KIND_DOUBLE ? GLOW_KIND_DOUBLE : GLOW_KIND_FLOAT;
  uint32_t v = convert(l, lanes_dequantize, scale_of(l, t), t->value, wide);
  return cast(l, v, kind, members);
}
static uint32_t write_as(GlowLaneList *l, uint32_t v, const GlowLane *t, Members members) {
  if (!t->quantized)
    return cast(l, v, t->kind, members);
  GlowKind kind = l->kinds.data[v];
  v = cast(l, v, kind == GLOW_KIND_DOUBLE ? GLOW_KIND_DOUBLE : GLOW_KIND_FLOAT, members);
  return convert(l, lanes_quantize, scale_of(l, t), v, t->kind);
}

/* ---- Operators ------------------------------------------------------------------------------- */

/* The element that the reference kernel writes. */
static uint32_t splat(GlowLaneList *l, const GlowNode *n, const GlowLane *t) {
  uint64_t one = 0;
  GlowBuf out = {.data = &one,
                 .kind = t->kind,
                 .quantized = t->quantized,
                 .scale = t->scale,
                 .offset = t->offset};
  GlowCall c = {.members = n->members, .nout = 1, .out = &out};
  GLOW_CHECK(l->ctx, glow_kernel_splat(&c) == GLOW_RUN_OK, "a splat cannot fail");
  return glow_lanes_constant(l, &one, t->kind);
}

static uint32_t append_scalar(GlowLaneList *l, const GlowNode *n, const GlowLane *in,
                              const GlowLane *out) {
  const GlowOpDesc *d = glow_node_desc(n);
  GlowKind kind = compute_kind(n, in);
  bool choose = n->op == GLOW_OP_WHERE; /* elements are only moved */
  uint32_t ins[GLOW_MAX_RANK], optional = 0;
  GLOW_CHECK(l->ctx, d->nin <= GLOW_MAX_RANK, "an element-wise operator has few operands");
  for (uint32_t i = 0; i < d->nin; i++) {
    bool here = i < glow_node_nins(n) && !is_absent(&in[i]);
    optional |= d->in[i].flags & GLOW_PORT_OPTIONAL ? 1u << i : 0;
    ins[i] = here ? in[i].value : GLOW_BODY_ABSENT;
    if (here && d->in[i].type == GLOW_PORT_VAR && !choose)
      ins[i] = read_as(l, &in[i], kind, (Members){0});
  }
  bool varies = d->out[0].type == GLOW_PORT_VAR && !choose;
  uint32_t v =
      call(l, d->lanes[kind], members_of(l, n), varies ? kind : out->kind, ins, d->nin, optional);
  return varies ? write_as(l, v, out, (Members){0}) : v;
}

/* The scalar function of an operator on one or two values. */
static uint32_t apply(GlowLaneList *l, GlowOp op, uint32_t a, uint32_t b) {
  const uint32_t ins[] = {a, b};
  GlowKind kind = l->kinds.data[a];
  return call(l, glow_op_desc[op].lanes[kind], (Members){0}, kind, ins,
              b == GLOW_BODY_ABSENT ? 1 : 2, 0);
}

/* The zero point, of the kind of the stored elements; 0 if it is absent. */
static uint32_t zero_point(GlowLaneList *l, const GlowNode *n, const GlowLane *in, GlowKind kind) {
  const uint64_t zero = 0;
  bool here = glow_node_nins(n) > 2 && !is_absent(&in[2]);
  return here ? in[2].value : glow_lanes_constant(l, &zero, kind);
}

/* clamp(round(X / Scale) + ZeroPoint); the quotient is rounded to Scale's kind. */
static uint32_t quantize_linear(GlowLaneList *l, const GlowNode *n, const GlowLane *in,
                                GlowKind to) {
  GlowKind precision = in[1].kind;
  uint32_t v = glow_lanes_cast(l, in[0].value, GLOW_KIND_FLOAT);
  uint32_t by = glow_lanes_cast(l, in[1].value, GLOW_KIND_FLOAT), zero = zero_point(l, n, in, to);
  if (precision == GLOW_KIND_FLOAT)
    return call(l, lanes_linear[to][GLOW_KIND_FLOAT], (Members){0}, to,
                (const uint32_t[]){v, by, zero}, 3, 0);
  v = glow_lanes_cast(l, glow_lanes_cast(l, v, precision), GLOW_KIND_FLOAT);
  v = apply(l, GLOW_OP_DIV, v, by);
  v = glow_lanes_cast(l, glow_lanes_cast(l, v, precision), GLOW_KIND_FLOAT);
  return call(l, lanes_offset[to][GLOW_KIND_FLOAT], (Members){0}, to, (const uint32_t[]){v, zero},
              2, 0);
}

/* (X - ZeroPoint) * Scale: the difference is exact, and becomes a float. */
static uint32_t dequantize_linear(GlowLaneList *l, const GlowNode *n, const GlowLane *in,
                                  GlowKind to) {
  GlowKind from = in[0].kind;
  const uint32_t ins[] = {in[0].value, glow_lanes_cast(l, in[1].value, GLOW_KIND_FLOAT),
                          zero_point(l, n, in, from)};
  uint32_t v =
      call(l, lanes_linear[GLOW_KIND_FLOAT][from], (Members){0}, GLOW_KIND_FLOAT, ins, 3, 0);
  return glow_lanes_cast(l, v, to);
}

/* Cast, Quantize, Dequantize; the latter two count steps by a scale of 1. */
static uint32_t conversion(GlowLaneList *l, const GlowNode *n, GlowLane x, GlowLane y) {
  Members members = n->op == GLOW_OP_CAST ? members_of(l, n) : (Members){0};
  GlowKind kind = x.quantized ? plain_kind(&y) : plain_kind(&x);
  if (n->op == GLOW_OP_QUANTIZE && ((const GlowQuantizeMembers *)n->members)->steps)
    y.scale = 1;
  if (n->op == GLOW_OP_DEQUANTIZE && ((const GlowDequantizeMembers *)n->members)->steps)
    x.scale = 1;
  return write_as(l, read_as(l, &x, kind, members), &y, members);
}

static uint32_t append_operator(GlowLaneList *l, const GlowNode *n, const GlowLane *in,
                                const GlowLane *out) {
  if (n->op == GLOW_OP_QUANTIZE_LINEAR)
    return quantize_linear(l, n, in, out->kind);
  if (n->op == GLOW_OP_DEQUANTIZE_LINEAR)
    return dequantize_linear(l, n, in, out->kind);
  if (n->op == GLOW_OP_SPLAT)
    return splat(l, n, out);
  if (glow_node_desc(n)->has_scalar)
    return append_scalar(l, n, in, out);
  return conversion(l, n, in[0], *out);
}

GlowLane glow_lane_of(const GlowValue *v) {
  const GlowType *t = v ? v->type : NULL;
  GlowLane lane = {.value = GLOW_BODY_ABSENT, .kind = GLOW_KIND_COUNT};
  if (!t || !glow_type_is_tensor(t))
    return lane;
  lane.kind = t->kind;
  lane.quantized = t->quantized;
  if (t->quantized) {
    lane.scale = t->scale;
    lane.offset = t->offset;
  }
  return lane;
}

void glow_lane_param(GlowLaneList *l, GlowLane *lane) {
  lane->value = l->kinds.count;
  glow_vec_push(l->arena, &l->kinds, lane->kind);
}

bool glow_lanes_append(GlowLaneList *l, const GlowNode *n, const GlowLane *in, GlowLane *out) {
  *out = glow_lane_of(glow_node_out(n, 0));
  if (!has_form(n, in, out))
    return false;
  out->value = append_operator(l, n, in, out);
  return true;
}
