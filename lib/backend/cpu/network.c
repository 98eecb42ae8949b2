/* Compiled networks: code, and buffers for all that it touches, which every run uses again.
 *
 * What a program writes, and inputs that are not aligned, lie in buffers of the network; aligned
 * inputs and constants are read where they are. A run copies what changed between runs, sets the
 * floating-point environment and walks the program: nothing is allocated. */
#include <fenv.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/access.h"
#include "backend/cpu/cached.h"
#include "backend/cpu/cpu.h"
#include "backend/cpu/hosted.h"
#include "backend/cpu/library.h"
#include "backend/cpu/profile.h"
#include "exec/execution.h"
#include "ir/remarks.h"
#include "support/pages.h"
#include "support/process.h"

typedef struct Network {
  GlowNetwork base;
  GlowFunction *function;
  GlowArena *arena; /* of the plan and of the arrays below */
  GlowCpuPlan plan;
  const GlowProgramData *data;
  GlowCode *code;             /* NULL: library code */
  const GlowProgram *program; /* of the code, or in `arena` */
  GlowRunContext context;     /* of runs; its fault is `hosted.fault` */
  GlowHosted hosted;
  const GlowParallel *parallel;
  bool debug;
  void **storage;            /* what the program gets: the memory of each outer value */
  GlowTensor **owned;        /* by outer value; NULL: borrowed */
  GlowTensor **tensors;      /* by outer value: what storage[i] is the data of */
  const GlowTensor **source; /* by outer value: copied into owned before each run, or NULL */
  const GlowType **empty; /* by outer value: owned has this type and zeros before a run, or NULL */
  GlowCached cached;      /* what the cache had; closed if that is nothing */
  GlowProfile *profile;   /* NULL: nobody asked */
  GlowText key, object;   /* while it is prepared, if there is a cache and it had nothing */
  uint8_t *memory, *aligned; /* the program's arena: as it was allocated, and as it is used */
  bool ran;
} Network;

/* Seconds since *since, which becomes now. */
static double lap(double *since) {
  double now = glow_clock(), passed = now - *since;
  *since = now;
  return passed;
}

/* ---- Buffers --------------------------------------------------------------------------------- */

/* The value that v has before the run; NULL after a diagnostic. */
static const GlowTensor *initial_value(GlowValue *v, const GlowBindings *inputs) {
  if (glow_outer_class(v) != GLOW_PLACEHOLDER)
    return glow_storage_value(v->def.storage);
  return glow_bindings_input(inputs, v);
}

/* Whether each run writes all of v, which the program does not read. */
static bool is_written_whole(const GlowFunction *f, const GlowValue *v) {
  for (const GlowNode *n = f->body->first; n; n = n->next)
    for (uint32_t i = 0; i < n->nouts; i++)
      if (n->operands[i].value == v && n->operands[i].qual == GLOW_QUAL_OUT)
        return true;
  return false;
}

/* A buffer for outer value i, if the program touches it. */
static bool bind_outer(Network *n, uint32_t i, const GlowBindings *inputs) {
  const GlowCpuPlan *plan = &n->plan;
  GlowValue *v = plan->outer[i];
  GlowStorageClass cls = glow_outer_class(v);
  if (!plan->reads[i] && !plan->writes[i])
    return true;
  if (n->cached.entry.map && n->cached.constants[i]) {
    n->storage[i] = (void *)(uintptr_t)n->cached.constants[i];
    return true;
  }
  /* A variable may be written in part: what is not written stays. A placeholder that is also
   * written may be an output that is read again. */
  bool wanted = cls == GLOW_VARIABLE ||
                (plan->reads[i] && (!plan->writes[i] || glow_bindings_find(inputs, v->name)));
  const GlowTensor *t = wanted ? initial_value(v, inputs) : NULL;
  if (wanted && !t)
    return false;
  bool aligned = t && (uintptr_t)t->data % 64 == 0;
  if (plan->writes[i] || !aligned) {
    n->owned[i] = glow_hosted_tensor(n->function->module->ctx, v->type, t);
    n->source[i] = cls == GLOW_PLACEHOLDER ? t : NULL;
    if (cls == GLOW_PLACEHOLDER && !t && (plan->reads[i] || !is_written_whole(n->function, v)))
      n->empty[i] = n->owned[i]->type;
  }
  n->tensors[i] = n->owned[i] ? n->owned[i] : (GlowTensor *)(uintptr_t)t;
  n->storage[i] = n->tensors[i]->data;
  return true;
}

/* All buffers, and the list of outputs. */
static bool bind(Network *n, const GlowBindings *inputs) {
  const GlowCpuPlan *plan = &n->plan;
  n->storage = GLOW_NEW_ARRAY(n->arena, void *, plan->nouter);
  n->owned = GLOW_NEW_ARRAY(n->arena, GlowTensor *, plan->nouter);
  n->tensors = GLOW_NEW_ARRAY(n->arena, GlowTensor *, plan->nouter);
  n->source = GLOW_NEW_ARRAY(n->arena, const GlowTensor *, plan->nouter);
  n->empty = GLOW_NEW_ARRAY(n->arena, const GlowType *, plan->nouter);
  bool ok = true;
  for (uint32_t i = 0; i < plan->nouter; i++) {
    ok = bind_outer(n, i, inputs) && ok;
    if (ok && plan->writes[i] && glow_outer_class(plan->outer[i]) == GLOW_PLACEHOLDER) {
      GlowBinding b = {plan->outer[i]->name, n->owned[i]};
      glow_vec_push(n->arena, &n->base.outputs, b);
    }
  }
  return ok;
}

static int64_t workers_of(const Network *n) { return n->parallel ? n->parallel->workers : 1; }

static void allocate(Network *n) {
  const GlowCpuPlan *plan = &n->plan;
  size_t align = (size_t)plan->align, size = (size_t)(plan->arena + workers_of(n) * plan->scratch);
  n->memory = glow_malloc(n->function->module->ctx, size + align);
  glow_prefer_large_pages(n->memory, size + align);
  n->aligned = n->memory + (align - (uintptr_t)n->memory % align) % align;
  n->base.costs.arena = (int64_t)size;
}

/* Everything that runs work on stays where it is from now on. */
static void begin_runs(Network *n) {
  n->context = (GlowRunContext){.arena = n->aligned,
                                .storage = n->storage,
                                .parallel = n->parallel,
                                .fault = &n->hosted.fault,
                                .host = glow_hosted_step};
  glow_execution_begin(n->arena, n->program, &n->context);
}

/* ---- The network ----------------------------------------------------------------------------- */

/* Round to nearest, denormals kept, whatever the caller has set. */
static bool walk(Network *n) {
  bool watched = n->profile || n->hosted.ctx->deadline > 0;
  fenv_t saved;
  fegetenv(&saved);
  fesetenv(FE_DFL_ENV);
  n->context.hook = watched ? glow_hosted_piece : NULL;
  bool ok = glow_walk(n->program, &n->context) == 0;
  fesetenv(&saved);
  return ok;
}

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

static void report_fault(const Network *n, const GlowFault *fault) {
  const GlowWork *w = find_work(n->plan.work, n->plan.count, fault->instruction, false);
  GLOW_CHECK(n->function->module->ctx, w, "a fault names an instruction");
  GlowCall call = *w->call;
  call.detail = fault->detail;
  glow_report_run_error(glow_cpu_node(w->source), (GlowRunError)fault->error, &call);
}

/* Gives what the program writes the elements and extents that it has before a run. */
static void begin_outputs(const Network *n) {
  for (uint32_t i = 0; i < n->plan.nouter; i++) {
    GlowTensor *t = n->owned[i];
    const GlowType *type = n->source[i] ? n->source[i]->type : n->empty[i];
    if (!type)
      continue;
    if (n->source[i])
      memcpy(t->data, n->source[i]->data, n->source[i]->bytes);
    else
      memset(t->data, 0, t->room);
    t->type = type;
    t->bytes = (size_t)glow_type_bytes(type);
  }
}

static GlowStatus run(GlowNetwork *network) {
  Network *n = (Network *)network;
  begin_outputs(n);
  n->hosted = (GlowHosted){0};
  if (n->plan.hosted)
    glow_hosted_begin(&n->hosted, n->function, &n->plan, n->tensors, n->aligned);
  n->hosted.ctx = n->function->module->ctx;
  n->hosted.profile = n->profile;
  if (n->profile)
    glow_profile_begin(n->profile);
  bool ok = walk(n);
  if (n->profile)
    glow_profile_end(n->profile);
  if (n->plan.hosted)
    glow_hosted_end(&n->hosted);
  if (!ok && n->hosted.fault.error == GLOW_HOSTED_LATE)
    glow_run_check_time(glow_cpu_node(
        find_work(n->plan.work, n->plan.count, n->hosted.fault.instruction, true)->source));
  else if (!ok && n->hosted.fault.error != GLOW_HOSTED_FAILED)
    report_fault(n, &n->hosted.fault);
  if (!ok)
    return GLOW_BAD_INPUT;
  n->ran = true;
  return GLOW_OK;
}

/* Variables keep what the last run wrote. Outputs that somebody took have NULL as their tensor. */
static void release_buffers(Network *n) {
  const GlowBindings *outputs = &n->base.outputs;
  for (uint32_t i = 0, out = 0; n->owned && i < n->plan.nouter; i++) {
    const GlowValue *v = n->plan.outer[i];
    GlowStorageClass cls = glow_outer_class(v);
    if (n->plan.writes[i] && cls == GLOW_PLACEHOLDER && out < outputs->count) {
      glow_tensor_free(outputs->data[out++].tensor);
    } else if (n->plan.writes[i] && cls == GLOW_VARIABLE && n->ran) {
      glow_tensor_free(v->def.storage->cached);
      v->def.storage->cached = n->owned[i];
    } else {
      glow_tensor_free(n->owned[i]);
    }
  }
}

static void destroy(GlowNetwork *network) {
  Network *n = (Network *)network;
  release_buffers(n);
  free(n->memory);
  glow_code_destroy(n->code);
  glow_cache_close(&n->cached.entry);
  glow_text_release(&n->key);
  glow_text_release(&n->object);
  glow_arena_destroy(n->arena);
}

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

static void generate(Network *n, const GlowCodegenOptions *options) {
  GlowContext *ctx = n->function->module->ctx;
  GlowNetworkCosts *costs = &n->base.costs;
  GlowCodegenTimes t;
  if (!glow_codegen_emit_object(ctx, n->data, options, &n->object, &t))
    glow_throw(ctx, GLOW_INTERNAL); /* whatever the program, it should compile */
  costs->emit = t.emit;
  costs->link = t.link;
  costs->optimize = t.optimize;
  costs->generate = t.generate;
}

/* A remark about the whole program. */
static void tell(const Network *n, const char *what) {
  GlowContext *ctx = n->function->module->ctx;
  if (!glow_remarks_heard(ctx))
    return;
  const char *text = glow_str_printf(ctx, "@%s %s", n->function->name, what);
  glow_remarks_take(ctx, &(GlowRemark){.speaker = "codegen",
                                       .function = n->function,
                                       .loc = n->function->src,
                                       .text = text});
}

/* Finds the code or makes it. */
static bool compile(Network *n, const GlowIsa *isa, const GlowCache *cache) {
  GlowContext *ctx = n->function->module->ctx;
  GlowNetworkCosts *costs = &n->base.costs;
  double since = glow_clock();
  GlowCodegenOptions options = {.isa = isa, .debug = n->debug, .program = n->function->src};
  options.remark = glow_remarks_heard(ctx) ? glow_cpu_remark : NULL;
  if (cache && glow_cached_key(n->function, &options, &n->key))
    costs->cached = glow_cached_find(cache, &n->key, n->arena, &n->plan, &n->cached);
  else
    glow_text_release(&n->key);
  costs->cache = lap(&since);
  if (costs->cached)
    tell(n, "is in the cache: nothing is compiled");
  find_kernels(n->arena, &options);
  if (!costs->cached)
    generate(n, &options);
  GlowBytes object = {n->object.data, n->object.size};
  object = costs->cached ? n->cached.object : object;
  since = glow_clock();
  n->code = glow_code_load(ctx, object.data, object.size, options.symbols, options.nsymbols);
  costs->load = lap(&since);
  costs->code = n->code ? glow_code_size(n->code) : 0;
  n->program = n->code ? glow_code_program(n->code) : NULL;
  return n->code != NULL;
}

/* Says of each piece that library code runs it. */
static void tell_pieces(const Network *n) {
  for (int64_t i = 0; i < n->data->npieces; i++) {
    const GlowWork *w = n->data->pieces[i];
    if (w->kind == GLOW_WORK_KERNEL)
      glow_codegen_remark(glow_cpu_node(w->source), "%s '%s' runs as %s of the library",
                          w->source->desc->instr, w->source->name, w->kernel->name);
  }
}

/* A program that can be walked, of the tier that is asked for. */
static bool make_program(Network *n, const GlowCache *cache, const GlowRunOptions *o) {
  GlowContext *ctx = n->function->module->ctx;
  const GlowIsa *isa = glow_cpu_target(n->function->module, n->function->src);
  bool library = o && o->tier == GLOW_TIER_LIBRARY;
  double since = glow_clock();
  if (!isa || !glow_cpu_plan(n->arena, n->function, isa, &n->plan) ||
      !glow_cpu_fits(n->function, &n->plan, workers_of(n), o ? o->max_memory : 0))
    return false;
  n->data = glow_cpu_program(n->arena, &n->plan, library ? isa : NULL);
  if (o && o->profile)
    n->base.profile = n->profile = glow_profile_create(n->arena, n->data);
  if (library)
    n->program = glow_library_bind(ctx, n->arena, isa, n->data);
  n->base.costs.select = lap(&since);
  if (!library)
    return compile(n, isa, cache);
  if (n->program && glow_remarks_heard(ctx))
    tell_pieces(n);
  return n->program != NULL;
}

GlowNetwork *glow_cpu_prepare(GlowFunction *program, const GlowBindings *inputs,
                              const GlowRunOptions *options) {
  GlowContext *ctx = program->module->ctx;
  GlowArena *arena = glow_arena_create(ctx);
  Network *n = GLOW_NEW(arena, Network);
  *n = (Network){.base = {.run = run, .destroy = destroy}, .function = program, .arena = arena};
  const GlowCache *cache = options && !options->debug ? options->cache : NULL; /* has no lines */
  n->parallel = options ? options->parallel : NULL;
  n->debug = options && options->debug;
  glow_text_init(&n->key, ctx);
  glow_text_init(&n->object, ctx);
  GlowDefer defer;
  glow_defer_push(ctx, &defer, glow_network_destroy_fn, n);
  bool ok = make_program(n, cache, options);
  double since = glow_clock();
  ok = ok && bind(n, inputs);
  n->base.costs.constants = lap(&since);
  if (ok)
    allocate(n);
  if (ok)
    begin_runs(n);
  since = glow_clock();
  if (ok && n->key.size && !n->base.costs.cached)
    glow_cached_store(cache, &n->key, arena, &n->plan, &n->object, n->storage, n->owned);
  n->base.costs.cache += lap(&since);
  glow_text_release(&n->key);
  glow_text_release(&n->object);
  glow_defer_pop(ctx, &defer, !ok);
  return ok ? &n->base : NULL;
}
