/* NonMaxSuppression: for each batch and class, boxes are taken by descending score (ties by lower
 * index). A box is selected unless it overlaps a box selected before by more than the threshold.
 * Areas are double. Their quotient is rounded to float, so that a quotient that equals the
 * threshold in float is not above it. */
#include "kernels/ref/order.h"
#include "kernels/ref/ref.h"

typedef struct GlowBox {
  double low[2], high[2];
} GlowBox;

typedef struct GlowSuppression {
  const GlowBuf *boxes, *scores;
  int64_t count, most;   /* boxes; how many of a class are selected at most */
  bool center, limited;  /* boxes are center and size, not corners; `least` counts */
  double overlap, least; /* thresholds of overlap and score */
  uint64_t *keys;        /* of the scores of a class */
  int64_t *order, *other;
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

static bool lower_score(const void *with, int64_t i, int64_t j) {
  const uint64_t *keys = with;
  return keys[i] < keys[j];
}

/* The boxes of a class that may be selected, best first; returns how many. */
static int64_t candidates(const GlowSuppression *s, int64_t line) {
  int64_t n = 0;
  glow_load_keys(s->scores, line * s->count, 1, s->count, s->keys);
  for (int64_t i = 0; i < s->count; i++) {
    double score;
    glow_load_real(s->scores, line * s->count + i, 1, 1, &score);
    if (!s->limited || score > s->least)
      s->order[n++] = i;
  }
  glow_sort_indices(s->order, s->other, n, lower_score, s->keys);
  return n;
}

/* Moves the boxes that are selected to the front of the order; returns how many. */
static int64_t select_boxes(const GlowSuppression *s, int64_t batch, int64_t n) {
  int64_t chosen = 0;
  for (int64_t i = 0; i < n && chosen < s->most; i++) {
    GlowBox box = box_at(s, batch, s->order[i]);
    bool free = true;
    for (int64_t k = 0; k < chosen && free; k++) {
      GlowBox other = box_at(s, batch, s->order[k]);
      free = !overlaps(s, &box, &other);
    }
    if (free)
      s->order[chosen++] = s->order[i];
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
  return 3 * (size_t)call->in[0].dims[1] * sizeof(uint64_t);
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
  s.other = s.order + s.count;
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
      const int64_t values[3] = {batch, line % scores->dims[1], s.order[k]};
      glow_store_int(y, row * 3, 1, 3, values);
    }
  }
  y->dims[0] = row;
  return GLOW_RUN_OK;
}
