/* What code generation is told of the program's text: bodies as lists, and where work comes from. */
#include "backend/cpu/select.h"
#include "ir/remarks.h"

/* A body under construction; see note [body values]. */
typedef struct List {
  GlowSelect *s;
  GlowLaneType *types;
  GlowBodyOp *ops;
  GlowBody body;
} List;

static GlowLaneType lane_type(const GlowValue *v) {
  const GlowType *t = v ? v->type : NULL;
  if (!t || t->cls != GLOW_TYPE_TENSOR)
    return (GlowLaneType){.kind = GLOW_KIND_COUNT};
  return t->quantized ? (GlowLaneType){t->kind, true, t->scale, t->offset}
                      : (GlowLaneType){.kind = t->kind};
}

/* As DWARF can say it: a node of a model has no line, so its number in the program stands for it. */
static GlowLoc line_of(const GlowNode *n) {
  GlowLoc loc = glow_node_loc(n);
  if (!loc.line)
    loc.line = n->order + 1;
  return loc;
}

static void begin(List *l, GlowSelect *s, uint32_t nparams, uint32_t most) {
  *l = (List){.s = s, .body.nparams = nparams};
  l->body.types = l->types = GLOW_NEW_ARRAY(s->arena, GlowLaneType, nparams + most);
  l->body.ops = l->ops = GLOW_NEW_ARRAY(s->arena, GlowBodyOp, most);
}

/* Appends an operator whose operands have these numbers. */
static void append(List *l, const GlowNode *n, const uint32_t *ins) {
  GlowBody *b = &l->body;
  l->types[b->nparams + b->nops] = lane_type(glow_node_out(n, 0));
  l->ops[b->nops++] =
      (GlowBodyOp){glow_node_desc(n), n->members, ins, glow_node_nins(n), line_of(n)};
}

GlowBody glow_select_node_body(GlowSelect *s, const GlowNode *n) {
  List l;
  uint32_t count = 0, *ins = GLOW_NEW_ARRAY(s->arena, uint32_t, glow_node_nins(n) + 1);
  for (uint32_t i = 0; i < glow_node_nins(n); i++)
    ins[i] = glow_node_in(n, i) ? count++ : GLOW_BODY_ABSENT;
  begin(&l, s, count, 1);
  for (uint32_t i = 0; i < glow_node_nins(n); i++)
    if (glow_node_in(n, i))
      l.types[ins[i]] = lane_type(glow_node_in(n, i));
  append(&l, n, ins);
  uint32_t *result = GLOW_NEW(s->arena, uint32_t);
  *result = count;
  l.body.results = result;
  l.body.nresults = 1;
  return l.body;
}

/* note [body values]: values are numbered, parameters first, then one for each node in order.
 * Bodies are short, so looking a value up walks the block. */
static uint32_t number_of(const GlowBlock *b, const GlowValue *v) {
  if (!v)
    return GLOW_BODY_ABSENT;
  if (v->kind == GLOW_VALUE_PARAM)
    return v->index;
  uint32_t number = b->nparams;
  for (const GlowNode *n = b->first; n != v->def.node; n = n->next)
    number++;
  return number;
}

static uint32_t *numbers(GlowSelect *s, const GlowNode *n) {
  uint32_t *ins = GLOW_NEW_ARRAY(s->arena, uint32_t, glow_node_nins(n) + 1);
  for (uint32_t i = 0; i < glow_node_nins(n); i++)
    ins[i] = number_of(n->block, glow_node_in(n, i));
  return ins;
}

GlowBody glow_select_block_body(GlowSelect *s, const GlowBlock *b) {
  List l;
  uint32_t most = 0;
  for (const GlowNode *n = b ? b->first : NULL; n; n = n->next)
    most++;
  begin(&l, s, b ? b->nparams : 0, most);
  for (uint32_t i = 0; i < l.body.nparams; i++)
    l.types[i] = lane_type(b->params[i]);
  for (const GlowNode *n = b ? b->first : NULL; n; n = n->next) {
    if (!GLOW_HAS(glow_node_desc(n), TERMINATOR)) {
      append(&l, n, numbers(s, n));
    } else {
      l.body.yield = line_of(n);
      l.body.results = numbers(s, n);
      l.body.nresults = glow_node_nins(n);
    }
  }
  return l.body;
}

bool glow_select_epilogue_body(GlowSelect *s, const GlowNode *n, GlowBody *body) {
  *body = glow_select_block_body(s, glow_node_epilogue(n));
  const GlowBodyOp *refused = glow_codegen_refused(body);
  if (!refused)
    return true;
  return glow_select_fail(s, glow_arena_printf(s->arena,
                                               "its epilogue has '%s', which has no vector form "
                                               "for its kinds",
                                               refused->desc->node));
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
