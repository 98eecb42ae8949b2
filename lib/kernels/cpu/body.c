/* Bodies in library code: see kernels/body.h. An epilogue runs on one register at a time, a stack
 * on blocks of a row that stay in the first-level cache. */
#include "kernels/body.h"

#include "body.h"
#include "run.h"

/* The blocks of a body, of n elements each. at[i] says where block i is: in `room`, where an
 * operand lies, or where a constant does. What is the same for all elements is one register. The
 * array is large and not cleared: a body writes each entry before it reads it. */
typedef struct Blocks {
  char *room;
  int64_t n, pitch; /* from block to block in `room`, in bytes */
  char *last;       /* where the last step puts its block, instead of into `room`; or null */
  GlowBlockOperand at[GLOW_BODY_BLOCKS];
} Blocks;

static GlowBlockOperand block_at(const void *at) { return (GlowBlockOperand){at, -1}; }
static GlowBlockOperand register_at(const void *at) { return (GlowBlockOperand){at, 0}; }

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

/* Reads one element for all lanes. */
static void load_one(Blocks *b, const GlowBodyOperand *o, const char *from) {
  char *to = own(b, o->block);
  splat(to, from, 0, o->bytes, GLOW_VL, 1);
  b->at[o->block] = register_at(to);
}

/* Reads the first `count` elements of a block, which may be fewer than it has; the rest is zero. A
 * whole, contiguous block stays where it is. */
static void load(Blocks *b, const GlowBodyOperand *o, const char *from, int64_t step,
                 int64_t count) {
  char *to = own(b, o->block);
  if (step == 1 && count == b->n) {
    b->at[o->block] = block_at(from);
  } else if (step == 0) {
    load_one(b, o, from);
  } else {
    copy(to, o->bytes, from, step * o->bytes, o->bytes, count);
    __builtin_memset(to + count * o->bytes, 0, (size_t)((b->n - count) * o->bytes));
    b->at[o->block] = block_at(to);
  }
}

static const GlowBlockOperand absent;

/* Runs a step. `place`: where its result may go, unless an operand lies there; or null. */
static void run_step(const char *code, const GlowBodyStep *s, Blocks *b, char *place) {
  const GlowBlockOperand *in[GLOW_BODY_INS];
  int64_t varies = 0;
  for (int64_t k = 0; k < s->nins; k++) {
    in[k] = s->in[k] < 0 ? &absent : &b->at[s->in[k]];
    varies |= in[k]->varies;
    place = in[k]->at == place ? (char *)0 : place;
  }
  char *result = place && varies ? place : own(b, s->result);
  glow_lane_blocks[s->lane](code + s->members, varies ? b->n : GLOW_VL, result, in);
  b->at[s->result] = (GlowBlockOperand){result, varies};
}

static void run(const GlowBodyCode *code, Blocks *b) {
  const GlowBodyStep *steps = glow_body_steps(code), *last = steps + code->nsteps - 1;
  for (const GlowBodyStep *s = steps; s <= last; s++) {
    if (s->lane)
      run_step((const char *)code, s, b, s == last ? b->last : (char *)0);
    else
      b->at[s->result] = register_at((const char *)code + s->members);
  }
}

#include "ops/blocks.inc"

/* ---- Epilogues ------------------------------------------------------------------------------- */

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
  b.room = room, b.n = GLOW_VL, b.pitch = GLOW_VL * 8, b.last = (char *)0;
  for (int64_t i = 0; i < code->noperands; i++) {
    const GlowBodyOperand *o = &operands[i];
    int64_t offset = 0, step = o->stride[dims - 1], count = GLOW_VL;
    for (int64_t d = 0; d < dims; d++)
      offset += place[d] * o->stride[d];
    if (step && o->channels % GLOW_VL)
      count = o->channels - lane < GLOW_VL ? o->channels - lane : GLOW_VL;
    load(&b, o, (const char *)env[1 + i] + offset * o->bytes, step, count > 0 ? count : 0);
  }
  vec_store((float *)own(&b, code->acc), acc);
  b.at[code->acc] = block_at(own(&b, code->acc));
  run(code, &b);
  return vec_load((const float *)(const void *)b.at[code->result].at);
}

/* An operand of rows of `width` elements that are `step` apart, the rows `next` apart; the first
 * `lanes` of a row may be read, the others are zeros. */
static void load_rows(Blocks *b, const GlowBodyOperand *o, const char *from, int64_t next,
                      int64_t step, int64_t lanes, int64_t width) {
  char *to = own(b, o->block);
  b->at[o->block] = block_at(to);
  if (step == 1 && lanes == width && (next == width || b->n == width)) {
    b->at[o->block] = block_at(from);
    return;
  }
  if (!step && !next) {
    load_one(b, o, from);
    return;
  }
  for (int64_t i = 0; i < b->n; i += width, from += next * o->bytes, to += width * o->bytes) {
    copy(to, o->bytes, from, step * o->bytes, o->bytes, step ? lanes : width);
    if (step && lanes < width)
      __builtin_memset(to + lanes * o->bytes, 0, (size_t)((width - lanes) * o->bytes));
  }
}

void glow_body_rows(float *sums, int64_t count, int64_t width, void *const *env,
                    const int64_t *place, int dims, int64_t lane) {
  enum { ROW = GLOW_BODY_BLOCKS * GLOW_VL * GLOW_TILE_VECTORS * 8 };
  const GlowBodyCode *code = env[0];
  const GlowBodyOperand *operands = glow_body_operands(code);
  char room[ROW > GLOW_BODY_ROOM ? ROW : GLOW_BODY_ROOM] __attribute__((aligned(64)));
  const int64_t most = (int64_t)sizeof room / 8 / width / code->blocks;
  for (int64_t begin = 0; begin < count; begin += most) {
    const int64_t now = count - begin < most ? count - begin : most;
    Blocks b;
    b.room = room, b.n = now * width, b.pitch = b.n * 8, b.last = (char *)0;
    for (int64_t i = 0; i < code->noperands; i++) {
      const GlowBodyOperand *o = &operands[i];
      const int64_t step = o->stride[dims - 1], next = o->stride[dims - 2];
      int64_t offset = begin * next, lanes = width;
      for (int64_t d = 0; d < dims; d++)
        offset += place[d] * o->stride[d];
      if (step && o->channels % GLOW_VL)
        lanes = o->channels - lane < width ? o->channels - lane : width;
      load_rows(&b, o, (const char *)env[1 + i] + offset * o->bytes, next, step,
                lanes > 0 ? lanes : 0, width);
    }
    b.at[code->acc] = block_at(sums + begin * width);
    run(code, &b);
    const GlowBlockOperand *result = &b.at[code->result];
    if (result->at != (char *)(sums + begin * width))
      copy((char *)(sums + begin * width), 4, result->at, result->varies & 4, 4, b.n);
  }
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
  char *at[GLOW_BODY_BLOCKS];
} Sheet;

/* Whether the rows of an operand follow each other as its elements do. */
static bool is_row(const GlowBodyOperand *o, const Sheet *s) {
  return s->rows == 1 || o->stride[s->down] == s->width * o->stride[ALONG];
}

/* Where the last step may put its block: an output that lies contiguous, whole registers of it.
 * Null: there is none. */
static char *last_place(const GlowBodyCode *code, const Sheet *s) {
  const GlowBodyOperand *operands = glow_body_operands(code);
  const GlowBodyStep *last = glow_body_steps(code) + code->nsteps - 1;
  for (int64_t i = 0; code->nsteps && i < code->nouts && s->rows * s->width % GLOW_VL == 0; i++)
    if (operands[i].block == last->result)
      return operands[i].stride[ALONG] == 1 && is_row(&operands[i], s) ? s->at[i] : (char *)0;
  return (char *)0;
}

/* Reads the rows of an operand, which do not follow each other; the rest of the block is zero. */
static __attribute__((noinline)) void load_sheet(Blocks *b, const GlowBodyOperand *o,
                                                 const char *from, const Sheet *s) {
  const int64_t row = s->width * o->bytes, all = s->rows * row;
  char *to = own(b, o->block);
  b->at[o->block] = block_at(to);
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
  if (b->n * o->bytes > all)
    __builtin_memset(to + all, 0, (size_t)(b->n * o->bytes - all));
}

static __attribute__((noinline)) void store_sheet(const GlowBodyOperand *o, char *to,
                                                  GlowBlockOperand from, const Sheet *s) {
  const int64_t step = o->stride[ALONG] * o->bytes, from_step = o->bytes & from.varies;
  if (is_row(o, s)) {
    copy(to, step, from.at, from_step, o->bytes, s->rows * s->width);
    return;
  }
  if (step == o->bytes && from_step) {
    copy_rows(to, o->stride[s->down] * o->bytes, from.at, s->width * o->bytes, s->width * o->bytes,
              s->rows);
    return;
  }
  for (int64_t i = 0; i < s->rows; i++)
    copy(to + i * o->stride[s->down] * o->bytes, step, from.at + i * s->width * from_step,
         from_step, o->bytes, s->width);
}

/* A sheet that fits the blocks. */
static void stack_block(const GlowBodyCode *code, Blocks *b, const Sheet *s) {
  const GlowBodyOperand *operands = glow_body_operands(code);
  const int64_t count = s->rows * s->width;
  b->n = (count + GLOW_VL - 1) / GLOW_VL * GLOW_VL;
  b->last = last_place(code, s);
  for (int64_t i = code->nouts; i < code->noperands; i++) {
    if (is_row(&operands[i], s))
      load(b, &operands[i], s->at[i], operands[i].stride[ALONG], count);
    else
      load_sheet(b, &operands[i], s->at[i], s);
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
  bool whole; /* the body is one step, and no operand needs room: see whole_rows */
  char *first[GLOW_BODY_BLOCKS];
} Stack;

/* Reads where the operands are at `place`, which has `dims` coordinates that are not 0, and whether
 * all rows are one long row. */
static void begin_rows(Stack *k, void *const *env, const int64_t *place, int64_t dims) {
  bool one_row = true, varies = false;
  k->whole = k->code->single >= 0;
  for (int64_t i = 0; i < k->code->noperands; i++) {
    const GlowBodyOperand *o = &k->operands[i];
    int64_t offset = 0;
    ROLLED for (int64_t d = 0; d < dims; d++) offset += place[d] * o->stride[d];
    k->first[i] = (char *)env[1 + i] + offset * o->bytes;
    one_row &= k->rows == 1 || o->stride[k->down] == k->width * o->stride[ALONG];
    k->whole &= o->stride[ALONG] == 1 || (i && !o->stride[ALONG]);
    k->whole &= !i || k->first[i] != k->first[0];
    varies |= i && o->stride[ALONG];
  }
  k->whole &= varies;
  if (one_row) {
    k->width *= k->rows;
    k->rows = 1;
  }
}

/* Runs a body of one step on rows of whole registers, each as it lies. */
static void whole_rows(const Stack *k, Blocks *b, int64_t width) {
  const GlowBodyStep *steps = glow_body_steps(k->code), *s = steps + k->code->single;
  const GlowBlockOperand *in[GLOW_BODY_INS];
  for (int64_t i = 0; i < k->code->nsteps; i++)
    if (!steps[i].lane)
      b->at[steps[i].result] = register_at((const char *)k->code + steps[i].members);
  for (int64_t i = 0; i < s->nins; i++)
    in[i] = s->in[i] < 0 ? &absent : &b->at[s->in[i]];
  for (int64_t y = 0; y < k->rows; y++) {
    for (int64_t i = 1; i < k->code->noperands; i++) {
      const GlowBodyOperand *o = &k->operands[i];
      const char *from = k->first[i] + y * o->stride[k->down] * o->bytes;
      if (o->stride[ALONG])
        b->at[o->block] = block_at(from);
      else
        load_one(b, o, from);
    }
    glow_lane_blocks[s->lane](
        (const char *)k->code + s->members, width,
        k->first[0] + y * k->operands[0].stride[k->down] * k->operands[0].bytes, in);
  }
}

/* How many rows of `width` elements are whole registers. */
static int64_t rows_of_registers(int64_t width) {
  int64_t rows = GLOW_VL;
  for (; rows > 1 && width % 2 == 0; width /= 2)
    rows /= 2;
  return rows;
}

/* `rows` rows of `width` elements; the first one is at `place`, of `dims` coordinates, and `down`
 * is the axis from row to row. Short rows share blocks: a row of 16 channels is less work than what
 * leads to it. Long ones are cut; what is left of a register is a block of its own. A body of one
 * step takes rows of four registers and more as they lie. */
static void stack_rows(void *const *env, const int64_t *place, int64_t dims, int64_t down,
                       int64_t rows, int64_t width) {
  char room[GLOW_BODY_ROOM + GLOW_BODY_BLOCKS * GLOW_BODY_LANES * 8] __attribute__((aligned(64)));
  Stack k;
  k.code = env[0], k.operands = glow_body_operands(k.code);
  k.rows = rows, k.width = width, k.down = down;
  begin_rows(&k, env, place, dims);
  int64_t most = k.code->most, high = 1;
  const bool rows_alone = k.whole && k.width % GLOW_VL == 0 && k.width >= 4 * GLOW_VL;
  if (k.width <= most / 2 && k.rows > 1 && !rows_alone) {
    const int64_t even = rows_of_registers(k.width);
    high = most / k.width;
    high -= high > even ? high % even : 0;
    k.whole = false;
  }
  Blocks b;
  b.room = room, b.pitch = k.code->pitch;
  const int64_t done = k.whole ? k.width - k.width % GLOW_VL : 0;
  if (done)
    whole_rows(&k, &b, done);
  Sheet s;
  s.down = down;
  for (int64_t y = 0; y < k.rows; y += high)
    for (int64_t x = done; x < k.width; x += s.width) {
      s.rows = k.rows - y < high ? k.rows - y : high;
      s.width = k.width - x < most ? k.width - x : most;
      if (s.rows == 1 && s.width > GLOW_VL)
        s.width -= s.width % GLOW_VL;
      for (int64_t i = 0; i < k.code->noperands; i++)
        s.at[i] = k.first[i] + (y * k.operands[i].stride[down] + x * k.operands[i].stride[ALONG]) *
                                   k.operands[i].bytes;
      stack_block(k.code, &b, &s);
    }
}

void glow_stack_blocks(const GlowStackParams *p, void *const *env, int64_t begin, int64_t end) {
  int64_t place[ALONG] = {begin};
  if (p->n[1] == 1 && p->n[2] == 1 && p->n[3] == 1 && p->n[4] == 1) {
    stack_rows(env, place, 1, 0, end - begin, p->n[5]);
    return;
  }
  for (place[0] = begin; place[0] < end; place[0]++)
    for (place[1] = 0; place[1] < p->n[1]; place[1]++)
      for (place[2] = 0; place[2] < p->n[2]; place[2]++)
        for (place[3] = 0; place[3] < p->n[3]; place[3]++)
          stack_rows(env, place, 4, 4, p->n[4], p->n[5]);
}
