/* Products of rows of bytes by panels of 16 columns, in i32, which wraps: exact, so that their
 * order means nothing. Panels are packed [groups][16 columns][4], a group being four steps of k.
 * What a step is depends on the machine:
 *
 *   VNNI   four products of u8 by i8 in a lane for each column; rows of i8 have their first bit
 *          turned, as columns of u8 have
 *   other  two products of i16 in a lane, so two lanes are a column; rows are widened beforehand
 *
 * Zero points follow behind: with sums over the rows and the columns, for k steps,
 *
 *   sum (a - az) (b - bz) = sum a b - az (sum b - k bz) - bz sum a
 */
#ifndef GLOW_KERNELS_CPU_DOT_H
#define GLOW_KERNELS_CPU_DOT_H

#include "vector.h"

enum { DOT_PANEL = 16, DOT_GROUP = 4, DOT_BYTES = DOT_PANEL * DOT_GROUP };

#if defined(__AVX512VNNI__) || defined(__AVXVNNI__)
#define DOT_FOURS 1 /* VNNI */
#else
#define DOT_FOURS 0
#endif

/* A register of bytes of a panel, one of pairs, and the columns that they are of. */
#if DOT_FOURS
typedef uint8_t DotA;
enum { DOT_VNNI = DOT_FOURS, DOT_WIDTH = GLOW_VL };
#else
typedef int16_t DotA;
enum { DOT_VNNI = DOT_FOURS, DOT_WIDTH = GLOW_VL / 2 };
typedef int8_t DotI8 __attribute__((vector_size(GLOW_VL * 2), aligned(1)));
typedef uint8_t DotU8 __attribute__((vector_size(GLOW_VL * 2), aligned(1)));
typedef int16_t DotPairs __attribute__((vector_size(GLOW_VL * 4), aligned(2)));
#endif
/* Rows and columns of a tile. */
enum { DOT_ROWS = GLOW_TILE_PIXELS, DOT_COLUMNS = DOT_WIDTH * GLOW_TILE_VECTORS };

/* Some rows times some columns, with zero points. */
typedef struct DotBlock {
  const DotA *a; /* rows, `lda` elements apart; what is behind their ends in the last group is 0 */
  int64_t lda, groups;
  const int8_t *b; /* panels */
  bool unsigned_b;
  int32_t *c;              /* of element (0, 0) */
  int64_t cm, cn, columns; /* strides of C; how many columns there are, from the first panel on */
  const int32_t *a_zeros;  /* of rows; NULL: all are 0 */
  const int32_t *terms;    /* of columns: sum b - k bz */
  const int32_t *b_zeros;  /* of columns; NULL: all are 0 */
  const int32_t *row_sums;
} DotBlock;

INLINE GlowVecI dot_splat(int32_t s) {
  GlowVecI v;
  UNROLL for (int l = 0; l < GLOW_VL; l++) v[l] = s;
  return v;
}

#if DOT_FOURS
typedef GlowVecI DotB;
INLINE DotB dot_columns(const int8_t *b, bool unsigned_b) {
  const GlowVecI v = *(const GlowVecI *)(const void *)b;
  return unsigned_b ? v ^ dot_splat((int32_t)0x80808080) : v;
}
INLINE GlowVecI dot_row(const DotA *a) {
  int32_t four;
  __builtin_memcpy(&four, a, sizeof four);
  return dot_splat(four);
}
typedef int32_t DotLanes __attribute__((vector_size(GLOW_VL * 4)));
INLINE GlowVecI dot_step(GlowVecI acc, GlowVecI a, DotB b) {
#if GLOW_VL == 16
  return (GlowVecI)__builtin_ia32_vpdpbusd512((DotLanes)acc, (DotLanes)a, (DotLanes)b);
#else
  return (GlowVecI)__builtin_ia32_vpdpbusd256((DotLanes)acc, (DotLanes)a, (DotLanes)b);
#endif
}
#else
typedef DotPairs DotB;
INLINE DotB dot_columns(const int8_t *b, bool unsigned_b) {
  return unsigned_b ? __builtin_convertvector(*(const DotU8 *)(const void *)b, DotPairs)
                    : __builtin_convertvector(*(const DotI8 *)(const void *)b, DotPairs);
}
INLINE DotPairs dot_row(const DotA *a) {
  typedef int64_t Fours __attribute__((vector_size(GLOW_VL * 4), aligned(8)));
  int64_t four;
  Fours v;
  __builtin_memcpy(&four, a, sizeof four);
  UNROLL for (int l = 0; l < GLOW_VL / 2; l++) v[l] = four;
  return (DotPairs)v;
}
INLINE GlowVecI dot_step(GlowVecI acc, DotPairs a, DotB b) {
#if defined(__AVX512BW__) && GLOW_VL == 16
  typedef int16_t In __attribute__((vector_size(64)));
  return acc + (GlowVecI)__builtin_ia32_pmaddwd512((In)a, (In)b);
#elif defined(__AVX2__) && GLOW_VL == 8
  typedef int16_t In __attribute__((vector_size(32)));
  return acc + (GlowVecI)__builtin_ia32_pmaddwd256((In)a, (In)b);
#elif defined(__SSE2__) && GLOW_VL == 4
  typedef int16_t In __attribute__((vector_size(16)));
  return acc + (GlowVecI)__builtin_ia32_pmaddwd128((In)a, (In)b);
#else
  /* Bytes of a register of pairs: the even ones in the lower halves of lanes. */
  const GlowVecI x = (GlowVecI)a, w = (GlowVecI)b;
  return acc + (x << 16 >> 16) * (w << 16 >> 16) + (x >> 16) * (w >> 16);
#endif
}
/* Neighbours of two registers, added. */
INLINE GlowVecI dot_add_pairs(GlowVecI x, GlowVecI y) {
#if GLOW_VL == 16
  return __builtin_shufflevector(x, y, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30) +
         __builtin_shufflevector(x, y, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
#elif GLOW_VL == 8
  return __builtin_shufflevector(x, y, 0, 2, 4, 6, 8, 10, 12, 14) +
         __builtin_shufflevector(x, y, 1, 3, 5, 7, 9, 11, 13, 15);
#else
  return __builtin_shufflevector(x, y, 0, 2, 4, 6) + __builtin_shufflevector(x, y, 1, 3, 5, 7);
#endif
}
#endif

/* Stores a register of sums of row `row` from column `col` on. */
INLINE void dot_finish(const DotBlock *t, GlowVecI v, int64_t row, int64_t col) {
  int32_t *c = t->c + row * t->cm + col * t->cn;
  const int64_t count = t->columns - col;
  if (count <= 0)
    return;
  if (t->a_zeros)
    v -= dot_splat(t->a_zeros[row]) * *(const GlowVecI *)(t->terms + col);
  if (t->b_zeros)
    v -= dot_splat(t->row_sums[row]) * *(const GlowVecI *)(t->b_zeros + col);
  if (t->cn == 1 && count >= GLOW_VL) {
    *(GlowVecI *)c = v;
  } else {
    int32_t lanes[GLOW_VL];
    *(GlowVecI *)lanes = v;
    ROLLED for (int64_t l = 0; l < GLOW_VL && l < count; l++) c[l * t->cn] = lanes[l];
  }
}

/* `rows` rows from `row` on by `vectors` registers of columns from `col` on. */
INLINE void dot_tile(int rows, int vectors, const DotBlock *t, int64_t row, int64_t col) {
  GlowVecI acc[DOT_ROWS][GLOW_TILE_VECTORS];
  const int8_t *b[GLOW_TILE_VECTORS];
  const DotA *a = t->a + row * t->lda;
  UNROLL for (int j = 0; j < vectors; j++) {
    const int64_t at = col + j * DOT_WIDTH;
    b[j] = t->b + at / DOT_PANEL * t->groups * DOT_BYTES + at % DOT_PANEL * DOT_GROUP;
    UNROLL for (int i = 0; i < rows; i++) acc[i][j] = dot_splat(0);
  }
  ROLLED for (int64_t g = 0; g < t->groups; g++) {
    DotB w[GLOW_TILE_VECTORS];
    UNROLL for (int j = 0; j < vectors; j++) w[j] =
        dot_columns(b[j] + g * DOT_BYTES, t->unsigned_b);
    UNROLL for (int i = 0; i < rows; i++) {
      const __typeof__(dot_row(a)) x = dot_row(a + i * t->lda + g * DOT_GROUP);
      UNROLL for (int j = 0; j < vectors; j++) acc[i][j] = dot_step(acc[i][j], x, w[j]);
    }
  }
  UNROLL for (int i = 0; i < rows; i++) {
#if DOT_FOURS
    UNROLL for (int j = 0; j < vectors; j++) dot_finish(t, acc[i][j], row + i, col + j * GLOW_VL);
#else
    UNROLL for (int j = 0; j < vectors; j += 2)
        dot_finish(t, dot_add_pairs(acc[i][j], acc[i][j + 1]), row + i, col + j * DOT_WIDTH);
#endif
  }
}

#ifdef __AMX_INT8__
/* Tiles of 16 rows of 64 bytes: 0 to 3 are sums of 32 rows by 32 columns, 4 and 5 rows, 6 and 7
 * panels. */
typedef struct DotConfig {
  uint8_t palette, start, reserved[14];
  uint16_t bytes[16];
  uint8_t rows[16];
} DotConfig;
static const DotConfig dot_config = {.palette = 1,
                                     .bytes = {64, 64, 64, 64, 64, 64, 64, 64},
                                     .rows = {16, 16, 16, 16, 16, 16, 16, 16}};

/* 32 or 16 rows, by two panels or one. */
INLINE void dot_square(int rows, int panels, const DotBlock *t, int64_t row, int64_t col) {
  int32_t sums[32][32];
  const uint8_t *a = t->a + row * t->lda;
  const int8_t *b = t->b + col / DOT_PANEL * t->groups * DOT_BYTES;
  const int64_t panel = t->groups * DOT_BYTES;
  __builtin_ia32_tilezero(0);
  __builtin_ia32_tilezero(1);
  __builtin_ia32_tilezero(2);
  __builtin_ia32_tilezero(3);
  ROLLED for (int64_t g = 0; g < t->groups; g += 16) {
    __builtin_ia32_tileloadd64(6, b + g * DOT_BYTES, 64);
    __builtin_ia32_tileloadd64(4, a + g * DOT_GROUP, (size_t)t->lda);
    __builtin_ia32_tdpbusd(0, 4, 6);
    if (panels > 1) {
      __builtin_ia32_tileloadd64(7, b + panel + g * DOT_BYTES, 64);
      __builtin_ia32_tdpbusd(1, 4, 7);
    }
    if (rows > 16) {
      __builtin_ia32_tileloadd64(5, a + 16 * t->lda + g * DOT_GROUP, (size_t)t->lda);
      __builtin_ia32_tdpbusd(2, 5, 6);
      if (panels > 1)
        __builtin_ia32_tdpbusd(3, 5, 7);
    }
  }
  __builtin_ia32_tilestored64(0, &sums[0][0], sizeof *sums);
  if (panels > 1)
    __builtin_ia32_tilestored64(1, &sums[0][16], sizeof *sums);
  if (rows > 16)
    __builtin_ia32_tilestored64(2, &sums[16][0], sizeof *sums);
  if (rows > 16 && panels > 1)
    __builtin_ia32_tilestored64(3, &sums[16][16], sizeof *sums);
  ROLLED for (int i = 0; i < rows; i++) {
    UNROLL for (int j = 0; j < panels; j++)
        dot_finish(t, *(const GlowVecI *)&sums[i][16 * j], row + i, col + 16 * j);
  }
}

INLINE int64_t dot_squares(int panels, const DotBlock *t, int64_t rows, int64_t col) {
  int64_t row = 0;
  ROLLED for (; rows - row >= 32; row += 32) dot_square(32, panels, t, row, col);
  ROLLED for (; rows - row >= 16; row += 16) dot_square(16, panels, t, row, col);
  return row;
}
#endif

/* All rows of a block by a tile's columns. */
INLINE void dot_stripe(int vectors, const DotBlock *t, int64_t rows, int64_t col) {
  int64_t row = 0;
#ifdef __AMX_INT8__
  if (rows >= 16 && t->groups % 16 == 0 && !t->unsigned_b)
    row = dot_squares(vectors, t, rows, col);
#endif
  UNROLL for (int most = DOT_ROWS; most; most /= 2) {
    ROLLED for (; rows - row >= most; row += most) dot_tile(most, vectors, t, row, col);
  }
}

/* All rows by all columns. */
INLINE void dot_block(const DotBlock *t, int64_t rows) {
  int64_t col = 0;
#ifdef __AMX_INT8__
  __builtin_ia32_tile_loadconfig(&dot_config);
#endif
  ROLLED for (; col < t->columns; col += DOT_COLUMNS) {
    if (DOT_VNNI && t->columns - col <= DOT_WIDTH)
      dot_stripe(1, t, rows, col);
    else
      dot_stripe(GLOW_TILE_VECTORS, t, rows, col);
  }
#ifdef __AMX_INT8__
  __builtin_ia32_tilerelease();
#endif
}

/* ---- Operands -------------------------------------------------------------------------------- */

/* What is added to stored rows and columns, and so to their zero points. */
INLINE int32_t dot_a_bias(bool is_signed) { return DOT_VNNI && is_signed ? 128 : 0; }
INLINE int32_t dot_b_bias(bool is_signed) { return DOT_VNNI && !is_signed ? -128 : 0; }

/* `count` neighbours of a row. */
INLINE void dot_widen(DotA *to, const uint8_t *from, int64_t count, bool is_signed) {
  for (int64_t k = 0; k < count; k++) {
#if DOT_FOURS
    to[k] = from[k] ^ (is_signed ? 0x80 : 0);
#else
    to[k] = is_signed ? (int8_t)from[k] : from[k];
#endif
  }
}

INLINE int32_t dot_sum(const DotA *a, int64_t count) {
  int32_t sum = 0;
  for (int64_t k = 0; k < count; k++)
    sum += a[k];
  return sum;
}

/* Zero point i of a list, of one number, or 0 if there is none. */
INLINE int32_t dot_zero(const uint8_t *zeros, int64_t count, int64_t i, bool is_signed) {
  if (!count)
    return 0;
  const uint8_t z = zeros[count > 1 ? i : 0];
  return is_signed ? (int8_t)z : z;
}

/* Whether one of a list of zero points of columns is not 0 as these are stored. */
INLINE bool dot_b_moves(const uint8_t *zeros, int64_t count, bool is_signed) {
  bool moves = !count && dot_b_bias(is_signed);
  ROLLED for (int64_t i = 0; i < count; i++) moves |=
      dot_zero(zeros, count, i, is_signed) + dot_b_bias(is_signed) != 0;
  return moves;
}

/* Packs `columns` columns of k steps into panels; what is left over becomes 0. */
INLINE void dot_pack(int8_t *to, const uint8_t *b, int64_t bk, int64_t bn, int64_t k,
                     int64_t columns) {
  const int64_t groups = (k + DOT_GROUP - 1) / DOT_GROUP;
  ROLLED for (int64_t col = 0; col < columns; col += DOT_PANEL) {
    const int64_t wide = columns - col < DOT_PANEL ? columns - col : DOT_PANEL;
    ROLLED for (int64_t g = 0; g < groups; g++, to += DOT_BYTES) {
      uint8_t from[DOT_GROUP][DOT_PANEL] = {{0}};
      UNROLL for (int i = 0; i < DOT_GROUP; i++) {
        const int64_t step = g * DOT_GROUP + i;
        if (step >= k)
          continue;
        if (bn == 1 && wide == DOT_PANEL)
          __builtin_memcpy(from[i], b + step * bk + col, DOT_PANEL);
        else
          ROLLED for (int64_t l = 0; l < wide; l++) from[i][l] = b[step * bk + (col + l) * bn];
      }
      UNROLL for (int l = 0; l < DOT_PANEL; l++) {
        UNROLL for (int i = 0; i < DOT_GROUP; i++) to[l * DOT_GROUP + i] = (int8_t)from[i][l];
      }
    }
  }
}

/* The terms of columns from `first` on: sums over them, less k times their zero points; and these,
 * if b_zeros is not NULL. `ones`: a row of as many ones as there are steps. Both lists have room
 * for whole tiles. */
INLINE void dot_terms(const DotBlock *t, const DotA *ones, int64_t k, int32_t *terms,
                      int32_t *b_zeros, const uint8_t *zeros, int64_t count, int64_t first,
                      bool b_signed) {
  DotBlock sums = {.a = ones,
                   .groups = t->groups,
                   .b = t->b,
                   .unsigned_b = t->unsigned_b,
                   .c = terms,
                   .cn = 1,
                   .columns = t->columns};
  int64_t col = 0;
  ROLLED for (; col < t->columns; col += DOT_COLUMNS) {
    if (DOT_VNNI && t->columns - col <= DOT_WIDTH)
      dot_tile(1, 1, &sums, 0, col);
    else
      dot_tile(1, GLOW_TILE_VECTORS, &sums, 0, col);
  }
  if (!b_zeros)
    return;
  ROLLED for (int64_t j = 0; j < t->columns; j++) {
    b_zeros[j] = dot_zero(zeros, count, first + j, b_signed) + dot_b_bias(b_signed);
    terms[j] -= (int32_t)((uint32_t)k * (uint32_t)b_zeros[j]);
  }
}

#endif
