/* See alike.h. */
#include "backend/cpu/alike.h"

#include <stdlib.h>
#include <string.h>

#include "backend/cpu/lanes.h"
#include "backend/cpu/select.h"
#include "support/checksum.h"

enum { MOST_OPERANDS = 32 }; /* of work that reads numbers */

/* Work, a checksum of all that its code depends on but for numbers, and one of the numbers. */
typedef struct Body {
  GlowWork *work;
  uint64_t sum, numbers;
  uint32_t order;
} Body;

typedef struct Bodies {
  GlowArena *arena;
  GLOW_VEC(Body) all;
} Bodies;

/* The numbers of call k. */
static GlowLaneNumbers numbers_of(const GlowBody *b, uint32_t k) {
  const GlowLaneCall *c = &b->calls[k];
  GlowKind to = b->kinds[b->nparams + k];
  bool reads = c->nins && c->ins[0] != GLOW_BODY_ABSENT;
  return glow_lane_numbers(c, reads ? b->kinds[c->ins[0]] : to, to);
}

/* ---- Which are alike ------------------------------------------------------------------------- */

static Body describe(GlowWork *w) {
  const GlowBody *b = &w->body;
  GlowChecksum sum = glow_checksum_begin(1), numbers = glow_checksum_begin(2);
  uint32_t counts[] = {w->form, w->noperands, w->nouts, b->nparams, b->ncalls, b->nresults};
  glow_checksum_add(&sum, &w->kernel, sizeof w->kernel);
  glow_checksum_add(&sum, counts, sizeof counts);
  glow_checksum_add(&sum, w->params, w->nparams * sizeof *w->params);
  for (uint32_t i = 0; i < w->noperands; i++) {
    glow_checksum_add(&sum, w->operands[i].stride, sizeof w->operands[i].stride);
    glow_checksum_add(&sum, &w->operands[i].kind, sizeof w->operands[i].kind);
  }
  glow_checksum_add(&sum, b->kinds, (b->nparams + b->ncalls) * sizeof *b->kinds);
  glow_checksum_add(&sum, b->results, b->nresults * sizeof *b->results);
  for (uint32_t k = 0; k < b->ncalls; k++) {
    const GlowLaneCall *c = &b->calls[k];
    const GlowLaneNumbers n = numbers_of(b, k);
    glow_checksum_add(&sum, &c->lane, sizeof c->lane);
    glow_checksum_add(&sum, &n.count, sizeof n.count);
    glow_checksum_add(&sum, c->ins, c->nins * sizeof *c->ins);
    if (n.count)
      glow_checksum_add(&numbers, n.values, sizeof n.values);
    else
      glow_checksum_add(&sum, c->members, c->bytes);
  }
  return (Body){w, glow_checksum_end(&sum), glow_checksum_end(&numbers), 0};
}

/* Whether the work is a loop, or its epilogue has scales. An epilogue of constants alone may be
 * what tiles of library code do themselves. */
static bool may_read_numbers(const GlowWork *w) {
  bool scales = w->form == GLOW_BODY_STEPS;
  for (uint32_t k = 0; k < w->body.ncalls; k++)
    scales = scales || numbers_of(&w->body, k).lane;
  return w->kind == GLOW_WORK_KERNEL && w->form != GLOW_BODY_NONE && !w->nnumbers && scales;
}

static void collect(Bodies *l, GlowWork *work, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    GlowWork *w = &work[i];
    collect(l, w->then.data, w->then.count);
    collect(l, w->otherwise.data, w->otherwise.count);
    if (!may_read_numbers(w))
      continue;
    Body one = describe(w);
    one.order = l->all.count;
    glow_vec_push(l->arena, &l->all, one);
  }
}

static int by_sum(const void *a, const void *b) {
  const Body *x = a, *y = b;
  if (x->sum != y->sum)
    return x->sum < y->sum ? -1 : 1;
  return x->order < y->order ? -1 : x->order > y->order;
}

/* ---- Numbers as operands --------------------------------------------------------------------- */

/* A body that is written anew: its parameters, those of the numbers, then its calls. */
typedef struct Rewriting {
  GlowArena *arena;
  GLOW_VEC(GlowKind) kinds;
  GLOW_VEC(GlowLaneCall) calls;
  GLOW_VEC(GlowOperand) operands;
  GLOW_VEC(int64_t) numbers;
  uint32_t *now; /* by old number of a value: the new one */
} Rewriting;

static uint32_t renumbered(const Rewriting *r, uint32_t v) {
  return v == GLOW_BODY_ABSENT ? v : r->now[v];
}

/* An operand that is one number for all elements. */
static void add_number(Rewriting *r, GlowKind kind, uint64_t value) {
  GlowOperand o = {.place = glow_place_number(r->numbers.count), .kind = kind};
  int64_t stored;
  memcpy(&stored, &value, sizeof stored);
  glow_vec_push(r->arena, &r->numbers, stored);
  glow_vec_push(r->arena, &r->operands, o);
  glow_vec_push(r->arena, &r->kinds, kind);
}

/* Appends call c, which reads its own operands and then the `count` values from `number` on. */
static void add_call(Rewriting *r, const GlowLaneCall *c, uint32_t lane, uint32_t number,
                     uint32_t count, GlowKind kind) {
  GlowLaneCall call = *c;
  uint32_t *ins = GLOW_NEW_ARRAY(r->arena, uint32_t, c->nins + count);
  for (uint32_t i = 0; i < c->nins; i++)
    ins[i] = renumbered(r, c->ins[i]);
  for (uint32_t i = 0; i < count; i++)
    ins[c->nins + i] = number + i;
  call.ins = ins;
  call.nins += count;
  if (count) {
    call.lane = lane;
    call.turns = NULL;
    call.members = NULL;
    call.bytes = 0;
  }
  glow_vec_push(r->arena, &r->calls, call);
  glow_vec_push(r->arena, &r->kinds, kind);
}

static void read_numbers(GlowArena *arena, GlowWork *w) {
  const GlowBody *b = &w->body;
  Rewriting r = {.arena = arena};
  r.now = GLOW_NEW_ARRAY(arena, uint32_t, b->nparams + b->ncalls);
  for (uint32_t i = 0; i < w->noperands; i++)
    glow_vec_push(arena, &r.operands, w->operands[i]);
  for (uint32_t i = 0; i < b->nparams; i++) {
    r.now[i] = i;
    glow_vec_push(arena, &r.kinds, b->kinds[i]);
  }
  for (uint32_t k = 0; k < b->ncalls; k++) {
    const GlowLaneNumbers n = numbers_of(b, k);
    r.now[b->nparams + k] = r.kinds.count; /* the first number, until there are calls */
    for (uint32_t i = 0; i < n.count; i++)
      add_number(&r, n.kinds[i], n.values[i]);
  }
  uint32_t nparams = r.kinds.count;
  for (uint32_t k = 0, number; k < b->ncalls; k++) {
    const GlowLaneNumbers n = numbers_of(b, k);
    number = r.now[b->nparams + k];
    if (n.count && !n.lane)
      continue; /* the number is the value */
    r.now[b->nparams + k] = r.kinds.count;
    add_call(&r, &b->calls[k], n.lane, number, n.count, b->kinds[b->nparams + k]);
  }
  uint32_t *results = GLOW_NEW_ARRAY(arena, uint32_t, b->nresults);
  for (uint32_t i = 0; i < b->nresults; i++)
    results[i] = r.now[b->results[i]];
  w->body.nparams = nparams;
  w->body.ncalls = r.calls.count;
  w->body.kinds = r.kinds.data;
  w->body.calls = r.calls.data;
  w->body.results = results;
  w->operands = r.operands.data;
  w->noperands = r.operands.count;
  w->numbers = r.numbers.data;
  w->nnumbers = r.numbers.count;
}

/* How many operands its numbers would be. */
static uint32_t count_numbers(const GlowWork *w) {
  uint32_t count = 0;
  for (uint32_t k = 0; k < w->body.ncalls; k++)
    count += numbers_of(&w->body, k).count;
  return count;
}

void glow_share_numbers(GlowArena *arena, GlowWork *work, uint32_t count) {
  Bodies l = {.arena = arena};
  collect(&l, work, count);
  if (l.all.count)
    qsort(l.all.data, l.all.count, sizeof *l.all.data, by_sum);
  for (uint32_t i = 0, end; i < l.all.count; i = end) {
    const Body *first = &l.all.data[i];
    bool differ = false;
    for (end = i; end < l.all.count && l.all.data[end].sum == first->sum; end++)
      differ = differ || l.all.data[end].numbers != first->numbers;
    if (!differ || first->work->noperands + count_numbers(first->work) > MOST_OPERANDS)
      continue;
    for (uint32_t k = i; k < end; k++)
      read_numbers(arena, l.all.data[k].work);
  }
}
