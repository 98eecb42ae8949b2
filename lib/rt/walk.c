/* See walk.h. */
#include "rt/walk.h"

/* Where a space begins. */
static uintptr_t space_of(const GlowProgram *p, const GlowRunContext *run, int64_t space) {
  switch (space) {
  case GLOW_SPACE_ARENA:
    return (uintptr_t)run->arena;
  case GLOW_SPACE_ABSENT:
    return 0;
  case GLOW_SPACE_ZEROS:
    return (uintptr_t)p->zeros;
  case GLOW_SPACE_SCRATCH:
    return (uintptr_t)run->arena + (uintptr_t)p->scratch;
  case GLOW_SPACE_FAULT:
    return (uintptr_t)run->fault;
  case GLOW_SPACE_PARAMS:
    return (uintptr_t)p->params;
  default:
    return (uintptr_t)run->storage[space - GLOW_SPACE_STORAGE];
  }
}

static void *add_up(const GlowProgram *p, const GlowRunContext *run, GlowAddress a) {
  uintptr_t space = space_of(p, run, a & ((1 << GLOW_SPACE_BITS) - 1));
  return (void *)(space + (uintptr_t)(a >> GLOW_SPACE_BITS));
}

void glow_resolve(const GlowProgram *p, const GlowRunContext *run, void **resolved) {
  for (int64_t i = 0; i < p->naddresses; i++)
    resolved[i] = add_up(p, run, p->addresses[i]);
}

static void *address_of(const GlowProgram *p, const GlowRunContext *run, int32_t i) {
  return run->resolved ? run->resolved[i] : add_up(p, run, p->addresses[i]);
}

/* The addresses of a step. */
static void *const *operands_of(const GlowProgram *p, const GlowRunContext *run,
                                const GlowStep *s) {
  if (run->resolved)
    return &run->resolved[s->address];
  for (int32_t i = 0; i < s->addresses; i++)
    run->pointers[i] = add_up(p, run, p->addresses[s->address + i]);
  return run->pointers;
}

/* Calls a piece for all units, or lets the threads share them. */
static void call(const GlowProgram *p, const GlowRunContext *run, const GlowStep *s) {
  GlowPieceFn *piece = p->pieces[s->piece];
  void *const *operands = operands_of(p, run, s);
  if (s->shards > 1 && run->parallel)
    run->parallel->run(run->parallel, piece, operands, s->units, s->shards);
  else
    piece(operands, 0, s->units, 0);
}

static int holds(const GlowProgram *p, const GlowRunContext *run, int32_t address) {
  const uint8_t *flag = address_of(p, run, address);
  return !flag || *flag;
}

/* A loop's round, then its limit. */
static void begin_loop(const GlowProgram *p, const GlowRunContext *run, const GlowStep *s) {
  const int64_t *limit = address_of(p, run, s->address);
  run->rounds[2 * s->piece] = 0;
  run->rounds[2 * s->piece + 1] = limit ? *limit : INT64_MAX;
}

/* Whether there is one more round, which the loop's body then sees. */
static int begin_round(const GlowProgram *p, const GlowRunContext *run, const GlowStep *s) {
  const int64_t *round = &run->rounds[2 * s->piece];
  if (round[0] >= round[1] || !holds(p, run, s->address))
    return 0;
  *(int64_t *)address_of(p, run, s->address + 1) = *round;
  return 1;
}

int64_t glow_walk(const GlowProgram *p, const GlowRunContext *run) {
  GlowFault *fault = run->fault;
  *fault = (GlowFault){GLOW_FAULT_NONE, -1, 0};
  for (int64_t i = 0; i < p->nsteps;) {
    const GlowStep *s = &p->steps[i++];
    switch ((GlowStepKind)s->kind) {
    case GLOW_STEP_PIECE:
      call(p, run, s);
      break;
    case GLOW_STEP_HOST:
      run->host(fault, s->instruction);
      break;
    case GLOW_STEP_IF:
      i = holds(p, run, s->address) ? i : s->next;
      break;
    case GLOW_STEP_JUMP:
      i = s->next;
      break;
    case GLOW_STEP_LOOP:
      begin_loop(p, run, s);
      break;
    case GLOW_STEP_TEST:
      i = begin_round(p, run, s) ? i : s->next;
      break;
    case GLOW_STEP_AGAIN:
      run->rounds[2 * s->piece]++;
      i = s->next;
      break;
    }
    if (run->hook && !fault->error && s->kind <= GLOW_STEP_HOST)
      run->hook(fault, s->piece);
    else if (run->hook && s->kind == GLOW_STEP_AGAIN)
      run->hook(fault, -1);
    if (fault->error) {
      fault->instruction = s->instruction;
      return fault->error;
    }
  }
  return GLOW_FAULT_NONE;
}
