/* The lower bound. The buffers that live at one time need the sum of their sizes, each but the
 * topmost rounded up to the alignment. Any of them may be the topmost, so the largest rounding
 * among them is taken off. The bound is the largest such number of all times. Shares nothing with
 * the planner. */
#include "memplan/memplan.h"
#include "support/sort.h"

/* A buffer begins or ends. Ends come first among events at the same time. */
typedef struct Event {
  uint32_t time;
  bool begins;
  int64_t size;
} Event;

static int in_time(const void *a, const void *b) {
  const Event *x = a, *y = b;
  if (x->time != y->time)
    return x->time < y->time ? -1 : 1;
  return (int)x->begins - (int)y->begins;
}

/* What rounding adds to the buffers alive: how many waste 0, 1, ... align - 1 bytes. */
typedef struct Wastes {
  uint32_t *count; /* of buffers alive that waste so many bytes */
  int64_t most;    /* no buffer alive wastes more */
} Wastes;

static void waste(Wastes *w, int64_t bytes, bool begins) {
  w->count[bytes] += begins ? 1 : UINT32_MAX;
  if (begins && bytes > w->most)
    w->most = bytes;
  while (w->most > 0 && !w->count[w->most])
    w->most--;
}

int64_t glow_memplan_lower_bound(GlowArena *scratch, const GlowPlanBuffer *buffers, uint32_t count,
                                 int64_t align) {
  Event *events = GLOW_NEW_ARRAY(scratch, Event, 2 * (size_t)count);
  uint32_t n = 0;
  for (uint32_t i = 0; i < count; i++) {
    const GlowPlanBuffer *b = &buffers[i];
    if (b->size == 0 || b->start >= b->end)
      continue;
    if (b->size > INT64_MAX - align)
      return -1;
    events[n++] = (Event){b->start, true, b->size};
    events[n++] = (Event){b->end, false, b->size};
  }
  if (n)
    glow_sort(events, n, sizeof *events, in_time);

  Wastes wastes = {.count = GLOW_NEW_ARRAY(scratch, uint32_t, (size_t)align)};
  int64_t alive = 0, most = 0;
  for (uint32_t i = 0; i < n; i++) {
    int64_t rounded = (events[i].size + align - 1) & -align;
    waste(&wastes, rounded - events[i].size, events[i].begins);
    if (!events[i].begins)
      alive -= rounded;
    else if (__builtin_add_overflow(alive, rounded, &alive))
      return -1;
    most = alive - wastes.most > most ? alive - wastes.most : most;
  }
  return most;
}
