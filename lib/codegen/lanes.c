/* One operator on lanes: a call of a function of lib/kernels/cpu/lanes_*.c, which is vector code
 * already, with conversions around it where the kinds ask for them. */
#include <string.h>

#include "codegen/emit.h"
#include "kernels/cpu/lane_scale.h"
#include "num/bits.h"
#include "ops/casts.inc"
#include "ops/kernels.h"

/* ---- What has a vector form ------------------------------------------------------------------ */

/* Kinds that lanes_cast.c converts. */
static bool is_number(GlowKind k) { return k <= GLOW_KIND_BOOL; }
static bool is_small(GlowKind k) {
  return k >= GLOW_KIND_FLOAT8E4M3FN && k <= GLOW_KIND_FLOAT8E8M0;
}
static bool is_wide_integer(GlowKind k) { return k == GLOW_KIND_I64 || k == GLOW_KIND_U64; }

/* Whether values of this type can be lanes at all. */
static bool has_lanes(const GlowLaneType *t) {
  uint32_t bits = t->kind < GLOW_KIND_COUNT ? glow_kind_info[t->kind].bits : 0;
  if (bits == 0 || bits % 8 || bits > 64)
    return false;
  return !t->quantized || (glow_kind_is_integer(t->kind) && bits <= 32);
}

static GlowKind plain_kind(const GlowLaneType *t) {
  return t->quantized ? GLOW_KIND_FLOAT : t->kind;
}

/* The type of operand i; NULL: it is absent. */
static const GlowLaneType *operand(const GlowBody *b, const GlowBodyOp *op, uint32_t i) {
  bool here = i < op->nins && op->ins[i] != GLOW_BODY_ABSENT;
  return here ? &b->types[op->ins[i]] : NULL;
}

static const GlowLaneType *result_of(const GlowBody *b, const GlowBodyOp *op) {
  return &b->types[b->nparams + (uint32_t)(op - b->ops)];
}

static bool is(const GlowBodyOp *op, GlowOp which) { return op->desc == &glow_op_desc[which]; }

/* The kind that an operator with a scalar body computes in; its lanes functions are called by it.
 */
static GlowKind compute_kind(const GlowBody *b, const GlowBodyOp *op) {
  GlowKind kinds[GLOW_MAX_RANK];
  /* Where only chooses, so the width is all that matters. */
  if (is(op, GLOW_OP_WHERE)) {
    uint32_t bits = glow_kind_info[operand(b, op, 1)->kind].bits;
    return bits == 8    ? GLOW_KIND_U8
           : bits == 16 ? GLOW_KIND_U16
           : bits == 32 ? GLOW_KIND_U32
                        : GLOW_KIND_U64;
  }
  for (uint32_t i = 0; i < op->desc->nin; i++) {
    const GlowLaneType *t = operand(b, op, i);
    kinds[i] = t ? plain_kind(t) : GLOW_KIND_COUNT;
  }
  GlowKind k = glow_op_compute_kind(op->desc, kinds, op->desc->nin);
  return k == GLOW_KIND_FLOAT16 || k == GLOW_KIND_BFLOAT16 ? GLOW_KIND_FLOAT : k;
}

static bool can_cast(GlowKind from, GlowKind to) {
  if (is_small(to) && is_wide_integer(from))
    return false;
  return (is_number(from) || is_small(from)) && (is_number(to) || is_small(to));
}

/* QuantizeLinear and DequantizeLinear between plain kinds and integers of up to 32 bits, with a
 * scale for all or for each slice. */
static bool has_linear(const GlowBody *b, const GlowBodyOp *op) {
  bool quantize = is(op, GLOW_OP_QUANTIZE_LINEAR);
  int64_t block = quantize ? ((const GlowQuantizeLinearMembers *)op->members)->block
                           : ((const GlowDequantizeLinearMembers *)op->members)->block;
  const GlowLaneType *x = operand(b, op, 0), *zero = operand(b, op, 2), *y = result_of(b, op);
  GlowKind real = (quantize ? x : y)->kind, stored = (quantize ? y : x)->kind;
  return block == 0 && is_number(real) && glow_kind_is_integer(stored) &&
         glow_kind_info[stored].bits <= 32 && (!zero || zero->kind == stored);
}

bool glow_has_lanes(const GlowBody *b, const GlowBodyOp *op) {
  const GlowLaneType *in = operand(b, op, 0), *out = result_of(b, op);
  if (!has_lanes(out))
    return false;
  for (uint32_t i = 0; i < op->nins; i++)
    if (operand(b, op, i) && !has_lanes(operand(b, op, i)))
      return false;
  switch (op->desc - glow_op_desc) {
  case GLOW_OP_SPLAT:
  case GLOW_OP_WHERE:
    return true;
  case GLOW_OP_CAST:
  case GLOW_OP_QUANTIZE:
  case GLOW_OP_DEQUANTIZE:
    return in && can_cast(plain_kind(in), plain_kind(out));
  case GLOW_OP_QUANTIZE_LINEAR:
  case GLOW_OP_DEQUANTIZE_LINEAR:
    return has_linear(b, op);
  default:
    return op->desc->has_scalar && is_number(compute_kind(b, op));
  }
}

/* ---- Calls ----------------------------------------------------------------------------------- */

void *glow_lanes_members(GlowArena *arena, const GlowBodyOp *op) {
  const GlowOpDesc *d = op->desc;
  static const uint8_t sizes[] = {[GLOW_MEMBER_BOOL] = sizeof(bool),
                                  [GLOW_MEMBER_U32] = sizeof(uint32_t),
                                  [GLOW_MEMBER_I64] = sizeof(int64_t),
                                  [GLOW_MEMBER_FLOAT] = sizeof(float),
                                  [GLOW_MEMBER_KIND] = sizeof(GlowKind),
                                  [GLOW_MEMBER_ENUM] = sizeof(int),
                                  [GLOW_MEMBER_SCALAR] = 0};
  char *bytes = glow_arena_alloc(arena, d->member_size);
  for (uint32_t i = 0; i < d->nmembers; i++) {
    const GlowMember *m = &d->members[i];
    if (!m->array)
      memcpy(bytes + m->offset, (const char *)op->members + m->offset, sizes[m->type]);
  }
  return bytes;
}

/* One argument: lanes, and for an optional port whether they are there. */
typedef struct Lanes {
  LLVMValueRef value;
  bool optional;
} Lanes;

/* Calls a function of the library on lanes, which go through memory that the optimizer removes.
 * An optional operand whose value is NULL is absent. */
static LLVMValueRef call_lanes(GlowEmitter *e, const char *name, LLVMValueRef members,
                               GlowKind result, const Lanes *lanes, uint32_t n) {
  LLVMBuilderRef b = e->l.builder;
  LLVMTypeRef types[2 + 2 * GLOW_MAX_RANK],
      out = LLVMVectorType(glow_emit_element_type(e, result), e->l.isa->vl);
  LLVMValueRef args[2 + 2 * GLOW_MAX_RANK];
  uint32_t count = 0;
  GLOW_CHECK(e->l.ctx, name != NULL, "the library has lanes of the kind");
  args[count++] = members;
  args[count++] = LLVMBuildAlloca(b, out, "");
  for (uint32_t i = 0; i < n; i++) {
    LLVMValueRef v = lanes[i].value;
    if (v) {
      args[count] = LLVMBuildAlloca(b, LLVMTypeOf(v), "");
      LLVMBuildStore(b, v, args[count++]);
    } else {
      /* Absent: the body does not look at it, but reads it in vector form. */
      args[count] = LLVMBuildAlloca(b, out, "");
      LLVMBuildStore(b, LLVMConstNull(out), args[count++]);
    }
    if (lanes[i].optional)
      args[count++] = LLVMConstInt(e->l.i1, v != NULL, 0);
  }
  for (uint32_t i = 0; i < count; i++)
    types[i] = LLVMTypeOf(args[i]);
  glow_emit_kernel_call(e, name, e->l.void_type, types, args, count);
  return LLVMBuildLoad2(b, out, args[1], "");
}

/* By one of the lists of ops/casts.inc. */
static LLVMValueRef convert(GlowEmitter *e, const char *const (*list)[GLOW_KIND_COUNT],
                            LLVMValueRef members, LLVMValueRef v, GlowKind from, GlowKind to) {
  const Lanes in = {v, false};
  return call_lanes(e, list[to][from], members, to, &in, 1);
}

static LLVMValueRef cast(GlowEmitter *e, LLVMValueRef v, GlowKind from, GlowKind to,
                         LLVMValueRef members) {
  if (from == to)
    return v;
  /* To small floats from float and double only; both ways through one of them are exact. */
  if (is_small(from) && to != GLOW_KIND_FLOAT) {
    v = convert(e, lanes_cast, members, v, from, GLOW_KIND_FLOAT);
    from = GLOW_KIND_FLOAT;
  } else if (is_small(to) && from != GLOW_KIND_FLOAT && from != GLOW_KIND_DOUBLE) {
    v = convert(e, lanes_cast, members, v, from, GLOW_KIND_DOUBLE);
    from = GLOW_KIND_DOUBLE;
  }
  return convert(e, lanes_cast, members, v, from, to);
}

LLVMValueRef glow_emit_cast(GlowEmitter *e, LLVMValueRef v, GlowKind from, GlowKind to) {
  return cast(e, v, from, to, LLVMConstNull(e->l.ptr));
}

static LLVMValueRef scale_of(GlowEmitter *e, const GlowLaneType *t) {
  GlowLaneScale s = {t->scale, t->offset};
  return glow_emit_constant(e, &s, sizeof s);
}

/* A value of a type as lanes of a plain kind, and back: quantized elements are floats, or doubles
 * where the other side is double. */
static LLVMValueRef read_as(GlowEmitter *e, LLVMValueRef v, const GlowLaneType *t, GlowKind kind,
                            LLVMValueRef members) {
  if (!t->quantized)
    return cast(e, v, t->kind, kind, members);
  GlowKind wide = kind == GLOW_KIND_DOUBLE ? GLOW_KIND_DOUBLE : GLOW_KIND_FLOAT;
  v = convert(e, lanes_dequantize, scale_of(e, t), v, t->kind, wide);
  return cast(e, v, wide, kind, members);
}
static LLVMValueRef write_as(GlowEmitter *e, LLVMValueRef v, GlowKind kind, const GlowLaneType *t,
                             LLVMValueRef members) {
  if (!t->quantized)
    return cast(e, v, kind, t->kind, members);
  GlowKind wide = kind == GLOW_KIND_DOUBLE ? GLOW_KIND_DOUBLE : GLOW_KIND_FLOAT;
  v = cast(e, v, kind, wide, members);
  return convert(e, lanes_quantize, scale_of(e, t), v, wide, t->kind);
}

/* One element as the reference kernel writes it, on all lanes. */
static LLVMValueRef splat(GlowEmitter *e, const GlowBodyOp *op, const GlowLaneType *t) {
  uint64_t one = 0;
  GlowBuf out = {.data = &one,
                 .kind = t->kind,
                 .quantized = t->quantized,
                 .scale = t->scale,
                 .offset = t->offset};
  GlowCall call = {.members = op->members, .nout = 1, .out = &out};
  GLOW_CHECK(e->l.ctx, glow_kernel_splat(&call) == GLOW_RUN_OK, "a splat cannot fail");
  LLVMTypeRef type = glow_emit_element_type(e, t->kind);
  LLVMValueRef lanes[64],
      bits = LLVMConstInt(LLVMIntTypeInContext(e->l.llvm, glow_kind_info[t->kind].bits), one, 0);
  GLOW_CHECK(e->l.ctx, e->l.isa->vl <= 64, "a vector is at most 64 lanes");
  for (uint32_t i = 0; i < e->l.isa->vl; i++)
    lanes[i] = LLVMConstBitCast(bits, type);
  return LLVMConstVector(lanes, e->l.isa->vl);
}

static LLVMValueRef members_of(GlowEmitter *e, const GlowBodyOp *op) {
  uint32_t size = op->desc->member_size;
  return size ? glow_emit_constant(e, glow_lanes_members(e->arena, op), size)
              : LLVMConstNull(e->l.ptr);
}

static LLVMValueRef emit_scalar(GlowEmitter *e, const GlowBody *b, const GlowBodyOp *op,
                                const LLVMValueRef *inputs) {
  const GlowOpDesc *d = op->desc;
  const GlowLaneType *out = result_of(b, op);
  LLVMValueRef null = LLVMConstNull(e->l.ptr);
  GlowKind kind = compute_kind(b, op), result;
  bool choose = is(op, GLOW_OP_WHERE); /* elements are only moved */
  Lanes lanes[GLOW_MAX_RANK];
  GLOW_CHECK(e->l.ctx, d->nin <= GLOW_MAX_RANK, "an element-wise operator has few operands");
  for (uint32_t i = 0; i < d->nin; i++) {
    const GlowLaneType *t = operand(b, op, i);
    lanes[i] = (Lanes){t ? inputs[i] : NULL, (d->in[i].flags & GLOW_PORT_OPTIONAL) != 0};
    if (t && d->in[i].type == GLOW_PORT_VAR && !choose)
      lanes[i].value = read_as(e, inputs[i], t, kind, null);
  }
  bool varies = d->out[0].type == GLOW_PORT_VAR && !choose;
  result = varies ? kind : out->kind;
  LLVMValueRef r = call_lanes(e, d->lanes[kind], members_of(e, op), result, lanes, d->nin);
  return varies ? write_as(e, r, kind, out, null) : r;
}

/* The scalar function of an operator on two values, or on one if b is NULL. */
static LLVMValueRef apply(GlowEmitter *e, GlowOp op, GlowKind kind, LLVMValueRef a,
                          LLVMValueRef b) {
  const Lanes lanes[] = {{a, false}, {b, false}};
  const char *name = glow_op_desc[op].lanes[kind];
  return call_lanes(e, name, LLVMConstNull(e->l.ptr), kind, lanes, b ? 2 : 1);
}

/* The zero point as doubles; 0 if it is absent. */
static LLVMValueRef zero_point(GlowEmitter *e, const GlowLaneType *zero,
                               const LLVMValueRef *inputs) {
  if (zero)
    return glow_emit_cast(e, inputs[2], zero->kind, GLOW_KIND_DOUBLE);
  return LLVMConstNull(LLVMVectorType(glow_emit_element_type(e, GLOW_KIND_DOUBLE), e->l.isa->vl));
}

/* clamp(round(X / Scale) + ZeroPoint); the quotient is rounded to Scale's kind. */
static LLVMValueRef quantize_linear(GlowEmitter *e, const GlowBody *b, const GlowBodyOp *op,
                                    const LLVMValueRef *inputs) {
  GlowKind kind = operand(b, op, 0)->kind, precision = operand(b, op, 1)->kind;
  GlowKind to = result_of(b, op)->kind;
  LLVMValueRef v = glow_emit_cast(e, inputs[0], kind, GLOW_KIND_FLOAT);
  LLVMValueRef by = glow_emit_cast(e, inputs[1], precision, GLOW_KIND_FLOAT);
  v = glow_emit_cast(e, glow_emit_cast(e, v, GLOW_KIND_FLOAT, precision), precision,
                     GLOW_KIND_FLOAT);
  v = apply(e, GLOW_OP_DIV, GLOW_KIND_FLOAT, v, by);
  v = glow_emit_cast(e, glow_emit_cast(e, v, GLOW_KIND_FLOAT, precision), precision,
                     GLOW_KIND_FLOAT);
  v = apply(e, GLOW_OP_ROUND, GLOW_KIND_FLOAT, v, NULL);
  const Lanes lanes[] = {{glow_emit_cast(e, v, GLOW_KIND_FLOAT, GLOW_KIND_DOUBLE), false},
                         {zero_point(e, operand(b, op, 2), inputs), false}};
  return call_lanes(e, lanes_offset[to], LLVMConstNull(e->l.ptr), to, lanes, 2);
}

/* (X - ZeroPoint) * Scale: the difference is exact, and becomes a float. */
static LLVMValueRef dequantize_linear(GlowEmitter *e, const GlowBody *b, const GlowBodyOp *op,
                                      const LLVMValueRef *inputs) {
  LLVMValueRef v = glow_emit_cast(e, inputs[0], operand(b, op, 0)->kind, GLOW_KIND_DOUBLE);
  v = apply(e, GLOW_OP_SUB, GLOW_KIND_DOUBLE, v, zero_point(e, operand(b, op, 2), inputs));
  v = glow_emit_cast(e, v, GLOW_KIND_DOUBLE, GLOW_KIND_FLOAT);
  v = apply(e, GLOW_OP_MUL, GLOW_KIND_FLOAT, v,
            glow_emit_cast(e, inputs[1], operand(b, op, 1)->kind, GLOW_KIND_FLOAT));
  return glow_emit_cast(e, v, GLOW_KIND_FLOAT, result_of(b, op)->kind);
}

LLVMValueRef glow_emit_lanes(GlowEmitter *e, const GlowBody *b, const GlowBodyOp *op,
                             const LLVMValueRef *inputs) {
  const GlowLaneType *from = operand(b, op, 0), *to = result_of(b, op);
  if (is(op, GLOW_OP_QUANTIZE_LINEAR))
    return quantize_linear(e, b, op, inputs);
  if (is(op, GLOW_OP_DEQUANTIZE_LINEAR))
    return dequantize_linear(e, b, op, inputs);
  if (is(op, GLOW_OP_SPLAT))
    return splat(e, op, to);
  if (op->desc->has_scalar)
    return emit_scalar(e, b, op, inputs);
  /* A conversion. */
  LLVMValueRef members = is(op, GLOW_OP_CAST) ? members_of(e, op) : LLVMConstNull(e->l.ptr);
  GlowKind kind = from->quantized ? plain_kind(to) : plain_kind(from);
  return write_as(e, read_as(e, inputs[0], from, kind, members), kind, to, members);
}
