/* Copies of boxes between any two strided places: axes of extent 1 go, axes that are one run in
 * both places merge, and the innermost loop is typed by the size of an element. */
#include "kernels/ref/ref.h"

/* Elements of fewer than 8 bits: low bits first. */
static void copy_bits(const GlowBoxCopy *c, int64_t d, int64_t s, int64_t n, int64_t ds,
                      int64_t ss) {
  uint8_t *dst = c->dst;
  const uint8_t *src = c->src;
  uint32_t bits = c->bits, mask = (1u << bits) - 1u;
  for (int64_t i = 0; i < n; i++) {
    int64_t from = (s + i * ss) * bits, to = (d + i * ds) * bits;
    uint32_t v = (uint32_t)src[from >> 3] >> (from & 7) & mask;
    uint32_t old = dst[to >> 3] & ~(mask << (to & 7));
    dst[to >> 3] = (uint8_t)(old | v << (to & 7));
  }
}

/* Elements are moved as integers of their size, whatever their kind. */
typedef uint8_t Unit8 __attribute__((may_alias));
typedef uint16_t Unit16 __attribute__((may_alias));
typedef uint32_t Unit32 __attribute__((may_alias));
typedef uint64_t Unit64 __attribute__((may_alias));
typedef struct Unit128 {
  uint64_t lo, hi;
} __attribute__((may_alias)) Unit128;

#define RUN(T)                                                                                     \
  do {                                                                                             \
    T *to = (T *)c->dst + d;                                                                       \
    const T *from = (const T *)c->src + s;                                                         \
    if (ss == 0) {                                                                                 \
      const T v = *from;                                                                           \
      for (int64_t i = 0; i < n; i++)                                                              \
        to[i * ds] = v;                                                                            \
    } else {                                                                                       \
      for (int64_t i = 0; i < n; i++)                                                              \
        to[i * ds] = from[i * ss];                                                                 \
    }                                                                                              \
  } while (0)

static void copy_run(const GlowBoxCopy *c, int64_t d, int64_t s, int64_t n, int64_t ds,
                     int64_t ss) {
  if (ds == 1 && ss == 1 && c->bits >= 8) {
    size_t size = c->bits / 8;
    __builtin_memmove((char *)c->dst + d * (int64_t)size, (const char *)c->src + s * (int64_t)size,
                      (size_t)n * size);
    return;
  }
  switch (c->bits) {
  case 8:
    RUN(Unit8);
    break;
  case 16:
    RUN(Unit16);
    break;
  case 32:
    RUN(Unit32);
    break;
  case 64:
    RUN(Unit64);
    break;
  case 128:
    RUN(Unit128);
    break;
  default:
    copy_bits(c, d, s, n, ds, ss);
  }
}

void glow_box_copy(const GlowBoxCopy *c) {
  int64_t dims[GLOW_MAX_PHYSICAL], ds[GLOW_MAX_PHYSICAL], ss[GLOW_MAX_PHYSICAL];
  uint32_t rank = 0;
  for (uint32_t a = 0; a < c->rank; a++) {
    int64_t n = c->dims[a];
    if (n == 0)
      return;
    if (n == 1)
      continue;
    bool joins =
        rank && ds[rank - 1] == c->dst_strides[a] * n && ss[rank - 1] == c->src_strides[a] * n;
    uint32_t at = joins ? rank - 1 : rank++;
    dims[at] = joins ? dims[at] * n : n;
    ds[at] = c->dst_strides[a];
    ss[at] = c->src_strides[a];
  }
  if (rank == 0) {
    copy_run(c, c->dst_offset, c->src_offset, 1, 1, 1);
    return;
  }
  uint32_t outer = rank - 1;
  int64_t index[GLOW_MAX_PHYSICAL] = {0};
  do {
    int64_t d = c->dst_offset, s = c->src_offset;
    for (uint32_t a = 0; a < outer; a++) {
      d += index[a] * ds[a];
      s += index[a] * ss[a];
    }
    copy_run(c, d, s, dims[outer], ds[outer], ss[outer]);
  } while (glow_next_index(outer, dims, index));
}

GlowBoxCopy glow_box_of(const GlowBuf *dst, const GlowBuf *src, const GlowBuf *dims_of) {
  GlowBoxCopy c = {.dst = dst->data, .src = src->data, .rank = dims_of->rank};
  c.bits = glow_ref_bits(dst->kind);
  for (uint32_t a = 0; a < c.rank; a++) {
    c.dims[a] = dims_of->dims[a];
    c.dst_strides[a] = dst->strides[a];
    c.src_strides[a] = src->strides[a];
  }
  return c;
}

void glow_ref_copy_all(GlowBuf *out, const GlowBuf *in) {
  int64_t dims[GLOW_MAX_PHYSICAL], strides[GLOW_MAX_PHYSICAL], n = 1;
  uint32_t rank = glow_ref_physical(in, dims, strides);
  for (uint32_t a = 0; a < rank; a++)
    n *= dims[a];
  size_t bytes = (size_t)((n * glow_ref_bits(in->kind) + 7) / 8);
  if (bytes && out->data != in->data)
    __builtin_memmove(out->data, in->data, bytes);
}

void glow_ref_clear(GlowBuf *b) {
  static const Unit128 zero = {0, 0};
  GlowBoxCopy c = {.dst = b->data, .src = &zero, .bits = glow_ref_bits(b->kind)};
  c.rank = glow_ref_physical(b, c.dims, c.dst_strides);
  glow_box_copy(&c);
}

void glow_ref_clear_padding(GlowBuf *b) {
  static const Unit128 zero = {0, 0};
  int64_t full[GLOW_MAX_RANK];
  for (uint32_t a = 0; a < b->rank; a++) {
    int64_t block = 1;
    for (uint32_t k = 0; k < b->nblocks; k++)
      block *= b->block_axis[k] == a ? b->block_size[k] : 1;
    full[a] = (b->dims[a] + block - 1) / block * block;
    if (full[a] == 0)
      return;
  }
  GlowBoxCopy one = {.dst = b->data, .src = &zero, .bits = glow_ref_bits(b->kind)};
  for (uint32_t a = 0; a < b->rank; a++) {
    if (full[a] == b->dims[a])
      continue;
    /* The slab beyond the extent of axis a. */
    int64_t dims[GLOW_MAX_RANK], index[GLOW_MAX_RANK] = {0}, at[GLOW_MAX_RANK];
    for (uint32_t i = 0; i < b->rank; i++)
      dims[i] = i == a ? full[a] - b->dims[a] : full[i];
    do {
      for (uint32_t i = 0; i < b->rank; i++)
        at[i] = index[i] + (i == a ? b->dims[a] : 0);
      one.dst_offset = glow_index_offset(b, at);
      glow_box_copy(&one);
    } while (glow_next_index(b->rank, dims, index));
  }
}
