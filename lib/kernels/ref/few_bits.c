/* MatMulNBits: the FMA chain of MatMul over weights that become floats as DequantizeLinear makes
 * them. W, Scale and Zero may be packed. */
#include "kernels/ref/ref.h"
#include "num/fma.h"

/* Where the element at a row and column of a matrix lies. */
static int64_t place_of(const GlowBuf *b, int64_t row, int64_t column) {
  int64_t index[GLOW_MAX_RANK] = {row, column};
  return glow_index_offset(b, index);
}

static float weight(const GlowCall *call, int64_t k, int64_t column) {
  const GlowMatMulNBitsMembers *m = call->members;
  const GlowBuf *w = &call->in[1], *scale = &call->in[2], *zero = &call->in[3];
  const int64_t in_word = 32 / m->bits, block = k / m->block;
  uint32_t word = ((const uint32_t *)w->data)[place_of(w, k / in_word, column)];
  int32_t q = (int32_t)(word >> (k % in_word * m->bits) & ((1u << m->bits) - 1));
  int32_t z = glow_buf_present(zero)
                  ? ((const uint8_t *)zero->data)[place_of(zero, block, column)]
                  : 1 << (m->bits - 1);
  return (float)(q - z) * ((const float *)scale->data)[place_of(scale, block, column)];
}

GlowRunError glow_kernel_mat_mul_nbits(GlowCall *call) {
  const GlowBuf *a = &call->in[0];
  GlowBuf *c = &call->out[0];
  int64_t depth = a->dims[a->rank - 1], columns = c->dims[c->rank - 1];
  int64_t rows = columns ? glow_buf_elements(c) / columns : 0;
  for (int64_t i = 0; i < rows; i++) {
    const float *x = (const float *)a->data + i * depth;
    float *y = (float *)c->data + i * columns;
    for (int64_t j = 0; j < columns; j++)
      y[j] = 0;
    for (int64_t k = 0; k < depth; k++)
      for (int64_t j = 0; j < columns; j++)
        y[j] = glow_fmaf(x[k], weight(call, k, j), y[j]);
  }
  return GLOW_RUN_OK;
}
