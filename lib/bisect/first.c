/* The first value that two runs do not share.
 *
 * A value is compared with its counterpart: the one of the same name, or in two programs the one at
 * the same place. Where buffers are concerned it is also the same if the other run has its bits
 * anywhere, since passes over programs rename, move and merge. Values without a counterpart are
 * new, and nothing can be said of them. */
#include "bisect/record.h"

enum { LOOK_AHEAD = 64 };

typedef struct Pairs {
  const GlowRecord *before, *after;
  GlowMap *by_hash; /* of before: the last entry with this hash */
  uint32_t *place;  /* of each entry of after: the entry of before at its place, or UINT32_MAX */
  double rtol, atol;
} Pairs;

static bool same_shape(const GlowTensor *a, const GlowTensor *b) {
  return a && b && a->type->kind == b->type->kind &&
         glow_tensor_elements(a) == glow_tensor_elements(b);
}

/* ---- Places ---------------------------------------------------------------------------------- */

static bool same_place(const GlowRecordEntry *a, const GlowRecordEntry *b) {
  if (!a->node || !b->node)
    return a->node == b->node && a->name == b->name;
  const GlowOrigin *x = a->node->origin, *y = b->node->origin;
  return a->node->op == b->node->op && (x ? x->name : NULL) == (y ? y->name : NULL) &&
         same_shape(a->tensor, b->tensor);
}

/* Runs along both programs; where they part, goes on at the nearest pair that fits. */
static void find_places(Pairs *p) {
  const GlowRecord *a = p->before, *b = p->after;
  uint32_t i = 0, k = 0;
  while (i < a->entries.count && k < b->entries.count) {
    uint32_t skip = 0, left = 0;
    for (; skip <= LOOK_AHEAD; ++skip) {
      for (left = 0; left <= skip; ++left)
        if (i + left < a->entries.count && k + skip - left < b->entries.count &&
            same_place(&a->entries.data[i + left], &b->entries.data[k + skip - left]))
          break;
      if (left <= skip)
        break;
    }
    if (skip > LOOK_AHEAD)
      return;
    i += left;
    k += skip - left;
    p->place[k++] = i++;
  }
}

/* ---- Values ---------------------------------------------------------------------------------- */

static const void *hash_key(uint64_t hash) { return (const void *)(uintptr_t)(hash | 1); }

/* Whether a value that differs from its counterpart is that of another. In graphs a name means the
 * same before and behind a pass, so there it is that of its counterpart or wrong. */
static bool is_elsewhere(const Pairs *p, const GlowRecordEntry *e, const GlowRecordEntry *was) {
  if (glow_tensor_same_bits(was->tensor, e->tensor))
    return true;
  const GlowRecordEntry *other = glow_map_get(p->by_hash, hash_key(e->hash));
  bool graphs = !p->before->program && !p->after->program;
  return !graphs && other && same_shape(other->tensor, e->tensor) && other->hash == e->hash;
}

static const GlowRecordEntry *by_name(const Pairs *p, const GlowRecordEntry *e) {
  for (uint32_t i = 0; e->name && i < p->before->entries.count; ++i) {
    const GlowRecordEntry *o = &p->before->entries.data[i];
    if (o->name == e->name && o->occurrence == e->occurrence && !o->node == !e->node)
      return same_shape(o->tensor, e->tensor) ? o : NULL;
  }
  return NULL;
}

static bool is_close(const Pairs *p, const GlowRecordEntry *e, const GlowRecordEntry *was) {
  GlowCompare c = glow_tensor_compare(p->after->ctx, e->tensor, was->tensor, p->rtol, p->atol);
  return c.ok;
}

/* The counterpart of an entry that is not the same, or NULL. */
static const GlowRecordEntry *counterpart(const Pairs *p, uint32_t k, bool slight) {
  const GlowRecordEntry *e = &p->after->entries.data[k];
  const GlowRecordEntry *name = by_name(p, e), *place = NULL;
  if (p->place[k] != UINT32_MAX &&
      same_shape(p->before->entries.data[p->place[k]].tensor, e->tensor))
    place = &p->before->entries.data[p->place[k]];
  const GlowRecordEntry *was = place ? place : name;
  if (!was)
    return NULL;
  bool close = (place && is_close(p, e, place)) || (name && is_close(p, e, name));
  return slight || !close ? was : NULL;
}

static const GlowRecordEntry *find(const Pairs *p, bool slight, const GlowRecordEntry **was) {
  for (uint32_t k = 0; k < p->after->entries.count; ++k) {
    const GlowRecordEntry *e = &p->after->entries.data[k];
    if (!e->tensor)
      continue;
    *was = counterpart(p, k, slight);
    if (*was && !is_elsewhere(p, e, *was))
      return e;
  }
  return NULL;
}

const GlowRecordEntry *glow_record_first(const GlowRecord *before, const GlowRecord *after,
                                         bool slight, double rtol, double atol,
                                         const GlowRecordEntry **was) {
  GlowArena *arena = glow_arena_create(after->ctx);
  Pairs p = {before, after, glow_map_create(arena), NULL, rtol, atol};
  p.place = GLOW_NEW_ARRAY(arena, uint32_t, after->entries.count);
  for (uint32_t k = 0; k < after->entries.count; ++k)
    p.place[k] = UINT32_MAX;
  for (uint32_t i = 0; i < before->entries.count; ++i)
    if (before->entries.data[i].tensor)
      glow_map_set(p.by_hash, hash_key(before->entries.data[i].hash), &before->entries.data[i]);
  if (before->program && after->program)
    find_places(&p);
  const GlowRecordEntry *e = find(&p, slight, was);
  glow_arena_destroy(arena);
  return e;
}
