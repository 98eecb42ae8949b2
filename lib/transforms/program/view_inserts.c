/* Pieces of a Concat are computed where they belong:
 *
 *   relu @out %a, ..;  exp @out %b, ..;  concat @out %y, @in %a, @in %b
 *     becomes   %v = tensorview %y;  relu @out %v, ..;  %w = tensorview %y {offset = ..};
 *               exp @out %w, ..
 *
 * A piece lies in one stretch of memory if all axes before the joined axis have one index. Others
 * are views with strides, if each piece has runs of 16 elements or more and comes from what runs in
 * rows already: a contraction, or an instruction that reads views with strides. A piece that cannot
 * be computed there (storage, a piece that stands twice, a buffer that is needed elsewhere and
 * changes) is copied there. If all pieces would be copied, the Concat stays. */
#include "transforms/programs.h"

typedef struct Inserts {
  GlowPassRun *run;
  uint64_t count;
  int64_t bytes;
} Inserts;

enum { RUN = 16 }; /* elements */

static uint32_t axis_of(const GlowNode *n) {
  int64_t axis = ((const GlowConcatMembers *)n->members)->axis;
  return (uint32_t)(axis < 0 ? axis + n->operands[0].value->type->rank : axis);
}

/* Elements of a value that lie side by side along `axis` and the axes behind it. */
static int64_t run_of(const GlowValue *v, uint32_t axis) {
  int64_t run = 1;
  for (uint32_t k = axis; k < v->type->rank; k++)
    run *= v->type->dims[k].size;
  return run;
}

static bool is_one_stretch(const GlowNode *n) {
  const GlowValue *y = n->operands[0].value;
  return run_of(y, axis_of(n)) == glow_type_elements(y->type);
}

/* Whether rows that are apart cost no more where x, an operand of n, is computed. Other loops would
 * take whole buffers as one row. */
static bool comes_in_rows(const GlowNode *n, GlowValue *x) {
  const GlowNode *source = glow_instr_producer(n, x);
  if (!source || glow_node_desc(source)->epilogue >= 0)
    return source != NULL;
  for (uint32_t i = 0; i < glow_node_nins(source); i++) {
    const GlowValue *v = glow_node_in(source, i);
    if (v && glow_value_is_strided(v))
      return true;
  }
  return false;
}

static bool lies_in_pieces(const GlowNode *n) {
  const GlowValue *y = n->op == GLOW_OP_CONCAT ? n->operands[0].value : NULL;
  if (!y || n->pred.value || !glow_type_is_static(y->type) || y->type->layout ||
      glow_kind_info[y->type->kind].bits < 8 || glow_value_is_strided(y))
    return false;
  const bool whole = is_one_stretch(n);
  for (uint32_t i = 0; i < glow_node_nins(n); i++) {
    GlowValue *x = glow_node_in(n, i);
    if (!glow_type_is_static(x->type) || glow_value_is_strided(x) || x->type->layout ||
        (!whole && (run_of(x, axis_of(n)) < RUN || !comes_in_rows(n, x))))
      return false;
  }
  return true;
}

/* A copy of x to the elements of y from offset on, with y's strides if x is not one stretch of it;
 * the view that it writes stands before it. */
static GlowNode *build_copy(GlowBuilder *b, GlowValue *x, GlowValue *y, int64_t offset,
                            bool whole) {
  GlowTensorviewMembers members = {.offset.size = offset};
  GlowSize strides[GLOW_MAX_RANK];
  int64_t size = 1;
  for (uint32_t k = y->type->rank; k-- > 0; size *= y->type->dims[k].size)
    strides[k] = (GlowSize){.size = size};
  if (!whole)
    members.strides = glow_array_sizes(b->module, strides, y->type->rank);
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
  const bool whole = is_one_stretch(n);
  const uint32_t axis = axis_of(n);
  int64_t offset = 0;
  uint64_t merged = 0;
  for (uint32_t i = 0; i < nins; i++) {
    xs[i] = glow_node_in(n, i);
    copies[i] = build_copy(&b, xs[i], y, offset, whole);
    offset += run_of(xs[i], axis);
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
