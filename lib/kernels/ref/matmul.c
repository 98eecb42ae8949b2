/* MatMul: matrices are the last two axes, vectors are NumPy's; the axes before broadcast. One chain
 * of fused multiply-adds in ascending k from +0 for each output; integers wrap. */
#include "kernels/ref/ref.h"
#include "kernels/ref/tile.h"

enum { GLOW_FEW_ROWS = 4 };

typedef struct GlowMatMul {
  const GlowBuf *a, *b;
  int64_t rows, depth, columns;
  bool direct; /* the operands hold the compute type */
} GlowMatMul;

static GlowMatMul mat_mul_of(const GlowCall *call) {
  const GlowBuf *a = &call->in[0], *b = &call->in[1];
  GlowMatMul m = {.a = a, .b = b};
  m.depth = a->dims[a->rank - 1];
  m.rows = a->rank > 1 ? a->dims[a->rank - 2] : 1;
  m.columns = b->rank > 1 ? b->dims[b->rank - 1] : 1;
  m.direct = a->kind == GLOW_KIND_FLOAT || a->kind == GLOW_KIND_DOUBLE;
  return m;
}

size_t glow_scratch_mat_mul(const GlowCall *call) {
  GlowMatMul m = mat_mul_of(call);
  size_t a = m.direct ? 0 : (size_t)(m.rows * m.depth);
  size_t few = 2 * (size_t)m.columns, panel = (size_t)m.depth * GLOW_TILE_COLUMNS;
  return (a + (m.rows < GLOW_FEW_ROWS ? few : panel)) * sizeof(double);
}

#define T float
#define NAME(x) x##_float
#define LOAD glow_load_float
#define STORE glow_store_float
#define FMA glow_fmaf
#include "kernels/ref/matmul_body.inc"

#define T double
#define NAME(x) x##_double
#define LOAD glow_load_double
#define STORE glow_store_double
#define FMA glow_fma
#include "kernels/ref/matmul_body.inc"

#define INTEGER_PRODUCT(s, T, U)                                                                   \
  static void product_##s(const GlowMatMul *m, int64_t a_at, int64_t b_at, GlowBuf *out,           \
                          int64_t c_at) {                                                          \
    const T *a = (const T *)m->a->data + a_at, *b = (const T *)m->b->data + b_at;                  \
    T *c = (T *)out->data + c_at;                                                                  \
    for (int64_t i = 0; i < m->rows; i++, c += m->columns, a += m->depth) {                        \
      for (int64_t j = 0; j < m->columns; j++)                                                     \
        c[j] = 0;                                                                                  \
      for (int64_t k = 0; k < m->depth; k++)                                                       \
        for (int64_t j = 0; j < m->columns; j++)                                                   \
          c[j] = (T)((uint64_t)c[j] + (uint64_t)a[k] * (uint64_t)b[k * m->columns + j]);           \
    }                                                                                              \
  }
GLOW_MATH_SIGNED(INTEGER_PRODUCT)
GLOW_MATH_UNSIGNED(INTEGER_PRODUCT)

#define INTEGER_CASE(s, KIND)                                                                      \
  case GLOW_KIND_##KIND:                                                                           \
    product_##s(m, a_at, b_at, c, c_at);                                                           \
    return;

static void product(const GlowMatMul *m, int64_t a_at, int64_t b_at, GlowBuf *c, int64_t c_at,
                    void *scratch) {
  switch (m->a->kind) {
  case GLOW_KIND_DOUBLE:
    product_double(m, a_at, b_at, c, c_at, scratch);
    return;
    INTEGER_CASE(i8, I8)
    INTEGER_CASE(i16, I16)
    INTEGER_CASE(i32, I32)
    INTEGER_CASE(i64, I64)
    INTEGER_CASE(u8, U8)
    INTEGER_CASE(u16, U16)
    INTEGER_CASE(u32, U32)
    INTEGER_CASE(u64, U64)
  default:
    product_float(m, a_at, b_at, c, c_at, scratch);
  }
}

/* What index i of the batch axes adds to the offset in an operand with `batch` leading axes. */
static int64_t batch_offset(const GlowBuf *b, uint32_t batch, uint32_t all, const int64_t *index) {
  int64_t offset = 0;
  for (uint32_t a = 0; a < batch; a++)
    offset += b->dims[a] == 1 ? 0 : index[all - batch + a] * b->strides[a];
  return offset;
}

GlowRunError glow_kernel_mat_mul(GlowCall *call) {
  GlowMatMul m = mat_mul_of(call);
  GlowBuf *c = &call->out[0];
  uint32_t a_batch = m.a->rank > 2 ? m.a->rank - 2 : 0, b_batch = m.b->rank > 2 ? m.b->rank - 2 : 0;
  uint32_t batch = a_batch > b_batch ? a_batch : b_batch;
  if (glow_buf_elements(c) == 0)
    return GLOW_RUN_OK;
  int64_t index[GLOW_MAX_RANK] = {0}, c_at = 0;
  do {
    product(&m, batch_offset(m.a, a_batch, batch, index), batch_offset(m.b, b_batch, batch, index),
            c, c_at, call->scratch);
    c_at += m.rows * m.columns;
  } while (glow_next_index(batch, c->dims, index));
  return GLOW_RUN_OK;
}
