/* Entries of the cache. That of code has a table of sizes and the images in its head; that of
 * constants a table of them in its head, and themselves at their places in its body. */
#include "backend/cpu/cached.h"

#include <string.h>
#include <time.h>

#include "analysis/access.h"
#include "support/source_id.h"
#include "tensor/blob.h"

#define ALIGN 64
#define SETTLED 20000000              /* nanoseconds: more than the resolution of file times */
#define MAX_HASHED ((int64_t)4 << 20) /* bytes of weights without a file that are hashed */

/* ---- Keys ------------------------------------------------------------------------------------ */

static void put_build(GlowText *key) {
  glow_text_printf(key, "glow %s %s\n", GLOW_VERSION_STRING, GLOW_SOURCE_ID);
}

/* The files that tensors of this context come from. False if one has no identity: it is no regular
 * file, or so new that it could change again within the resolution of its time. */
static bool put_files(const GlowContext *ctx, GlowText *key) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  int64_t now = t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
  for (const GlowBlob *b = ctx->blobs; b; b = b->next) {
    const GlowInput *in = &b->input;
    if (!b->path)
      continue;
    if (!in->inode || (in->modified <= now && now - in->modified < SETTLED))
      return false;
    glow_text_printf(key, "file %s %zu %llu %llu %lld %lld\n", b->path, in->size,
                     (unsigned long long)in->device, (unsigned long long)in->inode,
                     (long long)in->modified, (long long)in->changed);
  }
  return true;
}

/* Values of constants that the text names but does not show, and that no file identifies. */
static bool put_payload(const GlowModule *m, GlowText *key) {
  int64_t bytes = 0;
  for (const GlowStorage *g = m->first_storage; g; g = g->next) {
    const GlowTensor *t = g->init.kind == GLOW_INIT_PAYLOAD ? g->init.tensor : NULL;
    if (!t)
      continue;
    bytes += (int64_t)t->bytes;
    if (t->type->kind == GLOW_KIND_STRING || bytes > MAX_HASHED)
      return false;
    glow_text_bytes(key, t->data, t->bytes);
  }
  return true;
}

bool glow_cached_key(const GlowFunction *f, const GlowIsa *isa, GlowText *key) {
  const GlowModule *m = f->module;
  put_build(key);
  glow_text_printf(key, "target %s entry %s\n", isa->name, f->name);
  glow_module_print(m, key, &(GlowPrintOptions){.no_payload = true});
  return put_files(m->ctx, key) && put_payload(m, key);
}

static GlowBytes bytes_of(const GlowText *t) { return (GlowBytes){t->data, t->size}; }

/* The key of one of the two entries: `what` stands before the program's key. */
static GlowBytes entry_key(GlowArena *arena, const char *what, GlowBytes key) {
  size_t n = strlen(what);
  char *all = glow_arena_alloc(arena, n + key.size);
  memcpy(all, what, n);
  memcpy(all + n, key.data, key.size);
  return (GlowBytes){all, n + key.size};
}

/* ---- Code ------------------------------------------------------------------------------------ */

bool glow_cached_find_code(const GlowCache *cache, GlowBytes key, GlowArena *arena,
                           GlowCachedCode *c) {
  *c = (GlowCachedCode){0};
  if (!glow_cache_find(cache, entry_key(arena, "code of ", key), &c->entry))
    return false;
  GlowBytes head = c->entry.head;
  uint64_t count = 0, at = sizeof count;
  bool ok = head.size >= sizeof count;
  if (ok)
    memcpy(&count, head.data, sizeof count);
  ok = ok && count <= (head.size - at) / sizeof(uint64_t);
  GlowBytes *images = GLOW_NEW_ARRAY(arena, GlowBytes, ok ? count : 0);
  at += ok ? count * sizeof(uint64_t) : 0;
  for (uint64_t i = 0; ok && i < count; i++) {
    uint64_t size;
    memcpy(&size, (const char *)head.data + (1 + i) * sizeof size, sizeof size);
    ok = size <= head.size - at;
    images[i] = (GlowBytes){(const char *)head.data + at, (size_t)size};
    at += ok ? (size + 7) / 8 * 8 : 0;
    ok = ok && at <= head.size;
  }
  c->images = images;
  c->count = (uint32_t)count;
  if (!ok)
    glow_cache_close(&c->entry);
  return ok;
}

void glow_cached_store_code(const GlowCache *cache, GlowBytes key, const GlowBytes *images,
                            uint32_t count, GlowContext *ctx) {
  GlowText head;
  GlowDefer defer;
  uint64_t n = count;
  glow_text_init(&head, ctx);
  glow_defer_push(ctx, &defer, glow_text_release_fn, &head);
  glow_text_bytes(&head, &n, sizeof n);
  for (uint32_t i = 0; i < count; i++) {
    uint64_t size = images[i].size;
    glow_text_bytes(&head, &size, sizeof size);
  }
  for (uint32_t i = 0; i < count; i++) { /* each is aligned as its integers want it */
    glow_text_bytes(&head, images[i].data, images[i].size);
    glow_text_bytes(&head, "\0\0\0\0\0\0\0", (8 - images[i].size % 8) % 8);
  }
  glow_cache_store(cache, entry_key(ctx->arena, "code of ", key), bytes_of(&head), NULL, 0);
  glow_defer_pop(ctx, &defer, true);
}

/* ---- Constants ------------------------------------------------------------------------------- */

typedef struct Constant {
  uint64_t storage, offset, bytes;
} Constant;

bool glow_cached_find_constants(const GlowCache *cache, GlowBytes key, GlowArena *arena,
                                const GlowCpuPlan *plan, GlowCachedConstants *c) {
  *c = (GlowCachedConstants){0};
  if (!glow_cache_find(cache, entry_key(arena, "constants of ", key), &c->entry))
    return false;
  GlowBytes head = c->entry.head, body = c->entry.body;
  uint64_t count = 0;
  bool ok = head.size >= sizeof count;
  if (ok)
    memcpy(&count, head.data, sizeof count);
  ok = ok && count <= (head.size - sizeof count) / sizeof(Constant);
  c->constants = GLOW_NEW_ARRAY(arena, const void *, plan->nouter);
  const char *at = (const char *)head.data + sizeof count;
  for (uint64_t i = 0; ok && i < count; i++, at += sizeof(Constant)) {
    Constant k;
    memcpy(&k, at, sizeof k);
    ok = k.storage < plan->nouter && k.offset <= body.size && k.bytes <= body.size - k.offset &&
         k.bytes == (uint64_t)glow_type_bytes(plan->outer[k.storage]->type);
    if (ok)
      c->constants[k.storage] = (const char *)body.data + k.offset;
  }
  if (!ok)
    glow_cache_close(&c->entry);
  return ok;
}

void glow_cached_store_constants(const GlowCache *cache, GlowBytes key, GlowArena *arena,
                                 const GlowCpuPlan *plan, const GlowExecValue *values,
                                 const GlowValues *held) {
  static const char zeros[ALIGN];
  Constant *table = GLOW_NEW_ARRAY(arena, Constant, plan->nouter);
  GlowBytes *parts = GLOW_NEW_ARRAY(arena, GlowBytes, 2 * (size_t)plan->nouter);
  uint64_t count = 0, offset = 0;
  for (uint32_t i = 0; i < plan->nouter; i++) {
    if (glow_outer_class(plan->outer[i]) != GLOW_CONSTANT)
      continue;
    const GlowStorage *g = plan->outer[i]->def.storage;
    bool in_file = g->init.kind == GLOW_INIT_RESOURCE && !glow_values_held(held, g);
    if (!plan->reads[i] || in_file)
      continue;
    uint64_t bytes = (uint64_t)glow_type_bytes(g->value.type);
    uint64_t padding = (ALIGN - bytes % ALIGN) % ALIGN;
    parts[2 * count] = (GlowBytes){values[i].value->data, (size_t)bytes};
    parts[2 * count + 1] = (GlowBytes){zeros, (size_t)padding};
    table[count++] = (Constant){i, offset, bytes};
    offset += bytes + padding;
  }
  if (!count)
    return;
  GlowText head;
  GlowDefer defer;
  glow_text_init(&head, glow_arena_context(arena));
  glow_defer_push(head.ctx, &defer, glow_text_release_fn, &head);
  glow_text_bytes(&head, &count, sizeof count);
  glow_text_bytes(&head, table, count * sizeof *table);
  glow_cache_store(cache, entry_key(arena, "constants of ", key), bytes_of(&head), parts,
                   2 * count);
  glow_defer_pop(head.ctx, &defer, true);
}
