/* The first value that makes a run wrong.
 *
 * A value has counterparts in the other run: the value of the same name, and one found by its use.
 * In two graphs that is the value that the same output, or the same operand of a partner, is
 * computed from; in two programs the value at the same place. With buffers, a value also counts as
 * right if the other run has its bits anywhere, since passes over programs rename, move and merge.
 * Values without a counterpart are new, and nothing can be said of them.
 *
 * A rewrite may give a name to another value. So a value that differs is put right before it is
 * blamed: the outputs must be right then. */
#include <string.h>

#include "bisect/record.h"

enum {
  LOOK_AHEAD = 64,
  MOST_TRIALS = 32 /* runs with a value put right */
};

typedef struct Pairs {
  const GlowRecordPair *pair;
  const GlowRecord *before, *after;
  GlowArena *arena;
  GlowMap *by_hash;  /* of before: the last entry with this hash */
  uint32_t *place;   /* of each entry of after: the entry of before at its place, or UINT32_MAX */
  GlowMap *partners; /* a value of the graph after: the value of before that is used in its place */
  GlowMap *entries;  /* a value of before: its entry */
} Pairs;

static bool same_shape(const GlowTensor *a, const GlowTensor *b) {
  return a && b && a->type->kind == b->type->kind &&
         glow_tensor_elements(a) == glow_tensor_elements(b);
}

/* ---- Places in programs ---------------------------------------------------------------------- */

static bool same_place(const GlowRecordEntry *a, const GlowRecordEntry *b) {
  if (!a->node || !b->node)
    return a->node == b->node && a->name == b->name;
  const GlowOrigin *x = a->node->origin, *y = b->node->origin;
  return a->node->op == b->node->op && (x ? x->name : NULL) == (y ? y->name : NULL) &&
         same_shape(a->tensor, b->tensor);
}

/* Pairs the places of both programs in order. Where the programs part, goes on at the nearest pair
 * that fits. */
static void find_places(Pairs *p) {
  const GlowRecord *a = p->before, *b = p->after;
  uint32_t i = 0, k = 0;
  while (i < a->entries.count && k < b->entries.count) {
    uint32_t skip = 0, left = 0;
    for (; skip <= LOOK_AHEAD; skip++) {
      for (left = 0; left <= skip; left++)
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

/* ---- Partners in graphs ---------------------------------------------------------------------- */

typedef struct Edge {
  const GlowValue *after, *before;
} Edge;
typedef GLOW_VEC(Edge) Edges;

static void meet(Pairs *p, Edges *edges, const GlowValue *after, const GlowValue *before) {
  if (!after || !before || glow_map_get(p->partners, after))
    return;
  glow_map_set(p->partners, after, (void *)(uintptr_t)before);
  glow_vec_push(p->arena, edges, ((Edge){after, before}));
}

static void meet_operands(Pairs *p, Edges *edges, const GlowNode *after, const GlowNode *before) {
  for (uint32_t i = 0; after->op == before->op && i < after->noperands && i < before->noperands;
       i++)
    meet(p, edges, after->operands[i].value, before->operands[i].value);
}

/* The Save of the storage that is called `name`. */
static const GlowNode *find_save(const GlowFunction *f, GlowStr name) {
  for (const GlowNode *n = f->body->first; n; n = n->next)
    if (n->op == GLOW_OP_SAVE && glow_node_in(n, GLOW_SAVE_IN_STORAGE)->name == name)
      return n;
  return NULL;
}

/* Pairs values, from the outputs backwards as long as the operators are the same. */
static void find_partners(Pairs *p, const GlowFunction *after, const GlowFunction *before) {
  Edges edges = {0};
  for (const GlowNode *n = after->body->first; n; n = n->next) {
    const GlowNode *other =
        n->op == GLOW_OP_SAVE ? find_save(before, glow_node_in(n, GLOW_SAVE_IN_STORAGE)->name) : NULL;
    if (other)
      meet_operands(p, &edges, n, other);
  }
  const GlowNode *a = glow_block_terminator(after->body), *b = glow_block_terminator(before->body);
  if (a && b)
    meet_operands(p, &edges, a, b);
  for (uint32_t i = 0; i < edges.count; i++) {
    const GlowValue *x = edges.data[i].after, *y = edges.data[i].before;
    if (x->kind == GLOW_VALUE_RESULT && y->kind == GLOW_VALUE_RESULT)
      meet_operands(p, &edges, x->def.node, y->def.node);
  }
}

/* ---- Values ---------------------------------------------------------------------------------- */

static const void *hash_key(uint64_t hash) { return (const void *)(uintptr_t)(hash | 1); }

/* Whether the other run has this value elsewhere, so that it is no wrong value. In graphs a name
 * means the same before and behind a pass: there the value is its counterpart's or wrong. */
static bool is_elsewhere(const Pairs *p, const GlowRecordEntry *e) {
  const GlowRecordEntry *other = glow_map_get(p->by_hash, hash_key(e->hash));
  bool graphs = !p->before->program && !p->after->program;
  return !graphs && other && same_shape(other->tensor, e->tensor) && other->hash == e->hash;
}

static const GlowRecordEntry *by_name(const Pairs *p, const GlowRecordEntry *e) {
  for (uint32_t i = 0; e->name && i < p->before->entries.count; i++) {
    const GlowRecordEntry *o = &p->before->entries.data[i];
    if (o->name == e->name && o->occurrence == e->occurrence && !o->node == !e->node)
      return o;
  }
  return NULL;
}

/* Whether a value has no name, or a number, which a node inside of what a rewrite built has. Nobody
 * finds such a node in the module before, so the next value with a name is blamed instead. */
static bool is_numbered(GlowStr name) { return !name || !name[strspn(name, "0123456789")]; }

static const GlowRecordEntry *by_use(const Pairs *p, const GlowRecordEntry *e) {
  bool named = e->value && !is_numbered(e->name);
  const GlowValue *partner = named ? glow_map_get(p->partners, e->value) : NULL;
  return partner ? glow_map_get(p->entries, partner) : NULL;
}

/* Whether e has the value of `was`: the same bits, or within the tolerance if that is enough. */
static bool is_same(const Pairs *p, const GlowRecordEntry *e, const GlowRecordEntry *was) {
  if (glow_tensor_same_bits(was->tensor, e->tensor))
    return true;
  GlowCompare c = glow_tensor_compare(p->after->ctx, e->tensor, was->tensor, p->pair->rtol,
                                      p->pair->atol);
  return c.ok && !p->pair->slight;
}

enum { MOST_COUNTERPARTS = 3 };

/* The counterparts of entry k, the likeliest first. */
static uint32_t counterparts(const Pairs *p, uint32_t k, const GlowRecordEntry **list) {
  const GlowRecordEntry *e = &p->after->entries.data[k];
  const GlowRecordEntry *all[MOST_COUNTERPARTS] = {
      p->place[k] == UINT32_MAX ? NULL : &p->before->entries.data[p->place[k]], by_use(p, e),
      by_name(p, e)};
  uint32_t count = 0;
  for (uint32_t i = 0; i < MOST_COUNTERPARTS; i++)
    if (all[i] && same_shape(all[i]->tensor, e->tensor) && !(count && list[count - 1] == all[i]))
      list[count++] = all[i];
  return count;
}

static const GlowRecordEntry *find(const Pairs *p, const GlowRecordEntry **was) {
  const GlowRecordPair *pair = p->pair;
  const GlowRecordEntry *first = NULL;
  uint32_t trials = 0;
  for (uint32_t k = 0; k < p->after->entries.count && trials < MOST_TRIALS; k++) {
    const GlowRecordEntry *e = &p->after->entries.data[k], *list[MOST_COUNTERPARTS];
    uint32_t count = e->tensor && !is_elsewhere(p, e) ? counterparts(p, k, list) : 0;
    uint32_t differs = 0;
    for (uint32_t i = 0; i < count; i++) {
      if (is_same(p, e, list[i]))
        continue;
      differs++;
      if (pair->mends && trials++ < MOST_TRIALS && pair->mends(pair->user, e, list[i])) {
        *was = list[i];
        return e;
      }
    }
    if (!first && count && differs == count) {
      first = e;
      *was = list[0];
    }
    if (first && !pair->mends)
      break;
  }
  return first;
}

const GlowRecordEntry *glow_record_first(const GlowRecordPair *pair, const GlowRecordEntry **was) {
  const GlowRecord *before = pair->before, *after = pair->after;
  GlowArena *arena = glow_arena_create(after->ctx);
  Pairs p = {.pair = pair, .before = before, .after = after, .arena = arena};
  p.by_hash = glow_map_create(arena);
  p.partners = glow_map_create(arena);
  p.entries = glow_map_create(arena);
  p.place = GLOW_NEW_ARRAY(arena, uint32_t, after->entries.count);
  for (uint32_t k = 0; k < after->entries.count; k++)
    p.place[k] = UINT32_MAX;
  for (uint32_t i = 0; i < before->entries.count; i++) {
    GlowRecordEntry *e = &before->entries.data[i];
    if (e->tensor)
      glow_map_set(p.by_hash, hash_key(e->hash), e);
    if (e->value)
      glow_map_set(p.entries, e->value, e);
  }
  if (before->program && after->program)
    find_places(&p);
  if (!before->program && !after->program)
    find_partners(&p, after->function, before->function);
  const GlowRecordEntry *e = find(&p, was);
  glow_arena_destroy(arena);
  return e;
}
