/* Drafts: copy, change, infer types where they changed, verify, print. A draft may leave out half
 * of what the rest needs. So diagnostics are switched off while it is made, and whatever it throws
 * makes it invalid; only exhausted memory is thrown on. */
#include "reduce/candidate.h"

#include <stdlib.h>

static void ignore(void *user, const GlowDiagnostic *d) {
  (void)user;
  (void)d;
}

typedef struct Making {
  GlowModule *from, *made;
  const GlowStrategy *strategy;
  GlowDelta delta;
  bool ok;
} Making;

static void make(GlowContext *ctx, void *arg) {
  (void)ctx;
  Making *k = arg;
  k->made = glow_module_clone(k->from);
  k->delta.module = k->made;
  k->strategy->run(&k->delta);
  if (!k->delta.taken)
    return;
  if (k->delta.retype)
    glow_delta_retype(&k->delta);
  k->ok = glow_module_verify(k->made);
}

/* True if there is a valid module. Only exhausted memory goes on to the caller. */
static bool run(Making *k) {
  return glow_try_in_silence(k->from->ctx, make, k) == GLOW_OK && k->ok;
}

uint32_t glow_draft_count(GlowModule *m, const GlowStrategy *s) {
  GlowArena *arena = glow_arena_create(m->ctx);
  Making k = {.from = m, .strategy = s, .delta = {.ctx = m->ctx, .arena = arena}};
  run(&k);
  glow_module_destroy(k.made);
  glow_arena_destroy(arena);
  return k.delta.count;
}

/* FNV-1a, eight bytes at a time. */
static uint64_t hash_text(const char *data, size_t size) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ size;
  for (; size >= 8; data += 8, size -= 8) {
    uint64_t word;
    memcpy(&word, data, 8);
    hash = (hash ^ word) * UINT64_C(0x100000001b3);
    hash ^= hash >> 32;
  }
  for (; size; data++, size--)
    hash = (hash ^ (unsigned char)*data) * UINT64_C(0x100000001b3);
  return hash;
}

static void print(GlowDraft *d, const GlowModule *m) {
  GlowText t;
  GlowDefer release;
  glow_text_init(&t, m->ctx);
  glow_defer_push(m->ctx, &release, glow_text_release_fn, &t);
  glow_module_print(m, &t, NULL);
  size_t size = t.size;
  char *copy = glow_arena_alloc(d->arena, size + 1);
  memcpy(copy, t.data, size);
  glow_defer_pop(m->ctx, &release, true);
  d->candidate = (GlowCandidate){m, copy, size};
  d->hash = hash_text(copy, size);
}

GlowDraft glow_draft_make(GlowModule *m, const GlowStrategy *s, const bool *taken) {
  GlowDraft d = {.arena = glow_arena_create(m->ctx)};
  if (!s) {
    print(&d, m);
    return d;
  }
  Making k = {.from = m, .strategy = s, .delta = {.ctx = m->ctx, .arena = d.arena, .taken = taken}};
  if (run(&k)) {
    d.module = k.made;
    print(&d, d.module);
  } else {
    glow_module_destroy(k.made);
  }
  return d;
}

typedef struct Reading {
  const GlowDraft *draft;
  bool ok;
} Reading;

static void read_back(GlowContext *ctx, void *arg) {
  Reading *r = arg;
  const GlowCandidate *c = &r->draft->candidate;
  GlowModule *m = glow_module_parse(ctx, "<candidate>", c->text, c->size);
  r->ok = m && glow_module_verify(m);
}

bool glow_draft_reads_back(const GlowModule *m, const GlowDraft *draft) {
  Reading r = {draft, false};
  GlowContext *ctx = glow_context_create();
  if (!ctx)
    glow_throw(m->ctx, GLOW_NO_MEMORY);
  ctx->onnx_index = m->ctx->onnx_index;
  glow_context_set_diagnostic_fn(ctx, ignore, NULL);
  bool ok = glow_protect(ctx, read_back, &r) == GLOW_OK && r.ok;
  glow_context_destroy(ctx);
  return ok;
}

void glow_draft_release(GlowDraft *d, bool keep_module) {
  if (!keep_module)
    glow_module_destroy(d->module);
  if (d->arena)
    glow_arena_destroy(d->arena);
  *d = (GlowDraft){0};
}
