/* The lower bound: at each time the buffers that live need their sizes, each but the topmost
 * rounded up to the alignment. Shares nothing with the planner. */
#include <stdlib.h>

#include "memplan/memplan.h"

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

int64_t glow_memplan_lower_bound(GlowArena *scratch, const GlowPlanBuffer *buffers, uint32_t count,
                                 int64_t align) {
  Event *events = GLOW_NEW_ARRAY(scratch, Event, 2 * (size_t)count);
  uint32_t n = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const GlowPlanBuffer *b = &buffers[i];
    if (b->size == 0 || b->start >= b->end)
      continue;
    if (b->size > INT64_MAX - align)
      return -1;
    events[n++] = (Event){b->start, true, b->size};
    events[n++] = (Event){b->end, false, b->size};
  }
  if (n)
    qsort(events, n, sizeof *events, in_time);

  /* The topmost buffer needs no rounding; whichever it is, it saves no more than `slack`. */
  int64_t alive = 0, most = 0, slack = 0;
  for (uint32_t i = 0; i < n; ++i) {
    int64_t waste = -events[i].size & (align - 1);
    slack = waste > slack ? waste : slack;
  }
  for (uint32_t i = 0; i < n; ++i) {
    int64_t rounded = (events[i].size + align - 1) & -align;
    if (!events[i].begins)
      alive -= rounded;
    else if (__builtin_add_overflow(alive, rounded, &alive))
      return -1;
    most = alive - slack > most ? alive - slack : most;
    most = events[i].size > most ? events[i].size : most;
  }
  return most;
}
