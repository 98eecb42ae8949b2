/* What a part costs is mostly LLVM's work on inner loops, so parts are made of about as many tiles,
 * largest pieces first. Contexts have no locks, LLVM's neither, so a thread shares nothing with
 * others but the list of pieces, which nobody changes. */
#include "codegen/parts.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "codegen/emit.h"
#include "support/threads.h"

/* ---- Parts ----------------------------------------------------------------------------------- */

typedef struct Piece {
  uint32_t number, weight;
} Piece;

/* How much work a piece is for LLVM, roughly: a tile, or a kernel without tiles, is 4 and a call in
 * its body 1. */
static uint32_t weigh(const GlowWork *w) {
  uint32_t tiles = 0;
  for (uint32_t i = 0; i < w->tiles.count; i++)
    tiles += w->tiles.all[i] != NULL;
  tiles = tiles ? tiles : 1;
  return tiles * (4 + w->body.ncalls);
}

static int by_weight(const void *x, const void *y) {
  const Piece *a = x, *b = y;
  if (a->weight != b->weight)
    return a->weight < b->weight ? 1 : -1;
  return a->number > b->number ? 1 : -1;
}

void glow_parts_divide(GlowContext *ctx, GlowArena *arena, const GlowProgramData *program,
                       const GlowCodegenOptions *o, GlowParts *parts) {
  uint32_t n = (uint32_t)program->npieces, npieces = 0;
  uint32_t *first = GLOW_NEW_ARRAY(arena, uint32_t, n), *part = GLOW_NEW_ARRAY(arena, uint32_t, n);
  Piece *pieces = GLOW_NEW_ARRAY(arena, Piece, n);
  uint64_t load[GLOW_MOST_PARTS] = {0};
  glow_emit_firsts(ctx, arena, program, o->remark, first);
  for (uint32_t i = 0; i < n; i++)
    if (first[i] == i && glow_work_has_code(program->pieces[i]))
      pieces[npieces++] = (Piece){i, weigh(program->pieces[i])};
  qsort(pieces, npieces, sizeof *pieces, by_weight);
  /* Lines are looked up in one object, so there is one part. */
  uint32_t most = npieces / 2 < GLOW_MOST_PARTS ? npieces / 2 : GLOW_MOST_PARTS;
  *parts = (GlowParts){.count = o->debug || !most ? 1 : most, .part = part, .first = first};
  for (uint32_t k = 0; k < npieces; k++) {
    uint32_t least = 0;
    for (uint32_t p = 1; p < parts->count; p++)
      least = load[p] < load[least] ? p : least;
    part[pieces[k].number] = least;
    load[least] += pieces[k].weight;
  }
  for (uint32_t i = 0; i < n; i++)
    part[i] = part[first[i]];
}

/* ---- Threads --------------------------------------------------------------------------------- */

typedef struct Run {
  const GlowContext *caller;
  GlowPartFn *make;
  void *arg;
  uint32_t count;
  GlowStatus status[GLOW_MOST_PARTS];
  bool failed[GLOW_MOST_PARTS];
  atomic_uint next;   /* the part that nobody has begun */
  atomic_bool worked; /* some thread had a context, and made parts until there were no more */
} Run;

typedef struct One {
  Run *run;
  uint32_t part;
} One;

static void silent(void *user, const GlowDiagnostic *d) { (void)user, (void)d; }

static void make_one(GlowContext *ctx, void *arg) {
  const One *one = arg;
  one->run->failed[one->part] = !one->run->make(ctx, one->part, one->run->arg);
}

/* Begins parts until there are no more. A part that fails lets no other begin; those below it have
 * begun by then, and are completed. */
static void make_parts(Run *r, GlowContext *ctx) {
  One one = {.run = r};
  while ((one.part = atomic_fetch_add(&r->next, 1)) < r->count) {
    GlowStatus status = r->status[one.part] = glow_protect(ctx, make_one, &one);
    if (status != GLOW_OK || r->failed[one.part])
      atomic_store(&r->next, r->count);
  }
}

static void work(void *arg) {
  Run *r = arg;
  GlowContext *ctx = glow_context_create();
  if (!ctx)
    return; /* the others make all parts */
  glow_context_set_diagnostic_fn(ctx, silent, NULL);
  ctx->deadline = r->caller->deadline;
  ctx->time_limit = r->caller->time_limit;
  make_parts(r, ctx);
  atomic_store(&r->worked, true);
  glow_context_destroy(ctx);
}

GlowStatus glow_parts_run(GlowContext *ctx, uint32_t count, uint32_t threads, GlowPartFn *make,
                          void *arg, uint32_t *failed) {
  Run r = {.caller = ctx, .make = make, .arg = arg, .count = count};
  uint32_t most = threads ? threads : glow_processors();
  glow_share(most < count ? most : count, work, &r);
  for (*failed = 0; *failed < count && !r.failed[*failed]; ++*failed)
    if (r.status[*failed] != GLOW_OK)
      return r.status[*failed];
  return atomic_load(&r.worked) ? GLOW_OK : GLOW_NO_MEMORY;
}
