/* Cast between all kinds of numbers, Quantize and Dequantize.
 *
 * Elements travel in rows of 64 as double or 64-bit integers, whichever holds the source exactly,
 * so that every conversion rounds once. */
#include "kernels/ref/ref.h"

enum { ROW = 64 };

typedef struct GlowCastRow {
  GlowRowClass cls; /* never FLOAT: floats travel as double */
  double real[ROW];
  int64_t integer[ROW]; /* UINT: the bits of a u64 */
} GlowCastRow;

static void load_row(const GlowBuf *b, int64_t at, int64_t n, GlowCastRow *row) {
  float v[ROW];
  row->cls = glow_ref_class(b);
  switch (row->cls) {
  case GLOW_ROW_INT:
  case GLOW_ROW_UINT:
    glow_load_int(b, at, 1, n, row->integer);
    return;
  case GLOW_ROW_DOUBLE:
    glow_load_double(b, at, 1, n, row->real);
    return;
  case GLOW_ROW_FLOAT:
    glow_load_float(b, at, 1, n, v);
    for (int64_t i = 0; i < n; i++)
      row->real[i] = (double)v[i];
    row->cls = GLOW_ROW_DOUBLE;
  }
}

/* An integer as a double that rounds to every narrower kind as the integer itself would: exact up
 * to 53 bits, beyond rounded to odd. */
static double odd_double(int64_t v, bool is_unsigned) {
  uint64_t a = is_unsigned || v >= 0 ? (uint64_t)v : (uint64_t)0 - (uint64_t)v;
  if (a >> 53)
    a = (a >> 11 | ((a & 0x7ff) != 0)) << 11;
  return is_unsigned || v >= 0 ? (double)a : -(double)a;
}

static double row_real(const GlowCastRow *row, int64_t i) {
  return row->cls == GLOW_ROW_DOUBLE ? row->real[i]
                                     : odd_double(row->integer[i], row->cls == GLOW_ROW_UINT);
}

/* Truncates and saturates to the integers of a kind; NaN is 0. */
static int64_t saturated(double v, GlowRowClass cls, uint32_t bits) {
  if (cls == GLOW_ROW_UINT) {
    uint64_t high = ~UINT64_C(0) >> (64 - bits), u = glow_trunc_u64(v);
    return (int64_t)(u > high ? high : u);
  }
  int64_t high = (int64_t)(~UINT64_C(0) >> (65 - bits)), s = glow_trunc_i64(v);
  return s > high ? high : s < -high - 1 ? -high - 1 : s;
}

void glow_ref_store_number(GlowBuf *b, int64_t at, double v) {
  GlowRowClass cls = glow_ref_class(b);
  if (cls == GLOW_ROW_DOUBLE) {
    glow_store_double(b, at, 1, 1, &v);
  } else if (cls == GLOW_ROW_FLOAT) {
    bool direct = b->kind == GLOW_KIND_FLOAT || b->quantized;
    float f = direct ? (float)v : glow_float_odd(v);
    glow_store_float(b, at, 1, 1, &f);
  } else {
    int64_t i = b->kind == GLOW_KIND_BOOL ? v != 0 : saturated(v, cls, glow_ref_bits(b->kind));
    glow_store_int(b, at, 1, 1, &i);
  }
}

static void store_integers(GlowBuf *b, int64_t at, int64_t n, const GlowCastRow *row) {
  int64_t v[ROW];
  GlowRowClass cls = glow_ref_class(b);
  for (int64_t i = 0; i < n; i++) {
    if (row->cls != GLOW_ROW_DOUBLE)
      v[i] = row->integer[i];
    else if (b->kind == GLOW_KIND_BOOL)
      v[i] = row->real[i] != 0;
    else
      v[i] = saturated(row->real[i], cls, glow_ref_bits(b->kind));
  }
  glow_store_int(b, at, 1, n, v);
}

static void store_floats(GlowBuf *b, int64_t at, int64_t n, const GlowCastRow *row, bool overflow) {
  for (int64_t i = 0; i < n; i++) {
    double v = row_real(row, i);
    if (b->kind == GLOW_KIND_FLOAT16) {
      ((uint16_t *)b->data)[at + i] = glow_half_from_double(v);
    } else if (b->kind == GLOW_KIND_BFLOAT16) {
      ((uint16_t *)b->data)[at + i] = glow_bfloat_from_double(v);
    } else {
      float f = b->kind == GLOW_KIND_FLOAT ? (float)v : glow_float_odd(v);
      if (overflow && glow_ref_bits(b->kind) == 8)
        glow_ref_store_small(b, at + i, 1, &f, false);
      else
        glow_store_float(b, at + i, 1, 1, &f);
    }
  }
}

static void store_row(GlowBuf *b, int64_t at, int64_t n, const GlowCastRow *row, bool overflow) {
  switch (glow_ref_class(b)) {
  case GLOW_ROW_INT:
  case GLOW_ROW_UINT:
    store_integers(b, at, n, row);
    return;
  case GLOW_ROW_DOUBLE:
    for (int64_t i = 0; i < n; i++) {
      double v = row->cls == GLOW_ROW_DOUBLE ? row->real[i]
                 : row->cls == GLOW_ROW_UINT ? (double)(uint64_t)row->integer[i]
                                             : (double)row->integer[i];
      glow_store_double(b, at + i, 1, 1, &v);
    }
    return;
  case GLOW_ROW_FLOAT:
    store_floats(b, at, n, row, overflow);
  }
}

/* How many elements the physical buffer has, padding lanes included. */
static int64_t physical_elements(const GlowBuf *b) {
  int64_t dims[GLOW_MAX_PHYSICAL], strides[GLOW_MAX_PHYSICAL], n = 1;
  uint32_t rank = glow_ref_physical(b, dims, strides);
  for (uint32_t a = 0; a < rank; a++)
    n *= dims[a];
  return n;
}

static bool computes_in_float(GlowKind k) {
  return k == GLOW_KIND_FLOAT || k == GLOW_KIND_FLOAT16 || k == GLOW_KIND_BFLOAT16;
}

/* ---- Integers of 8 and 16 bits as float and i32 ---------------------------------------------- */

/* Exact, and loops that vectorize: most weights of quantized networks are widened when they are
 * constants. */
#define WIDEN(from, S, to, D)                                                                      \
  static void from##_to_##to(void *restrict out, const void *restrict in, int64_t n) {             \
    D *y = out;                                                                                    \
    const S *x = in;                                                                               \
    for (int64_t i = 0; i < n; i++)                                                                \
      y[i] = (D)x[i];                                                                              \
  }
WIDEN(i8, int8_t, float, float)
WIDEN(u8, uint8_t, float, float)
WIDEN(i16, int16_t, float, float)
WIDEN(u16, uint16_t, float, float)
WIDEN(i8, int8_t, i32, int32_t)
WIDEN(u8, uint8_t, i32, int32_t)
WIDEN(i16, int16_t, i32, int32_t)
WIDEN(u16, uint16_t, i32, int32_t)

typedef void Widen(void *out, const void *in, int64_t n);

/* NULL: there is no such loop. */
static Widen *widening(const GlowBuf *out, const GlowBuf *in) {
  bool to_float = out->kind == GLOW_KIND_FLOAT;
  if (out->quantized || in->quantized || (!to_float && out->kind != GLOW_KIND_I32))
    return NULL;
  switch (in->kind) {
  case GLOW_KIND_I8:
    return to_float ? i8_to_float : i8_to_i32;
  case GLOW_KIND_U8:
    return to_float ? u8_to_float : u8_to_i32;
  case GLOW_KIND_I16:
    return to_float ? i16_to_float : i16_to_i32;
  case GLOW_KIND_U16:
    return to_float ? u16_to_float : u16_to_i32;
  default:
    return NULL;
  }
}

/* ---- Kernels --------------------------------------------------------------------------------- */

GlowRunError glow_kernel_cast(GlowCall *call) {
  const GlowCastMembers *m = call->members;
  const GlowBuf *in = &call->in[0];
  GlowBuf *out = &call->out[0];
  if (in->kind == GLOW_KIND_STRING || out->kind == GLOW_KIND_STRING)
    return GLOW_RUN_UNSUPPORTED;
  int64_t total = physical_elements(in);
  if (in->kind == out->kind)
    return glow_kernel_identity(call);
  if (in->kind == GLOW_KIND_COMPLEX64 || in->kind == GLOW_KIND_COMPLEX128 ||
      out->kind == GLOW_KIND_COMPLEX64 || out->kind == GLOW_KIND_COMPLEX128)
    return GLOW_RUN_UNSUPPORTED;
  Widen *widen = widening(out, in);
  if (widen) {
    widen(out->data, in->data, total);
    return GLOW_RUN_OK;
  }
  bool direct = computes_in_float(in->kind) && computes_in_float(out->kind);
  for (int64_t at = 0; at < total; at += ROW) {
    int64_t n = total - at < ROW ? total - at : ROW;
    if (direct) {
      float v[ROW];
      glow_load_float(in, at, 1, n, v);
      glow_store_float(out, at, 1, n, v);
    } else {
      GlowCastRow row;
      load_row(in, at, n, &row);
      store_row(out, at, n, &row, m->overflow);
    }
  }
  return GLOW_RUN_OK;
}

/* Quantized elements to and from double, without rounding to float in between. */
static void quantize_doubles(GlowBuf *out, int64_t at, int64_t n, const double *v) {
  GlowBuf plain = *out;
  plain.quantized = false;
  for (int64_t i = 0; i < n; i++) {
    int64_t q = glow_quantize_double(out, v[i]);
    glow_store_int(&plain, at + i, 1, 1, &q);
  }
}
static void dequantize_doubles(const GlowBuf *in, int64_t at, int64_t n, double *v) {
  GlowBuf plain = *in;
  int64_t q[ROW];
  plain.quantized = false;
  glow_load_int(&plain, at, 1, n, q);
  for (int64_t i = 0; i < n; i++)
    v[i] = (double)(q[i] - in->offset) * (double)in->scale;
}

static GlowRunError convert_all(GlowBuf *out, const GlowBuf *in) {
  int64_t total = physical_elements(in);
  for (int64_t at = 0; at < total; at += ROW) {
    int64_t n = total - at < ROW ? total - at : ROW;
    float v[ROW];
    double d[ROW];
    if (in->kind == GLOW_KIND_DOUBLE) {
      glow_load_double(in, at, 1, n, d);
      quantize_doubles(out, at, n, d);
    } else if (out->kind == GLOW_KIND_DOUBLE) {
      dequantize_doubles(in, at, n, d);
      glow_store_double(out, at, 1, n, d);
    } else {
      glow_load_float(in, at, 1, n, v);
      glow_store_float(out, at, 1, n, v);
    }
  }
  glow_ref_clear_padding(out);
  return GLOW_RUN_OK;
}

/* Steps are what a scale of 1 gives. */
GlowRunError glow_kernel_quantize(GlowCall *call) {
  GlowBuf y = call->out[0];
  y.scale = ((const GlowQuantizeMembers *)call->members)->steps ? 1 : y.scale;
  return convert_all(&y, &call->in[0]);
}
GlowRunError glow_kernel_dequantize(GlowCall *call) {
  GlowBuf x = call->in[0];
  x.scale = ((const GlowDequantizeMembers *)call->members)->steps ? 1 : x.scale;
  return convert_all(&call->out[0], &x);
}
