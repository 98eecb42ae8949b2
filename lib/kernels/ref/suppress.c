/* NonMaxSuppression: for each batch and class, boxes are taken by descending score (ties by lower
 * index). A box is selected unless it overlaps a box selected before by more than the threshold.
 * Areas are double. Their quotient is rounded to float, so that a quotient that equals the
 * threshold in float is not above it. */
#include "kernels/ref/order.h"
#include "kernels/ref/ref.h"

typedef struct GlowBox {
  double low[2], high[2];
} GlowBox;

/* Boxes that were selected, by coordinate, so that many are compared with a box at once. */
typedef struct GlowChosen {
  double *low[2], *high[2];
} GlowChosen;

typedef struct GlowSuppression {
  const GlowBuf *boxes, *scores;
  int64_t count, most;   /* boxes; how many of a class are selected at most */
  bool center, limited;  /* boxes are center and size, not corners; `least` counts */
  double overlap, least; /* thresholds of overlap and score */
  double *row;           /* the scores of a class */
  uint64_t *keys;        /* the heap: keys of scores that may be selected */
  int64_t *order;        /* their boxes */
  GlowChosen chosen;
  int64_t *selected;
} GlowSuppression;

static GlowBox box_at(const GlowSuppression *s, int64_t batch, int64_t i) {
  double v[4];
  GlowBox b;
  glow_load_real(s->boxes, (batch * s->count + i) * 4, 1, 4, v);
  for (int a = 0; a < 2; a++) {
    double x = s->center ? v[a] - v[a + 2] / 2 : v[a];
    double y = s->center ? v[a] + v[a + 2] / 2 : v[a + 2];
    bool swapped = !s->center && x > y;
    b.low[a] = swapped ? y : x;
    b.high[a] = swapped ? x : y;
  }
  return b;
}

static double area(const GlowBox *b) { return (b->high[0] - b->low[0]) * (b->high[1] - b->low[1]); }

/* Whether the box and chosen box i meet in an area, along an axis. */
static inline int meet(const GlowChosen *c, int64_t i, const GlowBox *b, int axis) {
  const double low = b->low[axis] > c->low[axis][i] ? b->low[axis] : c->low[axis][i];
  const double high = b->high[axis] < c->high[axis][i] ? b->high[axis] : c->high[axis][i];
  return high > low;
}

static bool overlaps(const GlowSuppression *s, const GlowBox *a, const GlowBox *b) {
  GlowBox both;
  for (int i = 0; i < 2; i++) {
    both.low[i] = a->low[i] > b->low[i] ? a->low[i] : b->low[i];
    both.high[i] = a->high[i] < b->high[i] ? a->high[i] : b->high[i];
    if (!(both.high[i] > both.low[i]))
      return false;
  }
  double common = area(&both), first = area(a), second = area(b);
  double all = first + second - common;
  return common > 0 && first > 0 && second > 0 && all > 0 &&
         (double)(float)(common / all) > s->overlap;
}

/* Whether the box overlaps one of the chosen boxes [begin, end) too much. */
static bool hits(const GlowSuppression *s, const GlowBox *box, int64_t begin, int64_t end) {
  const GlowChosen *c = &s->chosen;
  for (int64_t i = begin; i < end; i++) {
    const GlowBox other = {{c->low[0][i], c->low[1][i]}, {c->high[0][i], c->high[1][i]}};
    if (meet(c, i, box, 0) && meet(c, i, box, 1) && overlaps(s, box, &other))
      return true;
  }
  return false;
}

/* Whether the box overlaps none of the boxes chosen before it too much. Most boxes do not even
 * meet, which is asked of some at once. */
static bool is_free(const GlowSuppression *s, const GlowBox *box, int64_t chosen) {
  enum { TOGETHER = 8 };
  const GlowChosen *c = &s->chosen;
  int64_t i = 0;
  for (; i + TOGETHER <= chosen; i += TOGETHER) {
    int any = 0;
    for (int64_t k = i; k < i + TOGETHER; k++)
      any |= meet(c, k, box, 0) & meet(c, k, box, 1);
    if (any && hits(s, box, i, i + TOGETHER))
      return false;
  }
  return !hits(s, box, i, chosen);
}

/* ---- The best box first ---------------------------------------------------------------------- */

static bool better(const GlowSuppression *s, int64_t i, int64_t j) {
  return s->keys[i] > s->keys[j] || (s->keys[i] == s->keys[j] && s->order[i] < s->order[j]);
}

/* Lets entry i of a heap of n sink until none below it is better. */
static void sink(const GlowSuppression *s, int64_t i, int64_t n) {
  const uint64_t key = s->keys[i];
  const int64_t box = s->order[i];
  for (int64_t k = 2 * i + 1; k < n; k = 2 * i + 1) {
    k += k + 1 < n && better(s, k + 1, k);
    if (key > s->keys[k] || (key == s->keys[k] && box < s->order[k]))
      break;
    s->keys[i] = s->keys[k];
    s->order[i] = s->order[k];
    i = k;
  }
  s->keys[i] = key;
  s->order[i] = box;
}

/* Makes a heap of the boxes of a class that may be selected; returns how many. */
static int64_t candidates(const GlowSuppression *s, int64_t line) {
  int64_t n = 0;
  glow_load_real(s->scores, line * s->count, 1, s->count, s->row);
  for (int64_t i = 0; i < s->count; i++) {
    s->order[n] = i;
    n += !s->limited || s->row[i] > s->least;
  }
  for (int64_t i = 0; i < n; i++)
    s->keys[i] = glow_real_key(s->row[s->order[i]]);
  for (int64_t i = n / 2; i-- > 0;)
    sink(s, i, n);
  return n;
}

/* Lists the boxes that are selected of a heap of n; returns how many. */
static int64_t select_boxes(const GlowSuppression *s, int64_t batch, int64_t n) {
  int64_t chosen = 0;
  while (n > 0 && chosen < s->most) {
    const int64_t best = s->order[0];
    const GlowBox box = box_at(s, batch, best);
    if (is_free(s, &box, chosen)) {
      for (int a = 0; a < 2; a++) {
        s->chosen.low[a][chosen] = box.low[a];
        s->chosen.high[a][chosen] = box.high[a];
      }
      s->selected[chosen++] = best;
    }
    s->keys[0] = s->keys[--n];
    s->order[0] = s->order[n];
    sink(s, 0, n);
  }
  return chosen;
}

/* Reads an optional operand of one number; false if it has not one element. */
static bool read_number(const GlowBuf *b, double *v) {
  if (!glow_buf_present(b))
    return true;
  if (glow_buf_elements(b) != 1)
    return false;
  glow_load_real(b, 0, 1, 1, v);
  return true;
}

size_t glow_scratch_non_max_suppression(const GlowCall *call) {
  return 8 * (size_t)call->in[0].dims[1] * sizeof(uint64_t);
}

GlowRunError glow_kernel_non_max_suppression(GlowCall *call) {
  const GlowNonMaxSuppressionMembers *m = call->members;
  GlowBuf *y = &call->out[0];
  const GlowBuf *scores = &call->in[1];
  GlowSuppression s = {.boxes = &call->in[0], .scores = scores, .count = call->in[0].dims[1]};
  s.center = m->center_point_box;
  s.limited = glow_buf_present(&call->in[4]);
  s.keys = call->scratch;
  s.order = (int64_t *)s.keys + s.count;
  s.selected = s.order + s.count;
  s.row = (double *)s.selected + s.count;
  for (int a = 0; a < 2; a++) {
    s.chosen.low[a] = s.row + (1 + a) * s.count;
    s.chosen.high[a] = s.row + (3 + a) * s.count;
  }
  if (s.boxes->dims[2] != 4 || scores->dims[0] != s.boxes->dims[0] || scores->dims[2] != s.count)
    return GLOW_RUN_SHAPE;
  if (!read_number(&call->in[3], &s.overlap) || !read_number(&call->in[4], &s.least) ||
      !(s.overlap >= 0 && s.overlap <= 1) ||
      (glow_buf_present(&call->in[2]) && glow_buf_elements(&call->in[2]) != 1))
    return GLOW_RUN_VALUE;
  s.most = glow_buf_present(&call->in[2]) ? glow_ref_int(&call->in[2], 0) : 0;
  int64_t room = y->dims[0], row = 0;
  for (int64_t line = 0; line < scores->dims[0] * scores->dims[1]; line++) {
    int64_t batch = line / scores->dims[1];
    int64_t chosen = select_boxes(&s, batch, candidates(&s, line));
    if (chosen > room - row) {
      call->detail = row + chosen;
      return GLOW_RUN_SHAPE;
    }
    for (int64_t k = 0; k < chosen; k++, row++) {
      const int64_t values[3] = {batch, line % scores->dims[1], s.selected[k]};
      glow_store_int(y, row * 3, 1, 3, values);
    }
  }
  y->dims[0] = row;
  return GLOW_RUN_OK;
}
