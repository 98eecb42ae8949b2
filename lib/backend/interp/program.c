/* The walker over programs: instructions on buffers. They lie in the arena that plan-memory laid
 * out; if a program is not planned, each alloc is on the heap. A bounded buffer (`..n`) has room
 * for its bounds; its elements are packed by its extents, which are kept beside it. */
#include "backend/interp/interp_internal.h"

#include <stdlib.h>

#include "analysis/access.h"
#include "ir/infer.h"
#include "tensor/form.h"

typedef struct Buffer {
  void *data;
  const GlowType *type;
  int64_t dims[GLOW_MAX_RANK];        /* extents now; those of the type where it is exact */
  int64_t offset;                     /* of a view */
  int64_t strides[GLOW_MAX_RANK + 4]; /* of a strided view, one for each physical axis */
  uint32_t nstrides;
  int64_t rows;        /* of a variable that grows: those after the run; -1: as before */
  GlowTensor *tensor;  /* of an outer value */
  void *heap;          /* owned memory of an alloc */
  struct Buffer *next; /* every buffer of the run */
} Buffer;

/* What an instruction needs at each of its runs: operands in order, NULL where they are absent, and
 * rooms for what its kernel and its inference see. */
typedef struct Step {
  Buffer **operands;
  GlowBuf *ins, *outs;
  const GlowType **in, **out, **claims;
  GlowTensor *values;
  const GlowTensor **known;
} Step;

struct GlowProgramRun {
  GlowContext *ctx;
  GlowFunction *function;
  const GlowKernels *kernels;
  const GlowRunOptions *options;
  GlowCells *cells;
  GlowArena *arena;
  GlowMap *buffers, *steps;
  Buffer *all;
  GlowOuterValues outer;
  GlowAccesses accesses; /* of outer values */
  GlowScratch scratch;
  char *memory; /* the planned arena, or NULL */
  bool placed;  /* memory of allocs is set by glow_program_place */
  uint64_t done, total;
};
typedef GlowProgramRun Program;

static bool run_block(Program *p, GlowBlock *b);

static void release(void *program) {
  Program *p = program;
  for (Buffer *b = p->all; b; b = b->next)
    free(b->heap);
  free(p->memory);
  glow_scratch_release(&p->scratch);
  glow_arena_destroy(p->arena);
}

/* ---- Buffers --------------------------------------------------------------------------------- */

static void *aligned_memory(Program *p, int64_t bytes) {
  void *m = aligned_alloc(64, glow_align64((size_t)bytes + 1));
  if (!m)
    glow_throw(p->ctx, GLOW_NO_MEMORY);
  return m;
}

static Buffer *buffer_for(Program *p, const GlowValue *v) {
  Buffer *b = glow_map_get(p->buffers, v);
  if (!b) {
    b = GLOW_NEW(p->arena, Buffer);
    b->next = p->all;
    b->rows = -1;
    p->all = b;
    glow_map_set(p->buffers, v, b);
  }
  b->type = v->type;
  return b;
}

static const GlowTensor *first_value(Program *p, const GlowValue *v);

/* The extent of an outer value along an axis before it was written; -1: it has no value. */
static int64_t first_extent(Program *p, const GlowValue *v, uint32_t axis) {
  const Buffer *b = glow_map_get(p->buffers, v);
  if (b && b->tensor)
    return b->dims[axis];
  const GlowTensor *t = first_value(p, v);
  return t ? t->type->dims[axis].size : -1;
}

/* The extent that an input, or a variable that grows, gives a symbol. */
static bool symbol_number(void *program, const GlowExtent *symbol, GlowForm *f) {
  Program *p = program;
  for (uint32_t i = 0; i < p->outer.count; i++) {
    const GlowValue *v = p->outer.data[i];
    const GlowAccess *access = &p->accesses.of[v->id];
    bool input = access->read && !access->written && glow_type_is_tensor(v->type);
    bool grows = glow_outer_class(v) == GLOW_VARIABLE && glow_type_grows(v->type);
    for (uint32_t a = 0; (input || grows) && a < v->type->rank; a++) {
      int64_t size = v->type->dims[a].extent == symbol ? first_extent(p, v, a) : -1;
      if (size < 0)
        continue;
      *f = glow_form_number(size);
      return true;
    }
  }
  return false;
}

/* A size now; -1: no input says the symbols. */
static int64_t size_now(Program *p, GlowSize s) {
  int64_t size;
  if (!s.extent)
    return s.size;
  return glow_extent_number(s.extent, symbol_number, p, &size) ? size : -1;
}

/* Sets the extents that follow from inputs. */
static void set_symbols(Program *p, Buffer *b) {
  for (uint32_t a = 0; a < b->type->rank; a++) {
    GlowDim d = b->type->dims[a];
    int64_t size = d.extent ? size_now(p, glow_size(d)) : -1;
    if (size >= 0)
      b->dims[a] = size;
  }
}

/* Extents before anything was written: a bounded axis has none. */
static void reset_dims(Program *p, Buffer *b) {
  for (uint32_t a = 0; a < b->type->rank; a++)
    b->dims[a] = b->type->dims[a].kind == GLOW_DIM_EXACT ? b->type->dims[a].size : 0;
  set_symbols(p, b);
}

/* Fills memory that was not written yet, if the options say with what. */
static void poison(const Program *p, void *data, int64_t bytes) {
  if (p->options && p->options->poison)
    memset(data, *p->options->poison, (size_t)bytes);
}

static void run_alloc(Program *p, const GlowNode *n) {
  const GlowAllocMembers *m = n->members;
  Buffer *b = buffer_for(p, &n->results[0]);
  int64_t bytes = glow_type_bytes(b->type);
  reset_dims(p, b);
  if (p->placed)
    return;
  if (p->memory && m->at >= 0) {
    b->data = p->memory + m->at;
  } else {
    free(b->heap);
    b->heap = NULL;
    b->heap = b->data = aligned_memory(p, bytes);
  }
  poison(p, b->data, bytes);
}

static Buffer *buffer_of(Program *p, const GlowValue *v);

/* The extent of the axis of `base` that has the symbol of d. */
static int64_t symbol_size(const Buffer *base, GlowDim d) {
  for (uint32_t a = 0; a < base->type->rank; a++)
    if (base->type->dims[a].extent == d.extent)
      return base->dims[a];
  return d.size;
}

/* Whether inputs say all symbols of b's type. */
static bool knows_symbols(Program *p, const Buffer *b) {
  bool known = true;
  for (uint32_t a = 0; a < b->type->rank; a++)
    known &= b->type->dims[a].kind == GLOW_DIM_EXACT ||
             (b->type->dims[a].extent && size_now(p, glow_size(b->type->dims[a])) >= 0);
  return known;
}

/* Sets the offset and the strides of a view. */
static bool place_view(Program *p, const GlowNode *n, Buffer *b) {
  const GlowTensorviewMembers *m = n->members;
  int64_t least = b->offset = size_now(p, m->offset);
  b->nstrides = m->strides.count;
  for (uint32_t i = 0; i < b->nstrides; i++) {
    b->strides[i] = size_now(p, glow_array_at(m->strides, GlowSize, i));
    least = b->strides[i] < least ? b->strides[i] : least;
  }
  if (least >= 0)
    return true;
  glow_error(p->ctx, glow_node_loc(n), "no input says the symbols of the view");
  return false;
}

/* The address is not set here, but at each use (view_buffer): storage moves when it is written. */
static bool run_view(Program *p, const GlowNode *n) {
  Buffer *b = buffer_for(p, &n->results[0]);
  reset_dims(p, b);
  if (!place_view(p, n, b))
    return false;
  if (knows_symbols(p, b))
    return true;
  const Buffer *base = buffer_of(p, glow_node_in(n, 0));
  if (!base)
    return false;
  bool same = base->type->rank == b->type->rank;
  for (uint32_t a = 0; a < b->type->rank; a++)
    if (b->type->dims[a].extent)
      b->dims[a] = symbol_size(base, b->type->dims[a]);
    else if (b->type->dims[a].kind != GLOW_DIM_EXACT)
      b->dims[a] = same ? base->dims[a] : b->type->dims[a].size;
  return true;
}

static Buffer *view_buffer(Program *p, const GlowNode *n, const Buffer *base) {
  Buffer *b = glow_map_get(p->buffers, &n->results[0]);
  if (!base)
    return NULL;
  GLOW_CHECK(p->ctx, b, "a view is used before its definition");
  uint32_t bits = glow_kind_info[b->type->kind].bits;
  b->data = (char *)base->data + b->offset * bits / 8;
  return b;
}

static void dims_of_tensor(Buffer *b, const GlowTensor *t) {
  for (uint32_t a = 0; a < t->type->rank; a++)
    b->dims[a] = t->type->dims[a].size;
}

/* What an outer value has before the program writes it. NULL if a placeholder is not bound, or
 * after a diagnostic. */
static const GlowTensor *first_value(Program *p, const GlowValue *v) {
  const GlowTensor *bound = p->cells->cells[v->id].tensor;
  bool open = glow_outer_class(v) == GLOW_PLACEHOLDER;
  return bound || open ? bound : glow_values_get(p->cells->values, v->def.storage);
}

/* A storage or parameter as a buffer. Before its first write, what it holds is copied to memory of
 * the run. */
static Buffer *outer_buffer(Program *p, const GlowValue *v, bool write) {
  Buffer *b = buffer_for(p, v);
  GlowCell *cell = &p->cells->cells[v->id];
  if (!b->tensor) {
    const GlowTensor *t = first_value(p, v);
    bool unset = !t && glow_outer_class(v) == GLOW_PLACEHOLDER;
    GlowTensor *copy = NULL;
    if (unset && !write)
      glow_error(p->ctx, glow_value_loc(v), "'%s%s' is read, but no value is given",
                 v->kind == GLOW_VALUE_STORAGE ? "@" : "%", v->name);
    if (!t && !(unset && write))
      return NULL;
    if (t && !write)
      t = glow_tensor_aligned(p->ctx, t, &copy);
    if (copy)
      *cell = (GlowCell){.tensor = copy, .owned = true, .written = cell->written};
    b->tensor = (GlowTensor *)(uintptr_t)t;
    reset_dims(p, b);
    if (t)
      dims_of_tensor(b, t);
    if (!p->accesses.of[v->id].read)
      set_symbols(p, b);
  }
  if (write && !cell->written) {
    GlowTensor *own = glow_tensor_create(p->ctx, glow_type_room(p->ctx, v->type));
    if (b->tensor)
      memcpy(own->data, b->tensor->data, b->tensor->bytes);
    else
      poison(p, own->data, (int64_t)own->bytes);
    if (cell->owned)
      glow_tensor_free(cell->tensor);
    *cell = (GlowCell){.tensor = own, .owned = true, .written = true};
    b->tensor = own;
  }
  b->data = b->tensor->data;
  return b;
}

static Buffer *buffer_of(Program *p, const GlowValue *v) {
  if (glow_value_is_outer(v))
    return outer_buffer(p, v, false);
  const GlowNode *view = glow_value_def(v, GLOW_OP_TENSORVIEW);
  if (view)
    return view_buffer(p, view, buffer_of(p, glow_node_in(view, 0)));
  Buffer *b = glow_map_get(p->buffers, v);
  GLOW_CHECK(p->ctx, b && b->data, "a buffer is used before its alloc");
  return b;
}

static Buffer *written_buffer(Program *p, const GlowValue *v) {
  if (glow_value_is_outer(v))
    return outer_buffer(p, v, true);
  const GlowNode *view = glow_value_def(v, GLOW_OP_TENSORVIEW);
  return view ? view_buffer(p, view, written_buffer(p, glow_node_in(view, 0))) : buffer_of(p, v);
}

/* The type of a buffer now. */
static const GlowType *type_now(Program *p, const Buffer *b) {
  GlowDim dims[GLOW_MAX_RANK];
  if (glow_type_is_static(b->type))
    return b->type;
  for (uint32_t a = 0; a < b->type->rank; a++)
    dims[a] = GLOW_EXACT(b->dims[a]);
  const GlowType *type = glow_type_with_dims(p->ctx, b->type, b->type->rank, dims);
  return b->type->layout ? glow_type_with_layout(p->ctx, type, b->type->layout) : type;
}

static GlowBuf kernel_buf(Program *p, const Buffer *b) {
  GlowBuf k = glow_buf_of(type_now(p, b), b->data);
  for (uint32_t a = 0; a < b->nstrides; a++)
    *(a < k.rank ? &k.strides[a] : &k.block_stride[a - k.rank]) = b->strides[a];
  return k;
}

/* ---- Extents that are known at run time ------------------------------------------------------ */

static bool all_static(const GlowNode *n) {
  for (uint32_t i = 0; i < n->noperands; i++)
    if (n->operands[i].value && !glow_type_is_static(n->operands[i].value->type))
      return false;
  return true;
}

/* Whether n reads a list at run time, which may ask for other extents than the text promises.
 * Lengths of sequences and places of updates do not. */
static bool reads_list(const GlowNode *n) {
  const GlowOpDesc *d = glow_node_desc(n);
  if (n->op == GLOW_OP_REVERSE_SEQUENCE || n->op == GLOW_OP_TENSOR_SCATTER)
    return false;
  for (uint32_t i = 0; i < glow_node_nins(n); i++) {
    const GlowOpPort *port = glow_op_in_port(d, i);
    const GlowValue *v = glow_node_in(n, i);
    if (v && port && port->type == GLOW_PORT_KIND && port->var == GLOW_KIND_I64 &&
        !glow_value_known(v))
      return true;
  }
  return false;
}

/* Results of a stack: the extents of its inputs, broadcast. */
static bool stack_types(GlowInfer *infer) {
  const char *error = NULL;
  const GlowType *t = glow_infer_broadcast(infer, infer->in, infer->nin, &error);
  if (!t)
    return glow_infer_error(infer, "%s", error);
  for (uint32_t i = 0; i < infer->nout; i++)
    infer->out[i] = t;
  return true;
}

/* Kernels may ask for every port of their operator. */
static Step *step_of(Program *p, const GlowNode *n) {
  Step *s = glow_map_get(p->steps, n);
  if (s)
    return s;
  const GlowOpDesc *d = glow_node_desc(n);
  uint32_t ins = glow_node_nins(n) + n->nextra + d->nin + 1, outs = n->nouts + d->nout + 1;
  s = GLOW_NEW(p->arena, Step);
  s->operands = GLOW_NEW_ARRAY(p->arena, Buffer *, n->noperands + 1);
  s->ins = GLOW_NEW_ARRAY(p->arena, GlowBuf, ins);
  s->outs = GLOW_NEW_ARRAY(p->arena, GlowBuf, outs);
  s->in = GLOW_NEW_ARRAY(p->arena, const GlowType *, ins);
  s->out = GLOW_NEW_ARRAY(p->arena, const GlowType *, outs);
  s->claims = GLOW_NEW_ARRAY(p->arena, const GlowType *, outs);
  s->values = GLOW_NEW_ARRAY(p->arena, GlowTensor, ins);
  s->known = GLOW_NEW_ARRAY(p->arena, const GlowTensor *, ins);
  glow_map_set(p->steps, n, s);
  return s;
}

/* Sets the extents of what n writes, from the types and values of its operands. */
static bool set_extents(Program *p, const GlowNode *n, Step *s) {
  uint32_t nins = glow_node_nins(n);
  Buffer *const *operands = s->operands;
  for (uint32_t i = 0; i < nins; i++) {
    const Buffer *b = operands[n->nouts + i];
    s->in[i] = b ? type_now(p, b) : NULL;
    s->known[i] = NULL;
    if (!b || b->nstrides)
      continue;
    s->values[i] =
        (GlowTensor){.type = s->in[i], .data = b->data, .bytes = (size_t)glow_type_bytes(s->in[i])};
    s->known[i] = &s->values[i];
  }
  for (uint32_t i = 0; i < n->nouts; i++) {
    s->out[i] = NULL;
    s->claims[i] = operands[i] ? operands[i]->type : NULL;
  }
  GlowInfer infer = {.ctx = p->ctx,
                     .desc = glow_node_desc(n),
                     .members = n->members,
                     .loc = glow_node_loc(n),
                     .nin = nins,
                     .nout = n->nouts,
                     .in = s->in,
                     .known = s->known,
                     .out = s->out,
                     .node = n,
                     .claims = s->claims,
                     .runtime = true};
  bool ok = glow_node_desc(n)->body ? stack_types(&infer) : glow_infer_run(&infer);
  for (uint32_t i = 0; ok && i < n->nouts; i++) {
    Buffer *b = operands[i];
    if (!b || !s->out[i])
      continue;
    ok = s->out[i]->rank == b->type->rank;
    if (!ok)
      glow_run_error(n, "the result has rank %u, which does not fit %s", s->out[i]->rank,
                     glow_type_str(p->ctx, b->type));
    for (uint32_t a = 0; ok && a < b->type->rank; a++) {
      GlowDim room = b->type->dims[a];
      int64_t size = s->out[i]->dims[a].size;
      bool fits = room.kind == GLOW_DIM_EXACT && s->out[i]->dims[a].kind == GLOW_DIM_EXACT
                      ? size == room.size
                      : s->out[i]->dims[a].kind != GLOW_DIM_EXACT || size <= room.size;
      if (!fits)
        glow_run_error(n, "extent %lld of axis %u does not fit %s", (long long)size, a,
                       glow_type_str(p->ctx, b->type));
      ok = fits;
      if (s->out[i]->dims[a].kind != GLOW_DIM_EXACT && room.extent) /* a splat: the text says it */
        size = size_now(p, glow_size(room));
      b->dims[a] = size >= 0 && size < room.size ? size : room.size;
    }
  }
  return ok;
}

/* ---- Instructions ---------------------------------------------------------------------------- */

static bool run_expect_shape(Program *p, const GlowNode *n) {
  const GlowExpectShapeMembers *m = n->members;
  const Buffer *b = buffer_of(p, glow_node_in(n, 0));
  for (uint32_t a = 0; b && a < m->dims.count; a++) {
    int64_t want = glow_array_at(m->dims, int64_t, a);
    if (want >= 0 && b->dims[a] != want) {
      glow_run_error(n, "extent %lld of axis %u breaks the claim that it is %lld",
                     (long long)b->dims[a], a, (long long)want);
      return false;
    }
  }
  return b != NULL;
}

static bool run_set_rows(Program *p, const GlowNode *n) {
  const GlowSetRowsMembers *m = n->members;
  Buffer *b = written_buffer(p, glow_node_in(n, 0));
  if (b)
    b->rows = size_now(p, m->rows);
  return b != NULL;
}

/* Checks that y holds `index` slices of x's shape, and makes its first extent one larger. */
static bool before_append(const GlowNode *n, Buffer *y, const Buffer *x, int64_t index) {
  if (index < 0 || index >= y->type->dims[0].size) {
    glow_run_error(n, "Index is %lld, beyond the bound of the buffer: the loop ran past its bound",
                   (long long)index);
    return false;
  }
  for (uint32_t a = 0; a < x->type->rank; a++) {
    if (index > 0 && y->dims[a + 1] != x->dims[a]) {
      glow_run_error(n, "a slice has extent %lld along axis %u, the ones before %lld",
                     (long long)x->dims[a], a, (long long)y->dims[a + 1]);
      return false;
    }
    y->dims[a + 1] = x->dims[a];
  }
  if (y->type->dims[0].kind != GLOW_DIM_EXACT)
    y->dims[0] = index + 1;
  return true;
}

/* The buffers of n's operands, in order; NULL entries: absent. False after a diagnostic. */
static bool operand_buffers(Program *p, const GlowNode *n, Buffer **operands) {
  for (uint32_t i = 0; i < n->noperands; i++) {
    GlowUse *u = &n->operands[i];
    bool writes = u->qual == GLOW_QUAL_OUT || u->qual == GLOW_QUAL_INOUT;
    operands[i] = !u->value ? NULL : writes ? written_buffer(p, u->value) : buffer_of(p, u->value);
    if (u->value && !operands[i])
      return false;
  }
  return true;
}

static bool call_kernel(Program *p, const GlowNode *n, Step *s) {
  const GlowOpDesc *d = glow_node_desc(n);
  Buffer **operands = s->operands;
  GlowCall call = {.nin = glow_node_nins(n), .nout = n->nouts, .in = s->ins, .out = s->outs};
  for (uint32_t i = 0; i < call.nin + n->nextra + d->nin; i++) {
    const Buffer *b = i < call.nin + n->nextra ? operands[n->nouts + i] : NULL;
    call.in[i] = b ? kernel_buf(p, b) : glow_buf_absent();
  }
  for (uint32_t i = 0; i < call.nout + d->nout; i++)
    call.out[i] = i < call.nout && operands[i] ? kernel_buf(p, operands[i]) : glow_buf_absent();
  bool ok = glow_exec_kernel(n, p->kernels, &call, &p->scratch);
  for (uint32_t i = 0; ok && i < call.nout; i++)
    if (operands[i] && !glow_type_is_static(operands[i]->type))
      memcpy(operands[i]->dims, call.out[i].dims, sizeof operands[i]->dims);
  return ok;
}

/* What a buffer holds, as a tensor in the run's arena; its elements are copied where they lie with
 * strides. */
static GlowTensor *traced(Program *p, const Buffer *b) {
  GlowTensor *t = GLOW_NEW(p->arena, GlowTensor);
  const GlowType *type = type_now(p, b);
  *t = (GlowTensor){.type = type, .data = b->data, .bytes = (size_t)glow_type_bytes(type)};
  if (!b->nstrides)
    return t;
  t->data = glow_arena_alloc(p->arena, t->bytes);
  GlowBuf from = kernel_buf(p, b), to = glow_buf_of(type, t->data);
  GlowCall call = {.nin = 1, .nout = 1, .in = &from, .out = &to};
  return p->kernels->table[GLOW_OP_COPY].kernel(&call) == GLOW_RUN_OK ? t : NULL;
}

/* Shows what n wrote. Of what `append` adds to, not all slices may be written yet. */
static void trace(Program *p, const GlowNode *n, const Step *s) {
  GlowTensor **results = GLOW_NEW_ARRAY(p->arena, GlowTensor *, n->nouts);
  for (uint32_t i = 0; i < n->nouts && n->op != GLOW_OP_APPEND; i++)
    results[i] = s->operands[i] ? traced(p, s->operands[i]) : NULL;
  p->options->trace(p->options->trace_user, n, results);
}

static bool run_plain(Program *p, const GlowNode *n) {
  if (p->options && p->options->primitives && !glow_run_primitive(n))
    return false;
  Step *s = step_of(p, n);
  bool ok = operand_buffers(p, n, s->operands);
  if (ok && n->op == GLOW_OP_APPEND) {
    GlowBuf index = kernel_buf(p, s->operands[2]);
    ok = before_append(n, s->operands[0], s->operands[1], glow_ref_int(&index, 0));
  } else if (ok && (!all_static(n) || reads_list(n))) {
    ok = set_extents(p, n, s);
  }
  ok = ok && call_kernel(p, n, s);
  if (ok && p->options && p->options->trace)
    trace(p, n, s);
  if (ok && p->options && p->options->finished)
    p->options->finished(p->options->finished_user, n);
  return ok;
}

/* ---- Control --------------------------------------------------------------------------------- */

static int64_t read_int(Program *p, const GlowValue *v) {
  GlowBuf b = kernel_buf(p, buffer_of(p, v));
  return glow_ref_int(&b, 0);
}

static bool run_if(Program *p, const GlowNode *n) {
  bool yes = read_int(p, glow_node_in(n, GLOW_IF_IN_COND)) != 0;
  GlowBlock *b = glow_node_region(n, yes ? "then" : "else");
  return !b || run_block(p, b);
}

static bool run_loop(Program *p, const GlowNode *n) {
  const GlowValue *trip = glow_node_in(n, GLOW_LOOP_IN_TRIP);
  const GlowValue *cond = glow_node_in(n, GLOW_LOOP_IN_COND);
  GlowBlock *body = glow_node_region(n, "body");
  int64_t limit = trip ? read_int(p, trip) : INT64_MAX;
  Buffer *iteration = body->nparams ? buffer_for(p, body->params[0]) : NULL;
  int64_t *count = glow_arena_alloc(p->arena, sizeof *count);
  if (iteration)
    iteration->data = count;
  for (*count = 0; *count < limit && (!cond || read_int(p, cond)); ++*count) {
    glow_run_check_time(n);
    if (!run_block(p, body))
      return false;
  }
  return true;
}

static bool run_instruction(Program *p, GlowNode *n) {
  glow_run_check_time(n);
  switch (n->op) {
  case GLOW_OP_ALLOC:
    run_alloc(p, n);
    return true;
  case GLOW_OP_DEALLOC: {
    Buffer *b = glow_map_get(p->buffers, glow_node_in(n, 0));
    free(b->heap);
    b->heap = b->data = NULL;
    return true;
  }
  case GLOW_OP_TENSORVIEW:
    return run_view(p, n);
  case GLOW_OP_EXPECT_SHAPE:
    return run_expect_shape(p, n);
  case GLOW_OP_SET_ROWS:
    return run_set_rows(p, n);
  case GLOW_OP_IF:
    return run_if(p, n);
  case GLOW_OP_LOOP:
    return run_loop(p, n);
  default:
    return run_plain(p, n);
  }
}

static bool run_block(Program *p, GlowBlock *b) {
  for (GlowNode *n = b->first; n; n = n->next) {
    if (!run_instruction(p, n))
      return false;
    if (p->options && p->options->progress && b == p->function->body) {
      p->done += glow_node_weight(n);
      p->options->progress(p->options->progress_user, p->done, p->total);
    }
  }
  return true;
}

/* ---- Programs -------------------------------------------------------------------------------- */

/* Outputs that the program may write but this run did not write get the values they began with. */
static void begin_unwritten(Program *p) {
  for (uint32_t i = 0; i < p->outer.count; i++) {
    const GlowValue *v = p->outer.data[i];
    if (p->accesses.of[v->id].written && glow_outer_class(v) == GLOW_PLACEHOLDER)
      outer_buffer(p, v, true);
  }
}

/* Tensors of bounded outer values take the extents that were written. */
static void finish_outer(Program *p) {
  for (uint32_t i = 0; i < p->outer.count; i++) {
    const GlowValue *v = p->outer.data[i];
    GlowCell *c = &p->cells->cells[v->id];
    Buffer *b = glow_map_get(p->buffers, v);
    if (!c->written || !b || glow_type_is_static(v->type))
      continue;
    if (b->rows >= 0)
      b->dims[0] = b->rows;
    c->tensor->type = type_now(p, b);
    c->tensor->bytes = (size_t)glow_type_bytes(c->tensor->type);
  }
}

/* Fills in *p; release frees it. */
static void begin(Program *p, GlowFunction *f, GlowCells *cells, const GlowRunOptions *options) {
  *p = (Program){.ctx = f->module->ctx, .function = f, .options = options, .cells = cells};
  p->kernels = options && options->kernels ? options->kernels : glow_kernels_best();
  p->arena = glow_arena_create(p->ctx);
  p->buffers = glow_map_create(p->arena);
  p->steps = glow_map_create(p->arena);
  p->outer = glow_function_outer_values(f, p->arena);
  p->accesses = glow_function_accesses(f, p->arena);
}

bool glow_program_run(GlowFunction *f, GlowCells *cells, const GlowRunOptions *options) {
  GlowContext *ctx = f->module->ctx;
  GlowDefer defer;
  Program p;
  begin(&p, f, cells, options);
  glow_defer_push(ctx, &defer, release, &p);
  for (const GlowNode *n = f->body->first; n; n = n->next)
    p.total += glow_node_weight(n);
  if (f->arena >= 0)
    p.memory = aligned_memory(&p, f->arena);
  bool ok = run_block(&p, f->body);
  if (ok) {
    begin_unwritten(&p);
    finish_outer(&p);
  }
  glow_defer_pop(ctx, &defer, true);
  return ok;
}

/* ---- Steps ----------------------------------------------------------------------------------- */

bool glow_program_is_dynamic(const GlowNode *n) {
  if (n->op == GLOW_OP_EXPECT_SHAPE || n->op == GLOW_OP_APPEND)
    return true;
  for (uint32_t i = 0; i < n->nresults; i++)
    if (!glow_type_is_static(n->results[i].type))
      return true;
  return !glow_node_desc(n)->nregions && (!all_static(n) || reads_list(n));
}

/* Views of fixed extents say only where they lie; the others are steps. */
static bool note_view(GlowNode *n, void *program) {
  if (n->op == GLOW_OP_TENSORVIEW && glow_type_is_static(n->results[0].type))
    return run_view(program, n);
  return true;
}

static void release_run(void *run) {
  release(run);
  free(run);
}

GlowProgramRun *glow_program_begin(GlowFunction *f, GlowCells *cells) {
  GlowContext *ctx = f->module->ctx;
  Program *p = glow_malloc(ctx, sizeof *p);
  GlowDefer defer;
  glow_defer_push(ctx, &defer, release_run, p);
  begin(p, f, cells, NULL);
  p->placed = true;
  glow_block_walk(f->body, note_view, p);
  glow_defer_pop(ctx, &defer, false);
  return p;
}

void glow_program_place(GlowProgramRun *p, const GlowValue *v, void *data) {
  Buffer *b = buffer_for(p, v);
  b->data = data;
  reset_dims(p, b);
}

void glow_program_restart(GlowProgramRun *p) {
  for (Buffer *b = p->all; b; b = b->next) {
    b->tensor = NULL;
    reset_dims(p, b);
  }
}

bool glow_program_step(GlowProgramRun *p, GlowNode *n) { return run_instruction(p, n); }

void glow_program_finish(GlowProgramRun *p) { finish_outer(p); }

void glow_program_end(GlowProgramRun *p) { release_run(p); }
