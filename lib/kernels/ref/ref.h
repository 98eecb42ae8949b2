/* What reference kernels share: addressing of buffers in any layout, rows of elements converted to
 * and from the types that kernels compute in, and copies of boxes.
 *
 * Offsets are in elements. An offset is a sum over logical axes (glow_axis_offset), since each
 * block of a layout belongs to one axis; kernels work on runs along one axis, so that the plain
 * layout costs a stride. Freestanding. */
#ifndef GLOW_KERNELS_REF_REF_H
#define GLOW_KERNELS_REF_REF_H

#include "kernels/kernel.h"
#include "num/half.h"
#include "num/math.h"
#include "ops/kernels.h"
#include "ops/listed.h"

#define GLOW_MAX_PHYSICAL (GLOW_MAX_RANK + 4)

/* ---- Kinds ----------------------------------------------------------------------------------- */

/* The type that a kind is computed in. */
typedef enum GlowRowClass {
  GLOW_ROW_FLOAT,
  GLOW_ROW_DOUBLE,
  GLOW_ROW_INT,
  GLOW_ROW_UINT
} GlowRowClass;

uint32_t glow_ref_bits(GlowKind kind);
/* FLOAT for float, float16, bfloat16, smaller floats and quantized kinds; DOUBLE; INT for signed
 * integers; UINT for unsigned ones and bool. */
GlowRowClass glow_ref_class(const GlowBuf *b);

/* ---- Addresses ------------------------------------------------------------------------------- */

static inline bool glow_axis_blocked(const GlowBuf *b, uint32_t axis) {
  for (uint32_t i = 0; i < b->nblocks; i++)
    if (b->block_axis[i] == axis)
      return true;
  return false;
}
/* What index i of an axis adds to the offset of an element. */
static inline int64_t glow_axis_offset(const GlowBuf *b, uint32_t axis, int64_t i) {
  int64_t offset = 0;
  for (uint32_t k = b->nblocks; k-- > 0;)
    if (b->block_axis[k] == axis) {
      offset += i % b->block_size[k] * b->block_stride[k];
      i /= b->block_size[k];
    }
  return offset + i * b->strides[axis];
}
static inline int64_t glow_index_offset(const GlowBuf *b, const int64_t *index) {
  int64_t offset = 0;
  for (uint32_t a = 0; a < b->rank; a++)
    offset += glow_axis_offset(b, a, index[a]);
  return offset;
}
/* Moves to the next index in row-major order; false after the last. Extents are not 0. */
static inline bool glow_next_index(uint32_t rank, const int64_t *dims, int64_t *index) {
  for (uint32_t a = rank; a-- > 0;) {
    if (++index[a] < dims[a])
      return true;
    index[a] = 0;
  }
  return false;
}
/* Physical extents and strides; returns the physical rank. */
uint32_t glow_ref_physical(const GlowBuf *b, int64_t *dims, int64_t *strides);
/* Neighbours along one axis of `buf`, whether it is blocked or not: see glow_run_load_float. */
typedef struct GlowRun {
  const GlowBuf *buf;
  int64_t offset; /* what the indices of the other axes add to the offset */
  uint32_t axis;
  int64_t start; /* first index along the axis */
} GlowRun;

/* ---- Rows ------------------------------------------------------------------------------------ */

/* n elements at data + offset + i * stride, to and from compute types. Quantized elements are
 * (x - offset) * scale as float. Integers widen; stores wrap. Float loads take any kind of class
 * FLOAT. */
void glow_load_float(const GlowBuf *b, int64_t offset, int64_t stride, int64_t n, float *out);
void glow_load_double(const GlowBuf *b, int64_t offset, int64_t stride, int64_t n, double *out);
void glow_load_int(const GlowBuf *b, int64_t offset, int64_t stride, int64_t n, int64_t *out);
/* Integers of up to 32 bits; of a quantized kind the stored ones. */
void glow_load_i32(const GlowBuf *b, int64_t offset, int64_t stride, int64_t n, int32_t *out);
void glow_store_float(GlowBuf *b, int64_t offset, int64_t stride, int64_t n, const float *in);
void glow_store_double(GlowBuf *b, int64_t offset, int64_t stride, int64_t n, const double *in);
void glow_store_int(GlowBuf *b, int64_t offset, int64_t stride, int64_t n, const int64_t *in);
/* Elements of any numeric kind as double: integers beyond 2^53 are rounded. */
void glow_load_real(const GlowBuf *b, int64_t offset, int64_t stride, int64_t n, double *out);
/* The same along a run. */
void glow_run_load_float(const GlowRun *r, int64_t n, float *out);
void glow_run_load_double(const GlowRun *r, int64_t n, double *out);
void glow_run_load_i32(const GlowRun *r, int64_t n, int32_t *out);
/* Floats rounded to bfloat16, and denormals as zeros: num/bf16.h. */
void glow_load_bf16(const GlowBuf *b, int64_t offset, int64_t stride, int64_t n, float *out);
void glow_run_load_bf16(const GlowRun *r, int64_t n, float *out);
/* The same where floats that are denormal are zeros before they are rounded. */
void glow_load_pair(const GlowBuf *b, int64_t offset, int64_t stride, int64_t n, float *out);
void glow_run_load_pair(const GlowRun *r, int64_t n, float *out);

/* Stores n floats in a floating point kind of 8 or 4 bits. Without `saturate`, numbers that are too
 * large for a kind of 8 bits become infinity or NaN. */
void glow_ref_store_small(GlowBuf *b, int64_t at, int64_t n, const float *in, bool saturate);

/* A rounded quotient and an offset, clamped to an integer kind; NaN counts as 0. */
int64_t glow_ref_clamped(GlowKind kind, double q, int64_t offset);
/* clamp(rne(v / scale) + offset) to the kind of b; NaN gives offset. */
int64_t glow_quantize_double(const GlowBuf *b, double v);

/* Stores v as one element of any kind: rounded for floats, truncated and saturated for integers. */
void glow_ref_store_number(GlowBuf *b, int64_t at, double v);
/* Integer operands (i32 or i64, any stride): element i. */
int64_t glow_ref_int(const GlowBuf *b, int64_t i);
/* `axis` counted from the end if it is negative. */
static inline uint32_t glow_ref_axis(int64_t axis, uint32_t rank) {
  return (uint32_t)(axis < 0 ? axis + rank : axis);
}
/* Entry i of an operand of indices into an axis of extent n, counted from the end if negative. -1,
 * and call->detail set, if it is out of range. */
int64_t glow_ref_index(GlowCall *call, const GlowBuf *indices, int64_t i, int64_t n);
/* The product of the extents of axes [first, last). */
static inline int64_t glow_ref_extent(const GlowBuf *b, uint32_t first, uint32_t last) {
  int64_t n = 1;
  for (uint32_t a = first; a < last; a++)
    n *= b->dims[a];
  return n;
}

/* ---- Copies ---------------------------------------------------------------------------------- */

/* Copies a box of dims, offsets and strides in elements of `bits` bits, which may be less than 8.
 */
typedef struct GlowBoxCopy {
  void *dst;
  const void *src;
  int64_t dst_offset, src_offset;
  uint32_t rank, bits;
  int64_t dims[GLOW_MAX_PHYSICAL], dst_strides[GLOW_MAX_PHYSICAL], src_strides[GLOW_MAX_PHYSICAL];
} GlowBoxCopy;
void glow_box_copy(const GlowBoxCopy *c);
/* A copy between buffers with the logical dims of `dims_of` and the strides of both (plain). */
GlowBoxCopy glow_box_of(const GlowBuf *dst, const GlowBuf *src, const GlowBuf *dims_of);
/* n neighbouring elements from offset `s` to offset `d`; `step` 0 repeats the first one. */
static inline void glow_ref_move(const GlowBuf *dst, int64_t d, const GlowBuf *src, int64_t s,
                                 int64_t n, int64_t step) {
  GlowBoxCopy c = {.dst = dst->data, .src = src->data, .dst_offset = d, .src_offset = s};
  c.rank = 1;
  c.bits = glow_ref_bits(dst->kind);
  c.dims[0] = n;
  c.dst_strides[0] = 1;
  c.src_strides[0] = step;
  glow_box_copy(&c);
}
/* Copies all elements in the order in which they lie in memory, padding lanes included. Both
 * buffers are dense, and plain or of the same layout. */
void glow_ref_copy_all(GlowBuf *out, const GlowBuf *in);
/* Copies the box of `dims` that begins at index src_at of src to index dst_at of dst. Either side
 * may be blocked. Along a blocked axis the box must begin at a whole block on both sides, and where
 * both sides are blocked the blocks must have one size. False, and nothing is copied, if that does
 * not hold, if an axis has several blocks, or if too many axes are blocked. Padding lanes stay as
 * they are. */
bool glow_ref_copy_blocks(const GlowBuf *dst, const int64_t *dst_at, const GlowBuf *src,
                          const int64_t *src_at, const int64_t *dims);
/* Sets every element of the physical extents, padding lanes included, to zero bits. */
void glow_ref_clear(GlowBuf *b);
/* Sets the padding lanes alone to zero bits, after something wrote them. */
void glow_ref_clear_padding(GlowBuf *b);

static inline size_t glow_align64(size_t n) { return (n + 63) & ~(size_t)63; }

#endif
