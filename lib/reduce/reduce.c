/* The search: rounds of strategies, each by chunks that are halved.
 *
 * A strategy starts with one chunk of all that it offers. A chunk whose candidate is interesting is
 * left out for good; the others are halved, until they are single things. Candidates that may be
 * needed next are tested ahead, on the assumption that those before them are not interesting; an
 * interesting one cancels those behind it. So the verdicts that count are those of one test at a
 * time.
 *
 * Rounds go over all strategies with a few large chunks first, and halve further only when those
 * find nothing more: another strategy may leave out at once a part that this one would take apart
 * node by node. Texts that were not interesting are remembered, so that nothing is tested twice. */
#include "reduce/reduce.h"

#include "reduce/candidate.h"

/* How often chunks are halved in the first rounds, and how much more often whenever a round finds
 * nothing. */
#define DEPTH_STEP 3

typedef struct Chunk {
  uint32_t from, to;
} Chunk;
typedef GLOW_VEC(Chunk) ChunkVec;

/* A candidate on its way; `running`: in the test's slot of the same number. */
typedef struct Flight {
  GlowDraft draft;
  bool running;
} Flight;

typedef struct Reducer {
  GlowContext *ctx;
  const GlowReduceTest *test;
  GlowReduceOptions options;
  GlowModule *best, **out; /* *out is always best, so that a throw leaves a whole module */
  uint64_t best_hash;
  GlowMap *known;   /* hashes of texts that are not interesting */
  GlowArena *arena; /* of known */
  Flight *flights;  /* one for each slot */
  uint64_t tests;
  uint32_t depth; /* how often chunks are halved */
  bool cut_short; /* chunks were left that could have been halved further */
  bool stopped;
} Reducer;

/* One strategy at work. */
typedef struct Sweep {
  Reducer *r;
  const GlowStrategy *strategy;
  GlowModule *base; /* what taken[] refers to; best is base without what is taken */
  bool *taken;      /* accepted so far */
  bool *trial;      /* for one draft */
  uint32_t count;
  ChunkVec chunks;
  bool any; /* a candidate was accepted */
} Sweep;

/* ---- Candidates ------------------------------------------------------------------------------ */

static const void *hash_key(uint64_t hash) { return (const void *)(uintptr_t)(hash | 1); }

static void launch(Sweep *w, uint32_t index) {
  Reducer *r = w->r;
  uint32_t slot = index % r->test->slots;
  Flight *f = &r->flights[slot];
  Chunk c = w->chunks.data[index];
  memcpy(w->trial, w->taken, w->count);
  memset(w->trial + c.from, true, c.to - c.from);
  f->draft = glow_draft_make(w->base, w->strategy, w->trial);
  f->running = false;
  if (!f->draft.module || f->draft.hash == r->best_hash ||
      glow_map_get(r->known, hash_key(f->draft.hash)))
    return;
  f->running = r->test->start(r->test->user, slot, &f->draft.candidate);
  r->stopped |= !f->running;
}

static void cancel(Reducer *r, uint32_t slot) {
  Flight *f = &r->flights[slot];
  if (f->running)
    r->test->cancel(r->test->user, slot);
  f->running = false;
  glow_draft_release(&f->draft, false);
}

static void cancel_all(Reducer *r) {
  for (uint32_t i = 0; i < r->test->slots; i++)
    cancel(r, i);
}

/* Waits for the verdict; the draft stays. */
static bool is_interesting(Reducer *r, uint32_t slot) {
  Flight *f = &r->flights[slot];
  if (!f->running)
    return false;
  GlowVerdict verdict = r->test->wait(r->test->user, slot);
  f->running = false;
  r->tests++;
  r->stopped |= verdict == GLOW_NO_VERDICT;
  if (verdict == GLOW_INTERESTING && glow_draft_reads_back(r->best, &f->draft))
    return true;
  glow_map_set(r->known, hash_key(f->draft.hash), r);
  return false;
}

/* ---- Strategies ------------------------------------------------------------------------------ */

static void report(Sweep *w, Chunk c, size_t bytes) {
  Reducer *r = w->r;
  if (!r->options.progress)
    return;
  GlowReduceStep step = {.strategy = w->strategy->name,
                         .chunk = c.to - c.from,
                         .size = glow_module_size(r->best),
                         .tests = r->tests,
                         .module = r->best};
  step.size.bytes = bytes;
  r->options.progress(r->options.user, &step);
}

static void accept(Sweep *w, uint32_t index) {
  Reducer *r = w->r;
  Flight *f = &r->flights[index % r->test->slots];
  Chunk *c = &w->chunks.data[index];
  memset(w->taken + c->from, true, c->to - c->from);
  if (r->best != w->base)
    glow_module_destroy(r->best);
  *r->out = r->best = f->draft.module;
  r->best_hash = f->draft.hash;
  w->any = true;
  size_t bytes = f->draft.candidate.size;
  glow_draft_release(&f->draft, true);
  report(w, *c, bytes);
  c->to = c->from; /* nothing to halve */
}

static void try_chunks(Sweep *w) {
  Reducer *r = w->r;
  uint32_t launched = 0;
  for (uint32_t head = 0; head < w->chunks.count && !r->stopped; head++) {
    while (launched < w->chunks.count && launched - head < r->test->slots && !r->stopped)
      launch(w, launched++);
    if (r->stopped)
      break;
    uint32_t slot = head % r->test->slots;
    if (!is_interesting(r, slot)) {
      cancel(r, slot);
      continue;
    }
    accept(w, head);
    cancel_all(r);
    launched = head + 1;
  }
  cancel_all(r);
}

static void halve(Sweep *w, GlowArena *arena) {
  ChunkVec halves = {0};
  for (uint32_t i = 0; i < w->chunks.count; i++) {
    Chunk c = w->chunks.data[i];
    uint32_t middle = c.from + (c.to - c.from) / 2;
    if (c.to - c.from < 2)
      continue;
    glow_vec_push(arena, &halves, ((Chunk){c.from, middle}));
    glow_vec_push(arena, &halves, ((Chunk){middle, c.to}));
  }
  w->chunks = halves;
}

static bool reduce_by(Reducer *r, const GlowStrategy *s) {
  Sweep w = {.r = r, .strategy = s, .base = r->best};
  w.count = glow_draft_count(w.base, s);
  GlowArena *arena = glow_arena_create(r->ctx);
  w.taken = GLOW_NEW_ARRAY(arena, bool, w.count);
  w.trial = GLOW_NEW_ARRAY(arena, bool, w.count);
  if (w.count)
    glow_vec_push(arena, &w.chunks, ((Chunk){0, w.count}));
  for (uint32_t depth = 0; w.chunks.count && depth <= r->depth && !r->stopped; depth++) {
    try_chunks(&w);
    halve(&w, arena);
  }
  r->cut_short |= w.chunks.count > 0;
  if (r->best != w.base)
    glow_module_destroy(w.base);
  glow_arena_destroy(arena);
  return w.any;
}

/* ---- Rounds ---------------------------------------------------------------------------------- */

static bool is_chosen(const Reducer *r, const GlowStrategy *s) {
  size_t length = strlen(s->name);
  for (const char *p = r->options.strategies; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
    if (strncmp(p, s->name, length) == 0 && (p[length] == ',' || !p[length]))
      return true;
  return !r->options.strategies;
}

/* Runs the strategies that come after every other one (`after`), until they find nothing more. */
static void tidy_up(Reducer *r) {
  for (bool any = true; any && !r->stopped;) {
    any = false;
    for (uint32_t i = 0; i < glow_nstrategies; i++)
      if (glow_strategies[i].after && is_chosen(r, &glow_strategies[i]))
        any |= reduce_by(r, &glow_strategies[i]);
  }
}

/* One round; whether anything was left out. */
static bool run_round(Reducer *r) {
  bool any = false;
  r->cut_short = false;
  for (uint32_t i = 0; i < glow_nstrategies && !r->stopped; i++) {
    if (!is_chosen(r, &glow_strategies[i]) || !reduce_by(r, &glow_strategies[i]))
      continue;
    any = true;
    tidy_up(r);
  }
  return any;
}

static void run_rounds(Reducer *r) {
  r->depth = DEPTH_STEP;
  for (uint32_t round = 0; !r->stopped; round++) {
    if (r->options.rounds && round == r->options.rounds)
      return;
    if (run_round(r))
      continue;
    if (!r->cut_short)
      return;
    r->depth += DEPTH_STEP;
  }
}

/* Whether the module as it is interests the test. */
static GlowVerdict try_whole(Reducer *r) {
  GlowDraft whole = glow_draft_make(r->best, NULL, NULL);
  GlowVerdict verdict = GLOW_NO_VERDICT;
  if (r->test->start(r->test->user, 0, &whole.candidate))
    verdict = r->test->wait(r->test->user, 0);
  r->tests++;
  r->best_hash = whole.hash;
  glow_draft_release(&whole, false);
  return verdict;
}

GlowReduceEnd glow_reduce_tests(GlowModule **m, const GlowReduceTest *test,
                                const GlowReduceOptions *options) {
  GlowContext *ctx = (*m)->ctx;
  GlowArena *arena = glow_arena_create(ctx);
  Reducer r = {.ctx = ctx, .test = test, .best = *m, .out = m, .arena = arena};
  r.known = glow_map_create(arena);
  r.flights = GLOW_NEW_ARRAY(arena, Flight, test->slots);
  if (options)
    r.options = *options;
  GlowVerdict whole = try_whole(&r);
  if (whole == GLOW_INTERESTING)
    run_rounds(&r);
  glow_arena_destroy(arena);
  if (whole == GLOW_NOT_INTERESTING)
    return GLOW_REDUCE_NOT_INTERESTING;
  return whole == GLOW_NO_VERDICT || r.stopped ? GLOW_REDUCE_STOPPED : GLOW_REDUCED;
}

/* ---- One test at a time ---------------------------------------------------------------------- */

typedef struct Call {
  GlowInterestingFn fn;
  void *user;
  GlowVerdict verdict;
} Call;

static bool start_call(void *user, uint32_t slot, const GlowCandidate *candidate) {
  Call *c = user;
  (void)slot;
  c->verdict = c->fn(c->user, candidate);
  return true;
}

static GlowVerdict wait_call(void *user, uint32_t slot) {
  (void)slot;
  return ((Call *)user)->verdict;
}

static void cancel_call(void *user, uint32_t slot) {
  (void)user;
  (void)slot;
}

GlowReduceEnd glow_reduce(GlowModule **m, GlowInterestingFn fn, void *user,
                          const GlowReduceOptions *options) {
  Call call = {fn, user, GLOW_NO_VERDICT};
  GlowReduceTest test = {1, start_call, wait_call, cancel_call, &call};
  return glow_reduce_tests(m, &test, options);
}

static uint32_t count_nodes(const GlowBlock *b) {
  uint32_t count = 0;
  for (GlowNode *n = b->first; n; n = glow_next_in_walk(n))
    count += !GLOW_HAS(glow_node_desc(n), TERMINATOR);
  return count;
}

GlowModuleSize glow_module_size(const GlowModule *m) {
  GlowModuleSize size = {0};
  for (const GlowFunction *f = m->first_function; f; f = f->next) {
    size.functions++;
    size.nodes += count_nodes(f->body);
  }
  for (const GlowStorage *s = m->first_storage; s; s = s->next) {
    size.storage++;
    size.nodes += s->init.eval ? count_nodes(s->init.eval) : 0;
  }
  return size;
}
