/* Accesses: a walk over the nodes of a function, then over those of its callees. A view counts as
 * the buffer that it lies in. */
#include "analysis/access.h"

GlowFunction *glow_node_callee(const GlowNode *n) {
  const GlowOpDesc *d = glow_node_desc(n);
  for (uint32_t i = 0; i < d->nmembers; i++) {
    if (d->members[i].type == GLOW_MEMBER_SYMBOL)
      return glow_module_function(
          n->block->module, *(const GlowStr *)((const char *)n->members + d->members[i].offset));
  }
  return NULL;
}

typedef struct Survey {
  GlowArena *arena;
  GlowAccess *of; /* by value id */
  bool *settled;  /* by value id: a program has written all of its elements */
  GlowAccesses result;
  GlowFunction *function;
} Survey;

static void add_function(Survey *s, GlowFunction *f) {
  for (uint32_t i = 0; i < s->result.functions.count; i++)
    if (s->result.functions.data[i] == f)
      return;
  glow_vec_push(s->arena, &s->result.functions, f);
}

/* The outer value that an operand reaches, or NULL. */
static const GlowValue *outer_of(const GlowUse *u) {
  const GlowValue *root = u->value ? glow_value_span(u->value).root : NULL;
  return root && glow_value_is_outer(root) ? root : NULL;
}

static bool writes(const GlowNode *n, uint32_t operand) {
  GlowQual qual = n->operands[operand].qual;
  bool saves = !glow_node_is_instr(n) && GLOW_HAS(glow_node_desc(n), WRITES);
  return qual == GLOW_QUAL_OUT || qual == GLOW_QUAL_INOUT || (saves && operand > 0);
}

static void note_reads(Survey *s, const GlowNode *n) {
  for (uint32_t i = 0; i < n->noperands; i++) {
    const GlowValue *root = outer_of(&n->operands[i]);
    if (!root || (writes(n, i) && n->operands[i].qual != GLOW_QUAL_INOUT))
      continue;
    s->of[root->id].read = true;
    s->of[root->id].wanted |= !s->settled[root->id];
  }
}

/* A graph reads what was there when it began. In a program, a write of all elements that is sure to
 * happen settles what later instructions read. */
static void note_writes(Survey *s, const GlowNode *n) {
  for (uint32_t i = 0; i < n->noperands; i++) {
    const GlowValue *root = outer_of(&n->operands[i]);
    if (!root || !writes(n, i))
      continue;
    s->of[root->id].written = true;
    s->settled[root->id] |= s->function->kind == GLOW_PROGRAM && n->block == s->function->body &&
                            n->operands[i].value == root;
  }
}

static bool visit(GlowNode *n, void *survey) {
  Survey *s = survey;
  if (n->op != GLOW_OP_TENSORVIEW) {
    note_reads(s, n);
    note_writes(s, n);
  }
  GlowFunction *callee = glow_node_callee(n);
  if (callee)
    add_function(s, callee);
  return true;
}

GlowAccesses glow_function_accesses(GlowFunction *f, GlowArena *arena) {
  Survey s = {.arena = arena};
  s.of = GLOW_NEW_ARRAY(arena, GlowAccess, f->module->next_id);
  s.settled = GLOW_NEW_ARRAY(arena, bool, f->module->next_id);
  s.result.of = s.of;
  add_function(&s, f);
  for (uint32_t i = 0; i < s.result.functions.count; i++) {
    s.function = s.result.functions.data[i];
    if (s.function->body)
      glow_block_walk(s.function->body, visit, &s);
  }
  return s.result;
}

GlowOuterValues glow_function_outer_values(const GlowFunction *f, GlowArena *arena) {
  GlowOuterValues values = {0};
  for (GlowStorage *g = f->module->first_storage; g; g = g->next)
    glow_vec_push(arena, &values, &g->value);
  for (uint32_t i = 0; i < f->body->nparams; i++)
    glow_vec_push(arena, &values, f->body->params[i]);
  return values;
}
