/* Parts that repeat are drawn once: runs of boxes that follow each other with the same operators,
 * members, types and wiring. The run that saves most nodes is folded first, then the boxes before
 * and behind it. Layers of a model are such runs, however their nodes are called. */
#include "view/view_internal.h"

enum { LEAST_SAVED = 3, LONGEST = 512 };

/* Where the values of a box come from, as numbers of boxes. */
typedef GLOW_VEC(uint32_t) Sources;

typedef struct Folder {
  ViewGraph *g;
  Sources *sources; /* of each box */
} Folder;

static void add_source(void *user, uint32_t from, const GlowValue *value) {
  (void)value;
  void **args = user;
  glow_vec_push((GlowArena *)args[0], (Sources *)args[1], from);
}

/* Whether box `b` is wired like box `a`, which is `period` boxes before it; repetitions begin at
 * `first`. A source in the run must be as far away for both, and a source before the run must be
 * the same. Only from repetition 0 to 1 may the source change: what repetition 0 took from outside,
 * repetition 1 may take from repetition 0. */
static bool same_wiring(const Folder *f, uint32_t a, uint32_t b, uint32_t first, uint32_t period) {
  const Sources *x = &f->sources[a], *y = &f->sources[b];
  if (x->count != y->count)
    return false;
  bool early = a < first + period;
  for (uint32_t i = 0; i < x->count; i++) {
    uint32_t p = x->data[i], q = y->data[i];
    bool inside = p != GLOW_VIEW_OUTSIDE && p >= first;
    if (inside ? q != p + period : q != p && !(early && q != GLOW_VIEW_OUTSIDE && q >= first))
      return false;
  }
  return true;
}

/* How often the `period` boxes from `first` on come, at most up to `end`. */
static uint32_t count_times(const Folder *f, uint32_t first, uint32_t period, uint32_t end) {
  const ViewBox *boxes = f->g->boxes.data;
  uint32_t times = 1;
  for (uint32_t at = first + period; at + period <= end; at += period, ++times)
    for (uint32_t i = at; i < at + period; i++)
      if (boxes[i].shape != boxes[i - period].shape ||
          !same_wiring(f, i - period, i, first, period))
        return times;
  return times;
}

/* Nodes that folding would leave out. */
static uint32_t saved(const Folder *f, const ViewRepeat *r) {
  uint32_t nodes = 0;
  for (uint32_t i = 0; i < r->period; i++)
    nodes += f->g->boxes.data[r->first + i].count;
  return nodes * (r->times - 1);
}

static void search(Folder *f, uint32_t begin, uint32_t end) {
  ViewRepeat best = {0};
  uint32_t most = LEAST_SAVED - 1;
  for (uint32_t first = begin; first < end; first++)
    for (uint32_t period = 1; period <= (end - first) / 2 && period <= LONGEST; period++) {
      if (f->g->boxes.data[first].shape != f->g->boxes.data[first + period].shape)
        continue;
      ViewRepeat r = {first, period, count_times(f, first, period, end)};
      if (r.times > 1 && saved(f, &r) > most) {
        best = r;
        most = saved(f, &r);
      }
    }
  if (best.times < 2)
    return;
  search(f, begin, best.first);
  glow_vec_push(f->g->arena, &f->g->repeats, best);
  search(f, best.first + best.period * best.times, end);
}

void glow_view_fold(ViewGraph *g) {
  ViewBoxes *boxes = &g->boxes;
  Folder f = {.g = g, .sources = GLOW_NEW_ARRAY(g->arena, Sources, boxes->count + 1)};
  for (uint32_t i = 0; i < boxes->count; i++) {
    void *args[] = {g->arena, &f.sources[i]};
    glow_view_sources(g, i, add_source, args);
  }
  g->repeats.count = 0;
  g->ndrawn = boxes->count;
  search(&f, 0, boxes->count);
  for (uint32_t i = 0; i < boxes->count; i++)
    boxes->data[i].drawn = i;
  for (uint32_t k = 0; k < g->repeats.count; k++) {
    const ViewRepeat *r = &g->repeats.data[k];
    for (uint32_t i = r->period; i < r->period * r->times; i++)
      boxes->data[r->first + i].drawn = r->first + i % r->period;
    g->ndrawn -= r->period * (r->times - 1);
  }
}
