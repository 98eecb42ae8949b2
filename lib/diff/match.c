/* Partners. Each key below pairs nodes that no earlier key has paired, in their order. Then pairs
 * spread to the users and sources of partners: between two matched parts, a node is paired if it is
 * the only one in its place. The cost follows the number of nodes and operands. */
#include <string.h>

#include "diff/diff_internal.h"

#define mix glow_diff_mix

typedef GLOW_VEC(GlowDiffNode *) Queue;

typedef struct Matching {
  GlowDiff *d;
  GlowArena *arena;
  Queue queue; /* nodes of the first side whose pairs are to spread */
} Matching;

static void pair(Matching *m, GlowDiffNode *a, GlowDiffNode *b) {
  a->partner = b;
  b->partner = a;
  glow_vec_push(m->arena, &m->queue, a);
}

static bool is_end(const GlowDiffNode *e) { return GLOW_HAS(glow_node_desc(e->node), TERMINATOR); }

/* ---- Keys ------------------------------------------------------------------------------------ */
/* The key of a node; 0: the node takes no part. */
typedef uint64_t (*KeyFn)(const GlowDiffNode *e);

static uint64_t name_key(const GlowDiffNode *e, uint64_t hash) {
  const GlowNode *n = e->node;
  if (!n->nresults || glow_diff_is_generated(n->results[0].name))
    return 0;
  return mix(hash, (uint64_t)(uintptr_t)n->results[0].name); /* interned */
}

static uint64_t by_both(const GlowDiffNode *e) { return mix(e->down, e->up); }
static uint64_t by_down_and_name(const GlowDiffNode *e) { return name_key(e, e->down); }
static uint64_t by_down(const GlowDiffNode *e) { return e->down; }
static uint64_t by_up(const GlowDiffNode *e) { return e->up; }
static uint64_t by_local_and_name(const GlowDiffNode *e) { return name_key(e, e->local); }
static uint64_t by_op_and_name(const GlowDiffNode *e) { return name_key(e, e->node->op); }
static uint64_t by_form(const GlowDiffNode *e) { return e->form; }
static uint64_t by_local(const GlowDiffNode *e) { return e->local; }
static uint64_t by_name(const GlowDiffNode *e) { return name_key(e, 1); }

/* Nodes of one key of the first side, in order. */
typedef struct Bucket {
  GlowDiffNode **nodes;
  uint32_t count, capacity, next;
} Bucket;

/* Regions of partners only hold partners. */
static bool same_home(const GlowDiffNode *a, const GlowDiffNode *b) {
  return a->home ? b->home && a->home->partner == b->home : !b->home;
}

/* How far a bucket, or the users of a value, are searched: limits the time. */
#define REACH 64

/* The first of the bucket that stands where e does. */
static GlowDiffNode *take(Bucket *bucket, const GlowDiffNode *e) {
  while (bucket->next < bucket->count && bucket->nodes[bucket->next]->partner)
    bucket->next++;
  for (uint32_t i = bucket->next; i < bucket->count && i < bucket->next + REACH; i++)
    if (!bucket->nodes[i]->partner && same_home(bucket->nodes[i], e))
      return bucket->nodes[i];
  return NULL;
}

static void match_by(Matching *m, GlowDiffSide *a, GlowDiffSide *b, KeyFn key) {
  GlowArena *arena = glow_arena_create(m->d->ctx);
  GlowMap *buckets = glow_map_create(arena);
  for (uint32_t i = 0; i < a->nodes.count; i++) {
    GlowDiffNode *e = a->nodes.data[i];
    uint64_t k = e->partner || is_end(e) ? 0 : key(e);
    if (!k)
      continue;
    Bucket *bucket = glow_map_get(buckets, (void *)(uintptr_t)k);
    if (!bucket) {
      bucket = GLOW_NEW(arena, Bucket);
      glow_map_set(buckets, (void *)(uintptr_t)k, bucket);
    }
    if (bucket->count == bucket->capacity)
      bucket->nodes = glow_vec_grow(arena, bucket->nodes, bucket->count, &bucket->capacity,
                                    sizeof *bucket->nodes);
    bucket->nodes[bucket->count++] = e;
  }
  for (uint32_t i = 0; i < b->nodes.count; i++) {
    GlowDiffNode *e = b->nodes.data[i];
    uint64_t k = e->partner || is_end(e) ? 0 : key(e);
    Bucket *bucket = k ? glow_map_get(buckets, (void *)(uintptr_t)k) : NULL;
    GlowDiffNode *found = bucket ? take(bucket, e) : NULL;
    if (found)
      pair(m, found, e);
  }
  glow_arena_destroy(arena);
}

/* ---- Spreading ------------------------------------------------------------------------------- */

/* The only unmatched user of e at `operand` whose operator is op (any: GLOW_OP_COUNT). */
static GlowDiffNode *only_user(const GlowDiffNode *e, uint32_t operand, uint32_t op) {
  GlowDiffNode *found = NULL;
  uint32_t seen = 0;
  for (const GlowDiffUse *u = e->uses; u; u = u->next) {
    if (++seen > REACH)
      return NULL;
    if (u->user->partner || u->operand != operand || is_end(u->user) ||
        (op != GLOW_OP_COUNT && u->user->node->op != op))
      continue;
    if (found)
      return NULL;
    found = u->user;
  }
  return found;
}

static void spread_to_users(Matching *m, GlowDiffNode *a, bool any_op) {
  uint32_t seen = 0;
  for (GlowDiffUse *u = a->uses; u && seen < REACH; u = u->next, ++seen) {
    if (u->user->partner || is_end(u->user))
      continue;
    uint32_t op = any_op ? GLOW_OP_COUNT : u->user->node->op;
    GlowDiffNode *x = only_user(a, u->operand, op),
                 *y = x ? only_user(a->partner, u->operand, op) : NULL;
    if (y && same_home(x, y))
      pair(m, x, y);
  }
}

static void spread_to_sources(Matching *m, GlowDiffNode *a, bool any_op) {
  const GlowDiffNode *b = a->partner;
  for (uint32_t i = 0; i < a->node->noperands && i < b->node->noperands; i++) {
    GlowDiffNode *x = a->sources[i], *y = b->sources[i];
    if (x && y && !x->partner && !y->partner && (any_op || x->node->op == y->node->op) &&
        same_home(x, y))
      pair(m, x, y);
  }
}

static void spread(Matching *m, bool any_op) {
  for (uint32_t i = 0; i < m->queue.count; i++) {
    spread_to_users(m, m->queue.data[i], any_op);
    spread_to_sources(m, m->queue.data[i], any_op);
  }
}

/* Ends of functions, and of regions of partners. */
static void match_ends(GlowDiffSide *a, GlowDiffSide *b) {
  for (uint32_t i = 0; i < a->nodes.count; i++) {
    GlowDiffNode *e = a->nodes.data[i];
    const GlowNode *n = e->node;
    const GlowBlock *other = b->function->body;
    if (!is_end(e))
      continue;
    if (n->block->owner == GLOW_BLOCK_REGION)
      other = e->home->partner ? glow_node_region(e->home->partner->node, n->block->label) : NULL;
    const GlowNode *end = other ? glow_block_terminator(other) : NULL;
    e->partner = end ? glow_map_get(b->by_node, end) : NULL;
    if (e->partner)
      e->partner->partner = e;
  }
}

void glow_diff_match(GlowDiff *d, GlowDiffSide *a, GlowDiffSide *b) {
  static const KeyFn keys[] = {by_both,           by_down_and_name, by_down, by_up,
                               by_local_and_name, by_op_and_name,   by_form};
  Matching m = {.d = d, .arena = d->arena};
  for (int round = 0; round < 2; round++) /* regions of what the first round pairs */
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
      match_by(&m, a, b, keys[i]);
  spread(&m, false);
  match_by(&m, a, b, by_name);
  match_by(&m, a, b, by_local);
  spread(&m, false);
  spread(&m, true);
  match_ends(a, b);
}
