/* What code generation is told of the program's text: bodies as lists, and the sources of work. */
#include "backend/cpu/lanes.h"
#include "backend/cpu/select.h"
#include "ir/remarks.h"
#include "tensor/tensor.h"

/* As DWARF can say it: a node of a model has no line, so its number in the program is its line. */
static GlowLoc line_of(const GlowNode *n) {
  GlowLoc loc = glow_node_loc(n);
  if (!loc.line)
    loc.line = n->order + 1;
  return loc;
}

static GlowBody finish(const GlowLaneList *l, uint32_t nparams, uint32_t operators,
                       const uint32_t *results, uint32_t nresults) {
  return (GlowBody){.nparams = nparams,
                    .ncalls = l->calls.count,
                    .nresults = nresults,
                    .operators = operators,
                    .kinds = l->kinds.data,
                    .calls = l->calls.data,
                    .results = results};
}

const GlowTensor *glow_select_literal(const GlowNode *n, uint32_t i) {
  const GlowValue *v = i && glow_node_desc(n)->has_scalar ? glow_node_in(n, i) : NULL;
  const GlowTensor *t = v ? glow_value_known(v) : NULL;
  const GlowLane lane = glow_lane_of(v);
  return t && lane.kind != GLOW_KIND_COUNT && !lane.quantized && glow_tensor_elements(t) == 1
             ? t
             : NULL;
}

const GlowNode *glow_select_node_body(GlowSelect *s, const GlowNode *n, GlowBody *body) {
  GlowLaneList l = {.ctx = s->ctx, .arena = s->arena, .loc = line_of(n)};
  GlowLane out, *in = GLOW_NEW_ARRAY(s->arena, GlowLane, glow_node_nins(n) + 1);
  for (uint32_t i = 0; i < glow_node_nins(n); i++) {
    in[i] = glow_lane_of(glow_node_in(n, i));
    if (glow_node_in(n, i) && !glow_select_literal(n, i))
      glow_lane_param(&l, &in[i]);
  }
  uint32_t nparams = l.kinds.count;
  for (uint32_t i = 0; i < glow_node_nins(n); i++) {
    const GlowTensor *literal = glow_select_literal(n, i);
    if (literal)
      in[i].value = glow_lanes_constant(&l, literal->data, in[i].kind);
  }
  if (!glow_lanes_append(&l, n, in, &out))
    return n;
  *body = finish(&l, nparams, 1, glow_arena_copy(s->arena, &out.value, sizeof out.value), 1);
  return NULL;
}

/* Where a value of a block stands among its lanes: parameters first, then the result of each node
 * in order. Bodies are short, so looking a value up walks the block. */
static uint32_t place_of(const GlowBlock *b, const GlowValue *v) {
  if (v->kind == GLOW_VALUE_PARAM)
    return v->index;
  uint32_t place = b->nparams;
  for (const GlowNode *n = b->first; n != v->def.node; n = n->next)
    place++;
  return place;
}

/* The operands of n, whose block has these lanes. */
static GlowLane *operands_of(GlowSelect *s, const GlowNode *n, const GlowLane *lanes) {
  GlowLane *in = GLOW_NEW_ARRAY(s->arena, GlowLane, glow_node_nins(n) + 1);
  for (uint32_t i = 0; i < glow_node_nins(n); i++) {
    const GlowValue *v = glow_node_in(n, i);
    in[i] = v ? lanes[place_of(n->block, v)] : glow_lane_of(NULL);
  }
  return in;
}

/* Whether n is the last rounding of a float, to what the kernel stores in 16 bits. */
static bool rounds_last(const GlowNode *n, const GlowLane *in) {
  const GlowValue *v = n->op == GLOW_OP_CAST ? &n->results[0] : NULL;
  return v && in[0].kind == GLOW_KIND_FLOAT && !in[0].quantized &&
         (v->type->kind == GLOW_KIND_FLOAT16 || v->type->kind == GLOW_KIND_BFLOAT16) &&
         glow_value_use_count(v) == 1 && GLOW_HAS(glow_node_desc(v->uses->user), TERMINATOR);
}

/* With `sums`, parameter 0 arrives as a float and result 0 leaves as one, whatever their kinds:
 * kernels that store 16 bits round by themselves. */
static const GlowNode *block_body(GlowSelect *s, const GlowBlock *b, bool sums, GlowBody *body) {
  GlowLaneList l = {.ctx = s->ctx, .arena = s->arena};
  uint32_t most = 0, count = 0;
  *body = (GlowBody){0};
  if (!b)
    return NULL;
  for (const GlowNode *n = b->first; n; n = n->next)
    most++;
  GlowLane *lanes = GLOW_NEW_ARRAY(s->arena, GlowLane, b->nparams + most);
  for (; count < b->nparams; count++) {
    lanes[count] = glow_lane_of(b->params[count]);
    glow_lane_param(&l, &lanes[count]);
  }
  if (sums && count) {
    l.kinds.data[0] = GLOW_KIND_FLOAT;
    lanes[0].value = glow_lanes_cast(&l, 0, lanes[0].kind);
  }
  for (const GlowNode *n = b->first; n; n = n->next) {
    GlowLane *in = operands_of(s, n, lanes);
    l.loc = line_of(n);
    if (sums && rounds_last(n, in)) {
      lanes[count++] = in[0];
      continue;
    }
    if (!GLOW_HAS(glow_node_desc(n), TERMINATOR)) {
      if (!glow_lanes_append(&l, n, in, &lanes[count++]))
        return n;
      continue;
    }
    uint32_t nresults = glow_node_nins(n), operators = count - b->nparams;
    uint32_t *results = GLOW_NEW_ARRAY(s->arena, uint32_t, nresults + 1);
    for (uint32_t i = 0; i < nresults; i++)
      results[i] = in[i].value;
    if (sums && nresults)
      results[0] = glow_lanes_cast(&l, results[0], GLOW_KIND_FLOAT);
    *body = finish(&l, b->nparams, operators, results, nresults);
    body->yield = l.loc;
  }
  return NULL;
}

const GlowNode *glow_select_block_body(GlowSelect *s, const GlowBlock *b, GlowBody *body) {
  return block_body(s, b, false, body);
}

bool glow_select_epilogue_body(GlowSelect *s, const GlowNode *n, GlowBody *body) {
  const GlowNode *refused = block_body(s, glow_node_epilogue(n), true, body);
  if (!refused && body->nparams == 1 && !body->ncalls)
    *body = (GlowBody){0};
  if (!refused)
    return true;
  return glow_select_fail(s, glow_arena_printf(s->arena,
                                               "its epilogue has '%s', which has no vector form "
                                               "for its kinds",
                                               glow_node_desc(refused)->node));
}

const GlowWorkSource *glow_select_source(GlowSelect *s, const GlowNode *n) {
  GlowCpuSource *source = GLOW_NEW(s->arena, GlowCpuSource);
  *source = (GlowCpuSource){.base = {.desc = glow_node_desc(n),
                                     .name = n->origin ? n->origin->name : NULL,
                                     .instruction = n->order,
                                     .loc = glow_node_loc(n),
                                     .line = line_of(n)},
                            .node = n};
  const char **name = &source->base.name;
  for (uint32_t i = 0; i < n->nouts && !*name; i++)
    *name = glow_node_out(n, i) ? glow_node_out(n, i)->name : NULL;
  if (!*name)
    *name = glow_arena_printf(s->arena, "%s.%u", glow_node_desc(n)->instr, n->order);
  return &source->base;
}

const GlowNode *glow_cpu_node(const GlowWorkSource *source) {
  return ((const GlowCpuSource *)source)->node;
}

void glow_cpu_remark(const GlowWorkSource *source, const char *text) {
  glow_codegen_remark(glow_cpu_node(source), "%s", text);
}
