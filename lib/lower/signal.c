/* Windows, filter banks, and transforms of frames.
 *
 * CosineWindow: a0 - a1 Cos(t) + a2 Cos(2 t) with t = 2 pi i / N for sample i, where N is Size, or
 * one less for a symmetric window. MelWeightMatrix: filter j, with its bins left, center and right,
 * is 1 at the center and a straight line to 0 on both sides. Both are computed in double and
 * rounded by a Cast. STFT: DFT(Mul(frames, Window)), where Gather takes the frames. */
#include "lower/lower.h"
#include "ops/lower.h"

static GlowValue *number(GlowBuilder *b, double v) {
  return glow_build_scalar(b, GLOW_KIND_DOUBLE, v);
}

static GlowValue *integer(GlowBuilder *b, const GlowNode *n, const char *what, int64_t v) {
  return glow_constant_int(b->module, n, what, v);
}

static GlowValue *real(GlowBuilder *b, GlowValue *v) {
  return glow_then_cast(b, v, GLOW_KIND_DOUBLE);
}

/* 0, 1, ..., limit - 1. */
static GlowValue *count_to(GlowBuilder *b, const GlowNode *n, GlowValue *limit) {
  return glow_then3(b, GLOW_OP_RANGE, integer(b, n, "zero", 0), limit, integer(b, n, "one", 1));
}

/* v / divisor + more, a constant where v is, so that extents that follow from it are known. */
static GlowValue *derived(GlowBuilder *b, const GlowNode *n, const char *what, GlowValue *v,
                          int64_t divisor, int64_t more) {
  const GlowTensor *known = glow_value_known(v);
  if (known)
    return integer(b, n, what, glow_tensor_get_int(known, 0) / divisor + more);
  if (divisor != 1)
    v = glow_then2(b, GLOW_OP_DIV, v, integer(b, n, "divisor", divisor));
  return glow_then2(b, GLOW_OP_ADD, v, integer(b, n, "more", more));
}

static GlowValue *shaped(GlowBuilder *b, const GlowNode *n, GlowValue *v, const int64_t *shape,
                         uint32_t rank) {
  return glow_then2(b, GLOW_OP_RESHAPE, v, glow_constant_ints(b->module, n, "shape", shape, rank));
}

/* ---- Windows --------------------------------------------------------------------------------- */

/* a * Cos(turns * t). */
static GlowValue *wave(GlowBuilder *b, double a, double turns, GlowValue *t) {
  GlowValue *cosine =
      glow_then1(b, GLOW_OP_COS, glow_then2(b, GLOW_OP_MUL, number(b, turns), t), NULL);
  return glow_then2(b, GLOW_OP_MUL, number(b, a), cosine);
}

bool glow_lower_cosine_window(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  static const double coefficients[][3] = {[GLOW_WINDOW_SHAPE_HANN] = {0.5, 0.5, 0},
                                           [GLOW_WINDOW_SHAPE_HAMMING] = {25.0 / 46, 21.0 / 46, 0},
                                           [GLOW_WINDOW_SHAPE_BLACKMAN] = {0.42, 0.5, 0.08}};
  const double two_pi = 0x1.921fb54442d18p2;
  const GlowCosineWindowMembers *m = n->members;
  const double *a = coefficients[m->shape];
  GlowValue *size = glow_node_in(n, GLOW_COSINE_WINDOW_IN_SIZE), *period = size;
  GlowValue *one = integer(b, n, "one", 1);
  if (!m->periodic)
    period = glow_then2(b, GLOW_OP_MAX, glow_then2(b, GLOW_OP_SUB, size, one), one);
  GlowValue *t = glow_then2(b, GLOW_OP_MUL, real(b, count_to(b, n, size)), number(b, two_pi));
  t = glow_then2(b, GLOW_OP_DIV, t, real(b, period));
  GlowValue *y = glow_then2(b, GLOW_OP_SUB, number(b, a[0]), wave(b, a[1], 1, t));
  if (a[2] != 0)
    y = glow_then2(b, GLOW_OP_ADD, y, wave(b, a[2], 2, t));
  results[0] = glow_then_cast(b, y, m->kind);
  return results[0] != NULL;
}

/* ---- MelWeightMatrix ------------------------------------------------------------------------- */

/* log(1 + f / 700): mel up to a factor. */
static GlowValue *to_mel(GlowBuilder *b, GlowValue *hertz) {
  GlowValue *f = glow_then2(b, GLOW_OP_DIV, hertz, number(b, 700));
  return glow_then1(b, GLOW_OP_LOG, glow_then2(b, GLOW_OP_ADD, number(b, 1), f), NULL);
}

static GlowValue *edge(GlowBuilder *b, const GlowNode *n, uint32_t operand) {
  static const int64_t none = 0;
  return shaped(b, n, real(b, glow_node_in(n, operand)), &none, 0);
}

/* Low, with a check at run time that 0 <= Low <= High and 0 < Rate: a Gather from a list that has
 * only Low reads index 0 if this holds, else index 1, which is an error. Values that are known have
 * been checked by inference. */
static GlowValue *checked_low(GlowBuilder *b, const GlowNode *n, GlowValue *high, GlowValue *rate) {
  static const int64_t one = 1;
  GlowValue *low = edge(b, n, GLOW_MEL_WEIGHT_MATRIX_IN_LOW), *zero = number(b, 0);
  if (glow_value_known(glow_node_in(n, GLOW_MEL_WEIGHT_MATRIX_IN_LOW)) &&
      glow_value_known(glow_node_in(n, GLOW_MEL_WEIGHT_MATRIX_IN_HIGH)) &&
      glow_value_known(glow_node_in(n, GLOW_MEL_WEIGHT_MATRIX_IN_RATE)))
    return low;
  GlowValue *good = glow_then2(b, GLOW_OP_AND, glow_then2(b, GLOW_OP_LESS_OR_EQUAL, zero, low),
                               glow_then2(b, GLOW_OP_LESS_OR_EQUAL, low, high));
  good = glow_then2(b, GLOW_OP_AND, good, glow_then2(b, GLOW_OP_LESS, zero, rate));
  GlowValue *index = glow_then_cast(b, glow_then1(b, GLOW_OP_NOT, good, NULL), GLOW_KIND_I64);
  return glow_then2(b, GLOW_OP_GATHER, shaped(b, n, low, &one, 1), index);
}

/* The bins of all edges: filter j lies between edges j and j + 2, so there are two more than
 * filters. */
static GlowValue *edge_bins(GlowBuilder *b, const GlowNode *n, GlowValue *filters) {
  GlowValue *length = real(b, glow_node_in(n, GLOW_MEL_WEIGHT_MATRIX_IN_LENGTH));
  GlowValue *rate = real(b, glow_node_in(n, GLOW_MEL_WEIGHT_MATRIX_IN_RATE));
  GlowValue *high = edge(b, n, GLOW_MEL_WEIGHT_MATRIX_IN_HIGH);
  GlowValue *low = to_mel(b, checked_low(b, n, high, rate));
  high = to_mel(b, high);
  GlowValue *edges = derived(b, n, "edges", filters, 1, 2);
  GlowValue *step =
      glow_then2(b, GLOW_OP_DIV, glow_then2(b, GLOW_OP_SUB, high, low), real(b, edges));
  GlowValue *mel = glow_then2(b, GLOW_OP_MUL, real(b, count_to(b, n, edges)), step);
  mel = glow_then1(b, GLOW_OP_EXP, glow_then2(b, GLOW_OP_ADD, mel, low), NULL);
  GlowValue *hertz =
      glow_then2(b, GLOW_OP_MUL, number(b, 700), glow_then2(b, GLOW_OP_SUB, mel, number(b, 1)));
  GlowValue *bin = glow_then2(b, GLOW_OP_ADD, length, number(b, 1));
  bin = glow_then2(b, GLOW_OP_DIV, glow_then2(b, GLOW_OP_MUL, bin, hertz), rate);
  return glow_then1(b, GLOW_OP_FLOOR, bin, NULL);
}

/* (to - from) / (over - from). */
static GlowValue *slope(GlowBuilder *b, GlowValue *to, GlowValue *from, GlowValue *over) {
  return glow_then2(b, GLOW_OP_DIV, glow_then2(b, GLOW_OP_SUB, to, from),
                    glow_then2(b, GLOW_OP_SUB, over, from));
}

/* Whether low <= place < high. */
static GlowValue *between(GlowBuilder *b, GlowValue *low, GlowValue *place, GlowValue *high) {
  return glow_then2(b, GLOW_OP_AND, glow_then2(b, GLOW_OP_LESS_OR_EQUAL, low, place),
                    glow_then2(b, GLOW_OP_LESS, place, high));
}

bool glow_lower_mel_weight_matrix(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  static const int64_t column[] = {-1, 1};
  const GlowMelWeightMatrixMembers *m = n->members;
  GlowValue *filters = glow_node_in(n, GLOW_MEL_WEIGHT_MATRIX_IN_FILTERS);
  GlowValue *length = glow_node_in(n, GLOW_MEL_WEIGHT_MATRIX_IN_LENGTH);
  GlowValue *edges = edge_bins(b, n, filters), *at[3];
  for (int64_t i = 0; i < 3; i++) {
    GlowValue *which = count_to(b, n, filters);
    which = glow_then2(b, GLOW_OP_ADD, which, integer(b, n, "edge", i));
    at[i] = glow_then2(b, GLOW_OP_GATHER, edges, which);
  }
  GlowValue *rows = derived(b, n, "rows", length, 2, 1);
  GlowValue *place = shaped(b, n, real(b, count_to(b, n, rows)), column, 2);
  GlowValue *left = between(b, at[0], place, at[1]);
  GlowValue *right = between(b, at[1], place, at[2]);
  GlowValue *up = slope(b, place, at[0], at[1]), *down = slope(b, place, at[2], at[1]);
  GlowValue *y = glow_then3(b, GLOW_OP_WHERE, right, down, number(b, 0));
  y = glow_then3(b, GLOW_OP_WHERE, left, up, y);
  y = glow_then3(b, GLOW_OP_WHERE, glow_then2(b, GLOW_OP_EQUAL, place, at[1]), number(b, 1), y);
  results[0] = glow_then_cast(b, y, m->kind);
  return results[0] != NULL;
}

/* ---- STFT ------------------------------------------------------------------------------------ */

/* The extent of axis 0 or 1, i64<>. */
static GlowValue *extent(GlowBuilder *b, const GlowNode *n, GlowValue *v, uint32_t axis) {
  static const int64_t none = 0;
  const GlowType *t = v->type;
  if (!t->unranked && t->dims[axis].kind == GLOW_DIM_EXACT)
    return integer(b, n, "extent", t->dims[axis].size);
  GlowShapeMembers m = {.start = axis, .end = axis + 1};
  return shaped(b, n, glow_then1(b, GLOW_OP_SHAPE, v, &m), &none, 0);
}

/* (samples - length) / step + 1, a constant if they are. */
static GlowValue *frame_count(GlowBuilder *b, const GlowNode *n, GlowValue *samples,
                              GlowValue *length, GlowValue *step) {
  if (!samples || !length)
    return NULL;
  const GlowTensor *s = glow_value_known(samples), *l = glow_value_known(length);
  const GlowTensor *d = glow_value_known(step);
  if (s && l && d && glow_tensor_get_int(d, 0) > 0)
    return integer(
        b, n, "frames",
        (glow_tensor_get_int(s, 0) - glow_tensor_get_int(l, 0)) / glow_tensor_get_int(d, 0) + 1);
  GlowValue *steps = glow_then2(b, GLOW_OP_DIV, glow_then2(b, GLOW_OP_SUB, samples, length), step);
  return glow_then2(b, GLOW_OP_ADD, steps, integer(b, n, "one", 1));
}

/* The value of a constant of one integer, or 0. */
static int64_t known_count(GlowValue *v) {
  const GlowTensor *known = v ? glow_value_known(v) : NULL;
  return known ? glow_tensor_get_int(known, 0) : 0;
}

/* The indices [frames, length] of frames that begin `step` apart. */
static GlowValue *frame_indices(GlowBuilder *b, const GlowNode *n, GlowValue *frames,
                                GlowValue *length, GlowValue *step) {
  static const int64_t column[] = {-1, 1};
  GlowValue *first = glow_then2(b, GLOW_OP_MUL, frames ? count_to(b, n, frames) : NULL, step);
  return glow_then2(b, GLOW_OP_ADD, shaped(b, n, first, column, 2),
                    length ? count_to(b, n, length) : NULL);
}

/* The frames [batch, frames, length, parts], of runs of g samples, which step and length are
 * multiples of. */
static GlowValue *frames_of_runs(GlowBuilder *b, const GlowNode *n, int64_t frames, int64_t length,
                                 int64_t step, int64_t g) {
  GlowValue *x = glow_node_in(n, GLOW_STFT_IN_X);
  const int64_t end = (frames - 1) * step + length, parts = x->type->dims[2].size;
  const GlowGatherMembers gather = {.axis = 1};
  GlowValue *runs = glow_build_part(b, n, x, 1, 0, end, 1);
  runs = shaped(b, n, runs, (int64_t[]){0, end / g, g * parts}, 3);
  GlowValue *index =
      frame_indices(b, n, integer(b, n, "frames", frames), integer(b, n, "runs", length / g),
                    integer(b, n, "step", step / g));
  GlowValue *y = glow_then(b, GLOW_OP_GATHER, (GlowValue *[]){runs, index}, 2, &gather);
  return shaped(b, n, y, (int64_t[]){0, frames, length, parts}, 4);
}

static int64_t common_divisor(int64_t a, int64_t b) {
  while (b) {
    const int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

bool glow_lower_stft(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  static const int64_t column[] = {-1, 1};
  const GlowSTFTMembers *m = n->members;
  GlowValue *x = glow_node_in(n, GLOW_STFT_IN_X), *step = glow_node_in(n, GLOW_STFT_IN_STEP);
  GlowValue *window = glow_node_in(n, GLOW_STFT_IN_WINDOW);
  GlowValue *length = glow_node_in(n, GLOW_STFT_IN_LENGTH), *samples = extent(b, n, x, 1), *y;
  if (!length)
    length = window ? extent(b, n, window, 0) : samples;
  GlowValue *frames = frame_count(b, n, samples, length, step);
  const int64_t count = known_count(frames), each = known_count(length), apart = known_count(step);
  const int64_t run = count > 0 ? common_divisor(each, apart) : 1;
  if (run > 1 && !x->type->unranked && x->type->dims[2].kind == GLOW_DIM_EXACT) {
    y = frames_of_runs(b, n, count, each, apart, run);
  } else {
    const GlowGatherMembers gather = {.axis = 1};
    GlowValue *index = frame_indices(b, n, frames, length, step);
    y = glow_then(b, GLOW_OP_GATHER, (GlowValue *[]){x, index}, 2, &gather);
  }
  if (window)
    y = glow_then2(b, GLOW_OP_MUL, y, shaped(b, n, window, column, 2));
  results[0] = glow_then1(b, GLOW_OP_DFT, y, &(GlowDFTMembers){.axis = 2, .onesided = m->onesided});
  return results[0] != NULL;
}
