/* MatMul: matrices are the last two axes, vectors are NumPy's; the axes before broadcast. One chain
 * of fused multiply-adds in ascending k from +0 for each output, or with strategy = bf16 those of
 * num/bf16.h; integers wrap. Views with strides
 * are read and written where they are, and B in any blocked layout (wide integers: plain). */
#include "kernels/ref/ref.h"
#include "kernels/ref/tile.h"

enum { GLOW_FEW_ROWS = 4 };

typedef struct GlowMatMul {
  const GlowBuf *a, *b;
  int64_t rows, depth, columns;
  int64_t a_row, a_step, b_step, b_column, c_row, c_column; /* strides; 0 where there is no axis */
  bool a_direct, b_direct; /* the operand holds rows of the compute type */
  bool is_bf16, is_pair;   /* strategy = bf16; with order = pair */
} GlowMatMul;

static GlowMatMul mat_mul_of(const GlowCall *call) {
  const GlowBuf *a = &call->in[0], *b = &call->in[1], *c = &call->out[0];
  GlowMatMul m = {.a = a, .b = b};
  bool rows = a->rank > 1, columns = b->rank > 1;
  m.depth = a->dims[a->rank - 1];
  m.a_step = a->strides[a->rank - 1];
  m.rows = rows ? a->dims[a->rank - 2] : 1;
  m.a_row = rows ? a->strides[a->rank - 2] : 0;
  m.columns = columns ? b->dims[b->rank - 1] : 1;
  m.b_step = b->strides[b->rank - 1 - columns];
  m.b_column = columns ? b->strides[b->rank - 1] : 0;
  m.c_row = rows ? c->strides[c->rank - 1 - columns] : 0;
  m.c_column = columns ? c->strides[c->rank - 1] : 1;
  m.is_bf16 = ((const GlowMatMulMembers *)call->members)->strategy == GLOW_PRODUCT_STRATEGY_BF16;
  m.is_pair = ((const GlowMatMulMembers *)call->members)->order == GLOW_BF16_ORDER_PAIR;
  bool direct = !m.is_bf16 && (a->kind == GLOW_KIND_FLOAT || a->kind == GLOW_KIND_DOUBLE);
  m.a_direct = direct && m.a_step == 1;
  m.b_direct = direct && b->kind == a->kind && !b->nblocks && (m.b_column == 1 || !columns);
  return m;
}

size_t glow_scratch_mat_mul(const GlowCall *call) {
  GlowMatMul m = mat_mul_of(call);
  size_t a = m.a_direct ? 0 : (size_t)(m.rows * m.depth);
  size_t few = 2 * (size_t)m.columns, panel = (size_t)m.depth * GLOW_TILE_COLUMNS;
  return (a + (m.rows < GLOW_FEW_ROWS && !m.is_bf16 ? few : panel)) * sizeof(double);
}

/* A piece of row k of B, from column j on. */
static GlowRun b_row(const GlowMatMul *m, int64_t b_at, int64_t k, int64_t j) {
  const GlowBuf *b = m->b;
  GlowRun r = {.buf = b, .offset = b_at, .axis = b->rank - 1, .start = j};
  if (b->rank > 1)
    r.offset += glow_axis_offset(b, b->rank - 2, k);
  else
    r.start = k;
  return r;
}

#define T float
#define NAME(x) x##_float
#define LOAD glow_load_float
#define RUN_LOAD glow_run_load_float
#define STORE glow_store_float
#define FMA glow_fmaf
#include "kernels/ref/matmul_body.inc"

#define T double
#define NAME(x) x##_double
#define LOAD glow_load_double
#define RUN_LOAD glow_run_load_double
#define STORE glow_store_double
#define FMA glow_fma
#include "kernels/ref/matmul_body.inc"

#define T float
#define NAME(x) x##_16
#define glow_tile_16(...)                                                                          \
  (m->is_pair ? glow_tile_pair(__VA_ARGS__) : glow_tile_bf16(__VA_ARGS__))
#define LOAD(...) (m->is_pair ? glow_load_pair(__VA_ARGS__) : glow_load_bf16(__VA_ARGS__))
#define RUN_LOAD(...)                                                                              \
  (m->is_pair ? glow_run_load_pair(__VA_ARGS__) : glow_run_load_bf16(__VA_ARGS__))
#define STORE glow_store_float
#define ALL_ROWS
#include "kernels/ref/matmul_body.inc"

/* Of narrow integers, whose results are i32. */
static void store_i32(GlowBuf *b, int64_t offset, int64_t stride, int64_t n, const int32_t *in) {
  int32_t *p = (int32_t *)b->data + offset;
  for (int64_t i = 0; i < n; i++)
    p[i * stride] = in[i];
}

#define T int32_t
#define NAME(x) x##_narrow
#define glow_tile_narrow glow_tile_i32
#define LOAD glow_load_i32
#define RUN_LOAD glow_run_load_i32
#define STORE store_i32
#define FMA GLOW_WRAPPING_ADD
#include "kernels/ref/matmul_body.inc"

#define INTEGER_PRODUCT(s, T, U)                                                                   \
  static void product_##s(const GlowMatMul *m, int64_t a_at, int64_t b_at, GlowBuf *out,           \
                          int64_t c_at) {                                                          \
    const T *a = (const T *)m->a->data + a_at, *b = (const T *)m->b->data + b_at;                  \
    T *c = (T *)out->data + c_at;                                                                  \
    for (int64_t i = 0; i < m->rows; i++, c += m->c_row, a += m->a_row) {                          \
      for (int64_t j = 0; j < m->columns; j++)                                                     \
        c[j * m->c_column] = 0;                                                                    \
      for (int64_t k = 0; k < m->depth; k++)                                                       \
        for (int64_t j = 0; j < m->columns; j++)                                                   \
          c[j * m->c_column] =                                                                     \
              (T)((uint64_t)c[j * m->c_column] +                                                   \
                  (uint64_t)a[k * m->a_step] * (uint64_t)b[k * m->b_step + j * m->b_column]);      \
    }                                                                                              \
  }
INTEGER_PRODUCT(i32, int32_t, uint32_t)
INTEGER_PRODUCT(i64, int64_t, uint64_t)
INTEGER_PRODUCT(u32, uint32_t, uint32_t)
INTEGER_PRODUCT(u64, uint64_t, uint64_t)

#define INTEGER_CASE(s, KIND)                                                                      \
  case GLOW_KIND_##KIND:                                                                           \
    product_##s(m, a_at, b_at, c, c_at);                                                           \
    return;

static void product(const GlowMatMul *m, int64_t a_at, int64_t b_at, GlowBuf *c, int64_t c_at,
                    void *scratch) {
  if (m->is_bf16) {
    product_16(m, a_at, b_at, c, c_at, scratch);
    return;
  }
  switch (m->a->kind) {
  case GLOW_KIND_DOUBLE:
    product_double(m, a_at, b_at, c, c_at, scratch);
    return;
  case GLOW_KIND_I8:
  case GLOW_KIND_U8:
    product_narrow(m, a_at, b_at, c, c_at, scratch);
    return;
    INTEGER_CASE(i32, I32)
    INTEGER_CASE(i64, I64)
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
  bool wide = glow_ref_class(m.b) >= GLOW_ROW_INT && glow_ref_bits(m.b->kind) >= 32;
  if (m.b->nblocks && wide)
    return GLOW_RUN_UNSUPPORTED;
  int64_t index[GLOW_MAX_RANK] = {0};
  do {
    product(&m, batch_offset(m.a, a_batch, batch, index), batch_offset(m.b, b_batch, batch, index),
            c, batch_offset(c, batch, batch, index), call->scratch);
  } while (glow_next_index(batch, c->dims, index));
  return GLOW_RUN_OK;
}
