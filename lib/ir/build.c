/* Building nodes: what passes, importers and IRGen call. A node is inserted, checked, typed and
 * named; on failure it is taken out again after a diagnostic. */
#include <stdlib.h>
#include <string.h>

#include "ir/ir_internal.h"

/* A vector predicate has a flag for each row of n. A new node may have other rows, so it gets no
 * such predicate. That is allowed: predicates are hints. */
GlowBuilder glow_builder_before(GlowNode *n) {
  bool whole = n->pred.value && n->pred.value->type->rank == 0;
  return (GlowBuilder){.module = n->block->module,
                       .block = n->block,
                       .before = n,
                       .src = n->src,
                       .origin = n->origin,
                       .pred = whole ? n->pred.value : NULL};
}

GlowBuilder glow_builder_at_end(GlowBlock *b) {
  return (GlowBuilder){.module = b->module, .block = b};
}

static uint32_t default_results(const GlowOpDesc *d) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < d->nout; i++)
    if (!(d->out[i].flags & (GLOW_PORT_OPTIONAL | GLOW_PORT_VARIADIC)))
      count = i + 1;
  return count;
}

static void set_operands(GlowNode *n, uint32_t at, GlowValue *const *values, uint32_t count,
                         GlowQual qual) {
  for (uint32_t i = 0; i < count; i++) {
    glow_use_set(&n->operands[at + i], values[i]);
    n->operands[at + i].qual = qual;
  }
}

/* Sets the operands. Instructions get the qualifiers @in, @out and @inout, except operators with
 * the trait `syntax`. */
static void fill_operands(GlowNode *n, const GlowNodeSpec *spec, uint32_t nins) {
  const GlowOpDesc *d = glow_node_desc(n);
  bool qualified = glow_node_is_instr(n) && !GLOW_HAS(d, SYNTAX);
  GlowQual in = qualified ? GLOW_QUAL_IN : GLOW_QUAL_NONE;
  set_operands(n, 0, spec->outs, n->nouts, GLOW_QUAL_OUT);
  for (uint32_t i = 0; i < n->nouts; i++) {
    const GlowOpPort *port = glow_op_out_port(d, i);
    if (port && (port->flags & GLOW_PORT_INOUT))
      n->operands[i].qual = GLOW_QUAL_INOUT;
  }
  set_operands(n, n->nouts, spec->ins, nins, in);
  set_operands(n, n->nouts + nins, spec->extras, n->nextra, in);
}

static void set_claims(GlowNode *n, const GlowNodeSpec *spec, bool *claimed) {
  for (uint32_t i = 0; i < n->nresults; i++) {
    claimed[i] = spec->types && spec->types[i];
    if (claimed[i])
      n->results[i].type = spec->types[i];
  }
}

static bool resolve(GlowNode *n, const GlowNodeSpec *spec) {
  GlowContext *ctx = n->block->module->ctx;
  bool small[16], *claimed = small;
  GlowDefer release;
  if (n->nresults > 16) {
    claimed = glow_malloc(ctx, n->nresults);
    glow_defer_push(ctx, &release, free, claimed);
  }
  set_claims(n, spec, claimed);
  bool ok = glow_node_resolve(n, claimed);
  if (claimed != small)
    glow_defer_pop(ctx, &release, true);
  if (ok && glow_node_is_instr(n))
    ok = glow_instr_check_outputs(n);
  return ok && glow_node_check_hook(n);
}

static void set_names(GlowNode *n, const GlowNodeSpec *spec) {
  for (uint32_t i = 0; i < n->nresults; i++) {
    GlowStr name = spec->names ? spec->names[i] : NULL;
    if (name || !spec->discard_unnamed)
      glow_value_set_name(&n->results[i], name);
  }
}

static GlowNode *insertion_point(const GlowBuilder *b, const GlowOpDesc *d) {
  if (b->before || GLOW_HAS(d, TERMINATOR))
    return b->before;
  return glow_block_terminator(b->block);
}

GlowNode *glow_node_create(GlowBuilder *b, const GlowNodeSpec *spec) {
  const GlowOpDesc *d = &glow_op_desc[spec->op];
  bool instr = b->block->level == GLOW_LEVEL_PROGRAM, syntax = GLOW_HAS(d, SYNTAX);
  uint32_t nins = spec->nextra ? spec->nins : glow_trim_inputs(d, spec->ins, spec->nins);
  GlowNodeShape shape = {.nouts = spec->nouts, .nins = nins, .nextra = spec->nextra};
  if (!instr || syntax)
    shape.nresults = spec->nresults ? spec->nresults : default_results(d);
  shape.nregions = spec->nregions;
  for (uint32_t i = 0; i < spec->nregions; i++)
    if (!spec->regions[i] && i >= d->nregions)
      shape.nregions = d->nregions;
  GlowNode *n = glow_node_new(b->module, spec->op, shape);
  if (spec->members && d->member_size)
    memcpy(n->members, spec->members, d->member_size);
  n->shards = spec->shards;
  n->src = b->src;
  n->origin = b->origin;
  for (uint32_t i = 0; i < shape.nregions; i++)
    if (spec->regions[i])
      glow_node_attach_region(n, i, spec->regions[i]);
  glow_node_insert(n, b->block, insertion_point(b, d));
  fill_operands(n, spec, nins);
  if (!syntax)
    glow_use_set(&n->pred, b->pred);
  if (!resolve(n, spec)) {
    glow_node_remove(n);
    return NULL;
  }
  set_names(n, spec);
  return n;
}

GlowNode *glow_build(GlowBuilder *b, GlowOp op, GlowValue *const *ins, uint32_t nins,
                     const void *members, GlowStr name) {
  const GlowOpDesc *d = &glow_op_desc[op];
  GlowNodeSpec spec = {.op = op, .ins = ins, .nins = nins, .members = members};
  GlowStr names[UINT8_MAX + 1] = {name};
  spec.names = default_results(d) ? names : NULL;
  return glow_node_create(b, &spec);
}

GlowValue *glow_build1(GlowBuilder *b, GlowOp op, GlowValue *x, const void *members, GlowStr name) {
  GlowNode *n = glow_build(b, op, &x, 1, members, name);
  return n ? &n->results[0] : NULL;
}

GlowValue *glow_build2(GlowBuilder *b, GlowOp op, GlowValue *x, GlowValue *y, const void *members,
                       GlowStr name) {
  GlowNode *n = glow_build(b, op, (GlowValue *[]){x, y}, 2, members, name);
  return n ? &n->results[0] : NULL;
}

GlowValue *glow_build_fail(GlowBuilder *b, GlowStr message, const GlowType *type) {
  GlowFailMembers members = {.message = message};
  GlowNode *n =
      glow_node_create(b, &(GlowNodeSpec){.op = GLOW_OP_FAIL, .members = &members, .types = &type});
  return n ? &n->results[0] : NULL;
}

GlowNode *glow_build_instr(GlowBuilder *b, GlowOp op, GlowValue *const *outs, uint32_t nouts,
                           GlowValue *const *ins, uint32_t nins, const void *members) {
  GlowNodeSpec spec = {
      .op = op, .ins = ins, .nins = nins, .outs = outs, .nouts = nouts, .members = members};
  return glow_node_create(b, &spec);
}

GlowNode *glow_build_terminator(GlowBlock *b, GlowOp op, GlowValue *const *values, uint32_t count) {
  GlowNode *n = glow_node_new(b->module, op, (GlowNodeShape){.nins = count});
  glow_node_insert(n, b, NULL);
  set_operands(n, 0, values, count, GLOW_QUAL_NONE);
  return n;
}

GlowArray glow_array_u32(GlowModule *m, const uint32_t *data, uint32_t count) {
  return (GlowArray){count, count ? glow_arena_copy(m->arena, data, count * sizeof *data) : NULL};
}

GlowArray glow_array_sizes(GlowModule *m, const GlowSize *data, uint32_t count) {
  return (GlowArray){count, count ? glow_arena_copy(m->arena, data, count * sizeof *data) : NULL};
}

GlowArray glow_array_i64(GlowModule *m, const int64_t *data, uint32_t count) {
  return (GlowArray){count, count ? glow_arena_copy(m->arena, data, count * sizeof *data) : NULL};
}
