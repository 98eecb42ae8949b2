/* From programs to an executable: steps, code of their own or of the library, and constants. */
#include "backend/cpu/compile.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/access.h"
#include "analysis/spans.h"
#include "backend/cpu/hosted.h"
#include "backend/cpu/isolate.h"
#include "backend/cpu/library.h"
#include "backend/cpu/open.h"
#include "backend/cpu/selector.h"
#include "exec/memory.h"
#include "ir/remarks.h"
#include "support/process.h"

#define PATIENCE 0.3 /* seconds of runs after which a program is compiled */

/* An entry under construction, and what is forgotten once there is one. */
typedef struct Compile {
  GlowEntry *entry;
  GlowExecutableCosts *costs; /* sums over all entries */
  GlowCpuBackend *backend;
  GlowContext *ctx;
  GlowFunction *function;
  GlowArena *arena; /* of the entry */
  const GlowRunOptions *options;
  const GlowEntry *same; /* an entry of the same text, which has the values of constants; or NULL */
  const GlowIsa *isa;
  bool made; /* code that the cache may want */
} Compile;

/* Seconds since *since, which becomes now. */
static double lap(double *since) {
  double now = glow_clock(), passed = now - *since;
  *since = now;
  return passed;
}

/* ---- Values ---------------------------------------------------------------------------------- */

static GlowMemoryClass memory_of(const GlowValue *v) {
  switch (glow_outer_class(v)) {
  case GLOW_CONSTANT:
    return GLOW_MEMORY_CONSTANT;
  case GLOW_VARIABLE:
    return GLOW_MEMORY_VARIABLE;
  case GLOW_PLACEHOLDER:
    break;
  }
  return GLOW_MEMORY_PORT;
}

/* The type before anything was written: an open axis has extent 0. */
static const GlowType *empty_type(GlowContext *ctx, const GlowType *type) {
  GlowDim dims[GLOW_MAX_RANK];
  if (!glow_type_is_tensor(type) || glow_type_is_static(type))
    return type;
  for (uint32_t a = 0; a < type->rank; a++)
    dims[a] = type->dims[a].kind == GLOW_DIM_EXACT ? type->dims[a] : GLOW_EXACT(0);
  return glow_type_with_layout(ctx, glow_type_with_dims(ctx, type, type->rank, dims), type->layout);
}

/* The value of a constant at an aligned place. NULL after a diagnostic. */
static const GlowTensor *constant(Compile *c, uint32_t i) {
  GlowCpuBackend *b = c->backend;
  GlowValue *v = b->plan.outer[i];
  if (b->cached.entry.map && b->cached.constants[i]) {
    GlowTensor *t = GLOW_NEW(c->arena, GlowTensor);
    *t = (GlowTensor){.type = v->type, .data = (void *)(uintptr_t)b->cached.constants[i]};
    t->bytes = (size_t)glow_type_bytes(v->type);
    return t;
  }
  return glow_values_aligned(b->values, v->def.storage, GLOW_EXEC_ALIGN);
}

/* Says what outer value i is. False after a diagnostic. */
static bool describe(Compile *c, uint32_t i, GlowExecValue *x) {
  const GlowCpuPlan *plan = &c->backend->plan;
  GlowValue *v = plan->outer[i];
  *x = (GlowExecValue){.name = v->name,
                       .memory = memory_of(v),
                       .type = v->type,
                       .room = glow_type_room(c->ctx, v->type),
                       .before = empty_type(c->ctx, v->type),
                       .loc = glow_value_loc(v),
                       .read = plan->reads[i],
                       .written = plan->writes[i]};
  GlowDim rows;
  if (x->memory == GLOW_MEMORY_VARIABLE && glow_function_rows(c->function, v, &rows))
    x->after = glow_type_with_rows(c->ctx, v->type, rows);
  if ((!x->read && !x->written) || c->options->code_only)
    return true;
  if (c->same)
    x->value = c->same->values[i].value;
  if (x->value)
    return true;
  if (x->memory == GLOW_MEMORY_CONSTANT)
    return (x->value = constant(c, i)) != NULL;
  if (x->memory == GLOW_MEMORY_VARIABLE)
    return (x->value = glow_values_get(c->backend->values, v->def.storage)) != NULL;
  x->cleared = x->written && (x->read || !glow_block_covers(c->function->body, v));
  return true;
}

/* Computes what can be computed by several threads. */
static void pack_constants(Compile *c) {
  const GlowCpuBackend *b = c->backend;
  GlowStorage **storage = GLOW_NEW_ARRAY(c->arena, GlowStorage *, b->plan.nouter);
  uint32_t count = 0;
  for (uint32_t i = 0; i < b->plan.nouter; i++) {
    GlowValue *v = b->plan.outer[i];
    bool mapped = b->cached.entry.map && b->cached.constants[i];
    if (b->plan.reads[i] && !mapped && glow_outer_class(v) == GLOW_CONSTANT)
      storage[count++] = v->def.storage;
  }
  glow_values_pack(b->values, storage, count, 0);
}

static bool describe_values(Compile *c) {
  const GlowCpuPlan *plan = &c->backend->plan;
  if (!c->options->code_only && !c->same)
    pack_constants(c);
  GlowExecValue *values = GLOW_NEW_ARRAY(c->arena, GlowExecValue, plan->nouter);
  bool ok = true;
  for (uint32_t i = 0; i < plan->nouter; i++)
    ok = describe(c, i, &values[i]) && ok;
  c->entry->values = values;
  c->entry->nvalues = plan->nouter;
  return ok;
}

/* ---- Messages about runs --------------------------------------------------------------------- */

/* The first work of instruction `order` that may fail, in a list of work and the lists inside of
 * it; with `any` the first work of the instruction. */
static const GlowWork *find_work(const GlowWork *work, uint32_t count, int64_t order, bool any) {
  const GlowWork *found = NULL;
  for (uint32_t i = 0; i < count && !found; i++) {
    const GlowWork *w = &work[i];
    if ((w->faults || any) && w->source->instruction == order)
      return w;
    found = find_work(w->then.data, w->then.count, order, any);
    if (!found)
      found = find_work(w->otherwise.data, w->otherwise.count, order, any);
  }
  return found;
}

static const GlowNode *node_of(const GlowFunction *f, int64_t order) {
  GlowNode *n = f->body->first;
  while (n && n->order != order)
    n = glow_next_in_walk(n);
  return n;
}

/* The program of x->now may be of a module that nobody else knows; the message is about the same
 * instruction of the executable's. */
static void report(GlowExecution *x) {
  const GlowCpuBackend *b = x->now->backend, *text = x->entry->backend;
  const GlowFault *fault = &x->fault;
  const GlowNode *n = node_of(text->function, fault->instruction);
  bool late = fault->error == GLOW_FAULT_LATE;
  const GlowWork *w = find_work(b->plan.work, b->plan.count, fault->instruction, late);
  GLOW_CHECK(x->entry->executable->ctx, w && n, "a fault names an instruction");
  if (late) {
    glow_run_check_time(n);
    return;
  }
  GlowCall call = *w->call;
  call.detail = fault->detail;
  glow_report_run_error(n, (GlowRunError)fault->error, &call);
}

/* ---- The end --------------------------------------------------------------------------------- */

static void destroy(GlowEntry *entry) {
  GlowCpuBackend *b = entry->backend;
  glow_cpu_forget_programs(entry);
  glow_cpu_code_release(&b->code);
  glow_cache_close(&b->cached.entry);
}

static const GlowEngine engine = {.at = glow_shared_at,
                                  .find = glow_shared_find,
                                  .leave = glow_shared_leave,
                                  .wanted = glow_shared_wanted,
                                  .spent = glow_shared_spent,
                                  .selector_begin = glow_cpu_selector_begin,
                                  .selector_at = glow_cpu_selector_at,
                                  .selector_end = glow_cpu_selector_end,
                                  .report = report,
                                  .destroy = destroy,
                                  .write = glow_cpu_write};
static const GlowEngine hosted_engine = {.at = glow_shared_at,
                                         .find = glow_shared_find,
                                         .leave = glow_shared_leave,
                                         .begin = glow_hosted_begin,
                                         .end = glow_hosted_end,
                                         .host = glow_hosted_step,
                                         .forget = glow_hosted_forget,
                                         .report = report,
                                         .destroy = destroy,
                                         .write = glow_cpu_write};

static const GlowEngine selector_engine = {.report = report};

const GlowEngine *glow_cpu_selector_engine(void) { return &selector_engine; }

/* ---- Code ------------------------------------------------------------------------------------ */

/* The reference kernels of this process by the names that code calls them. */
static void find_kernels(GlowArena *arena, GlowCodegenOptions *options) {
  const GlowKernelRow *table = glow_kernels_best()->table;
  GlowSymbol *symbols = GLOW_NEW_ARRAY(arena, GlowSymbol, GLOW_OP_COUNT);
  options->symbols = symbols;
  for (uint32_t op = 0; op < GLOW_OP_COUNT; op++) {
    if (table[op].kernel)
      symbols[options->nsymbols++] =
          (GlowSymbol){glow_op_desc[op].kernel, (const void *)(uintptr_t)table[op].kernel};
  }
}

/* A remark about the whole program. */
static void tell(const Compile *c, const char *what) {
  if (!glow_remarks_heard(c->ctx))
    return;
  const char *text = glow_str_printf(c->ctx, "@%s %s", c->function->name, what);
  glow_remarks_take(c->ctx, &(GlowRemark){.speaker = "codegen",
                                          .function = c->function,
                                          .loc = c->function->src,
                                          .text = text});
}

/* Says of each piece that library code runs it. */
static void tell_pieces(const Compile *c) {
  const GlowProgramData *data = c->backend->data;
  for (int64_t i = 0; i < data->npieces && glow_remarks_heard(c->ctx); i++) {
    const GlowWork *w = data->pieces[i];
    if (w->kind == GLOW_WORK_KERNEL && !c->entry->code.better[i])
      glow_codegen_remark(glow_cpu_node(w->source), "%s '%s' runs as %s of the library",
                          w->source->desc->instr, w->source->name, w->kernel->name);
  }
}

/* What profiles call a piece of work. */
static const char *kernel_of(const GlowWork *w) {
  switch (w->kind) {
  case GLOW_WORK_REFERENCE:
    return "reference";
  case GLOW_WORK_HOST:
    return "interpreter";
  default:
    return w->kernel->name;
  }
}

static void describe_pieces(Compile *c) {
  const GlowProgramData *data = c->backend->data;
  GlowProfilePiece *pieces = GLOW_NEW_ARRAY(c->arena, GlowProfilePiece, data->npieces);
  for (int64_t i = 0; i < data->npieces; i++)
    pieces[i] = (GlowProfilePiece){.node = glow_cpu_node(data->pieces[i]->source),
                                   .kernel = kernel_of(data->pieces[i])};
  c->entry->pieces = pieces;
  c->entry->npieces = (uint32_t)data->npieces;
}

/* Where code of the program is kept, if anywhere: what has lines is not, nor what is in a file. */
static void choose_cache(Compile *c) {
  const GlowCache *cache =
      c->options->debug || c->options->written || c->options->code_only ? NULL : c->options->cache;
  GlowCpuCode *code = &c->backend->code;
  GlowText key;
  GlowDefer defer;
  if (!cache)
    return;
  glow_text_init(&key, c->ctx);
  glow_defer_push(c->ctx, &defer, glow_text_release_fn, &key);
  if (glow_cached_key(c->function, c->isa, &key)) {
    code->cache = cache;
    code->key = (GlowBytes){glow_arena_copy(c->arena, key.data, key.size), key.size};
  }
  glow_defer_pop(c->ctx, &defer, true);
}

/* What has to be made before the first run: for the tier `compiled` all that pays, and else what
 * the library cannot run. */
static uint32_t choose_groups(const Compile *c, const GlowPieceGroup **groups) {
  const GlowCpuCode *code = &c->backend->code;
  uint32_t count = 0;
  for (uint32_t i = 0; i < code->groups.count; i++) {
    const GlowPieceGroup *g = &code->groups.groups[i];
    bool wanted = c->options->tier == GLOW_TIER_COMPILED || !c->entry->code.library[g->pieces[0]];
    if (wanted && glow_cpu_code_lacks(code, g))
      groups[count++] = g;
  }
  return count;
}

/* False after a diagnostic: a piece has no code at all. `why`: none could be made. */
static bool check_pieces(const Compile *c, const char *why) {
  const GlowEntryCode *code = &c->entry->code;
  for (uint32_t i = 0; i < code->npieces; i++) {
    const GlowWork *w = c->backend->data->pieces[i];
    if (w->kind == GLOW_WORK_HOST || code->now[i])
      continue;
    glow_error(c->ctx, w->source->loc, "'%s' has no machine code: %s", w->source->desc->instr, why);
    return false;
  }
  return true;
}

/* Makes the code that is wanted and that the cache does not have. False after a diagnostic. */
static bool improve(Compile *c) {
  GlowCpuCode *code = &c->backend->code;
  const GlowPieceGroup **groups =
      GLOW_NEW_ARRAY(c->arena, const GlowPieceGroup *, code->groups.count);
  GlowCodegenTimes t = {0};
  double since = glow_clock();
  choose_cache(c);
  bool found = glow_cpu_code_find(code, c->ctx, c->options->written);
  c->costs->cache += lap(&since);
  uint32_t count = choose_groups(c, groups);
  c->costs->cached = found && !count;
  if (found && !count)
    tell(c, "is in the cache: nothing is compiled");
  if (!count)
    return true;
  const char *why =
      code->text.size
          ? glow_isolate_compile(c->ctx, code->text, code, NULL)
          : glow_cpu_code_make(code, c->ctx, groups, count,
                               glow_remarks_heard(c->ctx) ? glow_cpu_remark : NULL, 0, &t);
  if (why)
    tell(c, glow_str_printf(c->ctx, "runs as library code: %s", why));
  c->costs->emit += t.emit;
  c->costs->link += t.link;
  c->costs->optimize += t.optimize;
  c->costs->generate += t.generate + t.load;
  c->made = !why;
  return check_pieces(c, why);
}

/* A program that can be walked, of the tier that is asked for. False after diagnostics. */
static bool make_program(Compile *c) {
  GlowCpuBackend *b = c->backend;
  GlowEntry *e = c->entry;
  const GlowParallel *parallel = c->options->parallel;
  bool library = c->options->tier == GLOW_TIER_LIBRARY;
  double since = glow_clock();
  c->isa = glow_cpu_target(c->function->module, c->function->src);
  bool (*plan)(GlowArena *, GlowFunction *, const GlowIsa *, GlowCpuPlan *) =
      c->same ? glow_cpu_plan_closer : glow_cpu_plan;
  if (!c->isa || !plan(c->arena, c->function, c->isa, &b->plan) ||
      !glow_cpu_fits(c->function, &b->plan, parallel ? parallel->workers : 1,
                     c->options->max_memory))
    return false;
  e->memory = b->plan.arena;
  e->align = b->plan.align;
  e->scratch = b->plan.scratch;
  if (b->plan.hosted)
    e->engine = &hosted_engine;
  b->data = glow_cpu_program(c->arena, &b->plan, c->isa);
  describe_pieces(c);
  e->program = glow_library_bind(c->ctx, c->arena, c->isa, b->data, library, &e->code);
  b->code.data = b->data;
  b->code.program = glow_cpu_program_sum(b->data);
  b->code.options =
      (GlowCodegenOptions){.isa = c->isa, .debug = c->options->debug, .program = c->function->src};
  find_kernels(c->arena, &b->code.options);
  if (c->options->isolate && !library)
    b->code.text = glow_isolate_text(c->function, c->arena);
  c->costs->select += lap(&since);
  if (!e->program)
    return false;
  if (library)
    choose_cache(c);
  else
    b->code.groups = glow_pieces_that_pay(c->arena, b->data, &e->code);
  if (!library && !improve(c))
    return false;
  tell_pieces(c);
  return true;
}

/* ---- Entries --------------------------------------------------------------------------------- */

static void find_constants(Compile *c) {
  GlowCpuBackend *b = c->backend;
  double since = glow_clock();
  if (b->code.cache)
    glow_cached_find_constants(b->code.cache, b->code.key, c->arena, &b->plan, &b->cached);
  if (c->options->tier != GLOW_TIER_COMPILED)
    c->costs->cached = b->cached.entry.map != NULL;
  c->costs->cache += lap(&since);
}

static void store(Compile *c) {
  GlowCpuBackend *b = c->backend;
  double since = glow_clock();
  if (b->code.cache && !b->cached.entry.map)
    glow_cached_store_constants(b->code.cache, b->code.key, c->arena, &b->plan, c->entry->values,
                                b->values);
  if (c->made)
    glow_cpu_code_store(&b->code, c->ctx);
  c->costs->cache += lap(&since);
}

bool glow_cpu_compile_entry(GlowEntry *entry, GlowFunction *f, GlowArena *arena,
                            const GlowRunOptions *options, const GlowEntry *same) {
  GlowExecutable *e = entry->executable;
  GlowCpuBackend *backend = GLOW_NEW(arena, GlowCpuBackend);
  GlowExecutableCosts unseen;
  backend->function = f;
  backend->values = e->shared;
  backend->code.entry = entry;
  pthread_mutex_init(&backend->code.lock, NULL);
  entry->name = f->name;
  entry->engine = &engine;
  entry->backend = backend;
  Compile c = {.entry = entry,
               .costs = same ? &unseen : &e->costs,
               .ctx = e->ctx,
               .function = f,
               .arena = arena,
               .backend = backend,
               .same = same,
               .options = options};
  if (!make_program(&c))
    return false;
  if (!same)
    find_constants(&c);
  double since = glow_clock();
  bool ok = describe_values(&c);
  c.costs->constants += lap(&since);
  if (ok && !same)
    store(&c);
  return ok;
}

/* Frees values that only others were computed from. */
static void forget_unread(GlowExecutable *e) {
  const GlowCpuPlan *plan = &((const GlowCpuBackend *)e->entries->backend)->plan;
  for (uint32_t i = 0; i < e->nstorage; i++) {
    bool read = false;
    for (uint32_t k = 0; k < e->nentries; k++)
      read |= e->entries[k].values[i].value != NULL;
    if (!read)
      glow_values_forget(e->shared, plan->outer[i]->def.storage);
  }
}

/* What is compiled when the executable has run for some time: of the tier `auto` what pays. */
static void plan_background(GlowExecutable *e, GlowTier tier) {
  GlowCpuCode **codes = GLOW_NEW_ARRAY(e->arena, GlowCpuCode *, e->nentries);
  for (uint32_t i = 0; i < e->nentries; i++)
    codes[i] = &((GlowCpuBackend *)e->entries[i].backend)->code;
  e->patience = PATIENCE;
  if (tier == GLOW_TIER_AUTO)
    e->background = glow_cpu_code_later(e->arena, codes, e->nentries);
}

GlowExecutable *glow_cpu_compile(GlowFunction *const *functions, uint32_t count,
                                 const GlowRunOptions *options) {
  static const GlowRunOptions defaults;
  GlowModule *m = functions[0]->module;
  GlowExecutable *e = glow_executable_make(glow_arena_create(m->ctx), count);
  GlowDefer release;
  glow_defer_push(m->ctx, &release, glow_executable_release_fn, e);
  e->shared = glow_values_create(m);
  e->release_shared = glow_values_destroy_fn;
  if (options && options->values)
    glow_values_copy_variables(e->shared, options->values);
  for (const GlowStorage *g = m->first_storage; g; g = g->next)
    e->nstorage++;
  bool ok = true;
  for (uint32_t i = 0; i < count; i++)
    ok = glow_cpu_compile_open(&e->entries[i], functions[i], options ? options : &defaults) && ok;
  if (ok) {
    forget_unread(e);
    plan_background(e, options ? options->tier : defaults.tier);
  }
  glow_defer_pop(m->ctx, &release, !ok);
  return ok ? e : NULL;
}
