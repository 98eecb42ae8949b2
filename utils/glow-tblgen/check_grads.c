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
