/* See walk.h. */
#include "rt/walk.h"

static void find_spaces(const GlowProgram *p, const GlowRunContext *run) {
  void **spaces = run->spaces;
  spaces[GLOW_SPACE_ARENA] = run->arena;
  spaces[GLOW_SPACE_ABSENT] = (void *)0;
  spaces[GLOW_SPACE_ZEROS] = (void *)(uintptr_t)p->zeros;
  spaces[GLOW_SPACE_SCRATCH] = (void *)((uintptr_t)run->arena + (uintptr_t)p->scratch);
  spaces[GLOW_SPACE_FAULT] = run->fault;
  for (int64_t i = 0; i < p->storage; i++)
    spaces[GLOW_SPACE_STORAGE + i] = run->storage[i];
}

static void *address_of(const GlowRunContext *run, GlowAddress a) {
  uintptr_t space = (uintptr_t)run->spaces[a & ((1 << GLOW_SPACE_BITS) - 1)];
  return (void *)(space + (uintptr_t)(a >> GLOW_SPACE_BITS));
}

/* Calls a piece for all units, or lets the threads share them. */
static void call(const GlowProgram *p, const GlowRunContext *run, const GlowStep *s) {
  const GlowAddress *a = &p->addresses[s->address];
  GlowPieceFn *piece = p->pieces[s->piece];
  for (int32_t i = 0; i < s->addresses; i++)
    run->pointers[i] = address_of(run, a[i]);
  if (s->shards > 1 && run->parallel)
    run->parallel->run(run->parallel, piece, run->pointers, s->units, s->shards);
  else
    piece(run->pointers, 0, s->units, 0);
}

static int holds(const GlowProgram *p, const GlowRunContext *run, int32_t address) {
  const uint8_t *flag = address_of(run, p->addresses[address]);
  return !flag || *flag;
}

/* A loop's round, then its limit. */
static void begin_loop(const GlowProgram *p, const GlowRunContext *run, const GlowStep *s) {
  const int64_t *limit = address_of(run, p->addresses[s->address]);
  run->rounds[2 * s->piece] = 0;
  run->rounds[2 * s->piece + 1] = limit ? *limit : INT64_MAX;
}

/* Whether there is one more round, which the loop's body then sees. */
static int begin_round(const GlowProgram *p, const GlowRunContext *run, const GlowStep *s) {
  const int64_t *round = &run->rounds[2 * s->piece];
  if (round[0] >= round[1] || !holds(p, run, s->address))
    return 0;
  *(int64_t *)address_of(run, p->addresses[s->address + 1]) = *round;
  return 1;
}

int64_t glow_walk(const GlowProgram *p, const GlowRunContext *run) {
  GlowFault *fault = run->fault;
  *fault = (GlowFault){GLOW_FAULT_NONE, -1, 0};
  find_spaces(p, run);
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
