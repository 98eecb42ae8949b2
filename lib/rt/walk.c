/* See walk.h. */
#include "rt/walk.h"

/* A bundle has no room for resolved addresses, no hook, and no process that runs steps for it. */
#ifdef GLOW_BITCODE
enum { IN_BUNDLE = 1 };
#else
enum { IN_BUNDLE = 0 };
#endif

static void **resolved_of(const GlowRunContext *run) { return IN_BUNDLE ? 0 : run->resolved; }

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
  void **resolved = resolved_of(run);
  return resolved ? resolved[i] : add_up(p, run, p->addresses[i]);
}

/* The addresses of step s. They end where those of the step behind it, number `next`, begin. */
static void *const *operands_of(const GlowProgram *p, const GlowRunContext *run, const GlowStep *s,
                                int64_t next) {
  if (resolved_of(run))
    return &resolved_of(run)[s->address];
  int64_t end = next < p->nsteps ? p->steps[next].address : p->naddresses;
  for (int64_t i = s->address; i < end; i++)
    run->pointers[i - s->address] = add_up(p, run, p->addresses[i]);
  return run->pointers;
}

/* The code of a piece, which another thread may replace at any time. */
static GlowPieceFn *piece_of(const GlowProgram *p, const GlowStep *s) {
  return IN_BUNDLE ? p->pieces[s->piece] : __atomic_load_n(&p->pieces[s->piece], __ATOMIC_ACQUIRE);
}

/* Calls a piece for all units, or lets the threads share them. */
static void call(const GlowProgram *p, const GlowRunContext *run, const GlowStep *s, int64_t next) {
  GlowPieceFn *piece = piece_of(p, s);
  void *const *operands = operands_of(p, run, s, next);
  if (s->shards > 1 && run->parallel)
    run->parallel->run(run->parallel, piece, operands, s->number, s->shards);
  else
    piece(operands, 0, s->number, 0);
}

/* Calls the hook after a piece, and after a round of a loop. */
static void tell(const GlowRunContext *run, const GlowStep *s) {
  if (!run->fault->error && s->kind <= GLOW_STEP_HOST)
    run->hook(run->fault, s->piece);
  else if (s->kind == GLOW_STEP_AGAIN)
    run->hook(run->fault, -1);
}

/* The pieces from step `first` on take turns at bands of their units. The step behind them. */
static int64_t call_bands(const GlowProgram *p, const GlowRunContext *run, const GlowStep *bands,
                          int64_t first) {
  const int64_t end = first + bands->shards;
  for (int64_t b = 0; b < bands->number; b++)
    for (int64_t i = first; i < end; i++) {
      const GlowStep *s = &p->steps[i];
      const int64_t units = s->number / bands->number;
      piece_of(p, s)(operands_of(p, run, s, i + 1), b * units, (b + 1) * units, 0);
      if (!IN_BUNDLE && run->hook)
        tell(run, s);
      if (run->fault->error)
        return end;
    }
  return end;
}

static int holds(const GlowProgram *p, const GlowRunContext *run, int32_t address) {
  const uint8_t *flag = address_of(p, run, address);
  return !flag || *flag;
}

/* Sets the round of a loop to 0, and its limit. */
static void begin_loop(const GlowProgram *p, const GlowRunContext *run, const GlowStep *s) {
  const int64_t *limit = address_of(p, run, s->address);
  run->rounds[2 * s->piece] = 0;
  run->rounds[2 * s->piece + 1] = limit ? *limit : INT64_MAX;
}

/* Whether there is one more round; if so, stores its number for the loop's body. */
static int begin_round(const GlowProgram *p, const GlowRunContext *run, const GlowStep *s) {
  const int64_t *round = &run->rounds[2 * s->piece];
  if (round[0] >= round[1] || !holds(p, run, s->address))
    return 0;
  *(int64_t *)address_of(p, run, s->address + 1) = *round;
  return 1;
}

/* The number of the step to go on at after s, a step of control. `next`: the step behind s. */
static int64_t go_on(const GlowProgram *p, const GlowRunContext *run, const GlowStep *s,
                     int64_t next) {
  switch ((GlowStepKind)s->kind) {
  case GLOW_STEP_IF:
    return holds(p, run, s->address) ? next : s->number;
  case GLOW_STEP_LOOP:
    begin_loop(p, run, s);
    return next;
  case GLOW_STEP_TEST:
    return begin_round(p, run, s) ? next : s->number;
  case GLOW_STEP_AGAIN:
    run->rounds[2 * s->piece]++;
    return s->number;
  case GLOW_STEP_BANDS: /* threads share whole pieces */
    if ((run->parallel && run->parallel->workers > 1) || run->apart)
      return next;
    return call_bands(p, run, s, next);
  default:
    return s->number;
  }
}

int64_t glow_walk(const GlowProgram *p, const GlowRunContext *run) {
  GlowFault *fault = run->fault;
  *fault = (GlowFault){GLOW_FAULT_NONE, -1, 0};
  for (int64_t i = 0; i < p->nsteps;) {
    const GlowStep *s = &p->steps[i++];
    if (s->kind == GLOW_STEP_PIECE)
      call(p, run, s, i);
    else if (!IN_BUNDLE && s->kind == GLOW_STEP_HOST)
      run->host(fault, s->instruction);
    else
      i = go_on(p, run, s, i);
    if (!IN_BUNDLE && run->hook)
      tell(run, s);
    if (fault->error) {
      fault->instruction = s->instruction;
      return fault->error;
    }
  }
  return GLOW_FAULT_NONE;
}
