/* Lowering rules from scalar bodies: `y = x < 0 ? alpha * x : x;` becomes a function that builds
 * Less, Mul and Where. A body that is one operation on its ports, such as `z = x + y`, makes its
 * operator a primitive: others are expressed by it. Comparisons come down to Less and Equal, logic
 * to Where, negation to Sub, minimum to Max, rounding up to Floor; all of that is exact.
 *
 * A function that no operator's body is alone is taken apart where functions.c can; with the clause
 * `lower body` an operator is that has a body of one such function. An expression without ports is
 * static: it is copied, and the C compiler evaluates it. */
#include <ctype.h>

#include "expr.h"

/* [if (static)] result = expr; */
static void statement(ExprWriter *w, ExprReader *r) {
  bool guarded = expr_accept(r, "if");
  if (guarded) {
    expr_want(r, "(");
    Expr *condition = expr_read(r);
    expr_want(r, ")");
    w->failed |= !condition->is_static;
    expr_line(w);
    glow_text_puts(w->out, "if (");
    expr_put_static(condition, w->out);
    glow_text_puts(w->out, ") {\n");
    w->indent++;
  }
  w->failed |= expr_find_port(w->op, r->token) != (int)w->op->in.count;
  char result[sizeof r->token];
  strcpy(result, r->token);
  expr_next(r);
  expr_want(r, "=");
  Expr *e = expr_read(r);
  expr_want(r, ";");
  int v = r->failed ? 0 : expr_write(w, e);
  expr_line(w);
  glow_text_printf(w->out, "p_%s = v%d;\n", result, v);
  if (guarded) {
    w->indent--;
    expr_line(w);
    glow_text_puts(w->out, "}\n");
  }
}

uint32_t expand_key(const OpDecl *op) {
  for (uint32_t i = 0; op->vars.count && i < op->in.count; i++)
    if (op->in.data[i].type_kind == GLOW_PORT_VAR && op->in.data[i].var == 0)
      return i;
  return 0;
}

static void declarations(ExprWriter *w) {
  const OpDecl *op = w->op;
  if (op->members.count)
    glow_text_printf(w->out, "  const Glow%sMembers *members = node->members;\n", op->camel);
  for (uint32_t i = 0; i < op->members.count; i++) {
    const MemberDecl *m = &op->members.data[i];
    glow_text_printf(w->out, "  const %s %s = members->%s;\n  (void)%s;\n",
                     member_c_type(m->member_type), m->name.text, m->field, m->name.text);
  }
  for (uint32_t i = 0; i < op->in.count; i++) {
    const PortDecl *p = &op->in.data[i];
    char name[64] = {0};
    for (size_t k = 0; p->name.text[k] && k < sizeof name - 1; k++)
      name[k] = (char)tolower((unsigned char)p->name.text[k]);
    glow_text_printf(w->out, "  GlowValue *p_%s = glow_expand_in(&expand, %u);\n", name, i);
    if (p->flags & GLOW_PORT_OPTIONAL)
      glow_text_printf(w->out, "  const bool has_%s = p_%s != NULL;\n", name, name);
  }
}

bool expand_rule(const OpFile *file, const OpDecl *op, GlowText *out) {
  bool body_rule = op->lower.text && strcmp(op->lower.text, "body") == 0;
  if (!op->scalar.text || (op->lower.text && !body_rule))
    return false;
  const Expr *sole = op->members.count ? NULL : expr_sole(file, op);
  if (sole && !expr_is_derived(sole) && !body_rule && expr_is_atom(file, op, sole))
    return false; /* a primitive */
  GlowText body;
  glow_text_init(&body, file->ctx);
  GlowDefer release;
  glow_defer_push(file->ctx, &release, glow_text_release_fn, &body);
  ExprWriter w = {.file = file, .op = op, .out = &body, .indent = 1, .needs = out != NULL};
  char result[64] = {0};
  for (size_t k = 0; op->out.data[0].name.text[k] && k < sizeof result - 1; k++)
    result[k] = (char)tolower((unsigned char)op->out.data[0].name.text[k]);
  glow_text_printf(&body,
                   "\nstatic bool expand_%s(GlowBuilder *builder, const GlowNode *node, "
                   "GlowValue **results) {\n"
                   "  GlowExpand expand = glow_expand_begin(builder, node, %u);\n",
                   op->snake, expand_key(op));
  declarations(&w);
  glow_text_printf(&body, "  GlowValue *p_%s = NULL;\n", result);
  ExprReader r = expr_reader(file, op, op->scalar.text);
  while (*r.token && !r.failed)
    statement(&w, &r);
  glow_text_printf(&body, "  return glow_expand_end(&expand, p_%s, results);\n}\n", result);
  bool ok = !w.failed && !r.failed;
  if (ok && out)
    glow_text_bytes(out, body.data, body.size);
  glow_defer_pop(file->ctx, &release, true);
  return ok;
}
