/* Executions of the public API: checks what callers bring, runs, and says what came of it. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/memory.h"
#include "glow/home.h"

enum { TEXT = 512 };

/* Bytes of a port in memory of the caller. */
typedef struct Range {
  uintptr_t begin, end;
  bool written;
} Range;

/* What an execution has besides, as its `extra`. Arrays follow; no run allocates. */
typedef struct Run {
  const GlowHomeEntry *entry;
  bool outputs; /* it has memory of its own for them */
  GlowStatus status;
  GlowLoc loc;
  char text[TEXT];
  GlowTensor *tensors;       /* by value */
  const GlowTensor **inputs; /* by value */
  GlowType *types;           /* by port: with the caller's extents */
  GlowBuffer *results;       /* by port; data NULL: none */
  Range *ranges;             /* by port */
  int64_t *extents;          /* by port, GLOW_MAX_RANK each */
} Run;

int64_t glow_run_extra(const GlowEntry *e, const GlowHomeEntry *entry) {
  size_t port =
      sizeof(GlowType) + sizeof(GlowBuffer) + sizeof(Range) + GLOW_MAX_RANK * sizeof(int64_t);
  return (int64_t)(sizeof(Run) + e->nvalues * (sizeof(GlowTensor) + sizeof(GlowTensor *)) +
                   entry->nports * port);
}

static void begin(GlowExecution *x, const GlowHomeEntry *entry, bool outputs) {
  Run *r = x->extra;
  r->entry = entry;
  r->outputs = outputs;
  r->tensors = (GlowTensor *)(r + 1);
  r->inputs = (const GlowTensor **)(r->tensors + x->entry->nvalues);
  r->types = (GlowType *)(r->inputs + x->entry->nvalues);
  r->results = (GlowBuffer *)(r->types + entry->nports);
  r->ranges = (Range *)(r->results + entry->nports);
  r->extents = (int64_t *)(r->ranges + entry->nports);
}

/* ---- Making ---------------------------------------------------------------------------------- */

/* The threads of an execution; *own: a pool that it owns, or NULL. */
static GlowStatus choose_threads(const GlowExecutable *e, const GlowExecutionOptions *o,
                                 GlowExecutionSetup *setup, GlowPool **own) {
  *own = NULL;
  if (GLOW_HAS_FIELD(o, pool) && o->pool)
    setup->parallel = glow_pool_parallel(o->pool);
  else if (GLOW_HAS_FIELD(o, parallel) && o->parallel)
    setup->parallel = o->parallel;
  else if (e->home->threads > 1) {
    GlowStatus status = glow_pool_create(e->home->threads, own);
    setup->parallel = status == GLOW_OK ? glow_pool_parallel(*own) : NULL;
    return status;
  }
  return setup->parallel && setup->parallel->workers < 1 ? GLOW_BAD_USAGE : GLOW_OK;
}

static GlowStatus create(GlowEntry *entry, const GlowHomeEntry *h, const GlowExecutionOptions *o,
                         GlowExecutionSetup *setup, GlowExecution **execution) {
  bool outputs = GLOW_HAS_FIELD(o, outputs) && o->outputs;
  setup->placed = !outputs;
  setup->profile = GLOW_HAS_FIELD(o, profile) && o->profile;
  setup->memory = GLOW_HAS_FIELD(o, bytes) ? o->memory : NULL;
  setup->extra = glow_run_extra(entry, h);
  if (setup->memory && o->bytes < (size_t)glow_execution_bytes(entry, setup))
    return GLOW_BAD_USAGE;
  GlowExecution *x = *execution = glow_execution_make(entry, setup);
  if (!x)
    return GLOW_NO_MEMORY;
  begin(x, h, outputs);
  return GLOW_OK;
}

GlowStatus glow_execution_create(GlowExecutable *e, const GlowExecutionOptions *o,
                                 GlowExecution **execution) {
  if (execution)
    *execution = NULL;
  if (!e || !execution)
    return GLOW_BAD_USAGE;
  const GlowHomeEntry *h;
  GlowEntry *entry = glow_home_entry(e, GLOW_HAS_FIELD(o, entry) ? o->entry : NULL, &h);
  if (!entry)
    return GLOW_BAD_USAGE;
  GlowExecutionSetup setup = {0};
  GlowPool *own;
  GlowStatus status = choose_threads(e, o, &setup, &own);
  if (status == GLOW_OK)
    status = create(entry, h, o, &setup, execution);
  if (status == GLOW_OK)
    (*execution)->pool = own;
  else
    glow_pool_destroy(own);
  return status;
}

/* ---- What a run is given --------------------------------------------------------------------- */

/* Says why a run is refused. Returns BAD_USAGE. */
static GlowStatus refuse(Run *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

static GlowStatus refuse(Run *r, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(r->text, sizeof r->text, format, args);
  va_end(args);
  return GLOW_BAD_USAGE;
}

/* The first extent that the port does not have. */
static GlowStatus refuse_extents(Run *r, const GlowHomePort *p, const GlowExecValue *v,
                                 const int64_t *extents) {
  r->loc = v->loc;
  for (uint32_t a = 0; a < v->type->rank; a++) {
    const GlowDim *d = &v->type->dims[a];
    const GlowExtent *e = d->extent;
    if (glow_dim_allows(*d, extents[a]))
      continue;
    return e ? refuse(r,
                      "@%s: the extents do not fit %s: axis %u has %lld, $%s is %lld..%lld step "
                      "%lld",
                      v->name, p->port.type, a, (long long)extents[a], d->symbol,
                      (long long)e->least, (long long)e->most, (long long)e->step)
             : refuse(r, "@%s: the extents do not fit %s: axis %u has %lld", v->name, p->port.type,
                      a, (long long)extents[a]);
  }
  return refuse(r, "@%s: the extents do not fit %s", v->name, p->port.type);
}

/* Of a port that is read, *bytes is what its extents need. A run may write as much as any value of
 * the port has, *most (0: nobody knows how much that is). */
static GlowStatus check_size(Run *r, const GlowHomePort *p, const GlowExecValue *v,
                             const GlowBuffer *b, size_t *bytes, size_t *most) {
  int64_t input = v->read ? glow_port_bytes(v->type, b->extents) : 0;
  *bytes = input < 0 ? 0 : (size_t)input;
  *most = v->written ? p->port.bytes : 0;
  size_t needed = *bytes > *most ? *bytes : *most;
  if (input < 0 && b->extents)
    return refuse_extents(r, p, v, b->extents);
  if (input < 0)
    return refuse(r, "@%s: extents are needed for %s", v->name, p->port.type);
  if (b->bytes < needed)
    return refuse(r, "@%s: the buffer has %zu bytes, %s needs %zu", v->name, b->bytes, p->port.type,
                  needed);
  if ((uintptr_t)b->data % glow_port_align(v->type))
    return refuse(r, "@%s: the buffer is not aligned to its elements of %zu bytes", v->name,
                  glow_port_align(v->type));
  return GLOW_OK;
}

/* A port without a buffer. */
static GlowStatus leave_out(Run *r, const GlowExecValue *v) {
  if (!v->written)
    return refuse(r, "@%s: there is no buffer for this input", v->name);
  return r->outputs ? GLOW_OK
                    : refuse(r,
                             "@%s: there is no buffer, and the execution has no outputs of its "
                             "own",
                             v->name);
}

static GlowStatus take_buffer(GlowExecution *x, Run *r, uint32_t i, const GlowBuffer *b) {
  const GlowHomePort *p = &r->entry->ports[i];
  const GlowExecValue *v = &x->entry->values[p->value];
  r->ranges[i] = (Range){0};
  r->inputs[p->value] = NULL;
  if (x->places)
    x->places[p->value] = NULL;
  if (!v->read && !v->written)
    return GLOW_OK;
  if (!b || !b->data)
    return leave_out(r, v);
  if (!glow_type_is_bytes(v->type))
    return refuse(r, "@%s: no buffer holds values of %s", v->name, p->port.type);
  size_t bytes, most;
  GlowStatus status = check_size(r, p, v, b, &bytes, &most);
  if (status != GLOW_OK)
    return status;
  uintptr_t at = (uintptr_t)b->data;
  size_t used = !v->written ? bytes : most ? most : b->bytes;
  r->ranges[i] = (Range){at, at + used, v->written};
  bool aligned = at % GLOW_EXEC_ALIGN == 0;
  if (v->written && x->places && !aligned && !r->outputs)
    return refuse(r,
                  "@%s: the buffer is not aligned to %d bytes, and the execution has no outputs "
                  "of its own",
                  v->name, GLOW_EXEC_ALIGN);
  if (v->written && x->places && aligned)
    x->places[p->value] = b->data;
  if (!v->read)
    return GLOW_OK;
  const GlowType *type = v->type;
  if (!x->entry->program) {
    type = glow_port_type(x->entry->executable, type, b->extents);
  } else if (!glow_type_is_static(type)) {
    glow_type_fill(&r->types[i], type, b->extents);
    type = &r->types[i];
  }
  if (!type)
    return GLOW_NO_MEMORY;
  r->tensors[p->value] = (GlowTensor){.type = type, .data = b->data, .bytes = bytes};
  r->inputs[p->value] = &r->tensors[p->value];
  return GLOW_OK;
}

static bool overlap(Range a, Range b) { return a.begin < b.end && b.begin < a.end; }

static const char *name_of(const Run *r, uint32_t i) { return r->entry->ports[i].port.name; }

static GlowStatus check_overlaps(Run *r, const GlowState *s) {
  for (uint32_t i = 0; i < r->entry->nports; i++)
    for (uint32_t j = 0; r->ranges[i].written && j < r->entry->nports; j++)
      if (j != i && overlap(r->ranges[i], r->ranges[j]))
        return refuse(r, "@%s: the buffer overlaps that of @%s", name_of(r, i), name_of(r, j));
  const struct GlowHome *home = s ? s->executable->home : NULL;
  for (uint32_t k = 0; s && k < home->nvariables; k++) {
    const GlowTensor *t = s->values[home->variables[k].value];
    Range range = {(uintptr_t)t->data, (uintptr_t)t->data + t->bytes, true};
    for (uint32_t i = 0; i < r->entry->nports; i++)
      if (overlap(range, r->ranges[i]))
        return refuse(r, "@%s: the buffer overlaps the variable @%s", name_of(r, i),
                      home->variables[k].port.name);
  }
  return GLOW_OK;
}

static GlowStatus check_state(const GlowExecution *x, Run *r, const GlowState *s) {
  const GlowEntry *e = x->entry;
  if (s && s->executable != e->executable)
    return refuse(r, "the state is another executable's");
  for (uint32_t i = 0; !s && i < e->executable->nstorage; i++) {
    const GlowExecValue *v = &e->values[i];
    if (v->memory == GLOW_MEMORY_VARIABLE && (v->read || v->written))
      return refuse(r, "the program has the variable @%s: a state is needed", v->name);
  }
  return GLOW_OK;
}

static GlowStatus take(GlowExecution *x, Run *r, const GlowState *s, const GlowBuffer *buffers,
                       size_t count) {
  if (count > r->entry->nports)
    return refuse(r, "there are %zu buffers for %u ports", count, r->entry->nports);
  GlowStatus status = check_state(x, r, s);
  for (uint32_t i = 0; i < r->entry->nports && status == GLOW_OK; i++)
    status = take_buffer(x, r, i, i < count ? &buffers[i] : NULL);
  return status == GLOW_OK ? check_overlaps(r, s) : status;
}

/* ---- What it gives --------------------------------------------------------------------------- */

/* The value of a port that was written; NULL: there is none. */
static const GlowTensor *result_of(const GlowExecution *x, const GlowHomePort *p) {
  const GlowExecValue *v = &x->entry->values[p->value];
  if (!v->written || !glow_type_is_bytes(v->type))
    return NULL;
  return x->entry->program ? glow_execution_tensor(x, p->value)
                           : glow_bindings_find(&x->result, v->name);
}

static GlowStatus give(GlowExecution *x, Run *r, const GlowBuffer *buffers, size_t count) {
  for (uint32_t i = 0; i < r->entry->nports; i++) {
    const GlowHomePort *p = &r->entry->ports[i];
    const GlowTensor *t = result_of(x, p);
    GlowBuffer b = i < count ? buffers[i] : (GlowBuffer){0};
    int64_t *extents = &r->extents[i * GLOW_MAX_RANK];
    if (!t)
      continue;
    if (b.data && b.bytes < t->bytes)
      return refuse(r, "@%s: the buffer has %zu bytes, the result %zu", p->port.name, b.bytes,
                    t->bytes);
    if (b.data && b.data != t->data)
      memcpy(b.data, t->data, t->bytes);
    for (uint32_t a = 0; a < t->type->rank; a++)
      extents[a] = t->type->dims[a].size;
    r->results[i] = (GlowBuffer){b.data ? b.data : t->data, t->bytes, extents};
  }
  return GLOW_OK;
}

static void forget_results(Run *r) {
  for (uint32_t i = 0; i < r->entry->nports; i++)
    r->results[i].data = NULL;
}

GlowStatus glow_execution_run(GlowExecution *x, GlowState *s, const GlowBuffer *buffers,
                              size_t count) {
  if (!x || (!buffers && count))
    return GLOW_BAD_USAGE;
  GlowStatus status = glow_execution_begin(x, s);
  if (status != GLOW_OK)
    return status;
  Run *r = x->extra;
  r->text[0] = 0;
  r->loc = (GlowLoc){0};
  forget_results(r);
  status = take(x, r, s, buffers, count);
  if (status == GLOW_OK)
    status = glow_execution_go(x, s, r->inputs);
  if (status == GLOW_OK)
    status = give(x, r, buffers, count);
  if (status != GLOW_OK && !r->text[0])
    snprintf(r->text, sizeof r->text, "%s", glow_status_text(status));
  if (status != GLOW_OK)
    forget_results(r);
  r->status = status;
  glow_execution_end(x, s);
  return status;
}

const GlowBuffer *glow_execution_output(const GlowExecution *x, size_t port) {
  const Run *r = x ? x->extra : NULL;
  return r && port < r->entry->nports && r->results[port].data ? &r->results[port] : NULL;
}

/* ---- Faults and times ------------------------------------------------------------------------ */

void glow_run_hear(void *executable, const GlowDiagnostic *d) {
  GlowExecution *x = ((GlowExecutable *)executable)->speaker;
  Run *r = x ? x->extra : NULL;
  if (!r || d->severity != GLOW_ERROR || r->text[0])
    return;
  snprintf(r->text, sizeof r->text, "%s", d->message);
  r->loc = d->loc;
}

void glow_execution_fault(const GlowExecution *x, GlowFaultInfo *fault) {
  const Run *r = x ? x->extra : NULL;
  if (!r || !fault)
    return;
  GlowFaultInfo all = {sizeof all, r->status, r->loc, r->text};
  glow_fill(fault, &all, sizeof all);
}

bool glow_execution_time(const GlowExecution *x, size_t i, GlowStepTime *time) {
  const GlowProfile *p = x ? x->profile : NULL;
  if (!p || !time || i >= p->npieces)
    return false;
  const GlowProfilePiece *piece = &p->pieces[i];
  const GlowOpDesc *op = glow_node_desc(piece->node);
  GlowStepTime all = {.size = sizeof all,
                      .op = glow_node_is_instr(piece->node) ? op->instr : op->node,
                      .kernel = piece->kernel,
                      .loc = glow_node_loc(piece->node),
                      .calls = piece->calls,
                      .seconds = piece->seconds};
  return glow_fill(time, &all, sizeof all);
}
