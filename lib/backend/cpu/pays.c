/* See pays.h. */
#include "backend/cpu/pays.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/cost.h"
#include "backend/cpu/cpu.h"
#include "ops/infer.h"

/* In multiply-adds of a core: moving a byte from a far cache, and from a near one; what library
 * code needs besides for each call; how often the body of a loop runs. */
#define BYTE 4.0
#define NEAR_BYTE 2.0
#define CALL 4000.0
#define ROUNDS 16.0
#define LEFT_OUT 0.001 /* of the time of the program */

typedef struct Piece {
  const GlowWork *work; /* NULL: nothing is made of it */
  uint64_t hash;
  uint32_t number;
  double seconds, gain; /* by compiled code; both in multiply-adds */
} Piece;

static uint64_t hash_of(const GlowWork *w) {
  uint64_t h = UINT64_C(14695981039346656037) ^ (uint64_t)(w->kernel - glow_kernels);
  for (uint32_t i = 0; i < w->nparams; i++)
    h = (h ^ (uint64_t)w->params[i]) * UINT64_C(0x9e3779b97f4a7c15), h ^= h >> 29;
  return (h ^ w->body.ncalls ^ (uint64_t)w->noperands << 32) * UINT64_C(1099511628211);
}

/* How many pieces a node has, which are neighbours. */
static double pieces_of_node(const GlowProgramData *p, int64_t i) {
  int64_t from = i, to = i, instruction = p->pieces[i]->source->instruction;
  while (from > 0 && p->pieces[from - 1]->source->instruction == instruction)
    from--;
  while (to + 1 < p->npieces && p->pieces[to + 1]->source->instruction == instruction)
    to++;
  return (double)(to - from + 1);
}

/* The time of a call by compiled code. A contraction of few multiply-adds for each element, such as
 * a depthwise convolution or the product with a vector, waits for its operands. */
static double time_of(const GlowNode *n) {
  double cost = (double)glow_instr_cost(n), bytes = 0;
  if (!glow_macs_hooks[n->op])
    return cost * BYTE;
  for (uint32_t i = 0; cost > 0 && i < n->noperands; i++)
    if (n->operands[i].value)
      bytes += (double)glow_type_bytes(n->operands[i].value->type);
  return fmax(cost, bytes * NEAR_BYTE);
}

static Piece describe(const GlowProgramData *p, int64_t i, double rounds) {
  const GlowWork *w = p->pieces[i];
  Piece piece = {.work = w, .number = (uint32_t)i};
  piece.seconds = rounds * time_of(glow_cpu_node(w->source)) / pieces_of_node(p, i);
  if (w->kind != GLOW_WORK_KERNEL)
    return piece;
  double share = w->kernel->share / 100.0;
  piece.hash = hash_of(w);
  piece.gain = piece.seconds * (1 - share) / share + rounds * CALL;
  return piece;
}

/* All pieces, and in *sum the time of the program. */
static Piece *describe_all(GlowArena *arena, const GlowProgramData *p, const GlowEntryCode *code,
                           double *sum) {
  Piece *all = GLOW_NEW_ARRAY(arena, Piece, p->npieces);
  double rounds = 1;
  *sum = 0;
  for (int64_t i = 0; i < p->nsteps; i++) {
    const GlowStep *s = &p->steps[i];
    if (s->kind == GLOW_STEP_LOOP)
      rounds *= ROUNDS;
    else if (s->kind == GLOW_STEP_AGAIN)
      rounds /= ROUNDS;
    else if (s->kind <= GLOW_STEP_HOST)
      all[s->piece] = describe(p, s->piece, rounds);
  }
  for (int64_t i = 0; i < p->npieces; i++) {
    *sum += all[i].seconds;
    if (all[i].hash && !code->library[i])
      all[i].gain = INFINITY;
  }
  return all;
}

static int by_hash(const void *a, const void *b) {
  const Piece *x = a, *y = b;
  if (x->hash != y->hash)
    return x->hash < y->hash ? -1 : 1;
  return x->number < y->number ? -1 : 1;
}

static int by_gain(const void *a, const void *b) {
  const GlowPieceGroup *x = a, *y = b;
  if (x->gain != y->gain)
    return x->gain > y->gain ? -1 : 1;
  return x->pieces[0] < y->pieces[0] ? -1 : 1;
}

GlowPieceGroups glow_pieces_that_pay(GlowArena *arena, const GlowProgramData *p,
                                     const GlowEntryCode *code) {
  double sum, tail = 0;
  Piece *all = describe_all(arena, p, code, &sum);
  GlowPieceGroup *groups = GLOW_NEW_ARRAY(arena, GlowPieceGroup, p->npieces);
  uint32_t *numbers = GLOW_NEW_ARRAY(arena, uint32_t, p->npieces), count = 0;
  if (p->npieces)
    qsort(all, (size_t)p->npieces, sizeof *all, by_hash);
  for (int64_t i = 0; i < p->npieces; i++) {
    const Piece *x = &all[i];
    numbers[i] = x->number;
    if (x->gain <= 0)
      continue;
    if (i == 0 || !count || x->hash != all[i - 1].hash || all[i - 1].gain <= 0)
      groups[count++] = (GlowPieceGroup){.pieces = &numbers[i]};
    groups[count - 1].count++;
    groups[count - 1].gain += x->gain;
  }
  if (count)
    qsort(groups, count, sizeof *groups, by_gain);
  while (count && (tail += groups[count - 1].gain) < LEFT_OUT * sum)
    count--;
  return (GlowPieceGroups){groups, count};
}
