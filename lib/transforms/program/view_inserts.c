/* Pieces of a Concat that lie in one stretch of memory are computed where they belong:
 *
 *   relu @out %a, ..;  exp @out %b, ..;  concat @out %y, @in %a, @in %b
 *     becomes   %v = tensorview %y;  relu @out %v, ..;  %w = tensorview %y {offset = ..};
 *               exp @out %w, ..
 *
 * A piece lies in one stretch if all axes before the joined axis have one index. A piece that
 * cannot be computed there (storage, a piece that stands twice, a buffer that is needed elsewhere
 * and changes) is copied there. If all pieces would be copied, the Concat stays. */
#include "transforms/programs.h"

typedef struct Inserts {
  GlowPassRun *run;
  uint64_t count;
  int64_t bytes;
} Inserts;

static bool lies_in_pieces(const GlowNode *n) {
  const GlowValue *y = n->op == GLOW_OP_CONCAT ? n->operands[0].value : NULL;
  if (!y || n->pred.value || !glow_type_is_static(y->type) || y->type->layout ||
      glow_kind_info[y->type->kind].bits < 8 || glow_value_is_strided(y))
    return false;
  int64_t axis = ((const GlowConcatMembers *)n->members)->axis;
  axis += axis < 0 ? y->type->rank : 0;
  for (int64_t k = 0; k < axis; k++)
    if (y->type->dims[k].size != 1)
      return false;
  for (uint32_t i = 0; i < glow_node_nins(n); i++)
    if (!glow_type_is_static(glow_node_in(n, i)->type) ||
        glow_value_is_strided(glow_node_in(n, i)) || glow_node_in(n, i)->type->layout)
      return false;
  return true;
}

/* A copy of x to the elements of y from offset on; the view that it writes stands before it. */
static GlowNode *build_copy(GlowBuilder *b, GlowValue *x, GlowValue *y, int64_t offset) {
  GlowTensorviewMembers members = {.offset = offset};
  GlowNodeSpec spec = {
      .op = GLOW_OP_TENSORVIEW, .ins = &y, .nins = 1, .members = &members, .types = &x->type};
  GlowNode *view = glow_node_create(b, &spec);
  GLOW_CHECK(b->module->ctx, view, "a view of a piece cannot be built");
  view->order = b->before->order;
  GlowValue *to = &view->results[0];
  GlowNode *copy = glow_build_instr(b, GLOW_OP_COPY, &to, 1, &x, 1, NULL);
  GLOW_CHECK(b->module->ctx, copy, "a copy of a piece cannot be built");
  copy->order = b->before->order;
  return copy;
}

/* Puts a copy for each piece before the Concat n, and tries to merge each copy with what computes
 * the piece. If one can be merged, n is removed and the other copies stay; if none, the copies are
 * removed. Meanwhile n has no operands, so that it does not count as a use of them. */
static void insert(Inserts *s, GlowNode *n) {
  GlowPassRun *run = s->run;
  uint32_t nins = glow_node_nins(n);
  GlowValue *y = n->operands[0].value, **xs = GLOW_NEW_ARRAY(run->arena, GlowValue *, nins);
  GlowNode **copies = GLOW_NEW_ARRAY(run->arena, GlowNode *, nins);
  GlowBuilder b = glow_builder_before(n);
  int64_t offset = 0;
  uint64_t merged = 0;
  for (uint32_t i = 0; i < nins; i++) {
    xs[i] = glow_node_in(n, i);
    copies[i] = build_copy(&b, xs[i], y, offset);
    offset += glow_type_elements(xs[i]->type);
  }
  for (uint32_t i = 0; i < n->noperands; i++)
    glow_use_set(&n->operands[i], NULL);
  for (uint32_t i = 0; i < nins; i++) {
    int64_t bytes = glow_type_bytes(xs[i]->type);
    if (!glow_copy_merge(run, copies[i]))
      continue;
    copies[i] = NULL;
    merged++;
    s->bytes += bytes;
  }
  s->count += merged;
  if (merged) {
    glow_program_begin_change(run);
    glow_pass_changed(run, n, "%llu of %u pieces are computed in place", (unsigned long long)merged,
                      nins);
    glow_node_remove(n);
    return;
  }
  glow_use_set(&n->operands[0], y);
  for (uint32_t i = 0; i < nins; i++) {
    GlowNode *view = copies[i]->operands[0].value->def.node;
    glow_use_set(&n->operands[1 + i], xs[i]);
    glow_node_remove(copies[i]);
    glow_node_remove(view);
  }
}

static void insert_in_block(Inserts *s, GlowBlock *b) {
  for (GlowNode *n = b->first, *next; n; n = next) {
    for (uint32_t i = 0; i < n->nregions; i++)
      if (n->regions[i] && !n->regions[i]->scalar)
        insert_in_block(s, n->regions[i]);
    for (next = n->next; next && next->op == GLOW_OP_DEALLOC;)
      next = next->next; /* it may go with its alloc */
    if (!lies_in_pieces(n))
      continue;
    glow_pass_begin_batch(s->run);
    insert(s, n);
    glow_pass_end_batch(s->run);
  }
}

bool glow_pass_view_inserts(GlowPassRun *run) {
  Inserts s = {.run = run};
  glow_function_number(run->function);
  insert_in_block(&s, run->function->body);
  glow_program_saved(run, s.count, "inserts", s.bytes);
  return true;
}
