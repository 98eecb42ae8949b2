/* What becomes of the sums of a tile of narrow integers: sums, floats, or bytes. */
#ifndef GLOW_KERNELS_CPU_NARROW_RESULTS_H
#define GLOW_KERNELS_CPU_NARROW_RESULTS_H

#include "narrow_numbers.h"
#include "narrow_sums.h"

typedef int8_t NarrowI8 __attribute__((vector_size(GLOW_VL), aligned(1)));

/* What a register of results is finished as, which library code has as constants in its loops. */
typedef struct Form {
  int64_t result; /* a GlowNarrowResult */
  bool adds;
} Form;

/* A register of what is added. */
INLINE GlowVec narrow_added(const Unit *u, const uint8_t *add) {
  const GlowVecI v = u->p->add_signed ? __builtin_convertvector(*(const NarrowI8 *)add, GlowVecI)
                                   : __builtin_convertvector(*(const NarrowU8 *)add, GlowVecI);
  return __builtin_convertvector(v - dot_splat((int32_t)u->n->add_offset), GlowVec);
}

/* The results of a register of sums: fma(sum, scale, bias), plus what `add` has there, limited. */
INLINE GlowVec narrow_result(Form f, const Unit *u, GlowVecI sum, int64_t col, const uint8_t *add) {
  GlowVec t = vec_fma(__builtin_convertvector(sum, GlowVec), vec_load(u->scale + col),
                      vec_load(u->bias + col));
  if (f.adds)
    t = vec_fma(narrow_added(u, add), vec_splat(narrow_float(u->n->add_scale)), t);
  return narrow_between(t, narrow_float(u->n->low), narrow_float(u->n->high));
}

/* Whether the sums of a tile of so many columns become bytes in registers. */
INLINE bool narrow_is_direct(const Unit *u, int64_t columns) {
  return NARROW_DIRECT && columns >= NARROW_COLUMNS && u->p->result == GLOW_NARROW_RESULT_BYTES &&
         !u->p->adds && !u->nan;
}

#if NARROW_DIRECT
/* The bytes of `count` pixels, two at a time. Packing makes 0 of what is below: signed results are
 * 128 larger meanwhile. */
INLINE void narrow_direct(int count, const Unit *u, int64_t col, GlowVecI (*acc)[NARROW_VECTORS],
                          char *y) {
  typedef char Bytes __attribute__((vector_size(32)));
  typedef char Half __attribute__((vector_size(16), aligned(1)));
  const Form f = {GLOW_NARROW_RESULT_BYTES, false};
  const int32_t offset = (int32_t)u->n->offset;
  const int32_t more = u->p->y_signed ? 128 : 0;
  UNROLL for (int i = 0; i < count; i += 2) {
    const int both[2] = {i, i + 1 < count ? i + 1 : i};
    NarrowTwo words[2];
    UNROLL for (int k = 0; k < 2; k++) {
      GlowVecI q[2];
      UNROLL for (int j = 0; j < 2; j++) q[j] = narrow_rounded(
          narrow_result(f, u, acc[both[k]][j], col + j * GLOW_VL, NULL), offset + more);
      words[k] = (NarrowTwo)__builtin_ia32_packssdw256(q[0], q[1]);
    }
    const GlowVecI v = (GlowVecI)__builtin_ia32_packuswb256(words[0], words[1]);
    const Bytes b = (Bytes)(__builtin_shufflevector(v, v, 0, 4, 1, 5, 2, 6, 3, 7) ^
                            dot_splat((int32_t)((uint32_t)more * 0x01010101)));
    *(Half *)(y + i * u->p->yw) =
        __builtin_shufflevector(b, b, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    *(Half *)(y + both[1] * u->p->yw) = __builtin_shufflevector(b, b, 16, 17, 18, 19, 20, 21, 22,
                                                                23, 24, 25, 26, 27, 28, 29, 30, 31);
  }
}
#endif

INLINE NarrowU8 narrow_bytes(const Unit *u, GlowVec t) {
  const int32_t offset = (int32_t)u->n->offset;
  return __builtin_convertvector(u->nan ? narrow_rounded_any(t, offset) : narrow_rounded(t, offset),
                                 NarrowU8);
}

/* A register of results from channel `col` on. */
INLINE void narrow_whole(Form f, const Unit *u, GlowVecI sum, int64_t col, char *y,
                         const uint8_t *add) {
  if (f.result == GLOW_NARROW_RESULT_SUMS)
    *(GlowVecI *)(void *)y = sum;
  else if (f.result == GLOW_NARROW_RESULT_REALS)
    vec_store((float *)(void *)y, narrow_result(f, u, sum, col, add));
  else
    *(NarrowU8 *)y = narrow_bytes(u, narrow_result(f, u, sum, col, add));
}

/* The first `count` of them. */
INLINE void narrow_part(Form f, const Unit *u, GlowVecI sum, int64_t col, int64_t count, char *y,
                        const uint8_t *add) {
  const int64_t size = f.result == GLOW_NARROW_RESULT_BYTES ? 1 : 4;
  const bool whole = count == GLOW_VL;
  uint8_t added[GLOW_VL] = {0};
  char results[GLOW_VL * 4];
  ROLLED for (int64_t l = 0; f.adds && !whole && l < count; l++) added[l] = add[l];
  narrow_whole(f, u, sum, col, whole ? y : results, whole ? add : added);
  ROLLED for (int64_t l = 0; !whole && l < count * size; l++) y[l] = results[l];
}

/* The results of a tile: `count` pixels of `columns` filters from `col` on. */
INLINE void narrow_pixels(Form f, const Unit *u, int64_t count, int64_t col, int64_t columns,
                          const int32_t *sums, char *y, const uint8_t *add) {
  const GlowNarrowParams *p = u->p;
  const int64_t size = f.result == GLOW_NARROW_RESULT_BYTES ? 1 : 4;
  if (!NARROW_DIRECT && columns >= NARROW_COLUMNS) {
    ROLLED for (int64_t i = 0; i < count; i++) {
      UNROLL for (int at = 0; at < NARROW_COLUMNS; at += GLOW_VL)
          narrow_whole(f, u, *(const GlowVecI *)(sums + i * NARROW_COLUMNS + at), col + at,
                       y + (i * p->yw + at) * size, add + i * p->aw + at);
    }
    return;
  }
  ROLLED for (int64_t i = 0; i < count; i++) {
    ROLLED for (int64_t at = 0; at < columns && at < NARROW_COLUMNS; at += GLOW_VL)
        narrow_part(f, u, *(const GlowVecI *)(sums + i * NARROW_COLUMNS + at), col + at,
                    columns - at < GLOW_VL ? columns - at : GLOW_VL, y + (i * p->yw + at) * size,
                    add + i * p->aw + at);
  }
}

/* ---- Bytes in whole registers ---------------------------------------------------------------- */

NARROW_APART bool narrow_fit(const float *scale, const float *bias, int64_t columns) {
  bool fit = true;
  ROLLED for (int64_t i = 0; i < columns; i++) fit &= narrow_fits(scale[i], bias[i]);
  return fit;
}

/* Whether bytes may be limited after they are rounded, which is monotone, and packed, which
 * saturates. */
INLINE bool narrow_packs(const Unit *u, int64_t columns) {
  const float low = narrow_float(u->n->low), high = narrow_float(u->n->high);
  const float factor = u->p->adds ? narrow_float(u->n->add_scale) : 0;
  return u->p->result == GLOW_NARROW_RESULT_BYTES && low > -1024 && low < 1024 && high > -1024 &&
         high < 1024 && factor > -0x1p20f && factor < 0x1p20f &&
         narrow_fit(u->scale, u->bias, columns);
}

#ifdef __AVX512VNNI__
typedef char NarrowPixel __attribute__((vector_size(32), aligned(1)));

/* The bytes at p of which `mask` has a bit, or all 32 if `whole`. */
INLINE NarrowPixel narrow_get(bool whole, const void *p, uint32_t mask) {
  if (whole)
    return *(const NarrowPixel *)p;
  return __builtin_ia32_loaddquqi256_mask(p, (NarrowPixel){0}, mask);
}
INLINE void narrow_put(bool whole, void *p, NarrowPixel v, uint32_t mask) {
  if (whole)
    *(NarrowPixel *)p = v;
  else
    __builtin_ia32_storedquqi256_mask(p, v, mask);
}

/* Whether a tile has `most` columns or more; compiled code knows where all have. */
INLINE bool narrow_is_whole(const GlowNarrowParams *p, int64_t columns, int64_t most) {
  return p->oc % NARROW_COLUMNS == 0 || columns >= most;
}

/* narrow_pixels for bytes, two pixels at a time. */
INLINE void narrow_packed(bool adds, bool whole, const Unit *u, int64_t count, int64_t col,
                          int64_t columns, const int32_t *sums, char *y, const uint8_t *add) {
  const GlowNarrowParams *p = u->p;
  const NarrowPack pack = narrow_pack_of(p->y_signed, p->bounded, u->n);
  const uint32_t mask = whole ? ~UINT32_C(0) : (UINT32_C(1) << columns) - 1;
  GlowVec scale[2], bias[2];
  UNROLL for (int j = 0; j < 2; j++) {
    scale[j] = vec_load(u->scale + col + j * GLOW_VL);
    bias[j] = vec_load(u->bias + col + j * GLOW_VL);
  }
  ROLLED for (int64_t i = 0; i < count; i += 2) {
    const int64_t both[2] = {i, i + 1 < count ? i + 1 : i};
    NarrowInts q[4];
    UNROLL for (int k = 0; k < 2; k++) {
      const int32_t *from = sums + both[k] * NARROW_COLUMNS;
      NarrowPixel added = {0};
      if (adds)
        added = narrow_get(whole, add + both[k] * p->aw, mask);
      UNROLL for (int j = 0; j < 2; j++) {
        const GlowVecI sum = *(const GlowVecI *)(from + j * GLOW_VL);
        GlowVec t = vec_fma(__builtin_convertvector(sum, GlowVec), scale[j], bias[j]);
        if (adds) {
          uint8_t bytes[2 * GLOW_VL];
          __builtin_memcpy(bytes, &added, sizeof bytes);
          t = vec_fma(narrow_added(u, bytes + j * GLOW_VL),
                      vec_splat(narrow_float(u->n->add_scale)), t);
        }
        q[2 * k + j] = narrow_to_ints(t);
      }
    }
    const NarrowInts v = (NarrowInts)narrow_pack(&pack, q);
    const NarrowInts all =
        __builtin_shufflevector(v, v, 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    NarrowPixel halves[2];
    __builtin_memcpy(halves, &all, sizeof halves);
    UNROLL for (int k = 0; k < 2; k++) narrow_put(whole, y + both[k] * p->yw, halves[k], mask);
  }
}

/* Bytes that may not be packed: rare, so compiled code has this once. The caller's unit gets no
 * address by it. */
NARROW_APART void narrow_apart(const GlowNarrowParams *p, const void *numbers, const float *scale,
                               const float *bias, bool nan, int64_t count, int64_t col,
                               int64_t columns, const int32_t *sums, char *y, const uint8_t *add) {
  const Form f = {GLOW_NARROW_RESULT_BYTES, p->adds};
  const Unit u = {.p = p, .n = numbers, .scale = scale, .bias = bias, .nan = nan};
  ROLLED for (int64_t i = 0; i < count; i++) {
    ROLLED for (int64_t at = 0; at < columns && at < NARROW_COLUMNS; at += GLOW_VL) narrow_part(
        f, &u, *(const GlowVecI *)(sums + i * NARROW_COLUMNS + at), col + at,
        columns - at < GLOW_VL ? columns - at : GLOW_VL, y + i * p->yw + at, add + i * p->aw + at);
  }
}
INLINE void narrow_rare(const Unit *u, int64_t count, int64_t col, int64_t columns,
                        const int32_t *sums, char *y, const uint8_t *add) {
  narrow_apart(u->params, u->numbers, u->scale, u->bias, u->nan, count, col, columns, sums, y, add);
}
#endif

INLINE void narrow_finish(const Unit *u, int64_t count, int64_t col, int64_t columns,
                          const int32_t *sums, char *y, const uint8_t *add) {
  const GlowNarrowParams *p = u->p;
#ifdef __AVX512VNNI__
  if (p->result == GLOW_NARROW_RESULT_BYTES) {
    if (!u->packs)
      narrow_rare(u, count, col, columns, sums, y, add);
    else if (narrow_is_whole(p, columns, NARROW_COLUMNS))
      narrow_packed(p->adds, true, u, count, col, columns, sums, y, add);
    else
      narrow_packed(p->adds, false, u, count, col, columns, sums, y, add);
    return;
  }
#endif
  if (p->result == GLOW_NARROW_RESULT_BYTES && !p->adds)
    narrow_pixels((Form){GLOW_NARROW_RESULT_BYTES, false}, u, count, col, columns, sums, y, add);
  else if (p->result == GLOW_NARROW_RESULT_BYTES)
    narrow_pixels((Form){GLOW_NARROW_RESULT_BYTES, true}, u, count, col, columns, sums, y, add);
  else
    narrow_pixels((Form){p->result, p->adds}, u, count, col, columns, sums, y, add);
}

#endif
