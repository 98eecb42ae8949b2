/* See hosted.h. */
#include "backend/cpu/hosted.h"

#include <string.h>

#include "support/deadline.h"

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

void glow_hosted_begin(GlowHosted *h, GlowFunction *f, const GlowCpuPlan *plan,
                       GlowTensor *const *tensors, uint8_t *memory) {
  *h = (GlowHosted){.ctx = f->module->ctx, .arena = glow_arena_create(f->module->ctx)};
  Numbering x = {0};
  glow_block_walk(f->body, count_node, &x);
  h->nodes = x.nodes = GLOW_NEW_ARRAY(h->arena, GlowNode *, x.count);
  glow_block_walk(f->body, note_node, &x);
  glow_cells_begin(h->ctx, &h->cells, f->module);
  for (uint32_t i = 0; i < plan->nouter; i++)
    if (tensors[i])
      h->cells.cells[plan->outer[i]->id] =
          (GlowCell){.tensor = tensors[i], .written = plan->writes[i]};
  h->run = glow_program_begin(f, &h->cells);
  for (uint32_t i = 0; i < plan->buffers.count; i++) {
    const GlowCpuBuffer *b = &plan->buffers.data[i];
    glow_program_place(h->run, b->value, memory + b->place->offset);
  }
}

void glow_hosted_end(GlowHosted *h) {
  glow_program_end(h->run);
  glow_cells_end(&h->cells);
  glow_arena_destroy(h->arena);
}

static void take_step(GlowContext *ctx, void *hosted) {
  GlowHosted *h = hosted;
  (void)ctx;
  h->ok = glow_program_step(h->run, h->node);
}

/* No throw may pass the compiled code. */
void glow_hosted_step(GlowFault *fault, int64_t instruction) {
  GlowHosted *h = (GlowHosted *)fault;
  h->node = h->nodes[instruction];
  h->ok = false;
  GlowStatus status = glow_protect(h->ctx, take_step, h);
  if (status == GLOW_NO_MEMORY)
    glow_error(h->ctx, glow_node_loc(h->node), "out of memory");
  if (!h->ok || status != GLOW_OK)
    fault->error = GLOW_HOSTED_FAILED;
}

void glow_hosted_piece(GlowFault *fault, int64_t piece) {
  GlowHosted *h = (GlowHosted *)fault;
  if (h->profile && piece >= 0)
    glow_profile_note(h->profile, (uint32_t)piece);
  if (glow_deadline_over(h->ctx))
    fault->error = GLOW_HOSTED_LATE;
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

GlowTensor *glow_hosted_tensor(GlowContext *ctx, const GlowType *type, const GlowTensor *t) {
  GlowTensor *room = glow_tensor_create(ctx, glow_type_room(ctx, type));
  if (t)
    memcpy(room->data, t->data, t->bytes);
  room->type = t ? t->type : empty_type(ctx, type);
  room->bytes = t ? t->bytes : (size_t)glow_type_bytes(room->type);
  return room;
}
