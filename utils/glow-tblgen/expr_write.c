/* Writes expressions as C that builds nodes. Comparisons come down to Less and Equal, logic to
 * Where, negation to Sub, minimum to Max, rounding up to Floor, unless the writer may use any
 * operator. A function that no operator's body is alone is taken apart where functions.c can. */
#include "expr.h"

void expr_line(ExprWriter *w) {
  for (int i = 0; i < w->indent; i++)
    glow_text_puts(w->out, "  ");
}

void expr_put_static(const Expr *e, GlowText *out) {
  if (e->kind == EXPR_STATIC_WORD) {
    glow_text_puts(out, e->text);
    return;
  }
  glow_text_putc(out, '(');
  if (e->kind == EXPR_UNARY)
    glow_text_puts(out, e->text);
  for (uint32_t i = 0; i < e->nargs; i++) {
    if (i)
      glow_text_printf(out, " %s ", e->kind == EXPR_SELECT && i == 2 ? ":" : e->text);
    expr_put_static(e->args[i], out);
  }
  glow_text_putc(out, ')');
}

/* GlowValue *vN = glow_expand_WHAT(&e, ...); returns N. */
static int step(ExprWriter *w, const char *what, const OpDecl *op, const int *args,
                uint32_t nargs) {
  expr_line(w);
  glow_text_printf(w->out, "GlowValue *v%d = glow_expand_%s(&expand", w->values, what);
  if (op)
    glow_text_printf(w->out, ", GLOW_OP_%s", op->upper);
  for (uint32_t i = 0; i < nargs; i++)
    glow_text_printf(w->out, ", v%d", args[i]);
  glow_text_puts(w->out, ");\n");
  return w->values++;
}

static int static_value(ExprWriter *w, const Expr *e) {
  expr_line(w);
  glow_text_printf(w->out, "GlowValue *v%d = glow_expand_%s(&expand, ", w->values,
                   e->is_bool ? "bool" : "number");
  expr_put_static(e, w->out);
  glow_text_puts(w->out, ");\n");
  return w->values++;
}

/* A choice that members or absent operands make: only one side is built. */
static int static_select(ExprWriter *w, const Expr *e) {
  int result = w->values++;
  expr_line(w);
  glow_text_printf(w->out, "GlowValue *v%d;\n", result);
  for (int side = 1; side <= 2; side++) {
    expr_line(w);
    glow_text_puts(w->out, side == 1 ? "if (" : "} else {\n");
    if (side == 1) {
      expr_put_static(e->args[0], w->out);
      glow_text_puts(w->out, ") {\n");
    }
    w->indent++;
    uint32_t outside = w->written.count;
    int v = expr_write(w, e->args[side]);
    w->written.count = outside; /* the variables of a block end with it */
    expr_line(w);
    glow_text_printf(w->out, "v%d = v%d;\n", result, v);
    w->indent--;
  }
  expr_line(w);
  glow_text_puts(w->out, "}\n");
  return result;
}

/* Operations that others stand for: glow_expand_<name> of lib/lower/expand.h. */
static const struct {
  ExprKind kind;
  const char *text, *name;
} derived[] = {
    {EXPR_BINARY, ">", "greater"},
    {EXPR_BINARY, "<=", "less_or_equal"},
    {EXPR_BINARY, ">=", "greater_or_equal"},
    {EXPR_BINARY, "!=", "not_equal"},
    {EXPR_BINARY, "&&", "and"},
    {EXPR_BINARY, "||", "or"},
    {EXPR_BINARY, "|", "bit_or"},
    {EXPR_BINARY, "^", "bit_xor"},
    {EXPR_UNARY, "-", "negate"},
    {EXPR_UNARY, "!", "not"},
    {EXPR_UNARY, "~", "bit_not"},
    {EXPR_CALL, "ABS", "abs"},
    {EXPR_CALL, "CEIL", "ceil"},
    {EXPR_CALL, "MIN", "min"},
};

bool expr_is_derived(const Expr *e) {
  for (size_t i = 0; i < sizeof derived / sizeof *derived; i++)
    if (derived[i].kind == e->kind && strcmp(derived[i].text, e->text) == 0)
      return true;
  return false;
}

/* build_glow_x(&expand, ...) for double, build_glow_xf for the kinds that compute in float. */
static int function_call(ExprWriter *w, const Expr *e, const int *args) {
  const char *name = e->kind == EXPR_CALL ? math_call(w->file, e->text) : NULL;
  if (!name) {
    w->failed = true;
    return 0;
  }
  expr_line(w);
  glow_text_printf(w->out,
                   "GlowValue *v%d = (expand.kind == GLOW_KIND_DOUBLE ? build_%s : build_%sf)(",
                   w->values, name, name);
  glow_text_puts(w->out, "&expand");
  for (uint32_t i = 0; i < e->nargs; i++)
    glow_text_printf(w->out, ", v%d", args[i]);
  glow_text_puts(w->out, ");\n");
  if (w->needs) {
    math_need(math_function(w->file, name));
    math_need(math_function(w->file, glow_arena_printf(w->file->arena, "%sf", name)));
  }
  return w->values++;
}

static int operation(ExprWriter *w, const Expr *e) {
  Expr like = *e;
  if (e->kind == EXPR_BINARY && (strcmp(e->text, "/") == 0 || strcmp(e->text, "==") == 0)) {
    like.kind = EXPR_CALL; /* on floating-point values DIV is `/`, on all EQUAL is `==` */
    like.text = *e->text == '/' ? "DIV" : "EQUAL";
  }
  int args[3];
  for (uint32_t i = 0; i < e->nargs; i++)
    args[i] = expr_write(w, e->args[i]);
  bool differ = strcmp(e->text, "!=") == 0; /* an atom of it is of truth values */
  const OpDecl *op = w->plain && !differ ? expr_find_atom(w->file, &like) : NULL;
  for (size_t i = 0; !op && i < sizeof derived / sizeof *derived; i++)
    if (derived[i].kind == e->kind && strcmp(derived[i].text, e->text) == 0)
      return step(w, derived[i].name, NULL, args, e->nargs);
  op = op ? op : expr_find_atom(w->file, &like);
  if (!op || (op == w->op && !w->plain))
    return function_call(w, &like, args);
  static const char *const steps[] = {"", "1", "2", "3"};
  return step(w, steps[e->nargs], op, args, e->nargs);
}

/* A value that has a name in C. */
static int named_value(ExprWriter *w, const Expr *e) {
  expr_line(w);
  glow_text_printf(w->out, "GlowValue *v%d = %s%s;\n", w->values, e->kind == EXPR_PORT ? "p_" : "",
                   e->text);
  return w->values++;
}

/* `has_x && e` as a select, since e may be an expression of x; else NULL. */
static const Expr *as_select(const ExprWriter *w, const Expr *e) {
  bool both = strcmp(e->text, "&&") == 0;
  if (e->kind != EXPR_BINARY || !e->args[0]->is_static || (!both && strcmp(e->text, "||")))
    return NULL;
  Expr *other = expr_make(w->file, EXPR_STATIC_WORD, both ? "false" : "true", NULL, NULL, NULL);
  other->is_bool = true;
  return expr_make(w->file, EXPR_SELECT, "?", e->args[0], both ? e->args[1] : other,
                   both ? other : e->args[1]);
}

static int write_new(ExprWriter *w, const Expr *e) {
  if (e->is_static)
    return static_value(w, e);
  if (e->kind == EXPR_PORT || e->kind == EXPR_VALUE)
    return named_value(w, e);
  const Expr *select = w->plain ? as_select(w, e) : NULL;
  if (e->kind == EXPR_SELECT && e->args[0]->is_static)
    select = e;
  return select ? static_select(w, select) : operation(w, e);
}

int expr_write(ExprWriter *w, const Expr *e) {
  for (uint32_t i = 0; w->plain && i < w->written.count; i++)
    if (expr_equal(w->written.data[i].expr, e))
      return w->written.data[i].value;
  ExprWritten now = {e, write_new(w, e)};
  glow_vec_push(w->file->arena, &w->written, now);
  return now.value;
}
