/* What operators that select or sort elements share: keys, lines along an axis, a stable sort.
 *
 * Elements are compared as 64-bit keys whose unsigned order is the order of the contract: NaN above
 * +inf, -0 equal to +0. */
#ifndef GLOW_KERNELS_REF_ORDER_H
#define GLOW_KERNELS_REF_ORDER_H

#include "kernels/ref/ref.h"

static inline uint64_t glow_real_key(double v) {
  uint64_t u = glow_double_bits(v), top = UINT64_C(1) << 63;
  if (v != v)
    return UINT64_MAX;
  return v == 0 ? top : u & top ? ~u : u | top;
}

/* The keys of n elements from an offset on. Quantization keeps the order of stored integers. */
static inline void glow_load_keys(const GlowBuf *b, int64_t at, int64_t stride, int64_t n,
                                  uint64_t *keys) {
  GlowBuf plain = *b;
  plain.quantized = false;
  const GlowRowClass cls = glow_ref_class(&plain);
  for (int64_t done = 0, m; done < n; done += m) {
    const int64_t from = at + done * stride;
    int64_t v[64];
    double d[64];
    m = n - done < 64 ? n - done : 64;
    if (cls >= GLOW_ROW_INT)
      glow_load_int(&plain, from, stride, m, v);
    else
      glow_load_real(&plain, from, stride, m, d);
    for (int64_t i = 0; i < m; i++)
      keys[done + i] = cls == GLOW_ROW_INT    ? (uint64_t)v[i] ^ UINT64_C(1) << 63
                       : cls == GLOW_ROW_UINT ? (uint64_t)v[i]
                                              : glow_real_key(d[i]);
  }
}

/* Negative, 0 or positive as a is below, equal to or above b. Strings compare as bytes. */
static inline int glow_key_order(uint64_t a, uint64_t b) { return a < b ? -1 : a > b; }
static inline int glow_string_order(const GlowString *a, const GlowString *b) {
  size_t n = a->length < b->length ? a->length : b->length;
  for (size_t i = 0; i < n; i++)
    if (a->data[i] != b->data[i])
      return glow_key_order((uint8_t)a->data[i], (uint8_t)b->data[i]);
  return glow_key_order(a->length, b->length);
}

/* Visits the lines of X along an axis: the other axes in row-major order. */
typedef struct GlowLines {
  uint32_t axis;
  int64_t index[GLOW_MAX_RANK], dims[GLOW_MAX_RANK];
} GlowLines;
static inline GlowLines glow_lines_of(const GlowBuf *x, uint32_t axis) {
  GlowLines l = {.axis = axis};
  for (uint32_t a = 0; a < x->rank; a++)
    l.dims[a] = a == axis ? 1 : x->dims[a];
  return l;
}

/* Sorts indices by bottom-up merges: stable. follows(with, i, j): whether i must stand behind j.
 * `other` has room for n indices. */
typedef bool (*GlowFollows)(const void *with, int64_t i, int64_t j);
static inline void glow_sort_indices(int64_t *order, int64_t *other, int64_t n, GlowFollows follows,
                                     const void *with) {
  for (int64_t width = 1; width < n; width *= 2) {
    for (int64_t low = 0; low < n; low += 2 * width) {
      int64_t mid = low + width < n ? low + width : n,
              high = low + 2 * width < n ? low + 2 * width : n;
      int64_t i = low, j = mid;
      for (int64_t k = low; k < high; k++) {
        bool left = i < mid && (j >= high || !follows(with, order[i], order[j]));
        other[k] = left ? order[i++] : order[j++];
      }
    }
    for (int64_t k = 0; k < n; k++)
      order[k] = other[k];
  }
}

#endif
