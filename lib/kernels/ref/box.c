/* Copies of boxes between any two strided places. Axes of extent 1 are dropped, axes that form one
 * run in both places are merged, and the innermost loop is typed by the size of an element. */
#include "kernels/ref/ref.h"

/* n elements of fewer than 8 bits, low bits first, from offset s on to offset d on; ss and ds:
 * strides. */
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

/* The loops of a copy, the innermost one last: extents, and strides of both sides. */
typedef struct Loops {
  uint32_t rank;
  int64_t dims[GLOW_MAX_PHYSICAL], ds[GLOW_MAX_PHYSICAL], ss[GLOW_MAX_PHYSICAL];
} Loops;

/* False if there is nothing to copy. */
static bool find_loops(const GlowBoxCopy *c, Loops *l) {
  l->rank = 0;
  for (uint32_t a = 0; a < c->rank; a++) {
    int64_t n = c->dims[a];
    if (n == 0)
      return false;
    if (n == 1)
      continue;
    bool joins = l->rank && l->ds[l->rank - 1] == c->dst_strides[a] * n &&
                 l->ss[l->rank - 1] == c->src_strides[a] * n;
    uint32_t at = joins ? l->rank - 1 : l->rank++;
    l->dims[at] = joins ? l->dims[at] * n : n;
    l->ds[at] = c->dst_strides[a];
    l->ss[at] = c->src_strides[a];
  }
  return true;
}

/* ---- Transposed pairs of loops --------------------------------------------------------------- */

enum { TURN = 8, BAND = 64 }; /* a square that lies in registers; rows of dst at a time */

typedef Unit32 Unit32x8 __attribute__((vector_size(32), may_alias, aligned(4)));

/* to[i * da + j] = from[j * sb + i] for i and j below 8. */
static inline void turn_square(Unit32 *to, int64_t da, const Unit32 *from, int64_t sb) {
  Unit32x8 r[TURN], t[TURN];
  for (int j = 0; j < TURN; j++)
    __builtin_memcpy(&r[j], from + j * sb, sizeof r[j]);
  for (int j = 0; j < TURN; j += 2) {
    t[j] = __builtin_shufflevector(r[j], r[j + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    t[j + 1] = __builtin_shufflevector(r[j], r[j + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  for (int j = 0; j < TURN; j += 4)
    for (int k = 0; k < 2; k++) {
      r[j + 2 * k] = __builtin_shufflevector(t[j + k], t[j + k + 2], 0, 1, 8, 9, 4, 5, 12, 13);
      r[j + 2 * k + 1] =
          __builtin_shufflevector(t[j + k], t[j + k + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
  for (int i = 0; i < TURN / 2; i++) {
    t[i] = __builtin_shufflevector(r[i], r[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    t[i + 4] = __builtin_shufflevector(r[i], r[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
  for (int i = 0; i < TURN; i++)
    __builtin_memcpy(to + i * da, &t[i], sizeof t[i]);
}

/* Any extents below 8, element by element. */
#define TURN_PART(T, to, from, ni, nj)                                                             \
  do {                                                                                             \
    T *part_to = (to);                                                                             \
    const T *part_from = (from);                                                                   \
    for (int64_t i = 0; i < (ni); i++)                                                             \
      for (int64_t j = 0; j < (nj); j++)                                                           \
        part_to[i * da + j] = part_from[j * sb + i];                                               \
  } while (0)

static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* All squares of a pair of loops; WHOLE copies one of full size. */
#define TURN_ALL(T, WHOLE)                                                                         \
  for (int64_t band = 0; band < na; band += BAND)                                                  \
    for (int64_t j0 = 0; j0 < nb; j0 += TURN)                                                      \
      for (int64_t i0 = band; i0 < least(na, band + BAND); i0 += TURN) {                           \
        int64_t ni = least(TURN, na - i0), nj = least(TURN, nb - j0);                              \
        T *to = (T *)c->dst + d + i0 * da + j0;                                                    \
        const T *from = (const T *)c->src + s + j0 * sb + i0;                                      \
        if (ni == TURN && nj == TURN)                                                              \
          WHOLE;                                                                                   \
        else                                                                                       \
          TURN_PART(T, to, from, ni, nj);                                                          \
      }

/* Element (i, j), i < na, j < nb, from src + s + j * sb + i to dst + d + i * da + j. */
static void copy_turned(const GlowBoxCopy *c, int64_t d, int64_t s, int64_t na, int64_t nb,
                        int64_t da, int64_t sb) {
  switch (c->bits) {
  case 8:
    TURN_ALL(Unit8, TURN_PART(Unit8, to, from, TURN, TURN));
    break;
  case 16:
    TURN_ALL(Unit16, TURN_PART(Unit16, to, from, TURN, TURN));
    break;
  case 32:
    TURN_ALL(Unit32, turn_square(to, da, from, sb));
    break;
  case 64:
    TURN_ALL(Unit64, TURN_PART(Unit64, to, from, TURN, TURN));
    break;
  default:
    TURN_ALL(Unit128, TURN_PART(Unit128, to, from, TURN, TURN));
  }
}

static void swap_loops(Loops *l, uint32_t a, uint32_t b) {
  int64_t n = l->dims[a], ds = l->ds[a], ss = l->ss[a];
  l->dims[a] = l->dims[b];
  l->ds[a] = l->ds[b];
  l->ss[a] = l->ss[b];
  l->dims[b] = n;
  l->ds[b] = ds;
  l->ss[b] = ss;
}

/* Where one loop has neighbours in src and another one in dst, squares of both are moved at once,
 * and the other loops follow the order of dst. Then the last two loops are these two, the one of
 * dst last. The order shows in no result: the places of dst differ from each other and from src. */
static bool pair_loops(const GlowBoxCopy *c, Loops *l) {
  uint32_t from = l->rank, to = l->rank;
  if (c->bits < 8 || c->dst == c->src)
    return false;
  for (uint32_t a = 0; a < l->rank; a++) {
    if (l->ds[a] < 1 || l->ss[a] < 1)
      return false;
    if (l->dims[a] >= TURN / 2 && l->ss[a] == 1 && l->ds[a] > 1)
      from = a;
    if (l->dims[a] >= TURN / 2 && l->ds[a] == 1 && l->ss[a] > 1)
      to = a;
  }
  if (from == l->rank || to == l->rank)
    return false;
  swap_loops(l, to, l->rank - 1);
  swap_loops(l, from == l->rank - 1 ? to : from, l->rank - 2);
  for (uint32_t a = 1; a + 2 < l->rank; a++) /* insertion, by falling strides of dst */
    for (uint32_t b = a; b > 0 && l->ds[b - 1] < l->ds[b]; b--)
      swap_loops(l, b - 1, b);
  return true;
}

void glow_box_copy(const GlowBoxCopy *c) {
  Loops l;
  if (!find_loops(c, &l))
    return;
  if (l.rank == 0) {
    copy_run(c, c->dst_offset, c->src_offset, 1, 1, 1);
    return;
  }
  bool turned = l.rank > 1 && pair_loops(c, &l);
  uint32_t outer = l.rank - (turned ? 2 : 1), last = l.rank - 1;
  int64_t index[GLOW_MAX_PHYSICAL] = {0};
  do {
    int64_t d = c->dst_offset, s = c->src_offset;
    for (uint32_t a = 0; a < outer; a++) {
      d += index[a] * l.ds[a];
      s += index[a] * l.ss[a];
    }
    if (turned)
      copy_turned(c, d, s, l.dims[outer], l.dims[last], l.ds[outer], l.ss[last]);
    else
      copy_run(c, d, s, l.dims[last], l.ds[last], l.ss[last]);
  } while (glow_next_index(outer, l.dims, index));
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

/* ---- Blocks ---------------------------------------------------------------------------------- */

/* The size of the one block of an axis: 0 if it has none, -1 if it has several. *stride: between
 * neighbours in a block, or along the axis if it has none. */
static int64_t block_of(const GlowBuf *b, uint32_t axis, int64_t *stride) {
  int64_t size = 0;
  *stride = b->strides[axis];
  for (uint32_t k = 0; k < b->nblocks; k++) {
    if (b->block_axis[k] != axis)
      continue;
    if (size)
      return -1;
    size = b->block_size[k];
    *stride = b->block_stride[k];
  }
  return size;
}

/* Zeros into the lanes beyond the extent of an axis with several blocks, element by element. */
static void clear_nested_lanes(GlowBuf *b, uint32_t a) {
  static const Unit128 zero = {0, 0};
  GlowBoxCopy one = {.dst = b->data, .src = &zero, .bits = glow_ref_bits(b->kind)};
  int64_t full[GLOW_MAX_RANK], dims[GLOW_MAX_RANK], index[GLOW_MAX_RANK] = {0}, at[GLOW_MAX_RANK];
  for (uint32_t i = 0; i < b->rank; i++) {
    int64_t block = 1;
    for (uint32_t k = 0; k < b->nblocks; k++)
      block *= b->block_axis[k] == i ? b->block_size[k] : 1;
    full[i] = (b->dims[i] + block - 1) / block * block;
    dims[i] = i == a ? full[i] - b->dims[i] : full[i];
  }
  if (dims[a] == 0)
    return;
  do {
    for (uint32_t i = 0; i < b->rank; i++)
      at[i] = index[i] + (i == a ? b->dims[a] : 0);
    one.dst_offset = glow_index_offset(b, at);
    glow_box_copy(&one);
  } while (glow_next_index(b->rank, dims, index));
}

/* The strides of one side of an axis: from block to block, and inside of a block. */
typedef struct Side {
  int64_t outer, inner;
} Side;

static Side side_of(const GlowBuf *b, uint32_t axis, int64_t block) {
  Side s;
  bool blocked = block_of(b, axis, &s.inner) > 0;
  s.outer = blocked ? b->strides[axis] : s.inner * block;
  return s;
}

/* An axis as the copy sees it. Without blocks (block is 0) it is one loop; else it is whole blocks,
 * then the elements of a partial block. */
typedef struct CopyAxis {
  int64_t block, size, dst, src; /* dst, src: where the box begins */
  Side to, from;
} CopyAxis;

static bool copy_axis(CopyAxis *x, const GlowBuf *dst, int64_t dst_at, const GlowBuf *src,
                      int64_t src_at, uint32_t axis, int64_t size) {
  int64_t stride, to = block_of(dst, axis, &stride), from = block_of(src, axis, &stride);
  *x = (CopyAxis){.block = to ? to : from, .size = size, .dst = dst_at, .src = src_at};
  if (to < 0 || from < 0 || (to && from && to != from))
    return false;
  if (x->block && (dst_at % x->block || src_at % x->block))
    return false;
  x->to = side_of(dst, axis, x->block ? x->block : 1);
  x->from = side_of(src, axis, x->block ? x->block : 1);
  return true;
}

static void add_loop(GlowBoxCopy *c, int64_t size, int64_t to, int64_t from) {
  c->dims[c->rank] = size;
  c->dst_strides[c->rank] = to;
  c->src_strides[c->rank++] = from;
}

/* Adds the loops of an axis: over whole blocks, or over the elements of the last, partial one. */
static void add_loops(GlowBoxCopy *c, const CopyAxis *x, bool partial) {
  int64_t block = x->block ? x->block : 1, whole = x->size / block;
  c->dst_offset += x->dst / block * x->to.outer;
  c->src_offset += x->src / block * x->from.outer;
  if (partial) {
    c->dst_offset += whole * x->to.outer;
    c->src_offset += whole * x->from.outer;
  }
  int64_t outer = partial ? 1 : whole, inner = partial ? x->size % block : block;
  add_loop(c, outer, x->to.outer, x->from.outer);
  if (x->block)
    add_loop(c, inner, x->to.inner, x->from.inner);
}

/* How many elements all blocks of an axis have together; *count: how many blocks there are. */
static int64_t blocks_of(const GlowBuf *b, uint32_t axis, uint32_t *count) {
  int64_t size = 1;
  *count = 0;
  for (uint32_t k = 0; k < b->nblocks; k++)
    if (b->block_axis[k] == axis)
      size *= b->block_size[k], ++*count;
  return size;
}

/* The side on which an axis has several blocks that a copy of the whole axis fills, if it has none
 * on the other one; NULL: there is no such side. */
static const GlowBuf *nested_side(const GlowBuf *dst, int64_t dst_at, const GlowBuf *src,
                                  int64_t src_at, uint32_t axis, int64_t size, uint32_t *count) {
  uint32_t to, from;
  int64_t to_size = blocks_of(dst, axis, &to), from_size = blocks_of(src, axis, &from);
  *count = to + from;
  if (dst_at || src_at || size % to_size || size % from_size)
    return NULL;
  return to > 1 && !from ? dst : from > 1 && !to ? src : NULL;
}

/* Adds the loops of such an axis: over all blocks, then inside of each, the outer one first. */
static void add_nested(GlowBoxCopy *c, const GlowBuf *b, bool is_dst, int64_t plain, uint32_t axis,
                       int64_t size) {
  uint32_t count;
  int64_t step = blocks_of(b, axis, &count), stride = b->strides[axis];
  add_loop(c, size / step, is_dst ? stride : plain * step, is_dst ? plain * step : stride);
  for (uint32_t k = 0; k < b->nblocks; k++) {
    if (b->block_axis[k] != axis)
      continue;
    step /= b->block_size[k];
    stride = b->block_stride[k];
    add_loop(c, b->block_size[k], is_dst ? stride : plain * step, is_dst ? plain * step : stride);
  }
}

bool glow_ref_copy_blocks(const GlowBuf *dst, const int64_t *dst_at, const GlowBuf *src,
                          const int64_t *src_at, const int64_t *dims) {
  CopyAxis axes[GLOW_MAX_RANK];
  const GlowBuf *nested[GLOW_MAX_RANK];
  uint32_t loops = dst->rank, cut = 0; /* cut: axes that end in a partial block */
  for (uint32_t a = 0; a < dst->rank; a++) {
    uint32_t blocks;
    nested[a] = nested_side(dst, dst_at[a], src, src_at[a], a, dims[a], &blocks);
    if (nested[a]) {
      loops += blocks;
      continue;
    }
    if (!copy_axis(&axes[a], dst, dst_at[a], src, src_at[a], a, dims[a]))
      return false;
    loops += axes[a].block != 0;
    cut |= axes[a].block && dims[a] % axes[a].block ? 1u << a : 0;
  }
  if (loops > GLOW_MAX_PHYSICAL)
    return false;
  for (uint32_t partial = 0; partial < 1u << dst->rank; partial++) {
    if (partial & ~cut)
      continue;
    GlowBoxCopy c = {.dst = dst->data, .src = src->data, .bits = glow_ref_bits(dst->kind)};
    for (uint32_t a = 0; a < dst->rank; a++) {
      if (nested[a])
        add_nested(&c, nested[a], nested[a] == dst, (nested[a] == dst ? src : dst)->strides[a], a,
                   dims[a]);
      else
        add_loops(&c, &axes[a], partial >> a & 1u);
    }
    glow_box_copy(&c);
  }
  return true;
}

/* Zeros into the lanes beyond the extent of axis a, whose one block has `size` elements. */
static void clear_lanes(GlowBuf *b, uint32_t a, int64_t size, int64_t stride) {
  static const Unit128 zero = {0, 0};
  GlowBoxCopy c = {.dst = b->data, .src = &zero, .bits = glow_ref_bits(b->kind)};
  int64_t used = b->dims[a] % size;
  c.rank = glow_ref_physical(b, c.dims, c.dst_strides);
  c.dst_offset = b->dims[a] / size * b->strides[a] + used * stride;
  c.dims[a] = 1;
  for (uint32_t k = 0; k < b->nblocks; k++)
    if (b->block_axis[k] == a)
      c.dims[b->rank + k] = size - used;
  glow_box_copy(&c);
}

void glow_ref_clear_padding(GlowBuf *b) {
  for (uint32_t a = 0; a < b->rank; a++)
    if (b->dims[a] == 0)
      return;
  for (uint32_t a = 0; a < b->rank; a++) {
    int64_t stride, size = block_of(b, a, &stride);
    if (size > 0 && b->dims[a] % size)
      clear_lanes(b, a, size, stride);
    else if (size < 0)
      clear_nested_lanes(b, a);
  }
}
