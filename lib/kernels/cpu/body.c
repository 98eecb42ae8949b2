/* Bodies in library code: see kernels/body.h. An epilogue runs on one register at a time, a stack
 * on blocks of a row that stay in the first-level cache. */
#include "kernels/body.h"

#include "body.h"
#include "finish.h"
#include "matrix_tile.h"
#include "run.h"
#include "stored.h"

/* The blocks of a body, of `rows` rows of `width` elements each. at[i] says where block i is: in
 * `room`, where an operand lies, or where a constant does. What is the same for a row is one
 * element of it, what is the same for all rows one row. The array is large and not cleared: a body
 * writes each entry before it reads it. */
typedef struct Blocks {
  char *room;
  int64_t rows, width, pitch;       /* from block to block in `room`, in bytes */
  char *out[GLOW_BODY_OUTS];        /* where steps put results, instead of into `room`; or null */
  int64_t out_next[GLOW_BODY_OUTS]; /* bytes from row to row there */
  GlowBlockOperand at[GLOW_BODY_BLOCKS];
} Blocks;

static GlowBlockOperand rows_at(const void *at, int64_t next) {
  return (GlowBlockOperand){at, -1, next};
}
static GlowBlockOperand elements_at(const void *at, int64_t next) {
  return (GlowBlockOperand){at, 0, next};
}

static char *own(const Blocks *b, int64_t block) { return b->room + block * b->pitch; }

/* Copies `count` elements of 1, 2, 4 or 8 bytes. Steps are the bytes from element to element. */
static __attribute__((noinline)) void copy(char *to, int64_t to_step, const char *from,
                                           int64_t from_step, int64_t bytes, int64_t count) {
  if (to_step == bytes && from_step == bytes) {
    copy_run(to, from, count * bytes);
    return;
  }
#define COPY(T)                                                                                    \
  for (int64_t i = 0; i < count; i++)                                                              \
  __builtin_memcpy(to + i * to_step, from + i * from_step, sizeof(T))
  switch (bytes) {
  case 1:
    COPY(int8_t);
    break;
  case 2:
    COPY(int16_t);
    break;
  case 4:
    COPY(int32_t);
    break;
  default:
    COPY(int64_t);
    break;
  }
#undef COPY
}

/* Copies `rows` rows of `row` bytes, which are `to_next` and `from_next` bytes apart, in pieces of
 * a register. The last piece of a row may overlap the one before it. */
static void copy_rows(char *to, int64_t to_next, const char *from, int64_t from_next, int64_t row,
                      int64_t rows) {
  enum { PIECE = GLOW_VL * 4 };
  ROLLED for (; rows > 0; rows--, to += to_next, from += from_next) {
    if (row < PIECE)
      copy_run(to, from, row);
    else
      ROLLED for (int64_t i = 0; i < row; i += PIECE) {
        const int64_t at = i < row - PIECE ? i : row - PIECE;
        __builtin_memcpy(to + at, from + at, PIECE);
      }
  }
}

/* Copies the first `count` elements of a row of `width`, whole registers, and zeros behind them. */
static void copy_first(char *to, const char *from, int64_t step, int64_t bytes, int64_t count,
                       int64_t width) {
  if (step == 1 && bytes == 4 && width % GLOW_VL == 0) {
    float *floats = (float *)(void *)to;
    const float *x = (const float *)(const void *)from;
    ROLLED for (int64_t i = 0; i < width; i += GLOW_VL)
        vec_store(floats + i, i + GLOW_VL <= count ? vec_load(x + i) : get_first(x + i, count - i));
    return;
  }
  copy(to, bytes, from, step * bytes, bytes, count);
  if (count < width)
    __builtin_memset(to + count * bytes, 0, (size_t)((width - count) * bytes));
}

/* Rows of `width` elements that are like one each, those at `from`, which are `step` bytes apart.
 * Writes whole registers: what is too much is part of the next row, or behind the last one. */
static void splat(char *to, const char *from, int64_t step, int64_t bytes, int64_t width,
                  int64_t rows) {
#define SPLAT(T)                                                                                   \
  ROLLED for (int64_t y = 0; y < rows; y++) {                                                      \
    T v[GLOW_VL];                                                                                  \
    char *row = to + y * width * (int64_t)sizeof v[0];                                             \
    UNROLL for (int l = 0; l < GLOW_VL; l++)                                                       \
        __builtin_memcpy(&v[l], from + y * step, sizeof v[l]);                                     \
    ROLLED for (int64_t i = 0; i < width; i += GLOW_VL)                                            \
        __builtin_memcpy(row + i * (int64_t)sizeof v[0], v, sizeof v);                             \
  }
  if (bytes == 4) {
    SPLAT(int32_t)
  } else if (bytes == 1) {
    SPLAT(int8_t)
  } else if (bytes == 8) {
    SPLAT(int64_t)
  } else {
    SPLAT(int16_t)
  }
#undef SPLAT
}

/* Reads the first `count` elements of a row, which may be fewer than it has; the rest is zero. A
 * whole, contiguous row stays where it is, and so does the element of a row of equal ones. */
static void load(Blocks *b, const GlowBodyOperand *o, const char *from, int64_t step,
                 int64_t count) {
  char *to = own(b, o->block);
  if (step == 1 && count == b->width) {
    b->at[o->block] = rows_at(from, 0);
  } else if (step == 0) {
    b->at[o->block] = elements_at(from, 0);
  } else {
    copy_first(to, from, step, o->bytes, count, b->width);
    b->at[o->block] = rows_at(to, 0);
  }
}

/* Reads rows of elements that are `step` apart, the rows `next` apart; the first `lanes` of a row
 * may be read, the others are zeros. Rows of elements side by side stay where they are, and so do
 * rows of equal elements. */
static void load_rows(Blocks *b, const GlowBodyOperand *o, const char *from, int64_t next,
                      int64_t step, int64_t lanes) {
  const int64_t row = b->width * o->bytes, rows = next ? b->rows : 1;
  char *to = own(b, o->block);
  next *= o->bytes;
  if (step == 1 && lanes == b->width) {
    b->at[o->block] = rows_at(from, next);
  } else if (step == 0) {
    b->at[o->block] = elements_at(from, next);
  } else {
    b->at[o->block] = rows_at(to, next ? row : 0);
    ROLLED for (int64_t y = 0; y < rows; y++, from += next, to += row)
        copy_first(to, from, step, o->bytes, lanes, b->width);
  }
}

static const GlowBlockOperand absent;

static GlowBlockFn *function_of(const GlowBodyStep *s) {
  return s->lane < GLOW_BODY_PAIRS ? glow_lane_blocks[s->lane]
                                   : glow_pair_blocks[s->lane - GLOW_BODY_PAIRS];
}

/* Runs a step on an operand whose rows are one element each: a register of copies of it. */
static __attribute__((noinline)) void run_single(const char *code, const GlowBodyStep *s,
                                                 const GlowBlockOperand *in, int64_t rows,
                                                 char *result, int64_t next) {
  int64_t copies[GLOW_VL];
  const GlowBlockOperand one = rows_at(copies, 0);
  const GlowBlockOperand *const operands[] = {&one};
  for (int64_t y = 0; y < rows; y++) {
    splat((char *)copies, in->at + y * in->next, 0, s->read, GLOW_VL, 1);
    function_of(s)(code + s->members, 1, GLOW_VL, result + y * next, next, operands);
  }
}

/* Runs a step. What its operands share, its result does: elements of a row, or all rows. */
static void run_step(const char *code, const GlowBodyStep *s, Blocks *b) {
  const GlowBlockOperand *in[GLOW_BODY_INS];
  char *result = s->out < 0 ? (char *)0 : b->out[s->out];
  int64_t varies = 0, moves = 0;
  for (int64_t k = 0; k < s->nins; k++) {
    in[k] = s->in[k] < 0 ? &absent : &b->at[s->in[k]];
    varies |= in[k]->varies;
    moves |= in[k]->next;
    result = in[k]->at == result ? (char *)0 : result;
  }
  const int64_t width = varies ? b->width : GLOW_VL, rows = moves ? b->rows : 1;
  int64_t next = s->out < 0 ? 0 : b->out_next[s->out];
  if (!result || !varies || rows != b->rows) {
    result = own(b, s->result);
    next = moves ? width * s->bytes : 0;
  }
  if (s->nins == 1 && !varies)
    run_single(code, s, in[0], rows, result, next);
  else
    function_of(s)(code + s->members, rows, width, result, next, in);
  b->at[s->result] = (GlowBlockOperand){result, varies, next};
}

static void run(const GlowBodyCode *code, Blocks *b) {
  const GlowBodyStep *steps = glow_body_steps(code), *end = steps + code->nsteps;
  for (const GlowBodyStep *s = steps; s < end; s++) {
    if (s->lane)
      run_step((const char *)code, s, b);
    else
      b->at[s->result] = elements_at((const char *)code + s->members, 0);
  }
}

#include "ops/blocks.inc"

/* ---- Epilogues ------------------------------------------------------------------------------- */

/* Where a row of floats is read from: its elements, or `one`, copies of the one that they are. */
static const float *row_of(const GlowBlockOperand *o, GlowVec *one) {
  const float *at = (const float *)(const void *)o->at;
  *one = vec_splat(*at);
  return o->varies ? at : (const float *)one;
}

/* Elements from the beginning of an operand to those at `place`, which has 5 coordinates or 6. */
INLINE int64_t offset_at(const GlowBodyOperand *o, const int64_t *place, int64_t dims) {
  int64_t offset =
      dims < GLOW_BODY_DIMS ? 0 : place[GLOW_BODY_DIMS - 1] * o->stride[GLOW_BODY_DIMS - 1];
  UNROLL for (int d = 0; d < GLOW_BODY_DIMS - 1; d++) offset += place[d] * o->stride[d];
  return offset;
}

/* Runs the body in env[0] on a register of sums. `place` has `dims` coordinates, the last one along
 * the axis of the register; `lane` is the number of the first lane, counted over all blocks. */
static GlowVec epilogue(GlowVec acc, void *const *env, const int64_t *place, int64_t dims,
                        int64_t lane) {
  const GlowBodyCode *code = env[0];
  if (!code)
    return acc;
  const GlowBodyOperand *operands = glow_body_operands(code);
  char room[GLOW_BODY_BLOCKS * GLOW_VL * 8] __attribute__((aligned(64)));
  Blocks b;
  b.room = room, b.rows = 1, b.width = GLOW_VL, b.pitch = GLOW_VL * 8, b.out[0] = (char *)0;
  for (int64_t i = 0; i < code->noperands; i++) {
    const GlowBodyOperand *o = &operands[i];
    const int64_t offset = offset_at(o, place, dims), step = o->stride[dims - 1];
    int64_t count = GLOW_VL;
    if (step && o->channels % GLOW_VL)
      count = o->channels - lane < GLOW_VL ? o->channels - lane : GLOW_VL;
    load(&b, o, (const char *)env[1 + i] + offset * o->bytes, step, count > 0 ? count : 0);
  }
  vec_store((float *)own(&b, code->acc), acc);
  b.at[code->acc] = rows_at(own(&b, code->acc), 0);
  run(code, &b);
  const GlowBlockOperand *result = &b.at[code->result];
  const float *at = (const float *)(const void *)result->at;
  return result->varies ? vec_load(at) : vec_splat(*at);
}

/* Rows of sums that follow each other, and where they are stored: the first `end` of each row, the
 * rows `next` apart, perhaps in place. */
typedef struct Sums {
  const float *at;
  int64_t count, width;
  float *to;
  int64_t next, end;
} Sums;

/* Stores a register of which `left` lanes are wanted. */
INLINE void put_lanes(float *to, GlowVec v, int64_t left) {
  if (left >= GLOW_VL)
    vec_store(to, v);
  else if (left > 0)
    put_first(to, v, left);
}

/* Stores rows of sums; with `sum`, plus rows of an operand, which are `next` apart and of which
 * `lanes` may be read; `varies`: -1, or 0 if a row is one number. Both bools are literals. */
INLINE void limit_rows_of(Sums s, bool limited, const GlowLimits *limits, bool sum,
                          const float *added, int64_t varies, int64_t next, int64_t lanes) {
  const int64_t wanted = sum && lanes < s.end ? lanes : s.end;
  const int64_t full = wanted < s.width ? wanted / GLOW_VL * GLOW_VL : s.width;
  ROLLED for (int64_t y = 0; y < s.count; y++, s.at += s.width, s.to += s.next) {
    GlowVec one;
    const float *from = sum && lanes > 0 ? added : s.at;
    int64_t i = 0;
    if (sum && !varies) {
      one = vec_splat(*from);
      from = (const float *)&one;
    }
    ROLLED for (; i < full; i += GLOW_VL) {
      GlowVec v = vec_load(s.at + i);
      if (sum)
        v += vec_load(from + (i & varies));
      vec_store(s.to + i, limited ? within(v, limits) : v);
    }
    ROLLED for (; i < s.width; i += GLOW_VL) {
      GlowVec v = vec_load(s.at + i);
      if (sum) {
        const float *at = from + (i & varies);
        v += i + GLOW_VL <= lanes ? vec_load(at) : get_first(at, lanes - i);
      }
      put_lanes(s.to + i, limited ? within(v, limits) : v, s.end - i);
    }
    if (sum)
      added += next;
  }
}

/* The same for a body that is limits, perhaps after a sum, and perhaps before a rounding. */
static void limit_sums(const Sums *s, void *const *env, const int64_t *place, int dims,
                       int64_t lane) {
  const GlowBodyCode *code = env[0];
  const GlowBodyOperand *o = glow_body_operands(code);
  const GlowLimits limits = limits_of(code);
  if (!code->noperands) {
    limit_rows_of(*s, true, &limits, false, (const float *)0, 0, 0, 0);
    return;
  }
  const int64_t next = o->stride[dims - 2], step = o->stride[dims - 1];
  const int64_t lanes = step && o->channels ? o->channels - lane : s->width; /* may be read */
  const float *from = (const float *)env[1] + offset_at(o, place, dims);
  if (code->low > -__builtin_inff() || code->high < __builtin_inff())
    limit_rows_of(*s, true, &limits, true, from, step ? -1 : 0, next, lanes);
  else
    limit_rows_of(*s, false, &limits, true, from, step ? -1 : 0, next, lanes);
}

/* Bytes for the blocks of rows. */
enum {
  ONE_ROW = GLOW_BODY_BLOCKS * GLOW_VL * GLOW_TILE_VECTORS * 8,
  ROWS_ROOM = ONE_ROW > GLOW_BODY_ROOM ? ONE_ROW : GLOW_BODY_ROOM
};

bool glow_body_fits(void *const *env, int64_t width) {
  const GlowBodyCode *code = env[0];
  return code->blocks * width * 8 <= ROWS_ROOM;
}

/* How many of the `width` sums of a row, the first of which is number `lane`, are computed: those
 * that all operands have. All if that is less than a register; what operands lack is zeros then. */
static int64_t sums_of(const GlowBodyCode *code, int64_t width, int dims, int64_t lane) {
  const GlowBodyOperand *o = glow_body_operands(code);
  int64_t sums = width;
  ROLLED for (int64_t i = 0; i < code->noperands; i++, o++) {
    if (o->stride[dims - 1] && o->channels && o->channels - lane < sums)
      sums = o->channels - lane;
  }
  return sums < GLOW_VL ? width : sums;
}

void glow_body_rows(float *sums, int64_t count, int64_t width, void *const *env,
                    const int64_t *place, int dims, int64_t lane) {
  const GlowBodyCode *code = env[0];
  const GlowBodyOperand *operands = glow_body_operands(code);
  const GlowBodyStep *steps = glow_body_steps(code);
  char room[ROWS_ROOM] __attribute__((aligned(64)));
  const bool fits = code->blocks * width * count * 8 <= ROWS_ROOM;
  const int64_t most = fits ? count : ROWS_ROOM / 8 / width / code->blocks;
  if (code->clip || code->rounds) {
    const Sums s = {sums, count, width, sums, width, width};
    limit_sums(&s, env, place, dims, lane);
    ROLLED for (int64_t i = 0; code->rounds && i < count * width; i += GLOW_VL)
        vec_store(sums + i, bfloats_to_vec(vec_to_bfloats(vec_load(sums + i))));
    return;
  }
  const int64_t needed = sums_of(code, width, dims, lane);
  for (int64_t begin = 0; begin < count; begin += most) {
    const int64_t now = count - begin < most ? count - begin : most;
    Blocks b;
    char *to = (char *)(sums + begin * width);
    b.room = room, b.rows = now, b.width = needed, b.pitch = now * width * 8;
    b.out[0] = steps[code->nsteps - 1].out == 0 ? to : (char *)0;
    b.out_next[0] = width * 4;
    for (int64_t i = 0; i < code->noperands; i++) {
      const GlowBodyOperand *o = &operands[i];
      const int64_t step = o->stride[dims - 1], next = o->stride[dims - 2];
      const int64_t offset = begin * next + offset_at(o, place, dims);
      int64_t lanes = needed;
      if (step && o->channels)
        lanes = o->channels - lane < needed ? o->channels - lane : needed;
      load_rows(&b, o, (const char *)env[1 + i] + offset * o->bytes, next, step,
                lanes > 0 ? lanes : 0);
    }
    b.at[code->acc] = rows_at(sums + begin * width, width * 4);
    run(code, &b);
    const GlowBlockOperand *result = &b.at[code->result];
    if (result->at == to)
      continue;
    if (result->varies && result->next == width * 4)
      copy(to, 4, result->at, 4, 4, now * width);
    else
      ROLLED for (int64_t y = 0; y < now; y++)
          copy(to + y * width * 4, 4, result->at + y * result->next, result->varies & 4, 4, needed);
  }
}

void glow_body_store(float *sums, int64_t count, int64_t width, void *const *env,
                     const int64_t *place, float *to, int64_t next, int64_t n) {
  const GlowBodyCode *code = env[0];
  const int64_t column = place[GLOW_BODY_DIMS - 1];
  const Sums s = {sums, count, width, to, next, n - column};
  if (code->clip) {
    limit_sums(&s, env, place, GLOW_BODY_DIMS, column);
    return;
  }
  if (GLOW_HAS_FMA && glow_body_few_store(sums, count, width, env, place, to, next, n))
    return;
  glow_body_rows(sums, count, width, env, place, GLOW_BODY_DIMS, column);
  limit_rows_of(s, false, (const GlowLimits *)0, false, (const float *)0, 0, 0, 0);
}

GlowVec glow_body_epilogue(GlowVec acc, void *const *env, int64_t n, int64_t c, int64_t h,
                           int64_t w) {
  const int64_t place[] = {n, c / GLOW_CONV_BLOCK, h, w, c % GLOW_CONV_BLOCK};
  return epilogue(acc, env, place, 5, c);
}

GlowVec glow_body_matrix_epilogue(GlowVec acc, void *const *env, int64_t b0, int64_t b1, int64_t b2,
                                  int64_t b3, int64_t row, int64_t col) {
  const int64_t place[] = {b0, b1, b2, b3, row, col};
  return epilogue(acc, env, place, 6, col);
}

/* ---- Stacks ---------------------------------------------------------------------------------- */

enum { ALONG = GLOW_STACK_DIMS - 1 }; /* the axis of a row */

/* Rows of a stack that are computed together: `rows` of them along axis `down`, of `width` elements
 * each. at[i] says where those of operand i begin. */
typedef struct Sheet {
  int64_t rows, width, down;
  bool packed; /* rows are shorter than a register, and follow each other in blocks */
  char *at[GLOW_BODY_BLOCKS];
} Sheet;

/* Whether the rows of an operand follow each other as its elements do. */
static bool is_row(const GlowBodyOperand *o, const Sheet *s) {
  return s->rows == 1 || o->stride[s->down] == s->width * o->stride[ALONG];
}

/* Whether result i may be put at `to` as soon as it is there: nothing is read from there later. at:
 * where all operands are. */
static bool may_be_put(const GlowBodyCode *code, int64_t i, const char *to, char *const *at) {
  if (!code->nsteps || glow_body_steps(code)[code->nsteps - 1].out == i)
    return true;
  for (int64_t k = code->nouts; k < code->noperands; k++)
    if (at[k] == to)
      return false;
  return true;
}

/* Where steps may put their blocks: to results whose rows are contiguous; those that are packed are
 * whole registers together. */
static void find_outs(const GlowBodyCode *code, const Sheet *s, Blocks *b) {
  const GlowBodyOperand *operands = glow_body_operands(code);
  const bool whole = !s->packed || s->rows * s->width % GLOW_VL == 0;
  for (int64_t i = 0; i < code->nouts && i < GLOW_BODY_OUTS; i++) {
    const GlowBodyOperand *o = &operands[i];
    const bool put = whole && o->stride[ALONG] == 1 && (!s->packed || is_row(o, s)) &&
                     may_be_put(code, i, s->at[i], s->at);
    b->out[i] = put ? s->at[i] : (char *)0;
    b->out_next[i] = o->stride[s->down] * o->bytes;
  }
}

/* Reads packed rows of an operand that do not follow each other; the rest of the block is zero. */
static __attribute__((noinline)) void load_packed(Blocks *b, const GlowBodyOperand *o,
                                                  const char *from, const Sheet *s) {
  const int64_t row = s->width * o->bytes, all = s->rows * row;
  char *to = own(b, o->block);
  b->at[o->block] = rows_at(to, 0);
  if (!o->stride[ALONG]) {
    splat(to, from, o->stride[s->down] * o->bytes, o->bytes, s->width, s->rows);
  } else if (o->stride[ALONG] == 1 && o->stride[s->down]) {
    copy_rows(to, row, from, o->stride[s->down] * o->bytes, row, s->rows);
  } else if (o->stride[s->down]) {
    for (int64_t i = 0; i < s->rows; i++)
      copy(to + i * row, o->bytes, from + i * o->stride[s->down] * o->bytes,
           o->stride[ALONG] * o->bytes, o->bytes, s->width);
  } else { /* one row, over and over */
    copy(to, o->bytes, from, o->stride[ALONG] * o->bytes, o->bytes, s->width);
    for (int64_t done = row; done < all; done += done)
      __builtin_memcpy(to + done, to, (size_t)(done < all - done ? done : all - done));
  }
  if (b->width * o->bytes > all)
    __builtin_memset(to + all, 0, (size_t)(b->width * o->bytes - all));
}

static __attribute__((noinline)) void store_sheet(const GlowBodyOperand *o, char *to,
                                                  GlowBlockOperand from, const Sheet *s) {
  const int64_t step = o->stride[ALONG] * o->bytes, from_step = o->bytes & from.varies;
  const int64_t row = s->width * o->bytes, next = s->packed ? s->width * from_step : from.next;
  if (is_row(o, s) && (s->rows == 1 || next == s->width * from_step)) {
    copy(to, step, from.at, from_step, o->bytes, s->rows * s->width);
    return;
  }
  if (step == o->bytes && from_step) {
    copy_rows(to, o->stride[s->down] * o->bytes, from.at, next, row, s->rows);
    return;
  }
  for (int64_t i = 0; i < s->rows; i++)
    copy(to + i * o->stride[s->down] * o->bytes, step, from.at + i * next, from_step, o->bytes,
         s->width);
}

/* A sheet that fits the blocks. */
static void stack_block(const GlowBodyCode *code, Blocks *b, const Sheet *s) {
  const GlowBodyOperand *operands = glow_body_operands(code);
  const int64_t count = s->rows * s->width;
  b->rows = s->packed ? 1 : s->rows;
  b->width = s->packed ? (count + GLOW_VL - 1) / GLOW_VL * GLOW_VL : s->width;
  find_outs(code, s, b);
  for (int64_t i = code->nouts; i < code->noperands; i++) {
    const GlowBodyOperand *o = &operands[i];
    if (!s->packed)
      load_rows(b, o, s->at[i], s->rows > 1 ? o->stride[s->down] : 0, o->stride[ALONG], s->width);
    else if (is_row(o, s))
      load(b, o, s->at[i], o->stride[ALONG], count);
    else
      load_packed(b, o, s->at[i], s);
  }
  run(code, b);
  for (int64_t i = 0; i < code->nouts; i++)
    if (b->at[operands[i].block].at != s->at[i])
      store_sheet(&operands[i], s->at[i], b->at[operands[i].block], s);
}

/* What all rows share that stack_rows is called for. */
typedef struct Stack {
  const GlowBodyCode *code;
  const GlowBodyOperand *operands;
  int64_t rows, width, down;
  int64_t loops, loop[ALONG]; /* around the rows: those with more than one step, outermost first */
  char *first[GLOW_BODY_BLOCKS];
} Stack;

/* The operands at step `begin` of the outermost loop. */
static void find_operands(Stack *k, void *const *env, int64_t begin) {
  for (int64_t i = 0; i < k->code->noperands; i++) {
    const GlowBodyOperand *o = &k->operands[i];
    k->first[i] = (char *)env[1 + i] + begin * o->unit;
  }
}

/* Those that are `steps` steps of loop `d` further. */
static void move_operands(Stack *k, int64_t d, int64_t steps) {
  const int64_t axis = k->loop[d];
  ROLLED for (int64_t i = 0; i < k->code->noperands; i++) {
    const GlowBodyOperand *o = &k->operands[i];
    k->first[i] += steps * o->stride[axis] * o->bytes;
  }
}

/* How many rows of `width` elements are whole registers. */
static int64_t rows_of_registers(int64_t width) {
  int64_t rows = GLOW_VL;
  for (; rows > 1 && width % 2 == 0; width /= 2)
    rows /= 2;
  return rows;
}

/* How many rows of a stack fit the blocks. */
static int64_t rows_at_once(const Stack *k) {
  const int64_t most = k->code->most;
  int64_t high = k->width < most ? most / k->width : 1;
  if (k->width < GLOW_VL) {
    const int64_t even = rows_of_registers(k->width);
    high -= high > even ? high % even : 0;
  }
  return high;
}

/* Puts what limits make of `rows` rows of `width` elements in place; `b`: what is added to them, or
 * null. */
INLINE void limit_rows_in_place(const GlowLimits *limits, int64_t rows, int64_t width, char *to,
                                int64_t next, GlowBlockOperand a, const GlowBlockOperand *b) {
  const int64_t last = width - GLOW_VL;
  GlowBlockOperand sum = b ? *b : a;
  ROLLED for (int64_t y = 0; y < rows; y++) {
    GlowVec one, other;
    const float *x = row_of(&a, &one), *z = row_of(&sum, &other);
    int64_t at = 0;
    ROLLED for (int left = 1; left; left = at < width, at = last) {
      ROLLED for (int more = 1; more; at += GLOW_VL, more = at <= last) {
        GlowVec v = vec_load(x + (at & a.varies));
        if (b)
          v += vec_load(z + (at & sum.varies));
        vec_store((float *)(void *)to + at, within(v, limits));
      }
    }
    to += next, a.at += a.next, sum.at += sum.next;
  }
}

static void limit_rows(const GlowBodyCode *code, int64_t rows, int64_t width, char *to,
                       int64_t next, GlowBlockOperand a, const GlowBlockOperand *b) {
  const GlowLimits limits = limits_of(code);
  if (b) {
    limit_rows_in_place(&limits, rows, width, to, next, a, b);
  } else {
    a.varies = -1; /* it is the only operand */
    limit_rows_in_place(&limits, rows, width, to, next, a, b);
  }
}

/* A body of one step, or of limits, that runs on rows of operands where they lie. */
typedef struct InPlace {
  GlowBlockFn *function; /* null: limits */
  const char *members;
  const GlowBlockOperand *in[GLOW_BODY_INS];
} InPlace;

/* Finds the function of a body. Its constants get their places in b->at; the caller says where the
 * operands are. */
static void begin_in_place(const GlowBodyCode *code, Blocks *b, InPlace *p) {
  const GlowBodyStep *steps = glow_body_steps(code), *s = steps + code->single;
  p->function = (GlowBlockFn *)0;
  if (code->clip && code->nsteps != 1) /* a step alone is a tighter loop */
    return;
  ROLLED for (int64_t i = 0; i < code->nsteps; i++) {
    if (!steps[i].lane)
      b->at[steps[i].result] = elements_at((const char *)code + steps[i].members, 0);
  }
  ROLLED for (int64_t i = 0; i < s->nins; i++) p->in[i] = s->in[i] < 0 ? &absent : &b->at[s->in[i]];
  p->function = function_of(s), p->members = (const char *)code + s->members;
}

/* Runs it on `rows` rows of `width` elements. Rows of the result are `next` bytes apart. */
static void run_in_place(const GlowBodyCode *code, const InPlace *p, const Blocks *b, int64_t rows,
                         int64_t width, char *to, int64_t next) {
  const GlowBodyOperand *operands = glow_body_operands(code);
  if (p->function)
    p->function(p->members, rows, width, to, next, p->in);
  else
    limit_rows(code, rows, width, to, next, b->at[operands[1].block],
               code->noperands > 2 ? &b->at[operands[2].block] : (const GlowBlockOperand *)0);
}

/* Moves the operands of rows that stay in place by `steps` steps of loop d. */
static char *move_in_place(const GlowBodyCode *code, Blocks *b, char *to, int64_t d,
                           int64_t steps) {
  const GlowBodyOperand *o = glow_body_operands(code);
  ROLLED for (int64_t i = 1; i < code->noperands; i++) b->at[o[i].block].at +=
      steps * o[i].stride[d] * o[i].bytes;
  return to + steps * o->stride[d] * o->bytes;
}

/* A stack of `rows` rows of `width` elements at each place, which may stay where they are. False if
 * they may not: if they are short, or an operand is the result. */
static bool stack_in_place(const GlowStackParams *p, const GlowBodyCode *code, Blocks *b,
                           void *const *env, int64_t begin, int64_t end, int64_t rows,
                           int64_t width) {
  const GlowBodyOperand *o = glow_body_operands(code);
  char *to = (char *)env[1] + begin * o->unit;
  bool apart = true;
  if (width < GLOW_VL)
    return false;
  ROLLED for (int64_t i = 1; i < code->noperands; i++) {
    const char *at = (const char *)env[1 + i] + begin * o[i].unit;
    apart &= at != to;
    b->at[o[i].block] = (GlowBlockOperand){at, o[i].varies, o[i].next};
  }
  if (!apart)
    return false;
  InPlace step;
  begin_in_place(code, b, &step);
  if (!code->down) {
    run_in_place(code, &step, b, rows, width, to, o->next);
    return true;
  }
  int64_t place[ALONG - 1] = {begin}, d;
  do {
    run_in_place(code, &step, b, rows, width, to, o->next);
    for (d = code->down - 1; d && ++place[d] == p->n[d]; d--) {
      place[d] = 0;
      if (p->n[d] > 1)
        to = move_in_place(code, b, to, d, 1 - p->n[d]);
    }
    to = move_in_place(code, b, to, d, 1);
  } while (d || ++place[0] < end);
  return true;
}

/* The rows of a stack at one place of the loops around them. Rows shorter than a register are
 * packed: a row of 4 channels is less work than what leads to it. Long ones are cut. */
static void stack_rows(Stack *k, Blocks *b) {
  const int64_t high = rows_at_once(k), most = k->code->most;
  Sheet s;
  s.down = k->down;
  for (int64_t y = 0; y < k->rows; y += high)
    for (int64_t x = 0; x < k->width; x += s.width) {
      s.rows = k->rows - y < high ? k->rows - y : high;
      s.width = k->width - x < most ? k->width - x : most;
      s.packed = s.width < GLOW_VL;
      for (int64_t i = 0; i < k->code->noperands; i++)
        s.at[i] =
            k->first[i] + (y * k->operands[i].stride[k->down] + x * k->operands[i].stride[ALONG]) *
                              k->operands[i].bytes;
      stack_block(k->code, b, &s);
    }
}

/* Elements [first, end) of a stack whose loops are one: nothing of its rows is to be found out.
 * Many stacks are a register or two. */
static void stack_line(const GlowBodyCode *code, Blocks *b, void *const *env, int64_t first,
                       int64_t end) {
  const GlowBodyOperand *operands = glow_body_operands(code), *o = operands + code->nouts;
  const int64_t all = end - first;
  char *result = (char *)env[1] + first * operands->step;
  bool in_place = (code->single >= 0 || code->clip) && all >= GLOW_VL, varies = false;
  ROLLED for (int64_t i = code->nouts; i < code->noperands && in_place; i++, o++) {
    const char *at = (const char *)env[1 + i] + first * o->step;
    in_place = at != result;
    varies |= o->step != 0;
    b->at[o->block] = (GlowBlockOperand){at, -(o->step != 0), 0};
  }
  if (in_place && varies) {
    InPlace step;
    begin_in_place(code, b, &step);
    run_in_place(code, &step, b, 1, all, result, 0);
    return;
  }
  char *at[GLOW_BODY_BLOCKS];
  b->rows = 1;
  ROLLED for (int64_t count; first < end; first += count) {
    count = end - first < code->most ? end - first : code->most;
    b->width = count < GLOW_VL ? GLOW_VL : count;
    ROLLED for (int64_t i = 0; i < code->noperands; i++) at[i] =
        (char *)env[1 + i] + first * operands[i].step;
    ROLLED for (int64_t i = 0; i < code->nouts && i < GLOW_BODY_OUTS; i++) {
      const bool put = count >= GLOW_VL && may_be_put(code, i, at[i], at);
      b->out[i] = put ? at[i] : (char *)0;
      b->out_next[i] = 0;
    }
    ROLLED for (int64_t i = code->nouts; i < code->noperands; i++) {
      o = &operands[i];
      if (o->step && count < GLOW_VL)
        load(b, o, at[i], 1, count);
      else
        b->at[o->block] = (GlowBlockOperand){at[i], -(o->step != 0), 0};
    }
    run(code, b);
    ROLLED for (int64_t i = 0; i < code->nouts; i++) {
      o = &operands[i];
      const GlowBlockOperand from = b->at[o->block];
      if (from.at != at[i])
        copy(at[i], o->bytes, from.at, o->bytes & from.varies, o->bytes, count);
    }
  }
}

void glow_stack_blocks(const GlowStackParams *p, void *const *env, int64_t begin, int64_t end) {
  char room[GLOW_BODY_ROOM + GLOW_BODY_BLOCKS * GLOW_BODY_LANES * 8] __attribute__((aligned(64)));
  const GlowBodyCode *code = env[0];
  Blocks b;
  b.room = room, b.pitch = code->pitch;
  if (GLOW_HAS_FMA && code->line && code->few && (end - begin) * code->line <= GLOW_BODY_FEW) {
    glow_body_few_line(env, begin * code->line, end * code->line);
    return;
  }
  if (code->line) {
    stack_line(code, &b, env, begin * code->line, end * code->line);
    return;
  }
  if (GLOW_HAS_FMA && !code->down && code->few && glow_body_few_sheet(p, env, begin, end))
    return;
  int64_t rows = code->down ? p->n[code->down] : end - begin, width = p->n[ALONG];
  if (code->one_row || rows == 1)
    width *= rows, rows = 1;
  if (code->in_place && stack_in_place(p, code, &b, env, begin, end, rows, width))
    return;
  Stack k;
  k.code = code, k.operands = glow_body_operands(code), k.loops = 0;
  k.rows = rows, k.width = width, k.down = code->down;
  int64_t place[ALONG] = {begin}, last[ALONG] = {begin + 1}, d;
  k.loop[k.loops++] = 0;
  for (int64_t i = 1; i < k.down; i++)
    if (p->n[i] > 1)
      place[k.loops] = 0, last[k.loops] = p->n[i], k.loop[k.loops++] = i;
  if (k.down)
    last[0] = end;
  find_operands(&k, env, begin);
  do {
    stack_rows(&k, &b);
    for (d = k.loops - 1; d >= 0 && ++place[d] == last[d]; d--) {
      place[d] = d ? 0 : begin;
      move_operands(&k, d, place[d] + 1 - last[d]);
    }
    if (d >= 0)
      move_operands(&k, d, 1);
  } while (d >= 0);
}
