/* See shared.h. A place has a program that runs may take without a lock: they count themselves in,
 * and then look whether the program is the right one. Whoever makes a program, under the lock of
 * the executable, takes a place where nobody is. */
#include "backend/cpu/shared.h"

#include <limits.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>

#include "backend/cpu/compile.h"
#include "support/checksum.h"
#include "support/diag.h"

enum {
  PLACES = 32,
  CLAIMED = INT_MIN / 2, /* added to the users of a place whose program is not there */
  WARM = 64              /* sets of extents whose time is counted */
};

typedef struct Place Place;

typedef struct Program {
  GlowEntry entry; /* the first member: who leaves a program has its entry */
  GlowArena *arena;
  int64_t *extents;
  GlowBound bound;
  Place *place; /* NULL: one execution's alone, since all places were taken */
} Program;

struct Place {
  atomic_int users;
  atomic_ullong key; /* of the program's extents; 0: there is no program */
  Program *program;
};

/* How long runs of programs that executions selected themselves have taken. Sets of extents whose
 * keys fall together forget each other's time. */
typedef struct Warmth {
  atomic_ullong key;
  atomic_llong spent; /* nanoseconds; below 0: there is, or was, a shared program */
} Warmth;

typedef enum WantedState { NOTHING, BEING_SET, WANTED } WantedState;

struct GlowSharedPrograms {
  const GlowEntry *entry;
  GlowOpenProgram *open;
  Place places[PLACES];
  uint32_t next; /* the place to try first */
  Warmth warmth[WARM];
  GlowBackground *maker;
  sem_t called;      /* the maker has something to do */
  atomic_int wanted; /* WantedState of `extents` */
  int64_t *extents;
};

static GlowSharedPrograms *shared_of(const GlowEntry *entry) {
  return glow_open_shared(((const GlowCpuBackend *)entry->backend)->open);
}

static size_t extents_bytes(const GlowEntry *e) { return e->nsymbols * sizeof(int64_t); }

/* Never 0. */
static unsigned long long key_of(const GlowEntry *e, const int64_t *extents) {
  return glow_checksum(5, extents, extents_bytes(e)) | 1;
}

GlowBound *glow_shared_bound(GlowEntry *program) { return &((Program *)program)->bound; }

/* ---- Making and destroying; under the executable's lock -------------------------------------- */

static void destroy(Program *p) {
  glow_background_destroy(p->entry.background);
  if (p->entry.backend)
    p->entry.engine->destroy(&p->entry);
  glow_arena_destroy(p->arena);
}

static void destroy_fn(void *program) { destroy(program); }

/* A program without a place. NULL after a diagnostic. */
static Program *make(const GlowSharedPrograms *all, const int64_t *extents) {
  const GlowEntry *entry = all->entry;
  GlowContext *ctx = entry->executable->ctx;
  GlowArena *arena = glow_arena_create(ctx);
  Program *p = GLOW_NEW(arena, Program);
  GlowDefer defer;
  p->arena = arena;
  p->entry.executable = entry->executable;
  p->extents = glow_arena_copy(arena, extents, extents_bytes(entry));
  glow_defer_push(ctx, &defer, destroy_fn, p);
  bool ok = glow_open_compile(all->open, &p->entry, arena, extents, &p->bound);
  glow_defer_pop(ctx, &defer, !ok);
  return ok ? p : NULL;
}

static Warmth *warmth_of(GlowSharedPrograms *all, unsigned long long key) {
  return &all->warmth[key / 2 % WARM];
}

/* Destroys the program of a place. Runs of its extents may earn another one. */
static void clear(GlowSharedPrograms *all, Place *place) {
  Warmth *w = warmth_of(all, atomic_load(&place->key));
  if (atomic_load(&w->key) == atomic_load(&place->key))
    atomic_store(&w->spent, 0);
  atomic_store(&place->key, 0);
  destroy(place->program);
  place->program = NULL;
}

/* A place without a program, from which everybody else keeps away. NULL: there are users
 * everywhere. */
static Place *claim(GlowSharedPrograms *all) {
  for (uint32_t i = 0; i < PLACES; i++) {
    Place *place = &all->places[all->next++ % PLACES];
    int nobody = 0;
    if (!atomic_compare_exchange_strong(&place->users, &nobody, CLAIMED))
      continue;
    if (place->program)
      clear(all, place);
    return place;
  }
  return NULL;
}

/* Ends a claim with `users` of the program. */
static void settle(GlowSharedPrograms *all, Place *place, Program *p, int users) {
  p->place = place;
  if (!place)
    return;
  place->program = p;
  atomic_store(&place->key, key_of(all->entry, p->extents));
  atomic_fetch_sub(&place->users, CLAIMED - users);
}

GlowEntry *glow_shared_at(const GlowEntry *entry, const int64_t *extents) {
  GlowSharedPrograms *all = shared_of(entry);
  if (!memcmp(entry->extents, extents, extents_bytes(entry)))
    return (GlowEntry *)(uintptr_t)entry;
  GlowEntry *found = glow_shared_find(entry, extents);
  Program *p = found ? NULL : make(all, extents);
  if (p)
    settle(all, claim(all), p, 1);
  return found ? found : p ? &p->entry : NULL;
}

/* ---- Finding and leaving --------------------------------------------------------------------- */

GlowEntry *glow_shared_find(const GlowEntry *entry, const int64_t *extents) {
  GlowSharedPrograms *all = shared_of(entry);
  unsigned long long key = key_of(entry, extents);
  for (uint32_t i = 0; i < PLACES; i++) {
    Place *place = &all->places[i];
    if (atomic_load(&place->key) != key)
      continue;
    if (atomic_fetch_add(&place->users, 1) >= 0 && place->program &&
        !memcmp(place->program->extents, extents, extents_bytes(entry)))
      return &place->program->entry;
    atomic_fetch_sub(&place->users, 1);
  }
  return NULL;
}

void glow_shared_leave(GlowEntry *program) {
  Program *p = (Program *)program;
  pthread_mutex_t *lock = &program->executable->lock;
  if (p->place) {
    atomic_fetch_sub(&p->place->users, 1);
    return;
  }
  pthread_mutex_lock(lock);
  destroy(p);
  pthread_mutex_unlock(lock);
}

/* ---- The maker ------------------------------------------------------------------------------- */

typedef struct Request {
  GlowSharedPrograms *all;
  bool made;
} Request;

/* Makes the program of all->extents. Under the lock. */
static void make_wanted(GlowContext *ctx, void *request) {
  Request *r = request;
  GlowSharedPrograms *all = r->all;
  GlowSilence silence;
  glow_silence_begin(ctx, &silence);
  Program *p = make(all, all->extents);
  glow_silence_end(&silence);
  Place *place = p ? claim(all) : NULL;
  if (!place) {
    if (p)
      destroy(p);
    return;
  }
  if (p->entry.background)
    glow_background_start(p->entry.background);
  settle(all, place, p, 0);
  r->made = true;
}

/* Does what is wanted. */
static void fulfil(GlowSharedPrograms *all) {
  GlowExecutable *e = all->entry->executable;
  Request r = {.all = all};
  pthread_mutex_lock(&e->lock);
  glow_protect(e->ctx, make_wanted, &r);
  pthread_mutex_unlock(&e->lock);
  atomic_store(&all->wanted, NOTHING);
  if (r.made)
    atomic_fetch_add(&((GlowEntry *)(uintptr_t)all->entry)->shared, 1);
}

static void serve(GlowContext *own, uint32_t job, void *shared) {
  GlowSharedPrograms *all = shared;
  (void)own, (void)job;
  while (!glow_background_ended(all->maker)) {
    while (sem_wait(&all->called))
      ;
    if (atomic_load(&all->wanted) == WANTED)
      fulfil(all);
  }
}

static void wake(void *shared) { sem_post(&((GlowSharedPrograms *)shared)->called); }

/* A thread of its own would use the context while its owner does. */
static void ask_maker(GlowSharedPrograms *all) {
  if (!all->entry->executable->guarded) {
    fulfil(all);
    return;
  }
  glow_background_start(all->maker);
  sem_post(&all->called);
}

void glow_shared_wanted(const GlowEntry *entry, const int64_t *extents) {
  GlowSharedPrograms *all = shared_of(entry);
  unsigned long long key = key_of(entry, extents);
  Warmth *w = warmth_of(all, key);
  int nothing = NOTHING;
  if (atomic_load(&w->key) != key ||
      (double)atomic_load(&w->spent) < entry->executable->patience * 1e9 || !all->maker ||
      !atomic_compare_exchange_strong(&all->wanted, &nothing, BEING_SET))
    return;
  memcpy(all->extents, extents, extents_bytes(entry));
  atomic_store(&w->spent, LLONG_MIN / 2);
  atomic_store(&all->wanted, WANTED);
  ask_maker(all);
}

void glow_shared_spent(const GlowEntry *entry, const int64_t *extents, int64_t nanoseconds) {
  unsigned long long key = key_of(entry, extents);
  Warmth *w = warmth_of(shared_of(entry), key);
  if (atomic_load(&w->key) != key) {
    atomic_store(&w->spent, 0);
    atomic_store(&w->key, key);
  }
  atomic_fetch_add(&w->spent, nanoseconds);
}

/* ---------------------------------------------------------------------------------------------- */

GlowSharedPrograms *glow_shared_create(GlowArena *arena, GlowOpenProgram *open,
                                       const GlowEntry *entry) {
  GlowSharedPrograms *all = GLOW_NEW(arena, GlowSharedPrograms);
  all->entry = entry;
  all->open = open;
  all->extents = GLOW_NEW_ARRAY(arena, int64_t, entry->nsymbols);
  sem_init(&all->called, 0, 0);
  all->maker = glow_background_create(
      &(GlowBackgroundWork){.jobs = 1, .make = serve, .wake = wake, .user = all});
  return all;
}

void glow_shared_destroy(GlowSharedPrograms *all) {
  if (!all)
    return;
  glow_background_destroy(all->maker);
  for (uint32_t i = 0; i < PLACES; i++)
    if (all->places[i].program)
      destroy(all->places[i].program);
  sem_destroy(&all->called);
}
