/* Pieces that lie in one stretch of memory are views, not copies:
 *
 *   slice @out %y, @in %x, ..   ->   %v = tensorview %x {offset = ..}, in the place of %y
 *
 * A piece lies in one stretch if the Slice or Split cuts one axis, and all axes before it have one
 * index. Each result must be a buffer of its own that nothing else writes, and the source must stay
 * as it is until the result is read for the last time. If some results of a Split cannot be views,
 * these become copies. */
#include "transforms/pieces.h"
#include "transforms/programs.h"

typedef struct Extracts {
  GlowPassRun *run;
  uint64_t count;
  int64_t bytes;
} Extracts;

/* The first element of the piece in its source, if its elements lie one behind the other. */
static bool offset_of(const GlowPiece *p, int64_t *offset) {
  int64_t size = 1, extent = 1; /* elements of the axes behind: of the piece, of the source */
  *offset = 0;
  for (uint32_t k = p->rank; k-- > 0;) {
    int64_t whole = p->source->type->dims[k].size;
    if (p->size[k] == 0 || (p->size[k] > 1 && (p->step[k] != 1 || size != extent)))
      return false;
    *offset += p->start[k] * extent;
    size *= p->size[k];
    extent *= whole;
  }
  return true;
}

/* Builds a view of the elements of the source that n copies to output i. NULL if they do not lie in
 * one stretch. */
static GlowValue *view_of(const Extracts *e, GlowNode *n, uint32_t i) {
  GlowPiece p;
  int64_t offset;
  GlowValue *to = n->operands[i].value;
  if (!to || !glow_piece_cut(n, i, &p) || !offset_of(&p, &offset) ||
      glow_value_is_strided(p.source) || glow_kind_info[to->type->kind].bits < 8)
    return NULL;
  GlowTensorviewMembers members = {.offset.size = offset};
  GlowBuilder b = glow_builder_before(n);
  b.pred = NULL;
  GlowNodeSpec spec = {.op = GLOW_OP_TENSORVIEW,
                       .ins = &p.source,
                       .nins = 1,
                       .members = &members,
                       .types = &to->type};
  GlowNode *view = glow_node_create(&b, &spec);
  GLOW_CHECK(e->run->ctx, view, "a view of a piece cannot be built");
  view->order = n->order;
  return &view->results[0];
}

/* Puts copies from the views in the place of n, and forwards those that can be. */
static void replace(Extracts *e, GlowNode *n, GlowValue **views) {
  GlowBuilder b = glow_builder_before(n);
  uint32_t nouts = n->nouts;
  GlowNode **copies = GLOW_NEW_ARRAY(e->run->arena, GlowNode *, nouts);
  glow_program_begin_change(e->run);
  glow_pass_changed(e->run, n, "%s in place: its results are views", glow_node_desc(n)->instr);
  for (uint32_t i = 0; i < nouts; i++) {
    copies[i] = glow_build_instr(&b, GLOW_OP_COPY, &n->operands[i].value, 1, &views[i], 1, NULL);
    copies[i]->order = n->order;
  }
  glow_node_remove(n);
  for (uint32_t i = 0; i < nouts; i++) {
    int64_t bytes = glow_type_bytes(views[i]->type);
    if (!glow_copy_forward(e->run, copies[i]))
      continue;
    e->count++;
    e->bytes += bytes;
  }
}

static void extract(Extracts *e, GlowNode *n) {
  GlowValue **views = GLOW_NEW_ARRAY(e->run->arena, GlowValue *, n->nouts);
  bool all = true, any = false;
  for (uint32_t i = 0; i < n->nouts; i++) {
    views[i] = view_of(e, n, i);
    all &= views[i] != NULL;
    any |= views[i] && glow_buffer_can_forward(e->run->arena, &n->operands[i], views[i]);
  }
  if (all && any) {
    replace(e, n, views);
    return;
  }
  for (uint32_t i = 0; i < n->nouts; i++)
    if (views[i])
      glow_node_remove(views[i]->def.node);
}

static void extract_in_block(Extracts *e, GlowBlock *b) {
  for (GlowNode *n = b->first, *next; n; n = next) {
    for (uint32_t i = 0; i < n->nregions; i++)
      if (n->regions[i] && !n->regions[i]->scalar)
        extract_in_block(e, n->regions[i]);
    for (next = n->next; next && next->op == GLOW_OP_DEALLOC;)
      next = next->next; /* it may go with its alloc */
    if ((n->op == GLOW_OP_SLICE || n->op == GLOW_OP_SPLIT) && !n->pred.value)
      extract(e, n);
  }
}

bool glow_pass_view_extracts(GlowPassRun *run) {
  Extracts e = {.run = run};
  glow_function_number(run->function);
  extract_in_block(&e, run->function->body);
  glow_program_saved(run, e.count, "extracts", e.bytes);
  return true;
}
