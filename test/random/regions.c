/* Control flow: regions are filled like functions, and yield what their operator asks for. */
#include "test/random/internal.h"

static GlowBlock *open_region(GlowGen *g, const char *label) {
  return glow_block_create(g->module, GLOW_LEVEL_GRAPH, g->function->body->names,
                           glow_str(g->ctx, label));
}

typedef struct Outer {
  GlowBlock *block;
  uint32_t count;
} Outer;

static Outer enter(GlowGen *g, GlowBlock *b) {
  Outer outer = {g->block, g->pool.count};
  g->block = b;
  g->depth++;
  for (uint32_t i = 0; i < b->nparams; i++)
    glow_gen_add(g, b->params[i]);
  return outer;
}

/* Storage that the region asked for stays visible. */
static void leave(GlowGen *g, Outer outer) {
  uint32_t kept = outer.count;
  for (uint32_t i = outer.count; i < g->pool.count; i++)
    if (g->pool.data[i]->kind == GLOW_VALUE_STORAGE)
      g->pool.data[kept++] = g->pool.data[i];
  g->pool.count = kept;
  g->block = outer.block;
  g->depth--;
}

static bool is_tensor(const GlowValue *v, const void *arg) {
  (void)arg;
  return glow_type_is_static(v->type);
}

static GlowValue *of_type(GlowGen *g, const GlowType *t) {
  GlowValue *v = glow_gen_pick(g, glow_gen_same_type, t);
  return v ? v : glow_gen_fresh(g, t);
}

static GlowNode *keep(GlowGen *g, const GlowNodeSpec *spec) {
  GlowStr names[8];
  for (uint32_t i = 0; i < spec->nresults; i++)
    names[i] = glow_gen_name(g);
  GlowNodeSpec named = *spec;
  named.names = names;
  GlowBuilder b = glow_builder_at_end(g->block);
  GlowNode *n = glow_node_create(&b, &named);
  for (uint32_t i = 0; n && i < n->nresults; i++)
    glow_gen_add(g, &n->results[i]);
  return n;
}

/* Empties a region whose node was refused. */
static bool discard(GlowBlock *b) {
  while (b->last)
    glow_node_remove(b->last);
  return false;
}

static bool random_if(GlowGen *g) {
  GlowValue *cond = of_type(g, glow_type_scalar(g->ctx, GLOW_KIND_BOOL));
  GlowBlock *yes = open_region(g, "then"), *no = open_region(g, "else");
  GlowValue *values[2];
  uint32_t count = 0;
  Outer outer = enter(g, yes);
  glow_gen_nodes(g, CHOOSE(g, 4));
  for (uint32_t want = 1 + CHOOSE(g, 2); count < want; count++)
    if (!(values[count] = glow_gen_pick(g, is_tensor, NULL)))
      break;
  glow_build_terminator(yes, GLOW_OP_YIELD, values, count);
  leave(g, outer);
  outer = enter(g, no);
  glow_gen_nodes(g, CHOOSE(g, 4));
  for (uint32_t i = 0; i < count; i++)
    values[i] = of_type(g, values[i]->type);
  glow_build_terminator(no, GLOW_OP_YIELD, values, count);
  leave(g, outer);
  GlowNodeSpec spec = {.op = GLOW_OP_IF, .ins = &cond, .nins = 1, .nresults = count};
  spec.regions = (GlowBlock *[]){yes, no};
  spec.nregions = 2;
  return (count && keep(g, &spec)) || discard(yes) || discard(no);
}

static bool random_loop(GlowGen *g) {
  const GlowType *flag = glow_type_scalar(g->ctx, GLOW_KIND_BOOL);
  const GlowType *integer = glow_type_scalar(g->ctx, GLOW_KIND_I64);
  GlowBlock *body = open_region(g, "body");
  GlowValue *ins[4] = {glow_gen_ints(g, integer, (int64_t[]){CHOOSE(g, 4)})};
  ins[1] = CHOOSE(g, 2) ? NULL : of_type(g, flag);
  uint32_t carried = 0, count = 0;
  for (uint32_t want = CHOOSE(g, 3); carried < want; carried++)
    if (!(ins[2 + carried] = glow_gen_pick(g, is_tensor, NULL)))
      break;
  glow_block_add_param(body, glow_gen_name(g), integer);
  glow_block_add_param(body, glow_gen_name(g), flag);
  for (uint32_t i = 0; i < carried; i++)
    glow_block_add_param(body, glow_gen_name(g), ins[2 + i]->type);
  Outer outer = enter(g, body);
  glow_gen_nodes(g, 1 + CHOOSE(g, 4));
  GlowValue *yields[4] = {CHOOSE(g, 2) ? body->params[1] : of_type(g, flag)};
  for (uint32_t i = 0; i < carried; i++)
    yields[1 + count++] = of_type(g, ins[2 + i]->type);
  if (!carried || CHOOSE(g, 2))
    if ((yields[1 + count] = glow_gen_pick(g, is_tensor, NULL)))
      count++;
  glow_build_terminator(body, GLOW_OP_YIELD, yields, 1 + count);
  leave(g, outer);
  GlowNodeSpec spec = {.op = GLOW_OP_LOOP, .ins = ins, .nins = 2 + carried, .nresults = count};
  spec.regions = &body;
  spec.nregions = 1;
  return (count && keep(g, &spec)) || discard(body);
}

/* Slices of one operand, with one carried value or none. */
static bool random_scan(GlowGen *g) {
  GlowValue *x = glow_gen_pick(g, is_tensor, NULL), *ins[2], *yields[2];
  uint32_t states = CHOOSE(g, 2), count = 0;
  if (!x || x->type->rank == 0 || x->type->layout)
    return false;
  GlowBlock *body = open_region(g, "body");
  if (states && !(ins[0] = glow_gen_pick(g, is_tensor, NULL)))
    return false;
  ins[states] = x;
  if (states)
    glow_block_add_param(body, glow_gen_name(g), ins[0]->type);
  GlowValue *slice = glow_block_add_param(
      body, glow_gen_name(g),
      glow_type_with_dims(g->ctx, x->type, x->type->rank - 1, x->type->dims + 1));
  Outer outer = enter(g, body);
  glow_gen_nodes(g, 1 + CHOOSE(g, 3));
  if (states)
    yields[count++] = of_type(g, ins[0]->type);
  yields[count] = glow_gen_pick(g, is_tensor, NULL);
  yields[count] = yields[count] ? yields[count] : slice;
  glow_build_terminator(body, GLOW_OP_YIELD, yields, ++count);
  leave(g, outer);
  GlowScanMembers members = *(const GlowScanMembers *)glow_op_desc[GLOW_OP_SCAN].member_defaults;
  members.num_scan = 1;
  GlowNodeSpec spec = {.op = GLOW_OP_SCAN, .ins = ins, .nins = 1 + states, .nresults = count};
  spec.members = &members;
  spec.regions = &body;
  spec.nregions = 1;
  return keep(g, &spec) || discard(body);
}

static bool random_call(GlowGen *g) {
  const GlowFunction *f = g->module->first_function;
  GlowValue *ins[MAX_OPERANDS];
  if (f == g->function || f->body->nparams > MAX_OPERANDS || f->nresults == 0 || f->nresults > 8)
    return false;
  for (uint32_t i = 0; i < f->body->nparams; i++)
    ins[i] = of_type(g, f->body->params[i]->type);
  GlowCallMembers members = {.callee = f->name};
  GlowNodeSpec spec = {.op = GLOW_OP_CALL, .ins = ins, .nins = f->body->nparams};
  spec.nresults = f->nresults;
  spec.members = &members;
  return keep(g, &spec) != NULL;
}

bool glow_gen_control(GlowGen *g, GlowOp op) {
  switch (op) {
  case GLOW_OP_IF:
    return random_if(g);
  case GLOW_OP_LOOP:
    return random_loop(g);
  case GLOW_OP_SCAN:
    return random_scan(g);
  case GLOW_OP_CALL:
    return random_call(g);
  default:
    return false;
  }
}
