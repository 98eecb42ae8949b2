/* See code.h. */
#include "backend/cpu/code.h"

#include <stdlib.h>
#include <string.h>

#include "backend/cpu/cached.h"
#include "backend/cpu/isolate.h"
#include "backend/cpu/plugin.h"

/* ---- Mapping --------------------------------------------------------------------------------- */

bool glow_cpu_code_lacks(const GlowCpuCode *c, const GlowPieceGroup *g) {
  return !__atomic_load_n(&c->entry->code.better[g->pieces[0]], __ATOMIC_ACQUIRE);
}

static void *copy_of(GlowBytes bytes) {
  void *copy = malloc(bytes.size + !bytes.size);
  if (copy && bytes.size)
    memcpy(copy, bytes.data, bytes.size);
  return copy;
}

/* The functions of an image become those of the program's pieces. */
static void install(GlowCpuCode *c, GlowPieceFn *const *pieces) {
  for (uint32_t i = 0; i < c->entry->code.npieces; i++)
    if (pieces[i])
      glow_entry_improve(c->entry, i, pieces[i]);
}

static void forget(void *image) {
  GlowCpuImage *m = image;
  glow_code_destroy(m->code);
  free((void *)(uintptr_t)m->bytes.data);
  free(m);
}

bool glow_cpu_code_map(GlowCpuCode *c, GlowContext *ctx, GlowBytes image) {
  GlowCpuImage *m = calloc(1, sizeof *m);
  if (!m)
    glow_throw(ctx, GLOW_NO_MEMORY);
  GlowDefer defer;
  glow_defer_push(ctx, &defer, forget, m);
  m->bytes = (GlowBytes){copy_of(image), image.size};
  if (m->bytes.data)
    m->code = glow_code_load(ctx, image.data, image.size, c->options.symbols, c->options.nsymbols);
  GlowPieceFn *const *pieces = m->code ? glow_code_pieces(m->code, c->entry->code.npieces) : NULL;
  glow_defer_pop(ctx, &defer, !pieces);
  if (!pieces)
    return false;
  pthread_mutex_lock(&c->lock);
  m->next = c->images;
  c->images = m;
  pthread_mutex_unlock(&c->lock);
  atomic_fetch_add(&c->entry->executable->code, glow_code_size(m->code));
  install(c, pieces);
  return true;
}

void glow_cpu_code_release(GlowCpuCode *c) {
  while (c->images) {
    GlowCpuImage *m = c->images;
    c->images = m->next;
    forget(m);
  }
  pthread_mutex_destroy(&c->lock);
}

/* ---- Files ----------------------------------------------------------------------------------- */

const GlowBytes *glow_cpu_code_images(GlowCpuCode *c, GlowArena *arena, uint32_t *count) {
  *count = 0;
  pthread_mutex_lock(&c->lock);
  GlowCpuImage *first = c->images;
  pthread_mutex_unlock(&c->lock);
  for (GlowCpuImage *m = first; m; m = m->next)
    ++*count;
  GlowBytes *images = GLOW_NEW_ARRAY(arena, GlowBytes, *count);
  uint32_t i = *count; /* the oldest first */
  for (GlowCpuImage *m = first; m; m = m->next)
    images[--i] = m->bytes;
  return images;
}

static bool find_written(GlowCpuCode *c, GlowContext *ctx, const GlowWritten *written) {
  bool found = false;
  for (uint32_t i = 0; i < written->nimages; i++) {
    const GlowWrittenImage *image = &written->images[i];
    if (!strcmp(image->entry, c->entry->name) && image->program == c->program)
      found = glow_cpu_code_map(c, ctx, image->image) || found;
  }
  return found;
}

static bool find_cached(GlowCpuCode *c, GlowContext *ctx) {
  GlowCachedCode cached;
  if (!c->cache || !glow_cached_find_code(c->cache, c->key, ctx->arena, &cached))
    return false;
  bool ok = cached.count > 0;
  for (uint32_t i = 0; i < cached.count; i++)
    ok = glow_cpu_code_map(c, ctx, cached.images[i]) && ok;
  glow_cache_close(&cached.entry);
  return ok;
}

bool glow_cpu_code_find(GlowCpuCode *c, GlowContext *ctx, const GlowWritten *written) {
  GlowSilence silence;
  glow_silence_begin(ctx, &silence);
  bool found = written ? find_written(c, ctx, written) : find_cached(c, ctx);
  glow_silence_end(&silence);
  return found;
}

void glow_cpu_code_store(GlowCpuCode *c, GlowContext *ctx) {
  uint32_t count;
  const GlowBytes *images = glow_cpu_code_images(c, ctx->arena, &count);
  if (c->cache && count)
    glow_cached_store_code(c->cache, c->key, images, count, ctx);
}

/* ---- Making ---------------------------------------------------------------------------------- */

/* The program with the pieces of some groups, and nothing else of what it has. */
static GlowProgramData part_of(GlowArena *arena, const GlowProgramData *p,
                               const GlowPieceGroup *const *groups, uint32_t count) {
  const GlowWork **pieces = GLOW_NEW_ARRAY(arena, const GlowWork *, p->npieces);
  for (uint32_t k = 0; k < count; k++)
    for (uint32_t i = 0; i < groups[k]->count; i++)
      pieces[groups[k]->pieces[i]] = p->pieces[groups[k]->pieces[i]];
  return (GlowProgramData){.pieces = pieces, .npieces = p->npieces};
}

const char *glow_cpu_code_make(GlowCpuCode *c, GlowContext *ctx,
                               const GlowPieceGroup *const *groups, uint32_t count,
                               GlowRemarkFn *remark, uint32_t threads, GlowCodegenTimes *times) {
  const GlowCodegenPlugin *codegen = glow_codegen_open(ctx);
  if (!codegen)
    glow_throw(ctx, GLOW_BAD_INPUT);
  GlowProgramData part = part_of(ctx->arena, c->data, groups, count);
  GlowCodegenOptions options = c->options;
  options.remark = remark;
  options.threads = threads;
  const char *unlinked = NULL;
  GlowText image;
  GlowDefer defer;
  glow_text_init(&image, ctx);
  glow_defer_push(ctx, &defer, glow_text_release_fn, &image);
  if (!codegen->emit_image(ctx, &part, &options, &unlinked, &image, times))
    glow_throw(ctx, GLOW_INTERNAL); /* whatever the program, it should compile */
  if (!unlinked && !glow_cpu_code_map(c, ctx, (GlowBytes){image.data, image.size}))
    glow_throw(ctx, GLOW_BAD_INPUT);
  glow_defer_pop(ctx, &defer, true);
  return unlinked ? glow_str_printf(ctx, "its own cannot be linked: %s", unlinked) : NULL;
}

/* ---- In the background ----------------------------------------------------------------------- */

typedef struct Job {
  GlowCpuCode *code;
  const GlowPieceGroup *group; /* NULL: the whole program, by another process */
} Job;

typedef struct Jobs {
  GlowCpuCode *const *codes;
  uint32_t ncodes, count;
  GlowBackground *background;
  Job *jobs; /* the largest gain first */
} Jobs;

static void make(GlowContext *ctx, uint32_t i, void *jobs) {
  const Jobs *all = jobs;
  const Job *j = &all->jobs[i];
  const char *why = j->group ? glow_cpu_code_make(j->code, ctx, &j->group, 1, NULL, 1, NULL)
                             : glow_isolate_compile(ctx, j->code->text, j->code, all->background);
  if (why) {
    glow_error(ctx, GLOW_NOWHERE, "%s", why);
    glow_throw(ctx, GLOW_BAD_INPUT);
  }
}

static void finish(GlowContext *ctx, void *jobs) {
  const Jobs *all = jobs;
  for (uint32_t i = 0; i < all->ncodes; i++)
    glow_cpu_code_store(all->codes[i], ctx);
}

static int by_gain(const void *a, const void *b) {
  const Job *x = a, *y = b;
  if (!x->group || !y->group)
    return !y->group - !x->group;
  if (x->group->gain != y->group->gain)
    return x->group->gain > y->group->gain ? -1 : 1;
  return x->group < y->group ? -1 : x->group > y->group;
}

static void add_jobs(Jobs *all, GlowCpuCode *c) {
  for (uint32_t i = 0; i < c->groups.count; i++) {
    if (!glow_cpu_code_lacks(c, &c->groups.groups[i]))
      continue;
    all->jobs[all->count++] = (Job){c, c->text.size ? NULL : &c->groups.groups[i]};
    if (c->text.size)
      return;
  }
}

GlowBackground *glow_cpu_code_later(GlowArena *arena, GlowCpuCode *const *codes, uint32_t count) {
  uint32_t most = 0;
  for (uint32_t k = 0; k < count; k++)
    most += codes[k]->groups.count;
  Jobs *all = GLOW_NEW(arena, Jobs);
  *all = (Jobs){.codes = codes, .ncodes = count, .jobs = GLOW_NEW_ARRAY(arena, Job, most)};
  for (uint32_t k = 0; k < count; k++)
    add_jobs(all, codes[k]);
  if (!all->count)
    return NULL;
  qsort(all->jobs, all->count, sizeof *all->jobs, by_gain);
  all->background = glow_background_create(
      &(GlowBackgroundWork){.jobs = all->count, .make = make, .finish = finish, .user = all});
  return all->background;
}
