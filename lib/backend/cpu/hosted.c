/* See hosted.h. */
#include "backend/cpu/hosted.h"

#include "backend/cpu/compile.h"

/* The runs of an execution, one after the other. */
typedef struct Hosted {
  GlowContext *ctx;
  GlowArena *arena;
  GlowNode **nodes; /* by order */
  GlowCells cells;
  GlowProgramRun *run;
  GlowNode *node; /* the one under way */
  bool ok;
  GlowStatus thrown; /* by a step; the run ends with it */
} Hosted;

typedef struct Numbering {
  GlowNode **nodes;
  uint32_t count;
} Numbering;

static bool count_node(GlowNode *n, void *arg) {
  Numbering *x = arg;
  x->count = n->order + 1 > x->count ? n->order + 1 : x->count;
  return true;
}

static bool note_node(GlowNode *n, void *arg) {
  ((Numbering *)arg)->nodes[n->order] = n;
  return true;
}

static void release(void *hosted) {
  Hosted *h = hosted;
  if (h->run)
    glow_program_end(h->run);
  glow_cells_end(&h->cells);
  glow_arena_destroy(h->arena);
}

/* What all runs of an execution have in common. */
static Hosted *make(const GlowExecution *x) {
  const GlowCpuBackend *b = x->now->backend;
  GlowFunction *f = b->function;
  GlowContext *ctx = f->module->ctx;
  GlowArena *arena = glow_arena_create(ctx);
  Hosted *h = GLOW_NEW(arena, Hosted);
  *h = (Hosted){.ctx = ctx, .arena = arena};
  GlowDefer defer;
  glow_defer_push(ctx, &defer, release, h);
  Numbering numbering = {0};
  glow_block_walk(f->body, count_node, &numbering);
  h->nodes = numbering.nodes = GLOW_NEW_ARRAY(arena, GlowNode *, numbering.count);
  glow_block_walk(f->body, note_node, &numbering);
  glow_cells_begin(ctx, &h->cells, b->values, f->module);
  h->run = glow_program_begin(f, &h->cells);
  for (uint32_t i = 0; i < b->plan.buffers.count; i++) {
    const GlowCpuBuffer *buffer = &b->plan.buffers.data[i];
    glow_program_place(h->run, buffer->value, x->context.arena + buffer->place->offset);
  }
  glow_defer_pop(ctx, &defer, false);
  return h;
}

static void swap_types(void *entry) { glow_cpu_swap_types(entry); }

void glow_hosted_begin(GlowExecution *x) {
  const GlowCpuBackend *b = x->now->backend;
  GlowDefer back;
  glow_cpu_swap_types(x->now);
  glow_defer_push(x->now->executable->ctx, &back, swap_types, x->now);
  if (!x->hosted)
    x->hosted = make(x);
  Hosted *h = x->hosted;
  h->thrown = GLOW_OK;
  for (uint32_t i = 0; i < b->plan.nouter; i++) {
    GlowCell *cell = &h->cells.cells[b->plan.outer[i]->id];
    if (cell->owned)
      glow_tensor_free(cell->tensor);
    *cell = (GlowCell){.tensor = x->storage[i] ? &x->tensors[i] : NULL,
                       .written = x->storage[i] && b->plan.writes[i]};
  }
  glow_program_restart(h->run);
  glow_defer_pop(x->now->executable->ctx, &back, false);
}

void glow_hosted_end(GlowExecution *x) {
  Hosted *h = x->hosted;
  glow_cpu_swap_types(x->now);
  if (h->thrown != GLOW_OK)
    glow_throw(h->ctx, h->thrown);
  glow_program_finish(h->run);
}

void glow_hosted_forget(GlowExecution *x) {
  if (x->hosted)
    release(x->hosted);
  x->hosted = NULL;
}

static void take_step(GlowContext *ctx, void *hosted) {
  Hosted *h = hosted;
  (void)ctx;
  h->ok = glow_program_step(h->run, h->node);
}

/* No throw may pass the compiled code: it waits for the end. */
void glow_hosted_step(GlowFault *fault, int64_t instruction) {
  Hosted *h = ((GlowExecution *)fault)->hosted;
  h->node = h->nodes[instruction];
  h->ok = false;
  h->thrown = glow_protect(h->ctx, take_step, h);
  if (!h->ok || h->thrown != GLOW_OK)
    fault->error = GLOW_FAULT_HOSTED;
}
