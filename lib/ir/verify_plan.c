/* Planned offsets: `alloc T at N`. Two buffers that live at the same time must not share bytes.
 *
 * A buffer lives from its alloc to its dealloc, in execution order. A buffer that overlaps another
 * one is reported and not added to the live ones, so the byte ranges of live buffers are always
 * disjoint. A new buffer therefore needs to be compared with its two live neighbours only. A
 * Fenwick tree over all offsets finds them in O(log n). */
#include <stdlib.h>

#include "ir/ir_internal.h"

typedef struct Planned {
  GlowNode *alloc;
  int64_t low, high;   /* bytes [low, high) of the arena */
  uint32_t rank;       /* position in the order of (low, start), from 1 */
  uint32_t start, end; /* order of its alloc and of its dealloc */
} Planned;

typedef struct Plan {
  GlowFunction *function;
  GlowContext *ctx;
  GlowArena *scratch;
  GLOW_VEC(Planned) all;
  uint32_t *tree;    /* Fenwick tree: the number of live buffers up to a rank */
  Planned **by_rank; /* index 0 is unused */
  bool *ok;
} Plan;

static void add(Plan *p, uint32_t rank, uint32_t delta) {
  for (; rank <= p->all.count; rank += rank & -rank)
    p->tree[rank] += delta;
}

static uint32_t count_to(const Plan *p, uint32_t rank) {
  uint32_t n = 0;
  for (; rank; rank &= rank - 1)
    n += p->tree[rank];
  return n;
}

/* The live buffer that has exactly `before` live buffers of smaller rank, or NULL. */
static Planned *find_live(const Plan *p, uint32_t before) {
  uint32_t rank = 0, step = 1;
  while (step <= p->all.count / 2)
    step *= 2;
  for (; step; step /= 2)
    if (rank + step <= p->all.count && p->tree[rank + step] <= before) {
      rank += step;
      before -= p->tree[rank];
    }
  return rank < p->all.count ? p->by_rank[rank + 1] : NULL;
}

static int by_low(const void *a, const void *b) {
  const Planned *const *x = a, *const *y = b;
  if ((*x)->low != (*y)->low)
    return (*x)->low < (*y)->low ? -1 : 1;
  return (*x)->start < (*y)->start ? -1 : 1;
}

static bool touches(const Planned *a, const Planned *b) {
  return a && b && a->low < b->high && b->low < a->high;
}

static bool check_live(Plan *p, const Planned *b) {
  uint32_t before = count_to(p, b->rank);
  const Planned *other = before ? find_live(p, before - 1) : NULL;
  if (!touches(other, b))
    other = find_live(p, before);
  if (!touches(other, b))
    return true;
  glow_verify_error(b->alloc, "'%%%s' at %lld to %lld overlaps '%%%s', which lives at %lld to %lld",
                    b->alloc->results[0].name, (long long)b->low, (long long)b->high,
                    other->alloc->results[0].name, (long long)other->low, (long long)other->high);
  glow_note_value(b->alloc, &other->alloc->results[0]);
  *p->ok = false;
  return false;
}

static const GlowNode *dealloc_of(const GlowNode *alloc) {
  for (const GlowUse *u = alloc->results[0].uses; u; u = u->next)
    if (u->user->op == GLOW_OP_DEALLOC)
      return u->user;
  return NULL;
}

/* Checks the offset of the alloc n and adds its buffer to p->all. */
static void collect(Plan *p, GlowNode *n) {
  int64_t at = ((const GlowAllocMembers *)n->members)->at;
  int64_t bytes = glow_type_bytes(n->results[0].type), high;
  const GlowNode *end = dealloc_of(n);
  int64_t align = p->function->align > 0 ? p->function->align : 1;
  bool inside = !__builtin_add_overflow(at, bytes, &high) && high <= p->function->arena;
  if (!inside)
    glow_verify_error(n, "'%%%s' at %lld with %lld bytes does not fit the arena of %lld bytes",
                      n->results[0].name, (long long)at, (long long)bytes,
                      (long long)p->function->arena);
  else if (at % align)
    glow_verify_error(n, "offset %lld is not a multiple of align = %lld", (long long)at,
                      (long long)align);
  if (!inside || at % align) {
    *p->ok = false;
    return;
  }
  Planned b = {n, at, high, 0, n->order, end ? end->order : UINT32_MAX};
  if (bytes > 0 && end) /* verify_program.c reports a missing size or dealloc */
    glow_vec_push(p->scratch, &p->all, b);
}

static void check_overlaps(Plan *p) {
  uint32_t n = p->all.count;
  p->tree = GLOW_NEW_ARRAY(p->scratch, uint32_t, n + 1);
  p->by_rank = GLOW_NEW_ARRAY(p->scratch, Planned *, n + 2);
  for (uint32_t i = 0; i < n; i++)
    p->by_rank[i + 1] = &p->all.data[i];
  qsort(p->by_rank + 1, n, sizeof *p->by_rank, by_low);
  for (uint32_t i = 1; i <= n; i++)
    p->by_rank[i]->rank = i;
  GlowMap *ends = glow_map_create(p->scratch); /* dealloc -> the live buffer that it ends */
  uint32_t next = 0;
  for (GlowNode *node = p->function->body->first; node; node = glow_next_in_walk(node)) {
    const Planned *ended = node->op == GLOW_OP_DEALLOC ? glow_map_get(ends, node) : NULL;
    if (ended)
      add(p, ended->rank, UINT32_MAX);
    if (next == n || p->all.data[next].alloc != node)
      continue;
    Planned *b = &p->all.data[next++];
    if (!check_live(p, b))
      continue;
    add(p, b->rank, 1);
    glow_map_set(ends, dealloc_of(node), b);
  }
}

void glow_verify_plan(GlowFunction *f, bool *ok) {
  Plan p = {.function = f, .ctx = f->module->ctx, .ok = ok};
  const GlowNode *planned = NULL, *open = NULL;
  for (GlowNode *n = f->body->first; n; n = glow_next_in_walk(n))
    if (n->op == GLOW_OP_ALLOC)
      *(((const GlowAllocMembers *)n->members)->at >= 0 ? &planned : &open) = n;
  if (!planned)
    return;
  if (open || f->arena < 0) {
    if (open)
      glow_verify_error(open, "has no offset, but '%%%s' has one: a plan has all or none",
                        planned->results[0].name);
    else
      glow_verify_error(planned, "has an offset, but @%s has no 'with {arena = ...}'", f->name);
    *ok = false;
    return;
  }
  p.scratch = glow_arena_create(p.ctx);
  for (GlowNode *n = f->body->first; n; n = glow_next_in_walk(n))
    if (n->op == GLOW_OP_ALLOC)
      collect(&p, n);
  check_overlaps(&p);
  glow_arena_destroy(p.scratch);
}
