/* Random swaps: before each step of a run every piece gets one of its two functions, that of the
 * library or that which was made for the program. One execution at a time. */
#ifndef GLOW_TEST_SWAPS_H
#define GLOW_TEST_SWAPS_H

#include "exec/execution.h"

typedef struct GlowSwaps {
  void (*hook)(GlowFault *fault, int64_t piece); /* the execution's own */
  uint64_t state;                                /* of the generator of numbers */
  uint64_t better, library;                      /* how many functions of each kind were chosen */
} GlowSwaps;

static GlowSwaps glow_swaps;

static inline void glow_swap_all(GlowEntry *e) {
  GlowSwaps *s = &glow_swaps;
  for (uint32_t i = 0; i < e->code.npieces; i++) {
    s->state = s->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    bool better = s->state >> 63;
    if (!e->code.library[i] || !e->code.better[i])
      continue;
    glow_entry_choose(e, i, better);
    s->better += better;
    s->library += !better;
  }
}

static inline void glow_swap_then_hook(GlowFault *fault, int64_t piece) {
  glow_swap_all(((GlowExecution *)fault)->entry);
  glow_swaps.hook(fault, piece);
}

/* Runs of x swap from now on, as the seed says. */
static inline void glow_swap_begin(GlowExecution *x, uint64_t seed) {
  glow_swaps.state = seed;
  if (x->context.hook != glow_swap_then_hook)
    glow_swaps.hook = x->context.hook;
  x->context.hook = glow_swap_then_hook;
  glow_swap_all(x->entry);
}

#endif
