/* RNN, GRU and LSTM are loops over time, one for each direction:
 *
 *   P = MatMul(X, W'), then Add(P, Wb + Rb)                            for all steps at once
 *   Loop over t: the gates from P[t] and MatMul(H, R'), the new state, and Y[t]
 *
 * where ' is a transposition. The reverse direction runs over X reversed along time and reverses Y.
 *
 * With Lengths, a sequence whose steps are over keeps its state, and its Y is 0. In reverse, its
 * state stays as it is until the loop comes to the sequence's last step. With linear_before_reset,
 * GRU adds Rb of the hidden gate to MatMul(H, R') instead of P. Clipping limits the inputs of the
 * gates' activations, not that of LSTM's h(C), as other implementations read ONNX. */
#include "lower/recurrent.h"
#include "ops/lower.h"

/* ---- Pieces ---------------------------------------------------------------------------------- */

static GlowValue *ints(const GlowCellRule *r, const char *what, const int64_t *values,
                       uint32_t count) {
  return glow_constant_ints(r->b->module, r->n, what, values, count);
}

static GlowValue *permuted(const GlowCellRule *r, GlowValue *v, const uint32_t *perm,
                           uint32_t rank) {
  return glow_build_permuted(r->b, v, perm, rank);
}

/* Slice `index` of axis 0. */
static GlowValue *at(const GlowCellRule *r, GlowValue *v, uint32_t index) {
  GlowValue *i = glow_constant_int(r->b->module, r->n, "direction", index);
  return glow_then2(r->b, GLOW_OP_GATHER, v, i);
}

bool glow_cell_cut(const GlowCellRule *r, GlowBuilder *b, GlowValue *v, const int64_t *multiples,
                   uint32_t count, GlowValue **pieces) {
  int64_t sizes[4] = {0};
  if (!v)
    return false;
  for (uint32_t i = 0; i < count; i++)
    sizes[i] = multiples[i] * r->hidden;
  GlowSplitMembers m = {.axis = -1};
  GlowNodeSpec spec = {.op = GLOW_OP_SPLIT,
                       .ins = (GlowValue *[]){v, ints(r, "gates", sizes, count)},
                       .nins = 2,
                       .members = &m,
                       .nresults = count};
  GlowNode *n = glow_node_create(b, &spec);
  for (uint32_t i = 0; n && i < count; i++)
    pieces[i] = &n->results[i];
  return n != NULL;
}

/* v in reverse order along axis 0. */
static GlowValue *reversed(const GlowCellRule *r, GlowValue *v) {
  static const int64_t last = -1, before_first = INT64_MIN, axis = 0;
  if (!v)
    return NULL;
  GlowNode *n =
      glow_build(r->b, GLOW_OP_SLICE,
                 (GlowValue *[]){v, ints(r, "last", &last, 1), ints(r, "end", &before_first, 1),
                                 ints(r, "axis", &axis, 1), ints(r, "step", &last, 1)},
                 5, NULL, NULL);
  return n ? &n->results[0] : NULL;
}

static GlowValue *range(const GlowCellRule *r, GlowValue *limit) {
  return glow_then3(r->b, GLOW_OP_RANGE, glow_constant_int(r->b->module, r->n, "first", 0), limit,
                    glow_constant_int(r->b->module, r->n, "step", 1));
}

/* Which sequences run at which step, bool [steps, batch, 1]. Each length is looked up in the list
 * 0, 1, ..., steps, so that a larger length is an error at run time; a negative length is replaced
 * by steps + 1, so that it is one, too. */
static GlowValue *running_steps(const GlowCellRule *r, GlowValue *lengths) {
  GlowBuilder *b = r->b;
  GlowModule *m = b->module;
  lengths = glow_then_cast(b, lengths, GLOW_KIND_I64);
  GlowValue *beyond =
      r->steps.kind == GLOW_DIM_EXACT
          ? glow_constant_int(m, r->n, "beyond", r->steps.size + 1)
          : glow_then2(b, GLOW_OP_ADD, r->trip, glow_constant_int(m, r->n, "one", 1));
  GlowValue *negative = glow_then2(b, GLOW_OP_LESS, lengths, glow_constant_int(m, r->n, "zero", 0));
  GlowValue *index = glow_then3(b, GLOW_OP_WHERE, negative, beyond, lengths);
  GlowValue *checked = glow_then2(b, GLOW_OP_GATHER, range(r, beyond), index);
  static const int64_t column[] = {0, 1}, last[] = {0, 0, 1};
  GlowValue *step = glow_then2(b, GLOW_OP_RESHAPE, range(r, r->trip), ints(r, "column", column, 2));
  GlowValue *runs = glow_then2(b, GLOW_OP_LESS, step, checked);
  return glow_then2(b, GLOW_OP_RESHAPE, runs, ints(r, "column", last, 3));
}

/* ---- Before the loop ------------------------------------------------------------------------- */

static bool begin(GlowCellRule *r, GlowBuilder *b, const GlowNode *n) {
  *r = (GlowCellRule){.b = b, .n = n, .r = glow_recurrent_of(glow_node_desc(n), n->members)};
  const GlowType *weights = glow_node_in(n, GLOW_LSTM_IN_R)->type;
  r->x = glow_node_in(n, GLOW_LSTM_IN_X);
  if (r->x->type->unranked || weights->unranked || weights->dims[2].kind != GLOW_DIM_EXACT)
    return false;
  r->hidden = weights->dims[2].size;
  r->kind = r->x->type->kind;
  if (r->r.batch_first)
    r->x = permuted(r, r->x, (uint32_t[]){1, 0, 2}, 3);
  if (!r->x)
    return false;
  r->steps = r->x->type->dims[0];
  r->batch = r->x->type->dims[1];
  r->trip = glow_build_extent(b, n, r->x, 0);
  GlowValue *lengths = glow_node_in(r->n, GLOW_LSTM_IN_LENGTHS);
  if (lengths)
    r->running = running_steps(r, lengths);
  return r->trip && (!lengths || r->running);
}

/* Zeros [batch, hidden]. */
static GlowValue *zeros(const GlowCellRule *r) {
  GlowDim dims[2] = {r->batch, GLOW_EXACT(r->hidden)};
  const GlowType *type = glow_type_tensor(r->b->module->ctx, r->kind, 2, dims);
  GlowSplatMembers splat = {0};
  GlowConstantOfShapeMembers filled = {.kind = r->kind};
  GlowNodeSpec spec = {.op = GLOW_OP_SPLAT, .members = &splat, .types = &type};
  GlowValue *shape = NULL;
  if (r->batch.kind != GLOW_DIM_EXACT) {
    shape = glow_then1(r->b, GLOW_OP_SHAPE, r->x, &(GlowShapeMembers){.start = 1, .end = 2});
    shape =
        glow_then(r->b, GLOW_OP_CONCAT, (GlowValue *[]){shape, ints(r, "hidden", &r->hidden, 1)}, 2,
                  &(GlowConcatMembers){.axis = 0});
    if (!shape)
      return NULL;
    spec.op = GLOW_OP_CONSTANT_OF_SHAPE;
    spec.ins = &shape;
    spec.nins = 1;
    spec.members = &filled;
  }
  GlowNode *n = glow_node_create(r->b, &spec);
  return n ? &n->results[0] : NULL;
}

static GlowValue *initial(const GlowCellRule *r, uint32_t port, uint32_t direction) {
  GlowValue *v = glow_node_in(r->n, port);
  if (!v)
    return zeros(r);
  if (r->r.batch_first)
    v = permuted(r, v, (uint32_t[]){1, 0, 2}, 3);
  return at(r, v, direction);
}

/* Sets *bias to what is added to P, NULL for nothing, and w->rb_h for GRU with linear_before_reset.
 * False if a node is refused. */
static bool biases(const GlowCellRule *r, GlowCellWeights *w, GlowValue **bias) {
  GlowValue *b = glow_node_in(r->n, GLOW_LSTM_IN_B), *half[2], *of_w[2], *of_r[2];
  *bias = NULL;
  if (!b)
    return true;
  int64_t gates = r->r.gates;
  if (!glow_cell_cut(r, r->b, at(r, b, w->direction), (int64_t[]){gates, gates}, 2, half))
    return false;
  if (!r->r.linear_before_reset) {
    *bias = glow_then2(r->b, GLOW_OP_ADD, half[0], half[1]);
    return *bias != NULL;
  }
  if (!glow_cell_cut(r, r->b, half[0], (int64_t[]){2, 1}, 2, of_w) ||
      !glow_cell_cut(r, r->b, half[1], (int64_t[]){2, 1}, 2, of_r))
    return false;
  w->rb_h = of_r[1];
  *bias = glow_then(r->b, GLOW_OP_CONCAT,
                    (GlowValue *[]){glow_then2(r->b, GLOW_OP_ADD, of_w[0], of_r[0]), of_w[1]}, 2,
                    &(GlowConcatMembers){.axis = 0});
  return *bias != NULL;
}

static bool read_weights(const GlowCellRule *r, uint32_t direction, bool reverse,
                         GlowCellWeights *w) {
  static const uint32_t swap[] = {1, 0};
  *w = (GlowCellWeights){.direction = direction};
  GlowValue *bias, *pieces[2], *p = glow_node_in(r->n, GLOW_LSTM_IN_P);
  GlowValue *x = reverse ? reversed(r, r->x) : r->x;
  GlowValue *wt = permuted(r, at(r, glow_node_in(r->n, GLOW_LSTM_IN_W), direction), swap, 2);
  w->input = glow_then2(r->b, GLOW_OP_MAT_MUL, x, wt);
  if (!biases(r, w, &bias))
    return false;
  if (bias)
    w->input = glow_then2(r->b, GLOW_OP_ADD, w->input, bias);
  w->running = reverse ? reversed(r, r->running) : r->running;
  w->r = permuted(r, at(r, glow_node_in(r->n, GLOW_LSTM_IN_R), direction), swap, 2);
  if (r->r.op == GLOW_OP_GRU) {
    if (!glow_cell_cut(r, r->b, w->r, (int64_t[]){2, 1}, 2, pieces))
      return false;
    w->r = pieces[0];
    w->r_h = pieces[1];
  }
  w->peephole = r->r.op == GLOW_OP_LSTM && p ? at(r, p, direction) : NULL;
  return w->input && w->r && (!r->running || w->running);
}

/* ---- The loop -------------------------------------------------------------------------------- */

/* Fills the body, at b; its parameters are the step, the condition, and the states. */
static bool build_body(const GlowCellRule *r, GlowBuilder *b, const GlowCellWeights *w) {
  GlowBlock *body = b->block;
  b->pred = r->b->pred;
  bool lstm = r->r.op == GLOW_OP_LSTM;
  GlowCellState s = {body->params[2], lstm ? body->params[3] : NULL};
  GlowValue *p = glow_then2(b, GLOW_OP_GATHER, w->input, body->params[0]);
  GlowCellState next = glow_cell_step(r, b, w, p, s);
  GlowValue *y = next.h;
  if (w->running) {
    GlowValue *runs = glow_then2(b, GLOW_OP_GATHER, w->running, body->params[0]);
    y = glow_then3(b, GLOW_OP_WHERE, runs, y, glow_build_scalar(b, r->kind, 0.0));
    next.h = glow_then3(b, GLOW_OP_WHERE, runs, next.h, s.h);
    next.c = lstm ? glow_then3(b, GLOW_OP_WHERE, runs, next.c, s.c) : NULL;
  }
  if (!y || !next.h || (lstm && !next.c))
    return false;
  GlowValue *yields[4] = {body->params[1], next.h, lstm ? next.c : y, y};
  return glow_build_terminator(body, GLOW_OP_YIELD, yields, lstm ? 4 : 3) != NULL;
}

/* Runs one direction: Y [steps, batch, hidden] and the last states. */
static bool run_direction(const GlowCellRule *r, uint32_t direction, GlowValue **y,
                          GlowCellState *last) {
  GlowContext *ctx = r->b->module->ctx;
  bool reverse = direction == 1 || r->r.direction == GLOW_DIRECTION_REVERSE;
  bool lstm = r->r.op == GLOW_OP_LSTM;
  GlowCellWeights w;
  GlowValue *h = initial(r, GLOW_LSTM_IN_INITIAL_H, direction);
  GlowValue *c = lstm ? initial(r, GLOW_LSTM_IN_INITIAL_C, direction) : NULL;
  if (!h || (lstm && !c) || !read_weights(r, direction, reverse, &w))
    return false;
  GlowBuilder inside;
  GlowBlock *body = glow_build_region(r->b, "body", &inside);
  GlowDim dims[2] = {r->batch, GLOW_EXACT(r->hidden)};
  const GlowType *state = glow_type_tensor(ctx, r->kind, 2, dims);
  glow_block_add_param(body, NULL, glow_type_scalar(ctx, GLOW_KIND_I64));
  glow_block_add_param(body, NULL, glow_type_scalar(ctx, GLOW_KIND_BOOL));
  for (int i = 0; i <= lstm; i++)
    glow_block_add_param(body, NULL, state);
  if (!build_body(r, &inside, &w))
    return false;
  GlowNodeSpec spec = {.op = GLOW_OP_LOOP,
                       .ins = (GlowValue *[]){r->trip, NULL, h, c},
                       .nins = lstm ? 4 : 3,
                       .regions = &body,
                       .nregions = 1,
                       .nresults = lstm ? 3 : 2};
  GlowNode *loop = glow_node_create(r->b, &spec);
  if (!loop)
    return false;
  *last = (GlowCellState){&loop->results[0], lstm ? &loop->results[1] : NULL};
  *y = &loop->results[lstm ? 2 : 1];
  if (reverse)
    *y = reversed(r, *y);
  return *y != NULL;
}

/* ---- Results --------------------------------------------------------------------------------- */

/* One value per direction with a new axis for the directions at `axis`, in the order that the
 * results have; `perm` is what batch_first makes of it. */
static GlowValue *collect(const GlowCellRule *r, GlowValue *const *values, uint32_t axis,
                          const uint32_t *perm) {
  GlowValue *pieces[2] = {NULL, NULL}, *all;
  uint32_t rank = values[0]->type->rank + 1;
  for (uint32_t i = 0; i < r->r.directions; i++) {
    GlowDim dims[4];
    for (uint32_t a = 0; a < rank; a++)
      dims[a] = a == axis ? GLOW_EXACT(1) : values[i]->type->dims[a - (a > axis)];
    pieces[i] = glow_build_reshape(r->b, r->n, values[i], rank, dims);
  }
  all = pieces[0];
  if (r->r.directions == 2)
    all = glow_then(r->b, GLOW_OP_CONCAT, (GlowValue *[]){pieces[0], pieces[1]}, 2,
                    &(GlowConcatMembers){.axis = axis});
  return r->r.batch_first ? permuted(r, all, perm, rank) : all;
}

static bool lower_cell(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  GlowCellRule r;
  GlowValue *y[2], *h[2], *c[2];
  if (!begin(&r, b, n))
    return false;
  for (uint32_t d = 0; d < r.r.directions; d++) {
    GlowCellState last;
    if (!run_direction(&r, d, &y[d], &last))
      return false;
    h[d] = last.h;
    c[d] = last.c;
  }
  GlowValue *const *const values[] = {y, h, c};
  bool ok = true;
  for (uint32_t i = 0; ok && i < n->nresults; i++) {
    static const uint32_t batch_steps[] = {2, 0, 1, 3}, batch_directions[] = {1, 0, 2};
    results[i] = collect(&r, values[i], i == 0, i == 0 ? batch_steps : batch_directions);
    ok = results[i] != NULL;
  }
  return ok;
}

bool glow_lower_rnn(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  return lower_cell(b, n, results);
}
bool glow_lower_gru(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  return lower_cell(b, n, results);
}
bool glow_lower_lstm(GlowBuilder *b, const GlowNode *n, GlowValue **results) {
  return lower_cell(b, n, results);
}
