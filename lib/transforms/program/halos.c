/* Computes the input of a Pad directly inside of the Pad's output, so that the Pad copies nothing
 * and only has to write the halo around it:
 *
 *   convolution @out %x, ..;  pad @out %y, @in %x, ..
 *     becomes   %v = tensorview %y {offset, strides};  convolution @out %v, ..
 *               halo @inout %y {pads = ..}
 *
 * That always pays: %y exists anyway, %x disappears, and the halo is written as before. The padding
 * must be known and must not crop, the padded axes must not be blocked, and whatever writes or
 * reads %x must take views with strides. The halo is written in every run, since the memory plan
 * gives its place to other buffers, too. */
#include "transforms/pieces.h"
#include "transforms/programs.h"

typedef struct Halos {
  GlowPassRun *run;
  uint64_t count;
  int64_t bytes;
} Halos;

/* The padding of pad n, if it only adds to axes that are not blocked. */
static bool read_pads(GlowPassRun *run, const GlowNode *n, GlowHaloMembers *m) {
  const GlowType *x = glow_node_in(n, GLOW_PAD_IN_X)->type, *y = n->operands[0].value->type;
  int64_t amounts[2 * GLOW_MAX_RANK];
  uint32_t pads[2 * GLOW_MAX_RANK];
  if (!glow_type_is_static(x) || !glow_type_is_static(y) || x->layout != y->layout ||
      x->quantized || glow_kind_info[x->kind].bits < 8 || x->kind == GLOW_KIND_STRING ||
      glow_type_elements(x) == 0 || !glow_pad_amounts(n, x->rank, amounts))
    return false;
  for (uint32_t i = 0; i < 2 * x->rank; i++) {
    if (amounts[i] < 0 || amounts[i] > INT32_MAX)
      return false;
    pads[i] = (uint32_t)amounts[i];
  }
  for (uint32_t k = 0; x->layout && k < x->layout->nblocks; k++)
    if (amounts[x->layout->blocks[k].axis] || amounts[x->rank + x->layout->blocks[k].axis])
      return false;
  *m = (GlowHaloMembers){.pads = glow_array_u32(run->module, pads, 2 * x->rank),
                         .mode = ((const GlowPadMembers *)n->members)->mode};
  return true;
}

/* A copy of X to its place in Y; the view that it writes stands before it. */
static GlowNode *build_copy(GlowBuilder *b, GlowValue *x, GlowValue *y, const GlowHaloMembers *h) {
  int64_t dims[GLOW_MAX_RANK], extents[GLOW_MAX_RANK + 4], size = 1;
  GlowSize strides[GLOW_MAX_RANK + 4];
  for (uint32_t i = 0; i < y->type->rank; i++)
    dims[i] = y->type->dims[i].size;
  uint32_t rank = glow_layout_physical(y->type->layout, y->type->rank, dims, extents);
  GlowTensorviewMembers members = {0};
  for (uint32_t i = rank; i-- > 0; size *= extents[i]) {
    strides[i] = (GlowSize){.size = size};
    if (i < y->type->rank)
      members.offset.size += glow_array_at(h->pads, uint32_t, i) * size;
  }
  members.strides = glow_array_sizes(b->module, strides, rank);
  GlowNodeSpec spec = {
      .op = GLOW_OP_TENSORVIEW, .ins = &y, .nins = 1, .members = &members, .types = &x->type};
  GlowNode *view = glow_node_create(b, &spec);
  GLOW_CHECK(b->module->ctx, view, "a view of what is padded cannot be built");
  view->order = b->before->order;
  GlowValue *to = &view->results[0];
  GlowNode *copy = glow_build_instr(b, GLOW_OP_COPY, &to, 1, &x, 1, NULL);
  GLOW_CHECK(b->module->ctx, copy, "a copy of what is padded cannot be built");
  copy->order = b->before->order;
  return copy;
}

/* Builds a copy of X into Y and tries to merge it with what computes X. Meanwhile the Pad has no
 * operands, so that it does not count as a use of X or Y; they are put back if the merge fails. */
static void write_in_place(Halos *h, GlowNode *n) {
  GlowPassRun *run = h->run;
  GlowHaloMembers members;
  GlowValue *y = n->operands[0].value, *x = glow_node_in(n, GLOW_PAD_IN_X);
  GlowValue *value = glow_node_in(n, GLOW_PAD_IN_VALUE);
  if (!read_pads(run, n, &members) || (value && glow_buffer_base(value) == glow_buffer_base(x)))
    return; /* in the second case the halo would be filled from the buffer that is to go */
  int64_t bytes = glow_type_bytes(x->type);
  GlowBuilder b = glow_builder_before(n);
  GlowNode *copy = build_copy(&b, x, y, &members);
  glow_use_set(&n->operands[0], NULL);
  glow_use_set(&n->operands[1 + GLOW_PAD_IN_X], NULL);
  if (!glow_copy_merge(run, copy)) {
    GlowNode *view = copy->operands[0].value->def.node;
    glow_node_remove(copy);
    glow_node_remove(view);
    glow_use_set(&n->operands[0], y);
    glow_use_set(&n->operands[1 + GLOW_PAD_IN_X], x);
    glow_pass_remark(run, glow_node_loc(n), "pad copies: what it pads cannot be computed in place");
    return;
  }
  glow_program_begin_change(run);
  glow_pass_changed(run, n, "what pad would copy is computed inside its halo");
  GlowNode *halo = glow_build_instr(&b, GLOW_OP_HALO, &y, 1, &value, value ? 1 : 0, &members);
  GLOW_CHECK(run->ctx, halo, "a halo cannot be built");
  halo->order = n->order;
  glow_node_remove(n);
  h->count++;
  h->bytes += bytes;
}

static void write_in_block(Halos *h, GlowBlock *b) {
  for (GlowNode *n = b->first, *next; n; n = next) {
    for (uint32_t i = 0; i < n->nregions; i++)
      if (n->regions[i] && !n->regions[i]->scalar)
        write_in_block(h, n->regions[i]);
    for (next = n->next; next && next->op == GLOW_OP_DEALLOC;)
      next = next->next; /* it may go with its alloc */
    if (n->op != GLOW_OP_PAD || n->pred.value)
      continue;
    glow_pass_begin_batch(h->run);
    write_in_place(h, n);
    glow_pass_end_batch(h->run);
  }
}

bool glow_pass_halos(GlowPassRun *run) {
  Halos h = {.run = run};
  glow_function_number(run->function);
  write_in_block(&h, run->function->body);
  glow_program_saved(run, h.count, "paddings", h.bytes);
  return true;
}
