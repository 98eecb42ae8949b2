/* What runs bodies in library code (body.c). */
#ifndef GLOW_KERNELS_CPU_BODY_H
#define GLOW_KERNELS_CPU_BODY_H

#include "kernels/kernels.h"
#include "kernels/library.h"

/* The functions of lanes of this row, by number. */
extern GlowBlockFn *const glow_lane_blocks[];
/* An i32 times a float, quantized (lanes_cast.c). */
GlowBlockFn glow_block_scale_quantize_i8, glow_block_scale_quantize_u8;
/* Those of pairs (pairs.c), by number from GLOW_BODY_PAIRS on. */
extern GlowBlockFn *const glow_pair_blocks[];

/* Epilogues: run the body in env[0] on a vector that is about to be stored. */
GlowVec glow_body_epilogue(GlowVec acc, void *const *env, int64_t n, int64_t c, int64_t h,
                           int64_t w);
GlowVec glow_body_matrix_epilogue(GlowVec acc, void *const *env, int64_t b0, int64_t b1, int64_t b2,
                                  int64_t b3, int64_t row, int64_t col);
/* The same in place on `count` rows of `width` sums, at neighbouring places along the last but one
 * of `dims` coordinates; `width` is a multiple of GLOW_VL, at most GLOW_VL * GLOW_TILE_VECTORS,
 * or more where glow_body_fits says so. `lane` is the number of a row's first sum along the last
 * axis, counted over all blocks. */
void glow_body_rows(float *sums, int64_t count, int64_t width, void *const *env,
                    const int64_t *place, int dims, int64_t lane);
/* Stores what becomes of `count` rows of `width` sums of a product of n columns, which begin at the
 * six coordinates of `place`: to rows that are `next` floats apart and may be an operand. Changes
 * the sums. */
void glow_body_store(float *sums, int64_t count, int64_t width, void *const *env,
                     const int64_t *place, float *to, int64_t next, int64_t n);
/* Whether rows of `width` sums have room. */
bool glow_body_fits(void *const *env, int64_t width);
/* Bodies of floats on rows of a few registers, where GLOW_HAS_FMA (body_few.c). */
/* What glow_body_store does, if the body takes short rows and all sums together are one of them;
 * otherwise false. */
bool glow_body_few_store(const float *sums, int64_t count, int64_t width, void *const *env,
                         const int64_t *place, float *to, int64_t next, int64_t n);
/* Elements [first, end) of a stack that takes short rows and whose loops are one; at most
 * GLOW_BODY_FEW of them. */
void glow_body_few_line(void *const *env, int64_t first, int64_t end);
/* Units [begin, end) of a stack that takes short rows and has no loops but the first and the last
 * one; false if these are too many elements. */
bool glow_body_few_sheet(const GlowStackParams *p, void *const *env, int64_t begin, int64_t end);
/* A stack: units [begin, end) of the loops around the body in env[0]. Results are stored when a
 * block is done, so they may lie where an operand is. */
void glow_stack_blocks(const GlowStackParams *p, void *const *env, int64_t begin, int64_t end);

#endif
