/* Constants that are packed: initializers of one Relayout, of a constant or of what a Transpose, a
 * Concat or a WinogradFilter makes of constants, or of slices of them. They are most of the bytes
 * of a network.
 *
 * Such an initializer is one call of a kernel, from the constants' bytes to the final ones. A
 * Transpose is a read in other strides, and the other two write where the Relayout would. What a
 * Gather picks, of the weights of both directions of an LSTM, is read where it lies. Weights
 * that are multiplied first, by what batch normalization leaves, are copied and multiplied piece by
 * piece; the factor itself is small, and a walk computes it. The calls are prepared here, one after
 * the other, and cut into pieces along the outermost axis of what they read. Pieces use no context,
 * so several threads can share them, those of the largest constants first. Whatever does not fit
 * in, and whatever fails, is left to the walk of the initializer, which also has the messages. */
#include <fenv.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "backend/interp/interp_internal.h"
#include "support/deadline.h"
#include "support/diag.h"
#include "support/pages.h"
#include "support/threads.h"
#include "tensor/blob.h"

enum {
  MOST_THREADS = 8,       /* if the caller names no number: more would wait for memory */
  PIECE = 4 << 20,        /* bytes of the result of a piece, about */
  WORTH_THREADS = 4 << 20 /* bytes of results: a thread takes some 50 microseconds to start */
};

/* What a kernel reads as one operand. */
typedef struct Source {
  const void *data;
  size_t bytes;
  bool passing; /* pages of a file that nobody needs behind this */
} Source;

/* What the operand of a call is multiplied by before: element by element, with broadcasting. */
typedef struct Factor {
  const GlowNode *mul; /* NULL: there is none */
  bool first;          /* it is the first operand */
  GlowBuf buf;         /* of the operand's rank */
} Factor;

typedef struct Job {
  GlowStorage *storage;
  GlowRunError (*kernel)(GlowCall *call);
  GlowCall call;
  GlowBuf *ins, *outs;
  Source *sources;       /* by operand */
  Factor factor;         /* of operand 0 */
  size_t bytes;          /* of the result */
  uint32_t result;       /* its number among the results */
  int in_axis, out_axis; /* that can be cut, the outermost one in memory of the operand; -1: none */
  bool failed;
} Job;

/* Part of a job: all of it, or a range of the axis that can be cut. */
typedef struct Piece {
  Job *job;
  GlowCall call;
  GlowBuf in, out; /* of a job that is cut */
  GlowBuf factor;  /* of a job that has one */
  Source *sources; /* by operand */
  bool done;
  GlowRunError status;
} Piece;

/* ---- Preparing calls ------------------------------------------------------------------------- */

/* Whether elements of this type are moved as bytes that have an alignment. */
static bool is_packable(const GlowType *t) {
  return glow_type_is_tensor(t) && glow_type_is_static(t) && t->kind != GLOW_KIND_STRING &&
         glow_kind_info[t->kind].bits >= 8;
}

/* The tensor of a constant that is there already, of any alignment; NULL if there is none. */
static const GlowTensor *value_at_hand(const GlowValues *values, const GlowValue *v) {
  if (!v || v->kind != GLOW_VALUE_STORAGE)
    return NULL;
  const GlowStorage *s = v->def.storage;
  bool in_blob = s->init.kind == GLOW_INIT_LIST || s->init.kind == GLOW_INIT_RESOURCE ||
                 s->init.kind == GLOW_INIT_PAYLOAD;
  const GlowTensor *t = glow_values_held(values, s);
  t = t ? t : in_blob ? s->init.tensor : NULL;
  return t && is_packable(t->type) ? t : NULL;
}

/* The types of n's results for operands at hand. False, without a message, if there are none. */
static bool infer(GlowArena *arena, const GlowNode *n, const GlowTensor *const *in,
                  const GlowType **types) {
  GlowSilence silence;
  glow_silence_begin(glow_arena_context(arena), &silence);
  bool ok = glow_exec_types(n, in, types);
  glow_silence_end(&silence);
  return ok;
}

/* The index that t is, of `count`; -1 if it is none of them. */
static int64_t index_of(const GlowTensor *t, int64_t count) {
  int64_t at = 0;
  int32_t narrow = 0;
  memcpy(t->type->kind == GLOW_KIND_I64 ? (void *)&at : (void *)&narrow, t->data, t->bytes);
  at += narrow;
  at += at < 0 ? count : 0;
  return at >= 0 && at < count ? at : -1;
}

/* What v is of a constant at hand, if it is the Gather of one slice along the first axis, which
 * lies in one piece; NULL if it is something else. */
static const GlowTensor *slice_at_hand(GlowArena *arena, const GlowValues *values,
                                       const GlowValue *v) {
  const GlowNode *n = v ? glow_value_def(v, GLOW_OP_GATHER) : NULL;
  if (!n)
    return NULL;
  const GlowTensor *in[2] = {value_at_hand(values, glow_node_in(n, GLOW_GATHER_IN_X)),
                             value_at_hand(values, glow_node_in(n, GLOW_GATHER_IN_INDICES))};
  const GlowType *type;
  if (!in[0] || !in[1] || in[1]->type->rank || in[0]->type->layout || !in[0]->bytes ||
      ((const GlowGatherMembers *)n->members)->axis || !infer(arena, n, in, &type) ||
      type != v->type)
    return NULL;
  GlowTensor *slice = GLOW_NEW(arena, GlowTensor);
  *slice = (GlowTensor){.type = type, .bytes = (size_t)glow_type_bytes(type)};
  int64_t at = index_of(in[1], (int64_t)(in[0]->bytes / slice->bytes));
  slice->data = (char *)in[0]->data + (size_t)(at < 0 ? 0 : at) * slice->bytes;
  return at < 0 ? NULL : slice;
}

/* The Mul of plain floats that v is, whose operand `at` is a constant at hand of its type; NULL if
 * it is something else, or has another use. */
static const GlowNode *product_of(const GlowValues *values, const GlowValue *v, uint32_t *at) {
  const GlowNode *n = v ? glow_value_def(v, GLOW_OP_MUL) : NULL;
  if (!n || n->noperands != 2 || glow_value_use_count(v) != 1 || !glow_type_is_tensor(v->type) ||
      v->type->layout || !glow_kind_is_float(v->type->kind))
    return NULL;
  for (*at = 0; *at < 2; ++*at) {
    const GlowTensor *t = value_at_hand(values, n->operands[*at].value);
    if (t && t->type == v->type)
      return n;
  }
  return NULL;
}

/* What node n makes of constants at hand or slices of them; NULL if one is missing. in: its
 * operands' tensors. The only operand may be such a product; then it stands for its constant. */
static const GlowType *type_of(GlowArena *arena, const GlowValues *values, const GlowNode *n,
                               const GlowTensor **in, Factor *factor) {
  const GlowType **types = GLOW_NEW_ARRAY(arena, const GlowType *, n->nresults);
  uint32_t at = 0;
  const GlowNode *mul = n->noperands == 1 && n->op != GLOW_OP_TRANSPOSE
                            ? product_of(values, n->operands[0].value, &at)
                            : NULL;
  *factor = (Factor){.mul = mul, .first = at == 1};
  for (uint32_t i = 0; i < n->noperands; i++) {
    const GlowValue *v = (mul ? &mul->operands[at] : &n->operands[i])->value;
    in[i] = value_at_hand(values, v);
    if (!in[i] && !(in[i] = slice_at_hand(arena, values, v)))
      return NULL;
  }
  return infer(arena, n, in, types) && is_packable(types[0]) ? types[0] : NULL;
}

/* The buffer of x as a Transpose leaves it. */
static GlowBuf transposed(const GlowNode *n, const GlowType *type, const GlowTensor *x) {
  const GlowTransposeMembers *m = n->members;
  GlowBuf from = glow_buf_of(x->type, x->data), to = glow_buf_of(type, x->data);
  for (uint32_t a = 0; a < to.rank; a++)
    to.strides[a] =
        from.strides[m->perm.count ? glow_array_at(m->perm, uint32_t, a) : to.rank - 1 - a];
  return to;
}

/* The Relayout that is the value of initializer b; NULL if b is something else. *first: the node
 * that it moves, if that is one which it can be one call with; else NULL. */
static const GlowNode *relayout_of(const GlowBlock *b, const GlowNode **first) {
  const GlowNode *end = glow_block_terminator(b), *last = end ? end->prev : NULL;
  *first = NULL;
  if (!last || end->noperands != 1 || end->operands[0].value != &last->results[0] ||
      last->op != GLOW_OP_RELAYOUT)
    return NULL;
  const GlowValue *v = last->operands[0].value;
  const GlowNode *n = v->kind == GLOW_VALUE_RESULT ? v->def.node : NULL;
  if (n && n->block == b && glow_value_use_count(v) == 1 &&
      (n->op == GLOW_OP_TRANSPOSE || n->op == GLOW_OP_CONCAT || n->op == GLOW_OP_WINOGRAD_FILTER))
    *first = n;
  return last;
}

/* A buffer of t with the axes of an operand of that rank. */
static GlowBuf broadcast(const GlowTensor *t, uint32_t rank) {
  GlowBuf from = glow_buf_of(t->type, t->data), b = from;
  b.rank = rank;
  for (uint32_t a = 0; a < rank; a++) {
    bool has = a + from.rank >= rank;
    b.dims[a] = has ? from.dims[a + from.rank - rank] : 1;
    b.strides[a] = has ? from.strides[a + from.rank - rank] : 0;
  }
  return b;
}

/* Computes the factor of a job, *value, by a walk over what stands before the Mul. False, without a
 * message, if it cannot, is not small, or needs a constant that has to be evaluated: then values
 * that other jobs read might be forgotten. */
static bool find_factor(GlowValues *values, GlowStorage *s, const GlowTensor *x, Factor *f,
                        GlowTensor **value) {
  GlowContext *ctx = s->module->ctx;
  const GlowValue *v = f->mul->operands[f->first ? 0 : 1].value;
  if (!v || !glow_type_is_tensor(v->type) || !glow_type_is_static(v->type) || v->type->layout ||
      v->type->kind != x->type->kind || v->type->rank > x->type->rank ||
      (size_t)glow_type_bytes(v->type) > x->bytes / 4 || glow_values_missing(values, s->init.eval))
    return false;
  GlowWalk w;
  GlowCells cells = {.values = values};
  GlowScratch scratch = {0};
  GlowDefer release_walk, release_scratch;
  GlowSilence silence;
  glow_silence_begin(ctx, &silence);
  glow_defer_push(ctx, &release_scratch, glow_scratch_release, &scratch);
  glow_walk_begin(&w, s->module, &scratch);
  w.cells = &cells;
  glow_defer_push(ctx, &release_walk, glow_walk_end, &w);
  glow_walk_number(s->init.eval);
  const GlowTensor *t = glow_walk_before(&w, s->init.eval, f->mul) ? glow_walk_get(&w, v) : NULL;
  *value = t && t->type == v->type ? glow_tensor_copy(ctx, t) : NULL;
  glow_defer_pop(ctx, &release_walk, true);
  glow_defer_pop(ctx, &release_scratch, true);
  glow_silence_end(&silence);
  if (*value)
    f->buf = broadcast(*value, x->type->rank);
  return *value != NULL;
}

static Source source_of(const GlowStorage *s, const GlowValue *v, const GlowTensor *t) {
  Source source = {.data = t->data, .bytes = t->bytes};
  source.passing = v->kind == GLOW_VALUE_STORAGE &&
                   glow_blob_is_mapped(s->module->ctx, t->data, t->bytes) &&
                   glow_storage_is_read_only_by(v->def.storage, s);
  return source;
}

/* The axis of b with the largest stride, which has neighbours in memory only behind it. */
static int outermost(const GlowBuf *b) {
  int at = -1;
  for (uint32_t a = 0; a < b->rank; a++)
    if (b->dims[a] > 1 && (at < 0 || b->strides[a] > b->strides[at]))
      at = (int)a;
  return at;
}

/* Says where a call of one operand can be cut. Axis 0 of a filter is axis 2 of what Winograd's
 * algorithm makes of it; other calls keep their axes. */
static void find_cut(Job *j, GlowOp op) {
  j->in_axis = j->out_axis = -1;
  if (op == GLOW_OP_CONCAT || j->ins[0].nblocks)
    return;
  j->in_axis = op == GLOW_OP_WINOGRAD_FILTER ? 0 : outermost(&j->ins[0]);
  j->out_axis = op == GLOW_OP_WINOGRAD_FILTER ? 2 : j->in_axis;
}

/* Operand i of a call, where a product stands for its constant. */
static const GlowValue *source_value(const GlowNode *n, uint32_t i, const Factor *f) {
  return f->mul ? f->mul->operands[f->first ? 1 : 0].value : n->operands[i].value;
}

/* The job that runs node `source` on tensors of constants; its result has type `type`, and then
 * the layout of s. */
static void describe(GlowArena *arena, GlowStorage *s, const GlowNode *source, const GlowType *type,
                     const GlowTensor *const *in, const Factor *factor, Job *j) {
  const GlowOpDesc *d = glow_node_desc(source);
  bool turned = source->op == GLOW_OP_TRANSPOSE;
  *j = (Job){.storage = s, .factor = *factor, .bytes = (size_t)glow_type_bytes(s->value.type)};
  j->kernel = glow_kernels_best()->table[turned ? GLOW_OP_RELAYOUT : source->op].kernel;
  j->ins = GLOW_NEW_ARRAY(arena, GlowBuf, source->noperands + d->nin + 1);
  j->outs = GLOW_NEW_ARRAY(arena, GlowBuf, d->nout + 1);
  j->sources = GLOW_NEW_ARRAY(arena, Source, source->noperands + 1);
  for (uint32_t i = 0; i < source->noperands + d->nin; i++)
    j->ins[i] = i < source->noperands ? glow_buf_of(in[i]->type, in[i]->data) : glow_buf_absent();
  if (turned)
    j->ins[0] = transposed(source, type, in[0]);
  for (uint32_t i = 0; i < source->noperands; i++)
    j->sources[i] = source_of(s, source_value(source, i, factor), in[i]);
  for (uint32_t i = 0; i < d->nout; i++)
    j->outs[i] = glow_buf_absent();
  j->call = (GlowCall){.members = turned ? NULL : source->members,
                       .nin = source->noperands,
                       .nout = 1,
                       .in = j->ins,
                       .out = j->outs};
  find_cut(j, source->op);
}

/* False if the initializer of s is not one call, or not yet. *factor_value: the caller frees it. */
static bool prepare(GlowArena *arena, GlowValues *values, GlowStorage *s, GlowTensor **factor_value,
                    Job *j) {
  Factor factor;
  GlowContext *ctx = s->module->ctx;
  const GlowNode *first, *last;
  if (glow_values_held(values, s) || s->init.kind != GLOW_INIT_EVAL || ctx->tensor_limit ||
      !(last = relayout_of(s->init.eval, &first)))
    return false;
  const GlowNode *source = first ? first : last;
  const GlowTensor **in = GLOW_NEW_ARRAY(arena, const GlowTensor *, source->noperands + 1);
  const GlowType *type = type_of(arena, values, source, in, &factor);
  if (!type || (first && type->layout) || last->results[0].type != s->value.type ||
      !is_packable(s->value.type) ||
      glow_type_with_layout(ctx, s->value.type, type->layout) != type ||
      (source->op == GLOW_OP_TRANSPOSE && in[0]->type->layout) ||
      (factor.mul && !find_factor(values, s, in[0], &factor, factor_value)))
    return false;
  describe(arena, s, source, type, in, &factor, j);
  return true;
}

/* ---- Cutting them ---------------------------------------------------------------------------- */

/* How long pieces are along the axis: whole blocks of the result, and of 32 filters. */
static int64_t piece_length(const Job *j) {
  const GlowBuf *out = &j->outs[0];
  int64_t n = j->in_axis < 0 ? 1 : j->ins[0].dims[j->in_axis], unit = 1;
  if (j->in_axis < 0 || j->bytes < 2 * PIECE)
    return n;
  for (uint32_t k = 0; k < out->nblocks; k++)
    if ((int)out->block_axis[k] == j->out_axis)
      unit *= out->block_size[k];
  while (unit % 32)
    unit *= 2;
  int64_t length = (int64_t)((double)n * PIECE / (double)j->bytes);
  return length < unit ? unit : length / unit * unit;
}

/* The part [from, from + n) of an axis of b. */
static GlowBuf part_of(const GlowBuf *b, int axis, int64_t from, int64_t n) {
  GlowBuf part = *b;
  int64_t at = glow_axis_offset(b, (uint32_t)axis, from);
  part.data = (char *)b->data + (size_t)at * (glow_kind_info[b->kind].bits / 8);
  part.dims[axis] = n;
  return part;
}

typedef GLOW_VEC(Piece *) Pieces;

static void cut(GlowArena *arena, Job *j, Pieces *pieces) {
  int64_t length = piece_length(j), all = j->in_axis < 0 ? 1 : j->ins[0].dims[j->in_axis];
  for (int64_t from = 0, n; from < all; from += n) {
    Piece *p = GLOW_NEW(arena, Piece);
    *p = (Piece){.job = j, .call = j->call, .sources = j->sources, .factor = j->factor.buf};
    n = all - from < length ? all - from : length;
    glow_vec_push(arena, pieces, p);
    if (n == all)
      continue;
    p->in = part_of(&j->ins[0], j->in_axis, from, n);
    p->out = part_of(&j->outs[0], j->out_axis, from, n);
    if (j->factor.mul && p->factor.dims[j->in_axis] > 1)
      p->factor = part_of(&p->factor, j->in_axis, from, n);
    p->call.in = &p->in;
    p->call.out = &p->out;
    p->sources = GLOW_NEW(arena, Source);
    *p->sources = j->sources[0];
    p->sources->data = p->in.data; /* the axis is the outermost one in memory */
    p->sources->bytes = j->sources[0].bytes / (size_t)all * (size_t)n;
  }
}

/* ---- Running them ---------------------------------------------------------------------------- */

typedef struct Work {
  const GlowContext *ctx; /* nothing of it changes meanwhile */
  Pieces pieces;
  atomic_uint next;
} Work;

/* Memory that a thread uses again. */
typedef struct Room {
  char *data;
  size_t size;
} Room;

static bool is_aligned(const GlowBuf *b) {
  size_t size = glow_kind_info[b->kind].bits / 8;
  return (uintptr_t)b->data % (size > 8 ? 8 : size) == 0;
}

static bool is_read_in_place(const Piece *p, uint32_t k) {
  return is_aligned(&p->call.in[k]) && !p->job->factor.mul;
}

/* Multiplies operand 0, a copy, by the factor. */
static bool multiply(Piece *p) {
  const Factor *f = &p->job->factor;
  GlowBuf *x = &p->call.in[0], in[2] = {f->first ? p->factor : *x, f->first ? *x : p->factor};
  return glow_elementwise(glow_kernels_best(), GLOW_OP_MUL, f->mul->members, x, in, 2);
}

/* Gives kernels operands that are aligned to their elements, and multiplied. False: out of memory.
 */
static bool align_sources(Piece *p, Room *room) {
  size_t bytes = 0;
  for (uint32_t k = 0; k < p->call.nin; k++)
    bytes += is_read_in_place(p, k) ? 0 : glow_align64(p->sources[k].bytes);
  if (bytes > room->size) {
    free(room->data);
    *room = (Room){.data = aligned_alloc(64, bytes)};
    if (!room->data)
      return false;
    room->size = bytes;
  }
  char *to = room->data;
  for (uint32_t k = 0; k < p->call.nin; k++) {
    GlowBuf *b = &p->call.in[k];
    if (is_read_in_place(p, k))
      continue;
    memcpy(to, b->data, p->sources[k].bytes);
    b->data = to;
    to += glow_align64(p->sources[k].bytes);
  }
  return !p->job->factor.mul || multiply(p);
}

/* Until nothing is left, or no time. */
static void work(void *arg) {
  Work *w = arg;
  Room room = {0};
  fesetenv(FE_DFL_ENV);
  for (uint32_t i; (i = atomic_fetch_add(&w->next, 1)) < w->pieces.count;) {
    if (glow_deadline_over(w->ctx))
      break;
    Piece *p = w->pieces.data[i];
    bool ready = align_sources(p, &room);
    p->status = ready ? p->job->kernel(&p->call) : GLOW_RUN_UNSUPPORTED;
    for (uint32_t k = 0; k < p->call.nin; k++)
      if (p->sources[k].passing)
        glow_let_pages_go(p->sources[k].data, p->sources[k].bytes);
    p->done = true;
  }
  free(room.data);
}

/* Ends the run at the first piece for which there was no time. */
static void check_done(GlowContext *ctx, const Work *w) {
  for (uint32_t i = 0; i < w->pieces.count; i++) {
    const Piece *p = w->pieces.data[i];
    const GlowValue *v = &p->job->storage->value;
    if (!p->done)
      glow_deadline_end(ctx, glow_value_loc(v), glow_arena_printf(ctx->arena, "'@%s'", v->name));
  }
}

static int by_size(const void *a, const void *b) {
  const Job *x = *(Job *const *)a, *y = *(Job *const *)b;
  if (x->bytes != y->bytes)
    return x->bytes < y->bytes ? 1 : -1;
  return x->result < y->result ? -1 : x->result > y->result;
}

void glow_values_pack(GlowValues *v, GlowStorage *const *storage, uint32_t count,
                      uint32_t threads) {
  if (!count)
    return;
  GlowContext *ctx = storage[0]->module->ctx;
  GlowArena *arena = glow_arena_create(ctx);
  Job *jobs = GLOW_NEW_ARRAY(arena, Job, count), **order = GLOW_NEW_ARRAY(arena, Job *, count);
  Work w = {.ctx = ctx};
  uint32_t njobs = 0;
  GlowFloatMode mode;
  GlowTensorList factors, results;
  size_t bytes = 0;
  glow_float_mode_enter(ctx, &mode);
  glow_tensor_list_begin(ctx, &factors, count);
  for (uint32_t i = 0; i < count; i++) {
    Job *j = &jobs[njobs];
    if (!prepare(arena, v, storage[i], &factors.data[njobs], j))
      continue;
    j->result = njobs;
    order[njobs++] = j;
    bytes += j->bytes;
  }
  glow_tensor_list_begin(ctx, &results, njobs);
  for (uint32_t i = 0; i < njobs; i++) {
    const GlowType *type = jobs[i].storage->value.type;
    results.data[i] = glow_tensor_create_unset(ctx, type);
    jobs[i].outs[0] = glow_buf_of(type, results.data[i]->data);
  }
  qsort(order, njobs, sizeof(Job *), by_size);
  for (uint32_t i = 0; i < njobs; i++)
    cut(arena, order[i], &w.pieces);
  if (!threads)
    threads = glow_processors() < MOST_THREADS ? glow_processors() : MOST_THREADS;
  glow_share(bytes < WORTH_THREADS ? 1 : threads, work, &w);
  check_done(ctx, &w);
  for (uint32_t i = 0; i < w.pieces.count; i++)
    w.pieces.data[i]->job->failed |= w.pieces.data[i]->status != GLOW_RUN_OK;
  for (uint32_t i = 0; i < njobs; i++) {
    GlowTensor *t = results.data[i];
    if (jobs[i].failed || glow_values_held(v, jobs[i].storage))
      continue;
    results.data[i] = NULL;
    glow_values_set(v, jobs[i].storage, t);
    glow_values_forget_sources(v, jobs[i].storage);
  }
  glow_tensor_list_end(ctx, &results);
  glow_tensor_list_end(ctx, &factors);
  glow_float_mode_leave(ctx, &mode);
  glow_arena_destroy(arena);
}
