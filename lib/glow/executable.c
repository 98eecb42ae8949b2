/* What callers may know of an executable. All of it is made with the executable, so that asking
 * needs no lock. */
#include "glow/home.h"

#include <stdlib.h>
#include <string.h>

#include "exec/memory.h"
#include "tensor/blob.h"

bool glow_fill(void *to, const void *from, size_t size) {
  size_t room;
  memcpy(&room, to, sizeof room);
  if (room < sizeof room)
    return false;
  size = room < size ? room : size;
  memcpy((char *)to + sizeof room, (const char *)from + sizeof room, size - sizeof room);
  return true;
}

/* ---- Values ---------------------------------------------------------------------------------- */

const GlowExecValue *glow_home_value(const GlowExecutable *e, uint32_t i) {
  for (uint32_t k = 0; k < e->nentries; k++) {
    const GlowExecValue *v = &e->entries[k].values[i];
    if (v->read || v->written)
      return v;
  }
  return NULL;
}

bool glow_type_is_bytes(const GlowType *t) {
  return glow_type_is_tensor(t) && !t->unranked && t->kind != GLOW_KIND_STRING;
}

size_t glow_port_align(const GlowType *t) {
  const GlowKindInfo *k = &glow_kind_info[t->kind];
  uint32_t bytes = k->bits / (k->cls == GLOW_CLASS_COMPLEX ? 16 : 8);
  return bytes ? bytes : 1;
}

int64_t glow_port_bytes(const GlowType *t, const int64_t *extents) {
  if (!extents)
    return glow_type_is_static(t) ? glow_type_bytes(t) : -1;
  GlowType exact = *t;
  for (uint32_t a = 0; a < t->rank; a++) {
    if (!glow_dim_allows(t->dims[a], extents[a]))
      return -1;
    exact.dims[a] = GLOW_EXACT(extents[a]);
  }
  return glow_type_check_dims(t->kind, t->rank, exact.dims) ? -1 : glow_type_bytes(&exact);
}

typedef struct Intern {
  const GlowType *type;
  const int64_t *extents;
} Intern;

static void intern(GlowContext *ctx, void *arg) {
  Intern *i = arg;
  GlowDim dims[GLOW_MAX_RANK];
  for (uint32_t a = 0; a < i->type->rank; a++)
    dims[a] = GLOW_EXACT(i->extents[a]);
  i->type = glow_type_with_layout(ctx, glow_type_with_dims(ctx, i->type, i->type->rank, dims),
                                  i->type->layout);
}

const GlowType *glow_port_type(GlowExecutable *e, const GlowType *type, const int64_t *extents) {
  if (glow_type_is_static(type))
    return type;
  Intern i = {type, extents};
  pthread_mutex_lock(&e->lock);
  GlowStatus status = glow_protect(e->ctx, intern, &i);
  pthread_mutex_unlock(&e->lock);
  return status == GLOW_OK ? i.type : NULL;
}

/* ---- Ports ----------------------------------------------------------------------------------- */

static GlowPort describe(GlowContext *ctx, const GlowExecValue *v) {
  const GlowType *t = v->type;
  bool ranked = glow_type_is_tensor(t) && !t->unranked;
  GlowPort p = {.size = sizeof p,
                .name = v->name,
                .type = glow_type_str(ctx, t),
                .kind = glow_type_is_tensor(t) ? glow_kind_info[t->kind].name : "",
                .rank = ranked ? t->rank : 0,
                .read = v->read,
                .written = v->written};
  int64_t *low = GLOW_NEW_ARRAY(ctx->arena, int64_t, p.rank);
  int64_t *high = GLOW_NEW_ARRAY(ctx->arena, int64_t, p.rank);
  for (uint32_t a = 0; a < p.rank; a++) {
    const GlowDim *d = &t->dims[a];
    low[a] = d->kind == GLOW_DIM_EXACT ? d->size : d->extent ? d->extent->least : 0;
    high[a] = glow_dim_has_size(*d) ? d->size : INT64_MAX;
  }
  p.low = low;
  p.high = high;
  if (glow_type_is_bytes(t) && glow_type_is_bounded(t))
    p.bytes = (size_t)glow_type_bytes(t);
  return p;
}

static void describe_entry(GlowContext *ctx, const GlowEntry *e, GlowHomeEntry *to) {
  to->ports = GLOW_NEW_ARRAY(ctx->arena, GlowHomePort, e->nvalues);
  for (uint32_t i = 0; i < e->nvalues; i++)
    if (e->values[i].memory == GLOW_MEMORY_PORT)
      to->ports[to->nports++] = (GlowHomePort){describe(ctx, &e->values[i]), i};
  for (int64_t i = 0; e->program && i < e->program->nsteps; i++)
    to->hosted += e->program->steps[i].kind == GLOW_STEP_HOST;
}

void glow_home_describe(struct GlowHome *home, const GlowExecutable *e) {
  GlowContext *ctx = home->ctx;
  home->entries = GLOW_NEW_ARRAY(ctx->arena, GlowHomeEntry, e->nentries);
  for (uint32_t i = 0; i < e->nentries; i++)
    describe_entry(ctx, &e->entries[i], &home->entries[i]);
  home->variables = GLOW_NEW_ARRAY(ctx->arena, GlowHomePort, e->nstorage);
  for (uint32_t i = 0; i < e->nstorage; i++) {
    const GlowExecValue *v = glow_home_value(e, i);
    if (v && v->memory == GLOW_MEMORY_VARIABLE)
      home->variables[home->nvariables++] = (GlowHomePort){describe(ctx, v), i};
  }
}

GlowEntry *glow_home_entry(const GlowExecutable *e, const char *name, const GlowHomeEntry **entry) {
  GlowEntry *found = glow_executable_find((GlowExecutable *)(uintptr_t)e, name);
  if (found)
    *entry = &e->home->entries[found - e->entries];
  return found;
}

const char *glow_executable_entry(const GlowExecutable *e, size_t i) {
  return e && i < e->nentries ? e->entries[i].name : NULL;
}

bool glow_executable_port(const GlowExecutable *e, const char *entry, size_t i, GlowPort *port) {
  const GlowHomeEntry *h;
  return e && port && glow_home_entry(e, entry, &h) && i < h->nports &&
         glow_fill(port, &h->ports[i].port, sizeof *port);
}

bool glow_executable_variable(const GlowExecutable *e, size_t i, GlowPort *port) {
  return e && port && i < e->home->nvariables &&
         glow_fill(port, &e->home->variables[i].port, sizeof *port);
}

/* ---- Memory ---------------------------------------------------------------------------------- */

/* Whether the value of a constant lies in a file that is mapped, or in a store. */
static bool is_shared(const GlowExecutable *e, uint32_t i, const GlowExecValue *v) {
  const struct GlowHome *home = e->home;
  if (i < home->nstored && home->stored[i].block)
    return true;
  const GlowStorage *g = glow_module_storage(home->module, v->name);
  const GlowTensor *t = v->value ? v->value : g ? g->init.tensor : NULL;
  if (!t || (e->shared && g && glow_values_held(e->shared, g)))
    return false;
  return e->costs.cached || glow_blob_is_mapped(e->ctx, t->data, t->bytes);
}

static void add_storage(const GlowExecutable *e, GlowMemory *m) {
  for (uint32_t i = 0; i < e->nstorage; i++) {
    const GlowExecValue *v = glow_home_value(e, i);
    const GlowType *room = v && v->room ? v->room : v ? v->type : NULL;
    size_t bytes = room && glow_type_is_bounded(room) ? (size_t)glow_type_bytes(room) : 0;
    if (!v || v->memory == GLOW_MEMORY_PORT)
      continue;
    if (v->memory == GLOW_MEMORY_VARIABLE)
      m->state += (size_t)glow_exec_round(bytes > 0 ? (int64_t)bytes : 1) +
                  glow_state_value_bytes(v);
    else if (is_shared(e, i, v))
      m->shared += bytes;
    else
      m->constants += bytes;
  }
}

GlowStatus glow_executable_memory(const GlowExecutable *e, const char *entry, int threads,
                                  GlowMemory *memory) {
  const GlowHomeEntry *h;
  const GlowEntry *x = e && memory ? glow_home_entry(e, entry, &h) : NULL;
  if (!x || threads < 1)
    return GLOW_BAD_USAGE;
  GlowMemory m = {.size = sizeof m,
                  .code = (size_t)e->code,
                  .state = sizeof(GlowState) + ((size_t)e->nstorage + 1) * sizeof(GlowTensor *) +
                           e->home->nvariables * GLOW_MAX_RANK * sizeof(int64_t)};
  pthread_mutex_lock((pthread_mutex_t *)(uintptr_t)&e->lock);
  add_storage(e, &m);
  pthread_mutex_unlock((pthread_mutex_t *)(uintptr_t)&e->lock);
  GlowExecutionSetup setup = {.parallel = &(GlowParallel){.workers = threads},
                              .extra = glow_run_extra(x, h),
                              .placed = true};
  m.execution = (size_t)glow_execution_bytes(x, &setup);
  setup.placed = false;
  m.outputs = (size_t)glow_execution_bytes(x, &setup) - m.execution;
  return glow_fill(memory, &m, sizeof m) ? GLOW_OK : GLOW_BAD_USAGE;
}

void glow_executable_info(const GlowExecutable *e, GlowExecutableInfo *info) {
  if (!e || !info)
    return;
  const GlowExecutableCosts *c = &e->costs;
  GlowExecutableInfo all = {.size = sizeof all,
                            .backend = e->home->backend,
                            .target = e->home->target,
                            .load = e->home->load,
                            .passes = e->home->passes,
                            .select = c->select,
                            .code = c->emit + c->link + c->optimize + c->generate + c->load,
                            .constants = c->constants,
                            .cache = c->cache,
                            .cached = c->cached};
  uint32_t pieces, compiled;
  glow_executable_count_pieces(e, &pieces, &compiled);
  all.pieces = pieces;
  all.compiled = compiled;
  for (uint32_t i = 0; i < e->nentries; i++)
    all.hosted += e->home->entries[i].hosted;
  glow_fill(info, &all, sizeof all);
}
