/* See store.h. Blocks are found by a hash of their bytes and then compared, so two constants share
 * memory exactly if nobody can tell them apart. */
#include "glow/store.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "exec/memory.h"

enum { BUCKETS = 1024 };

struct GlowStoreBlock {
  struct GlowStoreBlock *next;
  GlowStore *store;
  uint64_t hash;
  size_t bytes, users;
  void *data;
};

/* Lives as long as its creator or a block needs it. */
struct GlowStore {
  pthread_mutex_t lock;
  size_t users; /* the creator and all blocks */
  struct GlowStoreBlock *buckets[BUCKETS];
};

GlowStatus glow_store_create(GlowStore **store) {
  if (!store)
    return GLOW_BAD_USAGE;
  GlowStore *s = *store = calloc(1, sizeof *s);
  if (!s)
    return GLOW_NO_MEMORY;
  pthread_mutex_init(&s->lock, NULL);
  s->users = 1;
  return GLOW_OK;
}

/* One user less; takes the lock, which is held. */
static void leave(GlowStore *s) {
  bool last = --s->users == 0;
  pthread_mutex_unlock(&s->lock);
  if (!last)
    return;
  pthread_mutex_destroy(&s->lock);
  free(s);
}

void glow_store_destroy(GlowStore *s) {
  if (!s)
    return;
  pthread_mutex_lock(&s->lock);
  leave(s);
}

/* Eight bytes at a time. */
static uint64_t hash_of(const void *data, size_t bytes) {
  const unsigned char *p = data;
  uint64_t h = bytes * UINT64_C(0x9e3779b97f4a7c15), word;
  for (; bytes; p += sizeof word) {
    size_t n = bytes < sizeof word ? bytes : sizeof word;
    word = 0;
    memcpy(&word, p, n);
    h = (h ^ word) * UINT64_C(0xff51afd7ed558ccd);
    h ^= h >> 32;
    bytes -= n;
  }
  return h;
}

static struct GlowStoreBlock *new_block(GlowStore *s, const void *data, size_t bytes,
                                        uint64_t hash) {
  struct GlowStoreBlock *b = calloc(1, sizeof *b);
  void *copy = b ? glow_exec_memory((int64_t)bytes) : NULL;
  if (!copy) {
    free(b);
    return NULL;
  }
  memcpy(copy, data, bytes);
  *b = (struct GlowStoreBlock){
      .next = s->buckets[hash % BUCKETS], .store = s, .hash = hash, .bytes = bytes, .data = copy};
  s->buckets[hash % BUCKETS] = b;
  s->users++;
  return b;
}

bool glow_store_take(GlowStore *s, const void *data, size_t bytes, GlowStoreUse *use) {
  uint64_t hash = hash_of(data, bytes);
  pthread_mutex_lock(&s->lock);
  struct GlowStoreBlock *b = s->buckets[hash % BUCKETS];
  while (b && (b->hash != hash || b->bytes != bytes || memcmp(b->data, data, bytes) != 0))
    b = b->next;
  if (!b)
    b = new_block(s, data, bytes, hash);
  if (b) {
    b->users++;
    *use = (GlowStoreUse){b, b->data};
  }
  pthread_mutex_unlock(&s->lock);
  return b != NULL;
}

void glow_store_leave(GlowStoreUse *use) {
  struct GlowStoreBlock *b = use->block;
  if (!b)
    return;
  GlowStore *s = b->store;
  pthread_mutex_lock(&s->lock);
  if (--b->users) {
    pthread_mutex_unlock(&s->lock);
    return;
  }
  struct GlowStoreBlock **at = &s->buckets[b->hash % BUCKETS];
  while (*at != b)
    at = &(*at)->next;
  *at = b->next;
  free(b->data);
  free(b);
  leave(s);
}
