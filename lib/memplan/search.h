/* The state of the exact search for a memory plan; search.c has the idea. */
#ifndef GLOW_MEMPLAN_SEARCH_H
#define GLOW_MEMPLAN_SEARCH_H

#include "memplan/memplan.h"

enum { GLOW_SEARCH_LEVELS = 512, GLOW_SEARCH_WORDS = GLOW_SEARCH_LEVELS / 64 };

/* A set of decisions: bit n is the decision of level n. Levels from GLOW_SEARCH_LEVELS - 1 on share
 * the last bit. */
typedef struct GlowWhy {
  uint64_t bits[GLOW_SEARCH_WORDS];
} GlowWhy;

typedef struct GlowSectionState {
  int64_t floor;    /* no buffer that is still to be placed begins below this */
  int64_t top;      /* where the topmost buffer ends, rounded */
  int64_t rest;     /* rounded bytes of the buffers that are still to be placed */
  uint32_t left;    /* how many these are: the first of the section's items */
  int64_t top_item; /* the topmost buffer; -1: none */
  GlowWhy why;      /* the decisions that these follow from */
} GlowSectionState;

/* Times at which the same buffers live, or fewer. */
typedef struct GlowSection {
  GlowSectionState now;
  int64_t slack; /* the most that the topmost buffer saves because it need not be rounded */
  uint32_t *items, count;
  bool is_queued, is_suspect;
} GlowSection;

typedef struct GlowItemState {
  int64_t low;     /* the lowest offset it can have: the highest floor of its sections */
  uint32_t low_at; /* a section with that floor */
  bool placed;
} GlowItemState;

/* A buffer. */
typedef struct GlowItem {
  GlowItemState now;
  int64_t size, rounded, offset;
  uint32_t from, to; /* sections */
  uint64_t key;
  uint32_t rank; /* low ranks are tried first */
  bool is_touched;
  GlowPlanBuffer *buffer;
} GlowItem;

/* Which section is decided on: one with fewer than two branches if there is any, else one of ... */
typedef enum GlowSearchOrder {
  GLOW_SEARCH_LOWEST_TIGHT, /* the lowest floor, of those the one with the least room */
  GLOW_SEARCH_LOWEST,       /* the lowest floor, of those the one with the fewest branches */
  GLOW_SEARCH_FEWEST        /* the fewest branches, of those the one with the least room */
} GlowSearchOrder;

typedef struct GlowStrategy {
  GlowSearchOrder order;
  uint64_t seed; /* 0: longest lives are tried first; else lengths get a random factor */
} GlowStrategy;

/* When a run is given up. */
typedef struct GlowSearchEffort {
  uint64_t steps, dead_ends;
} GlowSearchEffort;

/* How low an item can begin, and its rounded size. */
typedef struct GlowSearchLow {
  int64_t low, size;
} GlowSearchLow;

typedef struct GlowSearchRank {
  uint64_t length;
  GlowItem *item;
} GlowSearchRank;

typedef struct GlowChange GlowChange;

typedef struct GlowSearch {
  GlowArena *arena;
  GlowItem *items; /* by `from` */
  uint32_t nitems, nsections;
  GlowSection *sections;
  uint32_t *first_from; /* of each section, and their number: the first item from there or later */
  GlowStrategy strategy;
  int64_t limit;
  uint64_t steps, dead_ends; /* of all runs */
  GlowSearchEffort most;     /* where this run is given up */
  bool out;                  /* this run is given up */
  uint32_t level;
  GlowWhy conflict; /* of the last dead end: decisions that cannot all stand */
  GLOW_VEC(GlowChange) changes;
  GLOW_VEC(uint32_t) candidates; /* a stack for the branches in work */
  uint32_t *queue, nqueue, *suspects, nsuspects, *touched, ntouched;
  uint32_t *left, *right, *covers; /* of each section: see find_valleys and count_candidates */
  int64_t *least;                  /* of a valley's first section: see count_candidates */
  GlowSearchRank *ranks;
  GlowSearchLow *lows; /* of a section's items */
  uint64_t *failed;    /* keys of states without a plan; for all runs */
} GlowSearch;

/* Sections and items of the buffers that are not empty. NULL if there are too many to search. */
GlowSearch *glow_search_create(GlowArena *arena, GlowPlanBuffer *buffers, uint32_t count,
                               int64_t align);

typedef enum GlowFound { GLOW_FOUND, GLOW_FOUND_NONE, GLOW_FOUND_UNKNOWN } GlowFound;
/* Looks for a plan of at most `limit` bytes with at most this effort; FOUND: it stands in the
 * buffers. */
GlowFound glow_search_run(GlowSearch *s, GlowStrategy strategy, int64_t limit,
                          GlowSearchEffort most);

/* ---- sections.c: what follows from decisions ------------------------------------------------- */
void glow_why_add(GlowWhy *w, const GlowWhy *more);
/* Puts an item on the floor of its sections, or raises the floor of a section to `floor`. */
void glow_search_place(GlowSearch *s, uint32_t item, int64_t floor);
void glow_search_raise(GlowSearch *s, uint32_t section, int64_t floor);
/* Draws the conclusions. False at a dead end, with its conflict. */
bool glow_search_propagate(GlowSearch *s);
void glow_search_undo(GlowSearch *s, uint32_t mark);

struct GlowChange {
  uint32_t index;
  bool is_item;
  union {
    GlowSectionState section;
    GlowItemState item;
  } old;
};

#endif
