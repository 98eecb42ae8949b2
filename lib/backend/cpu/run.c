/* Compiling and running programs: targets, bindings, memory, the floating-point environment. */
#include <fenv.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/cpu.h"

struct GlowCpuProgram {
  GlowFunction *function;
  GlowArena *arena; /* of the plan */
  GlowCpuPlan plan;
  GlowCode *code;
};

const GlowIsa *glow_cpu_target(const GlowModule *m, GlowLoc loc) {
  const GlowIsa *isa = m->target ? glow_isa_find(m->target) : glow_isa_host();
  if (!isa && m->target) {
    const char *names[GLOW_ISA_COUNT];
    for (size_t i = 0; i < GLOW_ISA_COUNT; i++)
      names[i] = glow_isa[i].name;
    const char *near = glow_nearest(m->target, names, GLOW_ISA_COUNT);
    glow_error(m->ctx, loc, "unknown target '%s'%s%s%s", m->target, near ? "; did you mean '" : "",
               near ? near : "", near ? "'?" : "");
  } else if (!isa) {
    glow_error(m->ctx, loc, "the CPU backend has no target that this machine can run");
  } else if (!glow_isa_runs_here(isa)) {
    glow_error(m->ctx, loc, "this machine cannot run code for target %s (it needs %s)", isa->name,
               isa->features);
    isa = NULL;
  }
  return isa;
}

GlowCpuProgram *glow_cpu_compile(GlowFunction *f, GlowCodegenTimes *times) {
  GlowContext *ctx = f->module->ctx;
  const GlowIsa *isa = glow_cpu_target(f->module, f->src);
  if (!isa)
    return NULL;
  GlowArena *arena = glow_arena_create(ctx);
  GlowCpuProgram *p = GLOW_NEW(arena, GlowCpuProgram);
  *p = (GlowCpuProgram){.function = f, .arena = arena};
  if (glow_cpu_plan(arena, f, isa, &p->plan)) {
    GlowCodegenOptions options = {.isa = isa, .scratch = p->plan.arena};
    p->code = glow_codegen_compile(ctx, p->plan.work, p->plan.count, &options, times);
  }
  if (p->code)
    return p;
  glow_arena_destroy(arena);
  return NULL;
}

void glow_cpu_destroy(GlowCpuProgram *p) {
  if (!p)
    return;
  glow_code_destroy(p->code);
  glow_arena_destroy(p->arena);
}

static void destroy_fn(void *p) { glow_cpu_destroy(p); }

/* ---- One run --------------------------------------------------------------------------------- */

/* The buffers of one run. Tensors that the run writes are its own until they are handed out. */
typedef struct Run {
  GlowCpuProgram *p;
  void **storage;
  GlowTensor **owned; /* by storage; NULL: borrowed */
  uint8_t *memory;    /* the arena's allocation */
} Run;

static void release_run(void *arg) {
  Run *r = arg;
  for (uint32_t i = 0; i < r->p->plan.nstorage; i++)
    glow_tensor_free(r->owned[i]);
  free(r->memory);
}

static const GlowTensor *find_input(const GlowBindings *inputs, GlowStr name) {
  for (uint32_t i = 0; i < inputs->count; i++) {
    if (inputs->data[i].name == name)
      return inputs->data[i].tensor;
  }
  return NULL;
}

/* The value that storage has before the run; NULL after a diagnostic. */
static const GlowTensor *initial_value(GlowStorage *g, const GlowBindings *inputs) {
  GlowContext *ctx = g->module->ctx;
  if (g->cls != GLOW_PLACEHOLDER)
    return glow_storage_value(g);
  const GlowTensor *t = find_input(inputs, g->value.name);
  if (!t) {
    glow_error(ctx, g->src, "placeholder @%s is not bound", g->value.name);
  } else if (t->type != g->value.type) {
    glow_error(ctx, g->src, "placeholder @%s has type %s but is bound to %s", g->value.name,
               glow_type_str(ctx, g->value.type), glow_type_str(ctx, t->type));
    t = NULL;
  }
  return t;
}

/* Buffers for everything the program touches. What it writes, and what is not aligned to its
 * elements, gets memory of its own. */
static bool bind(Run *r, const GlowBindings *inputs) {
  const GlowCpuPlan *plan = &r->p->plan;
  GlowContext *ctx = r->p->function->module->ctx;
  bool ok = true;
  for (uint32_t i = 0; i < plan->nstorage; i++) {
    GlowStorage *g = plan->storage[i];
    if (!plan->reads[i] && !plan->writes[i])
      continue;
    /* A variable may be written in part: what is not written stays. A placeholder that is also
     * written may be an output that is read again. */
    bool wanted = g->cls == GLOW_VARIABLE ||
                  (plan->reads[i] && (!plan->writes[i] || find_input(inputs, g->value.name)));
    const GlowTensor *t = wanted ? initial_value(g, inputs) : NULL;
    if (wanted && !t) {
      ok = false;
      continue;
    }
    bool aligned = t && (uintptr_t)t->data % 64 == 0;
    if (plan->writes[i] || !aligned)
      r->owned[i] = t ? glow_tensor_copy(ctx, t) : glow_tensor_create(ctx, g->value.type);
    r->storage[i] = r->owned[i] ? r->owned[i]->data : t->data;
  }
  return ok;
}

/* Round to nearest, denormals kept, whatever the caller has set. */
static bool call_entry(const Run *r, uint8_t *arena, GlowFault *fault) {
  fenv_t saved;
  fegetenv(&saved);
  fesetenv(FE_DFL_ENV);
  bool ok = glow_code_entry(r->p->code)(arena, r->storage, NULL, fault) == 0;
  fesetenv(&saved);
  return ok;
}

static void hand_out(Run *r, GlowBindings *outputs) {
  const GlowCpuPlan *plan = &r->p->plan;
  GlowContext *ctx = r->p->function->module->ctx;
  for (uint32_t i = 0; i < plan->nstorage; i++) {
    GlowStorage *g = plan->storage[i];
    if (!plan->writes[i])
      continue;
    if (g->cls == GLOW_PLACEHOLDER) {
      GlowBinding b = {g->value.name, r->owned[i]};
      glow_vec_push(ctx->arena, outputs, b);
    } else {
      glow_tensor_free(g->cached);
      g->cached = r->owned[i];
    }
    r->owned[i] = NULL;
  }
}

GlowStatus glow_cpu_execute(GlowCpuProgram *p, const GlowBindings *inputs, GlowBindings *outputs) {
  GlowContext *ctx = p->function->module->ctx;
  GlowArena *arena = glow_arena_create(ctx);
  Run r = {.p = p};
  r.storage = GLOW_NEW_ARRAY(arena, void *, p->plan.nstorage);
  r.owned = GLOW_NEW_ARRAY(arena, GlowTensor *, p->plan.nstorage);
  GlowDefer defer;
  glow_defer_push(ctx, &defer, release_run, &r);
  GlowStatus status = GLOW_BAD_INPUT;
  if (bind(&r, inputs)) {
    size_t align = (size_t)p->plan.align;
    GlowFault fault = {0};
    r.memory = glow_malloc(ctx, (size_t)(p->plan.arena + p->plan.scratch) + align);
    if (call_entry(&r, r.memory + (align - (uintptr_t)r.memory % align) % align, &fault)) {
      hand_out(&r, outputs);
      status = GLOW_OK;
    }
  }
  glow_defer_pop(ctx, &defer, true);
  glow_arena_destroy(arena);
  return status;
}

GlowStatus glow_cpu_run(GlowFunction *program, const GlowBindings *inputs, GlowBindings *outputs,
                        const GlowRunOptions *options) {
  GlowContext *ctx = program->module->ctx;
  GlowCpuProgram *p = glow_cpu_compile(program, NULL);
  if (!p)
    return GLOW_BAD_INPUT;
  GlowDefer defer;
  glow_defer_push(ctx, &defer, destroy_fn, p);
  GlowStatus status = glow_cpu_execute(p, inputs, outputs);
  glow_defer_pop(ctx, &defer, true);
  if (status == GLOW_OK && options && options->progress)
    options->progress(options->progress_user, 1, 1);
  return status;
}
