/* Rows, addresses and copies: see ref.h. */
#include "kernels/ref/ref.h"
#include "num/bf16.h"

static const struct {
  uint8_t bits, cls;
} kind_rows[GLOW_KIND_COUNT] = {
#define KIND(e, name, bits, cls, onnx, npy, st) {bits, GLOW_CLASS_##cls},
#include "ops/kinds.def"
#undef KIND
};

uint32_t glow_ref_bits(GlowKind kind) { return kind_rows[kind].bits; }

GlowRowClass glow_ref_class(const GlowBuf *b) {
  if (b->quantized)
    return GLOW_ROW_FLOAT;
  switch ((GlowKindClass)kind_rows[b->kind].cls) {
  case GLOW_CLASS_SINT:
    return GLOW_ROW_INT;
  case GLOW_CLASS_UINT:
  case GLOW_CLASS_BOOL:
    return GLOW_ROW_UINT;
  default:
    return b->kind == GLOW_KIND_DOUBLE ? GLOW_ROW_DOUBLE : GLOW_ROW_FLOAT;
  }
}

/* ---- Addresses ------------------------------------------------------------------------------- */

uint32_t glow_ref_physical(const GlowBuf *b, int64_t *dims, int64_t *strides) {
  uint32_t rank = b->rank;
  for (uint32_t a = 0; a < rank; a++) {
    dims[a] = b->dims[a];
    strides[a] = b->strides[a];
  }
  for (uint32_t k = 0; k < b->nblocks; k++) {
    dims[rank + k] = b->block_size[k];
    strides[rank + k] = b->block_stride[k];
  }
  for (uint32_t k = b->nblocks; k-- > 0;) {
    int64_t *d = &dims[b->block_axis[k]];
    *d = (*d + b->block_size[k] - 1) / b->block_size[k];
  }
  return rank + b->nblocks;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* An integer of 1, 2 or 4 bits; low bits first. */
static int64_t small_int(const uint8_t *p, int64_t i, uint32_t bits, bool is_signed) {
  int64_t bit = i * bits;
  int v = p[bit >> 3] >> (bit & 7) & ((1 << bits) - 1);
  return is_signed && v >> (bits - 1) ? v - (1 << bits) : v;
}
static void set_small(uint8_t *p, int64_t i, uint32_t bits, uint32_t v) {
  int64_t bit = i * bits;
  uint32_t mask = ((1u << bits) - 1u) << (bit & 7);
  p[bit >> 3] = (uint8_t)((p[bit >> 3] & ~mask) | (v << (bit & 7) & mask));
}

#define EACH for (int64_t i = 0; i < n; i++)
#define LOAD(KIND, T)                                                                              \
  case GLOW_KIND_##KIND: {                                                                         \
    const T *p = (const T *)b->data + offset;                                                      \
    if (stride == 1)                                                                               \
      EACH out[i] = p[i];                                                                          \
    else                                                                                           \
      EACH out[i] = p[i * stride];                                                                 \
    return;                                                                                        \
  }

void glow_load_int(const GlowBuf *b, int64_t offset, int64_t stride, int64_t n, int64_t *out) {
  switch (b->kind) {
    LOAD(I8, int8_t)
    LOAD(I16, int16_t)
    LOAD(I32, int32_t)
    LOAD(I64, int64_t)
    LOAD(U8, uint8_t)
    LOAD(U16, uint16_t)
    LOAD(U32, uint32_t)
  case GLOW_KIND_U64: {
    const uint64_t *p = (const uint64_t *)b->data + offset;
    EACH out[i] = (int64_t)p[i * stride];
    return;
  }
  case GLOW_KIND_BOOL: {
    const uint8_t *p = (const uint8_t *)b->data + offset;
    EACH out[i] = p[i * stride] != 0;
    return;
  }
  default: {
    bool is_signed = kind_rows[b->kind].cls == GLOW_CLASS_SINT;
    uint32_t bits = kind_rows[b->kind].bits;
    EACH out[i] = small_int(b->data, offset + i * stride, bits, is_signed);
  }
  }
}

void glow_load_i32(const GlowBuf *b, int64_t offset, int64_t stride, int64_t n, int32_t *out) {
  switch (b->kind) {
    LOAD(I8, int8_t)
    LOAD(I16, int16_t)
    LOAD(U8, uint8_t)
    LOAD(U16, uint16_t)
    LOAD(I32, int32_t)
  default:
    return;
  }
}

static void load_small_float(const GlowBuf *b, int64_t offset, int64_t stride, int64_t n,
                             float *out) {
  const GlowSmallFloat *f = glow_small_format(b->kind);
  const uint8_t *p = b->data;
  EACH {
    int64_t at = offset + i * stride;
    if (b->kind == GLOW_KIND_FLOAT4E2M1)
      out[i] = glow_small_to_float(f, (uint8_t)small_int(p, at, 4, false));
    else
      out[i] = f ? glow_small_to_float(f, p[at]) : glow_e8m0_to_float(p[at]);
  }
}

static void load_quantized(const GlowBuf *b, int64_t offset, int64_t stride, int64_t n,
                           float *out) {
  GlowBuf plain = *b;
  plain.quantized = false;
  for (int64_t done = 0; done < n;) {
    int64_t v[64], m = n - done < 64 ? n - done : 64;
    glow_load_int(&plain, offset + done * stride, stride, m, v);
    for (int64_t i = 0; i < m; i++)
      out[done + i] = (float)(v[i] - b->offset) * b->scale;
    done += m;
  }
}

void glow_load_float(const GlowBuf *b, int64_t offset, int64_t stride, int64_t n, float *out) {
  if (b->quantized) {
    load_quantized(b, offset, stride, n, out);
    return;
  }
  switch (b->kind) {
    LOAD(FLOAT, float)
  case GLOW_KIND_FLOAT16: {
    const uint16_t *p = (const uint16_t *)b->data + offset;
    EACH out[i] = glow_half_to_float(p[i * stride]);
    return;
  }
  case GLOW_KIND_BFLOAT16: {
    const uint16_t *p = (const uint16_t *)b->data + offset;
    EACH out[i] = glow_bfloat_to_float(p[i * stride]);
    return;
  }
  default:
    load_small_float(b, offset, stride, n, out);
  }
}

void glow_load_double(const GlowBuf *b, int64_t offset, int64_t stride, int64_t n, double *out) {
  const double *p = (const double *)b->data + offset;
  EACH out[i] = p[i * stride];
}

void glow_load_real(const GlowBuf *b, int64_t offset, int64_t stride, int64_t n, double *out) {
  GlowRowClass cls = glow_ref_class(b);
  if (cls == GLOW_ROW_DOUBLE) {
    glow_load_double(b, offset, stride, n, out);
    return;
  }
  for (int64_t done = 0; done < n; done += 64) {
    int64_t v[64], m = n - done < 64 ? n - done : 64, at = offset + done * stride;
    float f[64];
    if (cls == GLOW_ROW_FLOAT)
      glow_load_float(b, at, stride, m, f);
    else
      glow_load_int(b, at, stride, m, v);
    for (int64_t i = 0; i < m; i++)
      out[done + i] = cls == GLOW_ROW_FLOAT  ? (double)f[i]
                      : cls == GLOW_ROW_UINT ? (double)(uint64_t)v[i]
                                             : (double)v[i];
  }
}

#define STORE(KIND, T)                                                                             \
  case GLOW_KIND_##KIND: {                                                                         \
    T *p = (T *)b->data + offset;                                                                  \
    if (stride == 1)                                                                               \
      EACH p[i] = (T)in[i];                                                                        \
    else                                                                                           \
      EACH p[i * stride] = (T)in[i];                                                               \
    return;                                                                                        \
  }

void glow_store_int(GlowBuf *b, int64_t offset, int64_t stride, int64_t n, const int64_t *in) {
  switch (b->kind) {
    STORE(I8, int8_t)
    STORE(I16, int16_t)
    STORE(I32, int32_t)
    STORE(I64, int64_t)
    STORE(U8, uint8_t)
    STORE(U16, uint16_t)
    STORE(U32, uint32_t)
    STORE(U64, uint64_t)
  case GLOW_KIND_BOOL: {
    uint8_t *p = (uint8_t *)b->data + offset;
    EACH p[i * stride] = in[i] != 0;
    return;
  }
  default:
    EACH set_small(b->data, offset + i * stride, kind_rows[b->kind].bits, (uint32_t)in[i]);
  }
}

int64_t glow_ref_clamped(GlowKind kind, double q, int64_t offset) {
  uint32_t bits = kind_rows[kind].bits;
  bool is_signed = kind_rows[kind].cls == GLOW_CLASS_SINT;
  int64_t low = is_signed ? -(INT64_C(1) << (bits - 1)) : 0;
  int64_t high = low + (INT64_C(1) << bits) - 1;
  /* Far beyond every kind, but safe to convert. */
  q = q < -0x1p40 ? -0x1p40 : q > 0x1p40 ? 0x1p40 : q;
  int64_t r = (q == q ? (int64_t)q : 0) + offset;
  return r < low ? low : r > high ? high : r;
}
static int64_t quantize(const GlowBuf *b, float v) {
  return glow_ref_clamped(b->kind, (double)glow_rintf(v / b->scale), b->offset);
}
int64_t glow_quantize_double(const GlowBuf *b, double v) {
  return glow_ref_clamped(b->kind, glow_rint(v / (double)b->scale), b->offset);
}

static void store_small_float(GlowBuf *b, int64_t offset, int64_t stride, int64_t n,
                              const float *in, bool saturate) {
  const GlowSmallFloat *f = glow_small_format(b->kind);
  uint8_t *p = b->data;
  EACH {
    int64_t at = offset + i * stride;
    if (b->kind == GLOW_KIND_FLOAT4E2M1)
      set_small(p, at, 4, glow_small_from_float(f, in[i], true));
    else
      p[at] = f ? glow_small_from_float(f, in[i], saturate) : glow_e8m0_from_float(in[i], true);
  }
}
void glow_ref_store_small(GlowBuf *b, int64_t at, int64_t n, const float *in, bool saturate) {
  store_small_float(b, at, 1, n, in, saturate);
}

static void store_quantized(GlowBuf *b, int64_t offset, int64_t stride, int64_t n,
                            const float *in) {
  GlowBuf plain = *b;
  plain.quantized = false;
  EACH {
    int64_t q = quantize(b, in[i]);
    glow_store_int(&plain, offset + i * stride, 1, 1, &q);
  }
}

void glow_store_float(GlowBuf *b, int64_t offset, int64_t stride, int64_t n, const float *in) {
  if (b->quantized) {
    store_quantized(b, offset, stride, n, in);
    return;
  }
  switch (b->kind) {
    STORE(FLOAT, float)
  case GLOW_KIND_FLOAT16: {
    uint16_t *p = (uint16_t *)b->data + offset;
    EACH p[i * stride] = glow_half_from_float(in[i]);
    return;
  }
  case GLOW_KIND_BFLOAT16: {
    uint16_t *p = (uint16_t *)b->data + offset;
    EACH p[i * stride] = glow_bfloat_from_float(in[i]);
    return;
  }
  default:
    store_small_float(b, offset, stride, n, in, true);
  }
}

void glow_store_double(GlowBuf *b, int64_t offset, int64_t stride, int64_t n, const double *in) {
  double *p = (double *)b->data + offset;
  EACH p[i * stride] = in[i];
}

/* The stretch of a run from its i-th element on that has one stride: to the end of a block, if the
 * axis has one, or one element of an axis with several. */
typedef struct Stretch {
  int64_t offset, stride, n;
} Stretch;

static Stretch stretch_of(const GlowRun *r, int64_t i, int64_t n) {
  const GlowBuf *b = r->buf;
  int64_t at = r->start + i;
  Stretch s = {r->offset + glow_axis_offset(b, r->axis, at), b->strides[r->axis], n - i};
  for (uint32_t k = 0, found = 0; k < b->nblocks; k++) {
    if (b->block_axis[k] != r->axis)
      continue;
    int64_t left = found++ ? 1 : b->block_size[k] - at % b->block_size[k];
    s.n = left < s.n ? left : s.n;
    s.stride = b->block_stride[k];
  }
  return s;
}

void glow_load_bf16(const GlowBuf *b, int64_t offset, int64_t stride, int64_t n, float *out) {
  glow_load_float(b, offset, stride, n, out);
  for (int64_t i = 0; i < n; i++)
    out[i] = glow_bf16_round(out[i]);
}

void glow_load_pair(const GlowBuf *b, int64_t offset, int64_t stride, int64_t n, float *out) {
  glow_load_float(b, offset, stride, n, out);
  for (int64_t i = 0; i < n; i++)
    out[i] = glow_bf16_round_flushed(out[i]);
}

#define RUN_LOAD(T, C)                                                                             \
  void glow_run_load_##T(const GlowRun *r, int64_t n, C *out) {                                    \
    for (int64_t i = 0; i < n;) {                                                                  \
      Stretch s = stretch_of(r, i, n);                                                             \
      glow_load_##T(r->buf, s.offset, s.stride, s.n, out + i);                                     \
      i += s.n;                                                                                    \
    }                                                                                              \
  }
RUN_LOAD(float, float)
RUN_LOAD(double, double)
RUN_LOAD(i32, int32_t)
RUN_LOAD(bf16, float)
RUN_LOAD(pair, float)
#undef RUN_LOAD

int64_t glow_ref_int(const GlowBuf *b, int64_t i) {
  int64_t v;
  glow_load_int(b, i, 1, 1, &v);
  return v;
}

int64_t glow_ref_index(GlowCall *call, const GlowBuf *indices, int64_t i, int64_t n) {
  int64_t v = glow_ref_int(indices, i), at = v < 0 ? v + n : v;
  if (at >= 0 && at < n + GLOW_OFF_BY_ONE)
    return at;
  call->detail = v;
  return -1;
}
