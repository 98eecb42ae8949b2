/* Calls that become one: see pairs.h. What lies between them has no block, and a body that is one
 * call runs where its operands lie. */
#include "backend/cpu/pairs.h"

#include <string.h>

#include "backend/cpu/lanes.h"
#include "kernels/body.h"
#include "ops/op.h"

/* ---- Patterns -------------------------------------------------------------------------------- */

/* Which of the operators that pairs have a call is on operands of a kind, as GLOW_PAIR_...; -1:
 * none of them. */
static int arithmetic_of(const GlowLaneCall *c, GlowKind kind) {
  static const GlowOp ops[] = {GLOW_OP_ADD, GLOW_OP_SUB, GLOW_OP_MUL, GLOW_OP_DIV};
  static const int numbers[] = {GLOW_PAIR_ADD, GLOW_PAIR_SUB, GLOW_PAIR_MUL, GLOW_PAIR_DIV};
  for (size_t i = 0; c->lane && i < sizeof ops / sizeof *ops; i++)
    if (c->lane == glow_op_desc[ops[i]].lanes[kind])
      return numbers[i];
  return -1;
}

/* The function of the pair that `second` makes with what computes its operand i; 0: there is none.
 */
static uint32_t pair_of(const GlowBody *body, const GlowLaneCall *second, uint32_t i) {
  const GlowKind kind = body->kinds[second->ins[i]];
  const GlowLaneCall *first = &body->calls[second->ins[i] - body->nparams];
  int a = arithmetic_of(first, kind), b = arithmetic_of(second, kind);
  if (i && b == GLOW_PAIR_SUB)
    b = GLOW_PAIR_FROM;
  else if (i && b == GLOW_PAIR_DIV)
    b = -1;
  if ((kind != GLOW_KIND_FLOAT && kind != GLOW_KIND_DOUBLE) || a < 0 || a >= GLOW_PAIR_FIRST ||
      b < 0)
    return 0;
  int number = (kind == GLOW_KIND_DOUBLE) * GLOW_PAIR_FIRST + a;
  return GLOW_BODY_PAIRS + (uint32_t)(number * GLOW_PAIR_SECOND + b);
}

/* The body that is rewritten, and what becomes of its calls. */
typedef struct Pairing {
  GlowArena *arena;
  const GlowBody *body;
  uint32_t *readers;   /* by value: how often it is read; results once more */
  GlowLaneCall *calls; /* those of the body, or what took their places */
  bool *left_out;      /* by call: another one computes it as well */
} Pairing;

/* Number of the call that makes v, if it has operands and is as it was, and if `readers` operands
 * of others are v; otherwise UINT32_MAX. */
static uint32_t call_of(const Pairing *p, uint32_t v, uint32_t readers) {
  const uint32_t k = v - p->body->nparams;
  if (v == GLOW_BODY_ABSENT || v < p->body->nparams || p->readers[v] != readers ||
      !p->body->calls[k].lane || !p->body->calls[k].nins ||
      p->calls[k].lane != p->body->calls[k].lane)
    return UINT32_MAX;
  return k;
}

static void become(Pairing *p, uint32_t k, uint32_t lane, const uint32_t *ins, uint32_t nins) {
  p->calls[k] = (GlowLaneCall){
      .lane = lane, .ins = glow_arena_copy(p->arena, ins, nins * sizeof *ins), .nins = nins};
}

/* Makes one call of call k and of what computes an operand of it. */
static void pair_call(Pairing *p, uint32_t k) {
  const GlowLaneCall *c = &p->body->calls[k];
  for (uint32_t i = 0; i < 2 && c->nins == 2; i++) {
    const uint32_t first = call_of(p, c->ins[i], 1);
    const uint32_t lane = first == UINT32_MAX ? 0 : pair_of(p->body, c, i);
    if (!lane)
      continue;
    const uint32_t *ins = p->body->calls[first].ins;
    become(p, k, lane, (uint32_t[]){ins[0], ins[1], c->ins[1 - i]}, 3);
    p->left_out[first] = true;
    return;
  }
}

/* Makes one call of call k, a sum or a difference of floats, and of two products that it reads. */
static bool join_products(Pairing *p, uint32_t k) {
  const GlowLaneCall *c = &p->body->calls[k];
  const int how = arithmetic_of(c, GLOW_KIND_FLOAT);
  if (c->nins != 2 || (how != GLOW_PAIR_ADD && how != GLOW_PAIR_SUB))
    return false;
  const uint32_t a = call_of(p, c->ins[0], 1), b = call_of(p, c->ins[1], 1);
  if (a == UINT32_MAX || b == UINT32_MAX ||
      arithmetic_of(&p->body->calls[a], GLOW_KIND_FLOAT) != GLOW_PAIR_MUL ||
      arithmetic_of(&p->body->calls[b], GLOW_KIND_FLOAT) != GLOW_PAIR_MUL)
    return false;
  const uint32_t *x = p->body->calls[a].ins, *y = p->body->calls[b].ins;
  become(p, k, how == GLOW_PAIR_ADD ? GLOW_BODY_ADD_PRODUCTS : GLOW_BODY_SUB_PRODUCTS,
         (uint32_t[]){x[0], x[1], y[0], y[1]}, 4);
  p->left_out[a] = p->left_out[b] = true;
  return true;
}

/* Makes one call of call k, an exponential of a float, and of the difference that it reads. */
static bool join_difference(Pairing *p, uint32_t k) {
  const GlowLaneCall *c = &p->body->calls[k];
  if (c->lane != glow_op_desc[GLOW_OP_EXP].lanes[GLOW_KIND_FLOAT])
    return false;
  const uint32_t first = call_of(p, c->ins[0], 1);
  if (first == UINT32_MAX ||
      arithmetic_of(&p->body->calls[first], GLOW_KIND_FLOAT) != GLOW_PAIR_SUB)
    return false;
  become(p, k, GLOW_BODY_EXP_DIFFERENCE, p->body->calls[first].ins, 2);
  p->left_out[first] = true;
  return true;
}

/* Whether a value is the constant 0 of i64. */
static bool is_zero(const GlowBody *body, uint32_t v) {
  const GlowLaneCall *c = v < body->nparams ? NULL : &body->calls[v - body->nparams];
  int64_t number;
  if (!c || c->lane || c->bytes < sizeof number)
    return false;
  memcpy(&number, c->members, sizeof number);
  return !number;
}

/* Makes one call of call k, if it chooses x + n or x - n where x, an i64, is negative, and x
 * where it is not. */
static bool join_wrap(Pairing *p, uint32_t k) {
  const GlowBody *body = p->body;
  const GlowLaneCall *c = &body->calls[k];
  if (c->lane != glow_op_desc[GLOW_OP_WHERE].lanes[GLOW_KIND_U64] || /* by size */
      body->kinds[body->nparams + k] != GLOW_KIND_I64)
    return false;
  const uint32_t less = call_of(p, c->ins[0], 1), far = call_of(p, c->ins[1], 1), x = c->ins[2];
  if (less == UINT32_MAX || far == UINT32_MAX)
    return false;
  const GlowLaneCall *test = &body->calls[less], *moved = &body->calls[far];
  const int how = arithmetic_of(moved, GLOW_KIND_I64);
  if (test->lane != glow_op_desc[GLOW_OP_LESS].lanes[GLOW_KIND_I64] || test->ins[0] != x ||
      !is_zero(body, test->ins[1]) || moved->ins[0] != x ||
      (how != GLOW_PAIR_ADD && how != GLOW_PAIR_SUB))
    return false;
  become(p, k, how == GLOW_PAIR_ADD ? GLOW_BODY_WRAP_ADD : GLOW_BODY_WRAP_SUB,
         (uint32_t[]){x, moved->ins[1]}, 2);
  p->left_out[less] = p->left_out[far] = true;
  return true;
}

/* Whether call k is the product of two values in double. */
static bool multiplies(const Pairing *p, uint32_t k, uint32_t a, uint32_t b) {
  const GlowLaneCall *c = &p->body->calls[k];
  return arithmetic_of(c, GLOW_KIND_DOUBLE) == GLOW_PAIR_MUL && c->ins[0] == a && c->ins[1] == b;
}

/* Makes one call of the conversions and products of which call k is the last, if they are the cube
 * of a float in double. */
static void join_cube(Pairing *p, uint32_t k) {
  const GlowLaneCall *c = &p->body->calls[k];
  if (!glow_lane_casts(c, GLOW_KIND_DOUBLE, GLOW_KIND_FLOAT))
    return;
  const uint32_t cube = call_of(p, c->ins[0], 1);
  const uint32_t square = cube == UINT32_MAX ? cube : call_of(p, p->body->calls[cube].ins[0], 1);
  const uint32_t wide =
      square == UINT32_MAX ? square : call_of(p, p->body->calls[square].ins[0], 3);
  if (wide == UINT32_MAX ||
      !glow_lane_casts(&p->body->calls[wide], GLOW_KIND_FLOAT, GLOW_KIND_DOUBLE))
    return;
  const uint32_t x = p->body->nparams + wide;
  if (!multiplies(p, square, x, x) || !multiplies(p, cube, p->body->nparams + square, x))
    return;
  become(p, k, GLOW_BODY_CUBE, p->body->calls[wide].ins, 1);
  p->left_out[wide] = p->left_out[square] = p->left_out[cube] = true;
}

/* The same of the product of an i32 as a float and a float, and of what quantizes it. */
static void join_scale(Pairing *p, uint32_t k) {
  const GlowLaneCall *end = &p->body->calls[k], *c = end;
  const bool i8 = glow_lane_quantizes(c, GLOW_KIND_I8), u8 = glow_lane_quantizes(c, GLOW_KIND_U8);
  uint32_t product = k;
  if (i8 || u8)
    product = call_of(p, c->ins[0], 1);
  if (product == UINT32_MAX)
    return;
  c = &p->body->calls[product];
  if (arithmetic_of(c, GLOW_KIND_FLOAT) != GLOW_PAIR_MUL)
    return;
  for (uint32_t i = 0; i < 2; i++) {
    const uint32_t cast = call_of(p, c->ins[i], 1);
    if (cast == UINT32_MAX ||
        !glow_lane_casts(&p->body->calls[cast], GLOW_KIND_I32, GLOW_KIND_FLOAT))
      continue;
    become(p, k, i8 ? GLOW_BODY_SCALE_I8 : u8 ? GLOW_BODY_SCALE_U8 : GLOW_BODY_SCALE,
           (uint32_t[]){p->body->calls[cast].ins[0], c->ins[1 - i]}, 2);
    p->calls[k].members = end->members, p->calls[k].bytes = end->bytes;
    p->left_out[cast] = true;
    p->left_out[product] |= product != k;
    return;
  }
}

/* ---- The body -------------------------------------------------------------------------------- */

/* How often values are read; results once more. */
static uint32_t *count_readers(GlowArena *arena, const GlowBody *body) {
  uint32_t *readers = GLOW_NEW_ARRAY(arena, uint32_t, body->nparams + body->ncalls);
  for (uint32_t k = 0; k < body->ncalls; k++)
    for (uint32_t i = 0; i < body->calls[k].nins; i++)
      if (body->calls[k].ins[i] != GLOW_BODY_ABSENT)
        readers[body->calls[k].ins[i]]++;
  for (uint32_t i = 0; i < body->nresults; i++)
    readers[body->results[i]]++;
  return readers;
}

GlowBody glow_pair_calls(GlowArena *arena, const GlowBody *body) {
  const uint32_t values = body->nparams + body->ncalls;
  GlowLaneCall *calls = GLOW_NEW_ARRAY(arena, GlowLaneCall, body->ncalls);
  bool *left_out = GLOW_NEW_ARRAY(arena, bool, body->ncalls);
  uint32_t *number = GLOW_NEW_ARRAY(arena, uint32_t, values);
  GlowKind *kinds = GLOW_NEW_ARRAY(arena, GlowKind, values);
  uint32_t *results = GLOW_NEW_ARRAY(arena, uint32_t, body->nresults);
  Pairing p = {arena, body, count_readers(arena, body), calls, left_out};
  GlowBody to = *body;
  for (uint32_t k = 0; k < body->ncalls; k++)
    calls[k] = body->calls[k];
  for (uint32_t k = 0; k < body->ncalls; k++) /* before parts of them are pairs */
    join_cube(&p, k);
  for (uint32_t k = body->ncalls; k-- > 0;) /* the longest first */
    if (!left_out[k])
      join_scale(&p, k);
  for (uint32_t k = 0; k < body->ncalls; k++)
    if (calls[k].lane && !left_out[k] && !join_products(&p, k) && !join_difference(&p, k) &&
        !join_wrap(&p, k))
      pair_call(&p, k);
  to.ncalls = 0;
  for (uint32_t v = 0; v < values; v++) {
    const uint32_t k = v - body->nparams;
    if (v >= body->nparams && left_out[k])
      continue;
    number[v] = v < body->nparams ? v : body->nparams + to.ncalls;
    kinds[number[v]] = body->kinds[v];
    if (v < body->nparams)
      continue;
    uint32_t *ins = GLOW_NEW_ARRAY(arena, uint32_t, calls[k].nins);
    for (uint32_t i = 0; i < calls[k].nins; i++)
      ins[i] = calls[k].ins[i] == GLOW_BODY_ABSENT ? GLOW_BODY_ABSENT : number[calls[k].ins[i]];
    calls[k].ins = ins;
    calls[to.ncalls++] = calls[k];
  }
  for (uint32_t i = 0; i < body->nresults; i++)
    results[i] = number[body->results[i]];
  to.calls = calls, to.kinds = kinds, to.results = results;
  return to;
}
