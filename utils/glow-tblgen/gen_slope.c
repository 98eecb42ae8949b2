/* Derivatives of element-wise operators. A scalar body is read as one expression and differentiated
 * by each operand; the slope times the derivative of the result is written as C that builds nodes:
 *
 *   y = x < 0 ? alpha * x : x        slope x < 0 ? alpha : 1        Where(x < 0, dY * alpha, dY)
 *
 * Functions that bodies call have their derivatives in lib/ops/slopes.ops. A `grad` clause replaces
 * a slope where a corner counts otherwise. A product with a select becomes a select of products if
 * a side is 0 or 1, so that a side that is not taken gives no 0 * inf. */
#include <ctype.h>

#include "expr.h"

/* ---- Expressions with their simplest forms --------------------------------------------------- */

static Expr *number(const OpFile *file, const char *text) {
  return expr_make(file, EXPR_STATIC_WORD, text, NULL, NULL, NULL);
}

static bool is_number(const Expr *e, const char *text) {
  return e->kind == EXPR_STATIC_WORD && strcmp(e->text, text) == 0;
}
static bool is_zero(const Expr *e) { return is_number(e, "0"); }
static bool is_one(const Expr *e) { return is_number(e, "1"); }

static bool is_op(const Expr *e, ExprKind kind, const char *text) {
  return e->kind == kind && strcmp(e->text, text) == 0;
}

static Expr *binary(const OpFile *file, const char *op, Expr *a, Expr *b) {
  return expr_make(file, EXPR_BINARY, op, a, b, NULL);
}

static Expr *negated(const OpFile *file, Expr *e) {
  if (is_zero(e))
    return e;
  return is_op(e, EXPR_UNARY, "-") ? e->args[0] : expr_make(file, EXPR_UNARY, "-", e, NULL, NULL);
}

static Expr *sum(const OpFile *file, Expr *a, Expr *b) {
  if (is_zero(a) || is_zero(b))
    return is_zero(a) ? b : a;
  if (is_op(b, EXPR_UNARY, "-"))
    return binary(file, "-", a, b->args[0]);
  return binary(file, "+", a, b);
}

static Expr *selected(const OpFile *file, Expr *condition, Expr *a, Expr *b) {
  return expr_equal(a, b) ? a : expr_make(file, EXPR_SELECT, "?", condition, a, b);
}

/* Whether e is a select one of whose sides is 0 or 1. */
static bool is_mask(const Expr *e) {
  if (e->kind != EXPR_SELECT)
    return false;
  for (int side = 1; side <= 2; side++)
    if (is_zero(e->args[side]) || is_one(e->args[side]) || is_mask(e->args[side]))
      return true;
  return false;
}

static Expr *product(const OpFile *file, Expr *a, Expr *b) {
  if (is_zero(a) || is_one(b))
    return a;
  if (is_zero(b) || is_one(a))
    return b;
  if (is_mask(b))
    return selected(file, b->args[0], product(file, a, b->args[1]), product(file, a, b->args[2]));
  if (is_mask(a))
    return selected(file, a->args[0], product(file, a->args[1], b), product(file, a->args[2], b));
  if (is_op(b, EXPR_UNARY, "-"))
    return negated(file, product(file, a, b->args[0]));
  if (is_op(b, EXPR_BINARY, "/") && is_one(b->args[0]))
    return binary(file, "/", a, b->args[1]);
  return binary(file, "*", a, b);
}

/* e with map[i] for port i; a NULL entry stands for the port itself. */
static Expr *substituted(const OpFile *file, Expr *e, Expr *const *map) {
  if (e->kind == EXPR_PORT)
    return map[e->port] ? map[e->port] : e;
  Expr *args[3] = {0};
  bool same = true;
  for (uint32_t i = 0; i < e->nargs; i++) {
    args[i] = substituted(file, e->args[i], map);
    same &= args[i] == e->args[i];
  }
  if (same)
    return e;
  Expr *copy = expr_make(file, e->kind, e->text, args[0], args[1], args[2]);
  copy->is_bool = e->is_bool;
  return copy;
}

/* ---- Bodies ---------------------------------------------------------------------------------- */

/* The value that the body gives the result, as one expression of the operands; NULL if it is not of
 * the form that gen_expand.c reads. */
static Expr *body_tree(const OpFile *file, const OpDecl *op) {
  ExprReader r = expr_reader(file, op, op->scalar.text);
  Expr **map = GLOW_NEW_ARRAY(file->arena, Expr *, op->in.count + 1), **y = &map[op->in.count];
  while (*r.token && !r.failed) {
    Expr *condition = NULL;
    if (expr_accept(&r, "if")) {
      expr_want(&r, "(");
      condition = expr_read(&r);
      expr_want(&r, ")");
    }
    r.failed |= expr_find_port(op, r.token) != (int)op->in.count;
    expr_next(&r);
    expr_want(&r, "=");
    Expr *e = substituted(file, expr_read(&r), map);
    expr_want(&r, ";");
    r.failed |= condition && !*y;
    *y = condition && *y ? selected(file, condition, e, *y) : e;
  }
  return r.failed ? NULL : *y;
}

/* ---- Slopes of functions --------------------------------------------------------------------- */

typedef struct Slopes {
  Expr *exprs[3]; /* by parameter; ports are the parameters, then `y` */
  uint32_t count;
} Slopes;

/* Expressions with commas between. False if they cannot be read. */
static bool read_slopes(const OpFile *file, const OpDecl *op, Name code, Slopes *s) {
  ExprReader r = expr_reader(file, op, code.text);
  s->count = 0;
  do
    s->exprs[s->count++] = expr_read(&r);
  while (s->count < 3 && expr_accept(&r, ","));
  return !r.failed && !*r.token;
}

/* An operator that stands for the function: its operands are the parameters, its result is y. */
static OpDecl *as_operator(const OpFile *file, const SlopeDecl *d) {
  OpDecl *op = GLOW_NEW(file->arena, OpDecl);
  op->name = d->function;
  for (uint32_t i = 0; i < d->params.count; i++) {
    PortDecl port = {.name = d->params.data[i]};
    glow_vec_push(file->arena, &op->in, port);
  }
  PortDecl y = {.name = {glow_str(file->ctx, "y"), d->function.loc}};
  glow_vec_push(file->arena, &op->out, y);
  return op;
}

static const SlopeDecl *find_slope(const OpFile *file, const char *function) {
  for (uint32_t i = 0; i < file->slopes.count; i++)
    if (strcmp(file->slopes.data[i]->function.text, function) == 0)
      return file->slopes.data[i];
  return NULL;
}

/* ---- Differentiation ------------------------------------------------------------------------- */

typedef struct Deriver {
  const OpFile *file;
  const OpDecl *op;
  uint32_t port;
  bool failed;
} Deriver;

static Expr *derive(Deriver *d, Expr *e);

static Expr *fail(Deriver *d, const char *what, const char *name) {
  if (!d->failed)
    glow_error(d->file->ctx, d->op->scalar.loc, what, d->op->name.text, name);
  d->failed = true;
  return number(d->file, "0");
}

static Expr *derive_call(Deriver *d, Expr *e) {
  Expr *total = number(d->file, "0"), *map[4] = {e->args[0], e->args[1], e->args[2]};
  map[e->nargs] = e;
  for (uint32_t i = 0; i < e->nargs && !d->failed; i++) {
    Expr *inner = derive(d, e->args[i]);
    if (is_zero(inner))
      continue;
    const SlopeDecl *row = find_slope(d->file, e->text);
    Slopes s;
    if (!row || row->params.count != e->nargs)
      return fail(d,
                  "the derivative of '%s' needs a row 'slope %s(...)' with as many parameters in "
                  "lib/ops/slopes.ops",
                  e->text);
    if (!read_slopes(d->file, as_operator(d->file, row), row->code, &s) || i >= s.count)
      return fail(d, "the derivative of '%s' needs more slopes in the row of %s", e->text);
    total = sum(d->file, total, product(d->file, substituted(d->file, s.exprs[i], map), inner));
  }
  return total;
}

/* a * b, a / b, a + b or a - b. */
static Expr *derive_binary(Deriver *d, Expr *e) {
  const OpFile *file = d->file;
  Expr *a = e->args[0], *b = e->args[1], *da = derive(d, a), *db = derive(d, b);
  switch (e->text[0]) {
  case '+':
    return sum(file, da, db);
  case '-':
    return sum(file, da, negated(file, db));
  case '*':
    return sum(file, product(file, b, da), product(file, a, db));
  default:
    da = is_zero(da) ? da : binary(file, "/", da, b);
    return sum(file, da, negated(file, product(file, binary(file, "/", e, b), db)));
  }
}

static Expr *derive(Deriver *d, Expr *e) {
  if (e->is_static || e->is_bool)
    return number(d->file, "0");
  switch (e->kind) {
  case EXPR_PORT:
    return number(d->file, e->port == d->port ? "1" : "0");
  case EXPR_UNARY:
    return negated(d->file, derive(d, e->args[0]));
  case EXPR_SELECT:
    return selected(d->file, e->args[0], derive(d, e->args[1]), derive(d, e->args[2]));
  case EXPR_BINARY:
    return derive_binary(d, e);
  default:
    return derive_call(d, e);
  }
}

/* The slope by an operand; NULL after a report. */
static Expr *slope_of(const OpFile *file, const OpDecl *op, const GradDecl *g) {
  Slopes s;
  if (g->kind == GRAD_SLOPE) {
    if (read_slopes(file, op, g->slope, &s) && s.count == 1)
      return s.exprs[0];
    glow_error(file->ctx, g->slope.loc, "the slope of '%s' is no single expression", g->port.text);
    return NULL;
  }
  Deriver d = {.file = file, .op = op, .port = g->operand};
  Expr *body = body_tree(file, op);
  Expr *e =
      body ? derive(&d, body)
           : fail(&d, "the body of '%s' cannot be differentiated; give it a 'grad' clause%s", "");
  return d.failed ? NULL : e;
}

/* ---- Writing --------------------------------------------------------------------------------- */

static Expr *c_value(const OpFile *file, const char *text) {
  return expr_make(file, EXPR_VALUE, text, NULL, NULL, NULL);
}

static bool contains(const Expr *e, const Expr *part) {
  if (expr_equal(e, part))
    return true;
  for (uint32_t i = 0; i < e->nargs; i++)
    if (contains(e->args[i], part))
      return true;
  return false;
}

/* Whether e is the value of the body, or of a choice that members make, where that is made. */
static bool is_result(const Expr *e, const Expr *body) {
  if (!body || e->kind == EXPR_PORT || e->is_static)
    return false;
  if (expr_equal(e, body))
    return true;
  if (body->kind != EXPR_SELECT || !body->args[0]->is_static)
    return false;
  return (is_result(e, body->args[1]) && !contains(body->args[2], e)) ||
         (is_result(e, body->args[2]) && !contains(body->args[1], e));
}

/* e with C expressions for operands, and for what is the node's result. */
static Expr *bound(const OpFile *file, const OpDecl *op, Expr *e, const Expr *body) {
  if (e->kind == EXPR_VALUE)
    return e;
  bool named = e->kind == EXPR_PORT && e->port == op->in.count;
  if (named || is_result(e, body))
    return c_value(file, "glow_slope_out(&expand)");
  if (e->kind == EXPR_PORT)
    return c_value(file, glow_arena_printf(file->arena, "glow_slope_in(&expand, %u)", e->port));
  Expr *args[3] = {0};
  for (uint32_t i = 0; i < e->nargs; i++)
    args[i] = bound(file, op, e->args[i], body);
  Expr *copy = expr_make(file, e->kind, e->text, args[0], args[1], args[2]);
  copy->is_bool = e->is_bool;
  return copy;
}

/* Whether e only chooses between dY and 0: then nothing is computed in another kind. */
static bool only_chooses(const Expr *e) {
  return e->kind == EXPR_VALUE || is_zero(e) ||
         (e->kind == EXPR_SELECT && only_chooses(e->args[1]) && only_chooses(e->args[2]));
}

static Expr *unconverted(const OpFile *file, Expr *e) {
  if (e->kind == EXPR_SELECT)
    return expr_make(file, EXPR_SELECT, "?", e->args[0], unconverted(file, e->args[1]),
                     unconverted(file, e->args[2]));
  return c_value(file, is_zero(e) ? "glow_slope_zero(g)" : "g->dy[0]");
}

static void write_item(ExprWriter *w, const GradDecl *g) {
  const OpFile *file = w->file;
  Expr *slope = slope_of(file, w->op, g);
  if (!slope || is_zero(slope))
    return; /* a derivative that is not set is 0 */
  const Expr *body = w->op->scalar.text ? body_tree(file, w->op) : NULL;
  Expr *e =
      product(file, c_value(file, "glow_slope_seed(&expand, g)"), bound(file, w->op, slope, body));
  e = only_chooses(e) ? unconverted(file, e) : e;
  glow_text_printf(w->out, "  if (g->wanted[%u]) {\n", g->operand);
  w->written.count = 0;
  int v = expr_write(w, e);
  glow_text_printf(w->out, "    if (!glow_grad_set(g, %u, v%d))\n      return false;\n  }\n",
                   g->operand, v);
}

static bool is_slope(const GradDecl *g) { return g->kind == GRAD_SLOPE || g->kind == GRAD_DERIVED; }

bool has_slopes(const OpDecl *op) {
  for (uint32_t i = 0; i < op->grads.count; i++)
    if (is_slope(&op->grads.data[i]))
      return true;
  return false;
}

/* Members as numbers of the widest kind, and whether operands are there. */
static void declarations(const OpDecl *op, GlowText *out) {
  if (op->members.count)
    glow_text_printf(out, "  const Glow%sMembers *members = g->n->members;\n", op->camel);
  for (uint32_t i = 0; i < op->members.count; i++) {
    const MemberDecl *m = &op->members.data[i];
    const char *type =
        m->member_type == GLOW_MEMBER_FLOAT ? "double" : member_c_type(m->member_type);
    glow_text_printf(out, "  const %s %s = members->%s;\n  (void)%s;\n", type, m->name.text,
                     m->field, m->name.text);
  }
  for (uint32_t i = 0; i < op->in.count; i++) {
    char name[64] = {0};
    const char *text = op->in.data[i].name.text;
    for (size_t k = 0; text[k] && k < sizeof name - 1; k++)
      name[k] = (char)tolower((unsigned char)text[k]);
    if (op->in.data[i].flags & GLOW_PORT_OPTIONAL)
      glow_text_printf(out,
                       "  const bool has_%s = glow_node_in(g->n, %u) != NULL;\n  (void)has_%s;\n",
                       name, i, name);
  }
}

void slopes_write(const OpFile *file, const OpDecl *op, GlowText *out) {
  glow_text_printf(out,
                   "  GlowExpand expand = glow_expand_begin(g->b, g->n, %u);\n  (void)expand;\n",
                   expand_key(op));
  declarations(op, out);
  ExprWriter w = {.file = file, .op = op, .out = out, .indent = 2, .plain = true};
  for (uint32_t i = 0; i < op->grads.count; i++)
    if (is_slope(&op->grads.data[i]))
      write_item(&w, &op->grads.data[i]);
}

/* ---- As text --------------------------------------------------------------------------------- */

static void put_expr(const Expr *e, bool inner, GlowText *out) {
  bool brackets = inner && e->kind >= EXPR_BINARY;
  if (e->kind <= EXPR_VALUE) {
    glow_text_puts(out, e->text);
    return;
  }
  if (e->kind == EXPR_CALL || brackets)
    glow_text_printf(out, "%s(", e->kind == EXPR_CALL ? e->text : "");
  if (e->kind == EXPR_UNARY)
    glow_text_puts(out, e->text);
  for (uint32_t i = 0; i < e->nargs; i++) {
    const char *between = e->kind == EXPR_CALL                 ? ","
                          : e->kind == EXPR_SELECT && i == 2 ? " :"
                          : e->kind == EXPR_SELECT           ? " ?"
                                                               : e->text;
    if (i)
      glow_text_printf(out, "%s%s ", e->kind == EXPR_BINARY ? " " : "", between);
    put_expr(e->args[i], e->kind != EXPR_CALL && !(e->kind == EXPR_SELECT && i == 2), out);
  }
  if (e->kind == EXPR_CALL || brackets)
    glow_text_putc(out, ')');
}

/* e with the names of operands and of the result. */
static Expr *renamed(const OpFile *file, const OpDecl *op, Expr *e, const Expr *body) {
  if (e->kind == EXPR_PORT || is_result(e, body)) {
    bool in = e->kind == EXPR_PORT && e->port < op->in.count;
    return c_value(file, in ? op->in.data[e->port].name.text : op->out.data[0].name.text);
  }
  Expr *args[3] = {0};
  for (uint32_t i = 0; i < e->nargs; i++)
    args[i] = renamed(file, op, e->args[i], body);
  return expr_make(file, e->kind, e->text, args[0], args[1], args[2]);
}

void slope_text(const OpFile *file, const OpDecl *op, const GradDecl *g, GlowText *out,
                GlowText *corners) {
  Expr *slope = slope_of(file, op, g), *body = op->scalar.text ? body_tree(file, op) : NULL;
  put_expr(renamed(file, op, slope, body), false, out);
  const SlopeDecl *row =
      g->kind == GRAD_DERIVED && body->kind == EXPR_CALL ? find_slope(file, body->text) : NULL;
  const char *doc = g->doc.text ? g->doc.text : row ? row->doc : NULL;
  if (doc && strstr(glow_text_cstr(corners), doc) == NULL)
    glow_text_printf(corners, "%s%s", corners->size ? "; " : "", doc);
}

/* ---- The check ------------------------------------------------------------------------------- */

static void add_derived(const OpFile *file, OpDecl *op) {
  if (!op->scalar.text || !may_be_float(op, &op->out.data[0]))
    return;
  for (uint32_t i = 0; i < op->in.count; i++) {
    const PortDecl *p = &op->in.data[i];
    GradDecl g = {.kind = GRAD_DERIVED, .port = p->name, .loc = p->name.loc, .operand = i};
    if (may_be_float(op, p) && !find_grad(op, i))
      glow_vec_push(file->arena, &op->grads, g);
  }
}

static bool is_known(const OpFile *file, const OpDecl *op, const char *word) {
  if (isdigit((unsigned char)*word) || strcmp(word, "true") == 0 || strcmp(word, "false") == 0)
    return true;
  for (uint32_t i = 0; i < op->members.count; i++)
    if (strcmp(op->members.data[i].name.text, word) == 0)
      return true;
  for (uint32_t i = 0; i < op->in.count; i++)
    if ((op->in.data[i].flags & GLOW_PORT_OPTIONAL) && strncmp(word, "has_", 4) == 0 &&
        expr_find_port(op, word + 4) == (int)i)
      return true;
  for (uint32_t i = 0; i < file->enums.count; i++)
    for (uint32_t k = 0; k < file->enums.data[i]->values.count; k++)
      if (strcmp(enum_value(file, file->enums.data[i], file->enums.data[i]->values.data[k].text),
                 word) == 0)
        return true;
  return false;
}

/* Reports words without a meaning, and functions that no operator computes. */
static void check_words(const OpFile *file, const OpDecl *op, const Expr *e, GlowLoc loc) {
  if (e->kind == EXPR_STATIC_WORD && !is_known(file, op, e->text))
    glow_error(file->ctx, loc, "'%s' in a slope of '%s' is neither operand nor member", e->text,
               op->name.text);
  if (e->kind == EXPR_CALL && !find_call(file, e->text, e->nargs))
    glow_error(file->ctx, loc, "no operator computes %s, which a slope of '%s' calls", e->text,
               op->name.text);
  for (uint32_t i = 0; i < e->nargs; i++)
    check_words(file, op, e->args[i], loc);
}

static void check_row(const OpFile *file, uint32_t k) {
  const SlopeDecl *d = file->slopes.data[k];
  const OpDecl *op = as_operator(file, d);
  Slopes s;
  for (uint32_t i = 0; i < k; i++)
    if (strcmp(file->slopes.data[i]->function.text, d->function.text) == 0)
      glow_error(file->ctx, d->function.loc, "%s has a second row of slopes", d->function.text);
  if (d->params.count > 3 || !read_slopes(file, op, d->code, &s) || s.count > d->params.count)
    glow_error(file->ctx, d->code.loc, "the slopes of %s are not an expression for each parameter",
               d->function.text);
  else
    for (uint32_t i = 0; i < s.count; i++)
      check_words(file, op, s.exprs[i], d->code.loc);
}

void slopes_check(const OpFile *file) {
  for (uint32_t i = 0; i < file->slopes.count; i++)
    check_row(file, i);
  for (uint32_t i = 0; i < file->ops.count && !file->ctx->errors; i++) {
    OpDecl *op = file->ops.data[i];
    add_derived(file, op);
    for (uint32_t k = 0; k < op->grads.count && !file->ctx->errors; k++) {
      const GradDecl *g = &op->grads.data[k];
      Expr *e = is_slope(g) ? slope_of(file, op, g) : NULL;
      if (e && g->kind == GRAD_SLOPE)
        check_words(file, op, e, g->slope.loc);
      if (e && g->kind == GRAD_DERIVED)
        check_words(file, op, bound(file, op, e, body_tree(file, op)), op->scalar.loc);
    }
  }
}
