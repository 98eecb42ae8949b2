/* Variables that grow: what a function makes of their first extent. */
#include "ir/ir_internal.h"

/* The Save into a variable, or the set_rows of it, at the top level of f. NULL: there is none. */
static const GlowNode *find_change(const GlowFunction *f, const GlowValue *variable) {
  for (const GlowUse *u = variable->uses; u; u = u->next) {
    const GlowNode *n = u->user;
    bool changes = n->op == GLOW_OP_SET_ROWS ||
                   (n->op == GLOW_OP_SAVE && u == &n->operands[GLOW_SAVE_IN_STORAGE]);
    if (changes && n->block == f->body)
      return n;
  }
  return NULL;
}

const GlowNode *glow_function_rows(const GlowFunction *f, const GlowValue *variable,
                                   GlowDim *rows) {
  const GlowNode *n = find_change(f, variable);
  if (n)
    *rows = n->op == GLOW_OP_SAVE ? glow_node_in(n, GLOW_SAVE_IN_VALUE)->type->dims[0]
                                  : glow_size_dim(((const GlowSetRowsMembers *)n->members)->rows);
  return n;
}

static bool is_growing(const GlowStorage *s) {
  return s->cls == GLOW_VARIABLE && glow_type_grows(s->value.type);
}

bool glow_verify_rows(const GlowFunction *f) {
  for (const GlowStorage *s = f->module->first_storage; s; s = s->next) {
    GlowDim rows, own = is_growing(s) ? s->value.type->dims[0] : GLOW_UNKNOWN;
    const GlowNode *n = own.extent ? glow_function_rows(f, &s->value, &rows) : NULL;
    if (!n || glow_dim_equals(rows, own))
      continue;
    for (const GlowStorage *t = f->module->first_storage; t; t = t->next) {
      GlowDim others = own;
      if (t == s || !is_growing(t) || t->value.type->dims[0].extent != own.extent)
        continue;
      glow_function_rows(f, &t->value, &others);
      if (glow_dim_equals(rows, others))
        continue;
      glow_verify_error(n, "'@%s' gets %s rows, but '@%s', which has $%s rows as well, gets %s",
                        s->value.name, glow_dim_str(f->module->ctx, rows), t->value.name,
                        own.symbol, glow_dim_str(f->module->ctx, others));
      return false;
    }
  }
  return true;
}
