/* Greedy by size: buffers are placed largest first, each into the tightest gap between the buffers
 * that are placed already and live at the same time, or on top of them if no gap holds it. Chains
 * of buffers of one size pack better in the order of their beginnings. So that order is tried as
 * well, and the smaller of both plans counts.
 *
 * One sweep over time finds which buffers live together, so the cost follows the number of pairs
 * that meet, not the square of the number of buffers. */
#include "memplan/memplan.h"
#include "support/sort.h"

typedef struct Node {
  GlowPlanBuffer *buffer;
  uint32_t index;
  bool placed;
  GLOW_VEC(uint32_t) meets; /* indices of buffers that live at the same time */
} Node;

typedef struct Span {
  int64_t from, to;
} Span;

static int by_start(const void *a, const void *b) {
  const Node *x = *(Node *const *)a, *y = *(Node *const *)b;
  if (x->buffer->start != y->buffer->start)
    return x->buffer->start < y->buffer->start ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

static int by_size(const void *a, const void *b) {
  const Node *x = *(Node *const *)a, *y = *(Node *const *)b;
  if (x->buffer->size != y->buffer->size)
    return x->buffer->size > y->buffer->size ? -1 : 1;
  uint32_t lx = x->buffer->end - x->buffer->start, ly = y->buffer->end - y->buffer->start;
  if (lx != ly)
    return lx > ly ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

static int by_offset(const void *a, const void *b) {
  const Span *x = a, *y = b;
  return x->from < y->from ? -1 : x->from > y->from;
}

static bool is_empty(const GlowPlanBuffer *b) { return b->size == 0 || b->start >= b->end; }

/* Fills in `meets` for both of each pair that lives at the same time. */
static void find_meetings(GlowArena *scratch, Node *nodes, Node **order, uint32_t count) {
  if (count)
    glow_sort(order, count, sizeof *order, by_start);
  Node **alive = GLOW_NEW_ARRAY(scratch, Node *, count);
  uint32_t nalive = 0;
  for (uint32_t i = 0; i < count; i++) {
    Node *n = order[i];
    uint32_t kept = 0;
    for (uint32_t k = 0; k < nalive; k++)
      if (alive[k]->buffer->end > n->buffer->start)
        alive[kept++] = alive[k];
    nalive = kept;
    for (uint32_t k = 0; k < nalive; k++) {
      glow_vec_push(scratch, &n->meets, alive[k]->index);
      glow_vec_push(scratch, &nodes[alive[k]->index].meets, n->index);
    }
    alive[nalive++] = n;
  }
}

/* The offset for `size` bytes: the start of the tightest gap between spans, or their end. */
static int64_t best_gap(Span *spans, uint32_t count, int64_t size, int64_t align) {
  if (count)
    glow_sort(spans, count, sizeof *spans, by_offset);
  int64_t top = 0, best = -1, best_waste = INT64_MAX;
  for (uint32_t i = 0; i < count; i++) {
    int64_t gap = spans[i].from - top;
    if (gap >= size && gap - size < best_waste) {
      best = top;
      best_waste = gap - size;
    }
    if (spans[i].to > top)
      top = (spans[i].to + align - 1) & -align;
  }
  return best >= 0 ? best : top;
}

/* Places the buffers in the given order, those in `stay` where they are; returns where the last one
 * ends. */
static int64_t place(Node *nodes, Node *const *order, uint32_t count, const bool *stay, Span *spans,
                     int64_t align) {
  int64_t arena = 0;
  for (uint32_t i = 0; i < count; i++)
    order[i]->placed = stay && stay[order[i]->index];
  for (uint32_t i = 0; i < count; i++) {
    Node *n = order[i];
    if (n->placed) {
      int64_t top = n->buffer->offset + n->buffer->size;
      arena = top > arena ? top : arena;
      continue;
    }
    uint32_t nspans = 0;
    for (uint32_t k = 0; k < n->meets.count; k++) {
      const Node *other = &nodes[n->meets.data[k]];
      if (other->placed)
        spans[nspans++] =
            (Span){other->buffer->offset, other->buffer->offset + other->buffer->size};
    }
    n->buffer->offset = best_gap(spans, nspans, n->buffer->size, align);
    n->placed = true;
    int64_t top = n->buffer->offset + n->buffer->size;
    arena = top > arena ? top : arena;
  }
  return arena;
}

/* The buffers that are not empty; -1 if their sizes do not add up. */
static int64_t list(Node *nodes, Node **order, GlowPlanBuffer *buffers, uint32_t count,
                    int64_t align) {
  uint32_t live = 0;
  int64_t total = 0; /* every offset stays below this, so it bounds all sums */
  for (uint32_t i = 0; i < count; i++) {
    nodes[i] = (Node){.buffer = &buffers[i], .index = i};
    if (is_empty(&buffers[i]))
      continue;
    order[live++] = &nodes[i];
    if (__builtin_add_overflow(total, buffers[i].size, &total) ||
        __builtin_add_overflow(total, align, &total))
      return -1;
  }
  return live;
}

int64_t glow_memplan_fill(GlowArena *scratch, GlowPlanBuffer *buffers, uint32_t count,
                          int64_t align, const bool *stay) {
  Node *nodes = GLOW_NEW_ARRAY(scratch, Node, count);
  Node **order = GLOW_NEW_ARRAY(scratch, Node *, count);
  int64_t live = list(nodes, order, buffers, count, align);
  if (live <= 0)
    return live;
  find_meetings(scratch, nodes, order, (uint32_t)live);
  glow_sort(order, (size_t)live, sizeof *order, by_size);
  return place(nodes, order, (uint32_t)live, stay, GLOW_NEW_ARRAY(scratch, Span, live), align);
}

int64_t glow_memplan_greedy(GlowArena *scratch, GlowPlanBuffer *buffers, uint32_t count,
                            int64_t align) {
  Node *nodes = GLOW_NEW_ARRAY(scratch, Node, count);
  Node **order = GLOW_NEW_ARRAY(scratch, Node *, count);
  for (uint32_t i = 0; i < count; i++)
    buffers[i].offset = 0;
  int64_t found = list(nodes, order, buffers, count, align);
  if (found < 0)
    return -1;
  uint32_t live = (uint32_t)found;
  Span *spans = GLOW_NEW_ARRAY(scratch, Span, live);
  find_meetings(scratch, nodes, order, live); /* leaves them in the order of their beginnings */
  int64_t by_time = place(nodes, order, live, NULL, spans, align);
  int64_t *offsets = GLOW_NEW_ARRAY(scratch, int64_t, live);
  Node **timed = glow_arena_copy(scratch, order, live * sizeof *order);
  for (uint32_t i = 0; i < live; i++)
    offsets[i] = timed[i]->buffer->offset;
  if (live)
    glow_sort(order, live, sizeof *order, by_size);
  int64_t arena = place(nodes, order, live, NULL, spans, align);
  if (arena <= by_time)
    return arena;
  for (uint32_t i = 0; i < live; i++)
    timed[i]->buffer->offset = offsets[i];
  return by_time;
}
