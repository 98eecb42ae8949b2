/* Faults of passes over programs, and a backend that has one of them. */
#include "backend/backends.h"
#include "faults.h"

static bool has_epilogue(const GlowNode *n) {
  const GlowBlock *b = glow_node_epilogue(n);
  const GlowNode *end = b && n->nouts == 1 ? glow_block_terminator(b) : NULL;
  return end && b->nparams && end->noperands && end->operands[0].value != b->params[0] &&
         end->operands[0].value->type == b->params[0]->type && glow_node_desc(n)->epilogue >= 0;
}

/* What was accumulated goes out as it is. */
static bool drop_epilogue(GlowNode *n) {
  GlowBlock *b = glow_node_epilogue(n);
  glow_use_set(&glow_block_terminator(b)->operands[0], b->params[0]);
  return true;
}

bool glow_pass_fault_dropped_epilogue(GlowPassRun *run) {
  return glow_fault_run(run, has_epilogue, drop_epilogue);
}

/* The interpreter on memory that holds NaN before it is written. */
GlowStatus glow_poisoned_run(GlowFunction *f, const GlowBindings *inputs, GlowBindings *outputs,
                             const GlowRunOptions *options) {
  static const unsigned char byte = 0xff;
  GlowRunOptions poisoned = options ? *options : (GlowRunOptions){0};
  poisoned.poison = &byte;
  return glow_interp_run(f, inputs, outputs, &poisoned);
}

/* The same for a copy of f without epilogues. */
static bool forget(GlowNode *n, void *arg) {
  (void)arg;
  return !has_epilogue(n) || drop_epilogue(n);
}

static GlowStatus run_without_epilogues(GlowBackendFn run, GlowFunction *f,
                                        const GlowBindings *inputs, GlowBindings *outputs,
                                        const GlowRunOptions *options) {
  GlowModule *m = glow_module_clone(f->module);
  GlowFunction *copy = glow_module_function(m, f->name);
  glow_block_walk(copy->body, forget, NULL);
  GlowStatus status = run(copy, inputs, outputs, options);
  glow_module_destroy(m);
  return status;
}

GlowStatus glow_flawed_run(GlowFunction *f, const GlowBindings *inputs, GlowBindings *outputs,
                           const GlowRunOptions *options) {
  return run_without_epilogues(glow_poisoned_run, f, inputs, outputs, options);
}

#if GLOW_HAVE_CPU_BACKEND
GlowStatus glow_flawed_cpu_run(GlowFunction *f, const GlowBindings *inputs, GlowBindings *outputs,
                               const GlowRunOptions *options) {
  return run_without_epilogues(glow_cpu_run, f, inputs, outputs, options);
}
#endif

static bool is_in_place(const GlowNode *n) {
  for (uint32_t i = 0; glow_node_is_instr(n) && n->nouts == 1 && i < glow_node_nins(n); i++)
    if (glow_node_in(n, i) == n->operands[0].value)
      return true;
  return false;
}

/* The buffer keeps what it held before. */
static bool leave_out(GlowNode *n) {
  glow_node_remove(n);
  return true;
}

bool glow_pass_fault_stale_buffer(GlowPassRun *run) {
  return glow_fault_run(run, is_in_place, leave_out);
}
