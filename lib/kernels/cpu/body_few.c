/* Bodies of floats on rows of a few registers: see kernels/body.h. What a call of a function on
 * blocks costs would be most of the time of such a row. So a step is a case here, values that are
 * computed have whole registers, and operands stay where they are, but for their last registers
 * where a row ends within one.
 *
 * Machines without a fused multiply-add have none of this: their functions take longer than calls,
 * and most room. */
#define GLOW_BLOCK_FLAT
#include "exp.h"
#include "lanes.h"

#include "body.h"
#include "kernels/body.h"
#include "matrix_tile.h"

#if GLOW_HAS_FMA
enum { ROW = GLOW_BODY_FEW };

/* A value: where its registers are, `step` elements apart, and its last one. A register of copies
 * has step 0. */
typedef struct Value {
  const float *at, *last;
  int64_t step;
} Value;

typedef struct Row {
  int64_t whole, rest; /* elements of all registers but the last one, and of that one */
  float *to;           /* where the last step puts its registers but the last one; or null */
  Value v[GLOW_BODY_MOST];
  float room[GLOW_BODY_MOST * ROW] __attribute__((aligned(64)));
} Row;

/* ---- Operands -------------------------------------------------------------------------------- */

static void set_width(Row *r, int64_t width) {
  r->whole = (width - 1) / GLOW_VL * GLOW_VL;
  r->rest = width - r->whole;
}

/* Sets value `block` to an operand, of whose last register `rest` elements may be read. */
INLINE void load_value(Row *r, int64_t block, const float *at, bool varies, int64_t rest) {
  float *own = r->room + block * ROW;
  if (!varies) {
    vec_store(own, vec_splat(*at));
    r->v[block] = (Value){own, own, 0};
  } else if (rest >= GLOW_VL) {
    r->v[block] = (Value){at, at + r->whole, GLOW_VL};
  } else {
    vec_store(own, get_first(at + r->whole, rest));
    r->v[block] = (Value){at, own, GLOW_VL};
  }
}

/* ---- Steps ----------------------------------------------------------------------------------- */

#define FUNCTION(name)                                                                             \
  INLINE GlowVec name##_of(GlowVec x) {                                                            \
    float in[GLOW_VL], out[GLOW_VL];                                                               \
    vec_store(in, x);                                                                              \
    GLOW_LANES for (int l = 0; l < GLOW_VL; l++) out[l] =                                          \
        glow_scalar_##name##_float((void *)0, in[l]);                                              \
    return vec_load(out);                                                                          \
  }
FUNCTION(sigmoid)
FUNCTION(tanh)
FUNCTION(relu)
INLINE GlowVec exp_of(GlowVec x) { return vec_exp(x, false); }

/* The cases of steps: `value` from registers a, b, c and d of as many operands. */
#define CASE_2(number, value)                                                                      \
  case number: {                                                                                   \
    Value v0 = r->v[s->in[0]], v1 = r->v[s->in[1]];                                                \
    ROLLED for (int64_t e = 0; e < whole; e += GLOW_VL, v0.at += v0.step, v1.at += v1.step) {      \
      const GlowVec a = vec_load(v0.at), b = vec_load(v1.at);                                      \
      vec_store(to + e, value);                                                                    \
    }                                                                                              \
    const GlowVec a = vec_load(v0.last), b = vec_load(v1.last);                                    \
    vec_store(last, value);                                                                        \
    break;                                                                                         \
  }
#define CASE_3(number, value)                                                                      \
  case number: {                                                                                   \
    Value v0 = r->v[s->in[0]], v1 = r->v[s->in[1]], v2 = r->v[s->in[2]];                           \
    ROLLED for (int64_t e = 0; e < whole;                                                          \
                e += GLOW_VL, v0.at += v0.step, v1.at += v1.step, v2.at += v2.step) {              \
      const GlowVec a = vec_load(v0.at), b = vec_load(v1.at), c = vec_load(v2.at);                 \
      vec_store(to + e, value);                                                                    \
    }                                                                                              \
    const GlowVec a = vec_load(v0.last), b = vec_load(v1.last), c = vec_load(v2.last);             \
    vec_store(last, value);                                                                        \
    break;                                                                                         \
  }
#define CASE_4(number, value)                                                                      \
  case number: {                                                                                   \
    Value v0 = r->v[s->in[0]], v1 = r->v[s->in[1]], v2 = r->v[s->in[2]], v3 = r->v[s->in[3]];      \
    ROLLED for (int64_t e = 0; e < whole; e += GLOW_VL, v0.at += v0.step, v1.at += v1.step,        \
                                          v2.at += v2.step, v3.at += v3.step) {                    \
      const GlowVec a = vec_load(v0.at), b = vec_load(v1.at), c = vec_load(v2.at),                 \
                    d = vec_load(v3.at);                                                           \
      vec_store(to + e, value);                                                                    \
    }                                                                                              \
    const GlowVec a = vec_load(v0.last), b = vec_load(v1.last), c = vec_load(v2.last),             \
                  d = vec_load(v3.last);                                                           \
    vec_store(last, value);                                                                        \
    break;                                                                                         \
  }
/* Of a function, which is there once. */
#define CASE_1(number, function)                                                                   \
  case number: {                                                                                   \
    Value v0 = r->v[s->in[0]];                                                                     \
    ROLLED for (int64_t e = 0; e <= whole; e += GLOW_VL, v0.at += v0.step)                         \
        vec_store(e < whole ? to + e : last, function(vec_load(e < whole ? v0.at : v0.last)));     \
    break;                                                                                         \
  }
/* The pairs of a first step, in the order of GLOW_PAIR_... */
#define PAIRS(first, v)                                                                            \
  CASE_3(GLOW_FEW_PAIR + (first)*GLOW_PAIR_SECOND + GLOW_PAIR_ADD, (v) + c)                        \
  CASE_3(GLOW_FEW_PAIR + (first)*GLOW_PAIR_SECOND + GLOW_PAIR_SUB, (v)-c)                          \
  CASE_3(GLOW_FEW_PAIR + (first)*GLOW_PAIR_SECOND + GLOW_PAIR_MUL, (v)*c)                          \
  CASE_3(GLOW_FEW_PAIR + (first)*GLOW_PAIR_SECOND + GLOW_PAIR_FROM, c - (v))                       \
  CASE_3(GLOW_FEW_PAIR + (first)*GLOW_PAIR_SECOND + GLOW_PAIR_DIV, (v) / c)

static void run_steps(const GlowBodyCode *code, Row *r) {
  const GlowBodyStep *s = glow_body_steps(code), *end = s + code->nsteps;
  const int64_t whole = r->whole;
  ROLLED for (; s < end; s++) {
    float *own = r->room + s->result * ROW, *to = own, *last = own + whole;
    if (s->few == GLOW_FEW_CONSTANT) {
      const float *at = (const float *)(const void *)((const char *)code + s->members);
      r->v[s->result] = (Value){at, at, 0};
      continue;
    }
    if (s + 1 == end && r->to) {
      to = r->to;
      last = r->rest == GLOW_VL ? to + whole : last;
    }
    switch (s->few) {
      CASE_2(GLOW_FEW_ADD, a + b)
      CASE_2(GLOW_FEW_SUB, a - b)
      CASE_2(GLOW_FEW_MUL, a * b)
      CASE_2(GLOW_FEW_DIV, a / b)
      CASE_1(GLOW_FEW_SIGMOID, sigmoid_of)
      CASE_1(GLOW_FEW_TANH, tanh_of)
      CASE_1(GLOW_FEW_EXP, exp_of)
      CASE_1(GLOW_FEW_RELU, relu_of)
      PAIRS(GLOW_PAIR_ADD, a + b)
      PAIRS(GLOW_PAIR_SUB, a - b)
      PAIRS(GLOW_PAIR_MUL, a * b)
      CASE_4(GLOW_FEW_ADD_PRODUCTS, a * b + c * d)
      CASE_4(GLOW_FEW_SUB_PRODUCTS, a * b - c * d)
    }
    r->v[s->result] = (Value){to, last, GLOW_VL};
  }
}

/* ---- Results --------------------------------------------------------------------------------- */

/* Stores a value, as far as the last step has not. */
INLINE void store_value(const Row *r, int64_t block, float *to) {
  Value v = r->v[block];
  if (v.at != to || v.step != GLOW_VL)
    ROLLED for (int64_t e = 0; e < r->whole; e += GLOW_VL, v.at += v.step)
        vec_store(to + e, vec_load(v.at));
  if (r->rest < GLOW_VL)
    put_first(to + r->whole, vec_load(v.last), r->rest);
  else if (v.last != to + r->whole)
    vec_store(to + r->whole, vec_load(v.last));
}

/* Copies `count` rows of `columns` elements, `next` apart, to rows of `width`, whole registers,
 * behind each other; the rest is zeros. step 0: a row is one number. */
static void copy_rows(float *to, const float *at, int64_t next, int64_t step, int64_t count,
                      int64_t width, int64_t columns) {
  const int64_t full = columns / GLOW_VL * GLOW_VL;
  ROLLED for (int64_t y = 0; y < count; y++, at += next, to += width) {
    if (!step) {
      const GlowVec v = vec_splat(*at);
      ROLLED for (int64_t e = 0; e < width; e += GLOW_VL) vec_store(to + e, v);
      continue;
    }
    ROLLED for (int64_t e = 0; e < full; e += GLOW_VL) vec_store(to + e, vec_load(at + e));
    ROLLED for (int64_t e = full; e < width; e += GLOW_VL)
        vec_store(to + e, get_first(at + e, columns - e));
  }
}

/* Sets the value of an operand: `count` rows of `columns` elements, `next` apart. */
INLINE void load_rows(Row *r, const GlowBodyOperand *o, const float *at, int64_t next,
                      int64_t count, int64_t width, int64_t columns) {
  const int64_t step = o->stride[GLOW_BODY_DIMS - 1];
  float *own = r->room + o->block * ROW;
  if (!step && !next) {
    load_value(r, o->block, at, false, GLOW_VL);
  } else if (step && columns == width && (next == width || width == GLOW_VL)) {
    const int64_t apart = next == width ? GLOW_VL : next;
    r->v[o->block] = (Value){at, at + r->whole / GLOW_VL * apart, apart};
  } else {
    copy_rows(own, at, next, step, count, width, columns);
    r->v[o->block] = (Value){own, own + r->whole, GLOW_VL};
  }
}

/* Stores the result of `count` rows of sums. */
static void store_rows(const Value *v, int64_t count, int64_t width, int64_t columns, float *to,
                       int64_t next) {
  ROLLED for (int64_t y = 0; y < count; y++, to += next) {
    const float *at = v->at + y * (width / GLOW_VL) * v->step;
    ROLLED for (int64_t e = 0; e < columns; e += GLOW_VL, at += v->step) {
      if (e + GLOW_VL <= columns)
        vec_store(to + e, vec_load(at));
      else
        put_first(to + e, vec_load(at), columns - e);
    }
  }
}

bool glow_body_few_store(const float *sums, int64_t count, int64_t width, void *const *env,
                         const int64_t *place, float *to, int64_t next, int64_t n) {
  const GlowBodyCode *code = env[0];
  const GlowBodyOperand *o = glow_body_operands(code);
  const int64_t column = place[GLOW_BODY_DIMS - 1];
  const int64_t columns = n - column < width ? n - column : width;
  const bool one = count == 1 || (columns == width && next == width); /* row in memory */
  int64_t moved = 0;
  Row r;
  if (!code->few || count * width > ROW)
    return false;
  set_width(&r, count == 1 ? columns : count * width);
  UNROLL for (int d = 0; d < GLOW_BODY_DIMS; d++) moved |= place[d];
  ROLLED for (int64_t i = 0; i < code->noperands; i++, o++) {
    const float *at = env[1 + i];
    if (moved)
      UNROLL for (int d = 0; d < GLOW_BODY_DIMS; d++) at += place[d] * o->stride[d];
    if (count == 1)
      load_value(&r, o->block, at, o->stride[GLOW_BODY_DIMS - 1], r.rest);
    else
      load_rows(&r, o, at, o->stride[GLOW_BODY_DIMS - 2], count, width, columns);
  }
  r.v[code->acc] = (Value){sums, sums + r.whole, GLOW_VL};
  const bool is_last = glow_body_steps(code)[code->nsteps - 1].result == code->result;
  r.to = one && is_last ? to : (float *)0;
  run_steps(code, &r);
  if (one)
    store_value(&r, code->result, to);
  else
    store_rows(&r.v[code->result], count, width, columns, to, next);
  return true;
}

bool glow_body_few_sheet(const GlowStackParams *p, void *const *env, int64_t begin, int64_t end) {
  const GlowBodyCode *code = env[0];
  const GlowBodyOperand *operands = glow_body_operands(code), *o = operands;
  const int64_t columns = p->n[GLOW_STACK_DIMS - 1], count = end - begin;
  const int64_t width = (columns + GLOW_VL - 1) / GLOW_VL * GLOW_VL;
  const int64_t result = glow_body_steps(code)[code->nsteps - 1].result;
  Row r;
  if (count * width > ROW)
    return false;
  set_width(&r, count * width);
  r.to = (float *)0;
  ROLLED for (int64_t i = 0; i < code->nouts;
              i++, o++) if (o->block == result && columns == width && o->stride[0] == width) r.to =
      (float *)env[1 + i] + begin * width;
  ROLLED for (int64_t i = code->nouts; i < code->noperands; i++, o++) load_rows(
      &r, o, (const float *)env[1 + i] + begin * o->stride[0], o->stride[0], count, width, columns);
  run_steps(code, &r);
  o = operands;
  ROLLED for (int64_t i = 0; i < code->nouts; i++, o++) {
    float *to = (float *)env[1 + i] + begin * o->stride[0];
    if (columns == width && o->stride[0] == width)
      store_value(&r, o->block, to);
    else
      store_rows(&r.v[o->block], count, width, columns, to, o->stride[0]);
  }
  return true;
}

void glow_body_few_line(void *const *env, int64_t first, int64_t end) {
  const GlowBodyCode *code = env[0];
  const GlowBodyOperand *operands = glow_body_operands(code), *o = operands + code->nouts;
  const int64_t result = glow_body_steps(code)[code->nsteps - 1].result;
  Row r;
  set_width(&r, end - first);
  r.to = (float *)0;
  ROLLED for (int64_t i = 0; i < code->nouts; i++) r.to =
      operands[i].block == result ? (float *)env[1 + i] + first : r.to;
  ROLLED for (int64_t i = code->nouts; i < code->noperands; i++, o++)
      load_value(&r, o->block, (const float *)env[1 + i] + (o->step ? first : 0), o->step, r.rest);
  run_steps(code, &r);
  ROLLED for (int64_t i = 0; i < code->nouts; i++)
      store_value(&r, operands[i].block, (float *)env[1 + i] + first);
}
#endif
