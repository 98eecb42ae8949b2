/* Resolves `grad` clauses: which operands have derivatives, and where these come from. */
#include "tblgen.h"

enum { MAX_GRAD_PORTS = 32 }; /* bits of GlowOpDesc.grad */

/* Whether two items speak of the same operand. */
static bool overlap(const GradDecl *a, const GradDecl *b) {
  return !a->port.text || !b->port.text || a->operand == b->operand;
}

static void check_lowering(const OpFile *file, const OpDecl *op, const GradDecl *g) {
  if (!op->lower.text || strcmp(op->lower.text, "hook"))
    glow_error(file->ctx, g->loc, "'grad lowering' needs the clause 'lower hook'");
}

/* The text without the blanks around it. */
static const char *trimmed(const OpFile *file, const char *text) {
  text += strspn(text, " \n");
  size_t n = strlen(text);
  while (n && strchr(" \n", text[n - 1]))
    n--;
  return glow_str_n(file->ctx, text, n);
}

static void check_grad(const OpFile *file, OpDecl *op, GradDecl *g) {
  if (g->port.text) {
    int i = ops_find_port(file, op, g->port, true, false);
    g->operand = i < 0 ? 0 : (uint32_t)i;
    if (i >= MAX_GRAD_PORTS)
      glow_error(file->ctx, g->loc, "only the first %d inputs can have derivatives",
                 MAX_GRAD_PORTS);
    if (i < 0)
      return;
  }
  if (g->kind == GRAD_LOWERING)
    check_lowering(file, op, g);
  if (g->kind == GRAD_SLOPE && !op->scalar.text && strcmp(trimmed(file, g->slope.text), "0"))
    glow_error(file->ctx, g->slope.loc,
               "'%s' has no scalar body, so a slope can only be 0 everywhere", op->name.text);
  for (const GradDecl *before = op->grads.data; before < g; before++)
    if (overlap(before, g)) {
      glow_error(file->ctx, g->loc, "%s%s%s has two derivatives", g->port.text ? "'" : "",
                 g->port.text ? g->port.text : op->name.text, g->port.text ? "'" : "");
      glow_note(file->ctx, before->loc, "the first one is here");
      return;
    }
}

void grads_check(const OpFile *file, OpDecl *op) {
  for (uint32_t i = 0; i < op->grads.count; i++)
    check_grad(file, op, &op->grads.data[i]);
}

/* ---- Statuses -------------------------------------------------------------------------------- */

bool may_be_float(const OpDecl *op, const PortDecl *p) {
  if (p->type_kind == GLOW_PORT_VAR)
    return (op->vars.data[p->var].set & FLOATS) != 0;
  return p->type_kind == GLOW_PORT_KIND && (GLOW_KIND_BIT(p->var) & FLOATS) != 0;
}

/* Whether floating-point values may pass through the port, in sequences perhaps. */
static bool may_carry(const OpDecl *op, const PortDecl *p) {
  bool open = p->type_kind != GLOW_PORT_VAR && p->type_kind != GLOW_PORT_KIND;
  return open || may_be_float(op, p);
}

bool needs_grads(const OpDecl *op) {
  bool in = op->regions.count > 0, out = false;
  for (uint32_t i = 0; i < op->in.count; i++)
    in |= may_carry(op, &op->in.data[i]);
  for (uint32_t i = 0; i < op->out.count; i++)
    out |= may_carry(op, &op->out.data[i]);
  return in && out && !op->is_instr;
}

const GradDecl *find_grad(const OpDecl *op, uint32_t operand) {
  for (uint32_t i = 0; i < op->grads.count; i++)
    if (!op->grads.data[i].port.text || op->grads.data[i].operand == operand)
      return &op->grads.data[i];
  return NULL;
}

void statuses_check(const OpFile *file) {
  for (uint32_t i = 0; i < file->ops.count; i++) {
    const OpDecl *op = file->ops.data[i];
    if (!needs_grads(op))
      continue;
    if (op->regions.count && !op->grads.count)
      glow_error(file->ctx, op->name.loc,
                 "a 'grad' clause must say where derivatives by what the regions of '%s' read come "
                 "from",
                 op->name.text);
    for (uint32_t k = 0; k < op->in.count; k++)
      if (may_carry(op, &op->in.data[k]) && !find_grad(op, k))
        glow_error(file->ctx, op->in.data[k].name.loc,
                   "a 'grad' clause must say where the derivative by '%s' of '%s' comes from",
                   op->in.data[k].name.text, op->name.text);
  }
}
