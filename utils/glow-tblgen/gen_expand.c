/* Lowering rules from scalar bodies: `y = x < 0 ? alpha * x : x;` becomes a function that builds
 * Less, Mul and Where. A body that is one operation on its ports, such as `z = x + y`, makes its
 * operator a primitive: others are expressed by it. Comparisons come down to Less and Equal, logic
 * to Where, negation to Sub, minimum to Max, rounding up to Floor; all of that is exact.
 *
 * A function that no operator's body is alone is taken apart where functions.c can; with the clause
 * `lower body` an operator is that has a body of one such function. An expression without ports is
 * static: it is copied, and the C compiler evaluates it. */
#include <ctype.h>

#include "tblgen.h"

typedef enum ExprKind {
  EXPR_STATIC_WORD, /* a member, an enumerator, has_x, a number */
  EXPR_PORT,
  EXPR_CALL,
  EXPR_UNARY,
  EXPR_BINARY,
  EXPR_SELECT
} ExprKind;

typedef struct Expr Expr;
struct Expr {
  ExprKind kind;
  const char *text; /* word, function, or operator */
  uint32_t port;    /* EXPR_PORT: an input, or op->in.count for the result's variable */
  bool is_static, is_bool;
  Expr *args[3];
  uint32_t nargs;
};

typedef struct Reader {
  const OpFile *file;
  const OpDecl *op;
  const char *at;
  char token[64];
  bool failed;
} Reader;

/* ---- Reading --------------------------------------------------------------------------------- */

static void next(Reader *r) {
  static const char *const pairs[] = {"<=", ">=", "==", "!=", "&&", "||"};
  while (isspace((unsigned char)*r->at))
    r->at++;
  size_t n = 0;
  if (isalnum((unsigned char)*r->at) || *r->at == '_' || *r->at == '.')
    while (isalnum((unsigned char)r->at[n]) || r->at[n] == '_' || r->at[n] == '.')
      n++;
  else if (*r->at)
    n = 1;
  for (size_t i = 0; n == 1 && i < sizeof pairs / sizeof *pairs; i++)
    if (strncmp(r->at, pairs[i], 2) == 0)
      n = 2;
  if (n >= sizeof r->token) {
    r->failed = true;
    n = 0;
  }
  memcpy(r->token, r->at, n);
  r->token[n] = 0;
  r->at += n;
}

static bool is(const Reader *r, const char *token) { return strcmp(r->token, token) == 0; }

static bool accept(Reader *r, const char *token) {
  if (!is(r, token))
    return false;
  next(r);
  return true;
}

static void want(Reader *r, const char *token) {
  if (!accept(r, token))
    r->failed = true;
}

static Expr *make(Reader *r, ExprKind kind, const char *text, Expr *a, Expr *b, Expr *c) {
  Expr *e = GLOW_NEW(r->file->arena, Expr);
  *e = (Expr){.kind = kind, .text = glow_arena_copy(r->file->arena, text, strlen(text) + 1)};
  Expr *args[] = {a, b, c};
  e->is_static = kind == EXPR_STATIC_WORD || kind >= EXPR_UNARY;
  for (int i = 0; i < 3 && args[i]; i++) {
    e->args[e->nargs++] = args[i];
    e->is_static &= args[i]->is_static;
  }
  return e;
}

static bool same_word(const char *port, const char *word) {
  for (; *port && tolower((unsigned char)*port) == *word; port++, word++)
    ;
  return !*port && !*word;
}

/* The number of the input, or of the result as inputs + 1, that a word names; -1 if it is none. */
static int find_port(const OpDecl *op, const char *word) {
  for (uint32_t i = 0; i < op->in.count; i++)
    if (same_word(op->in.data[i].name.text, word))
      return (int)i;
  return same_word(op->out.data[0].name.text, word) ? (int)op->in.count : -1;
}

static bool is_bool_port(const PortDecl *p) {
  return p->type_kind == GLOW_PORT_KIND && p->var == GLOW_KIND_BOOL;
}

static bool is_bool_member(const OpDecl *op, const char *word) {
  for (uint32_t i = 0; i < op->members.count; i++)
    if (strcmp(op->members.data[i].name.text, word) == 0)
      return op->members.data[i].member_type == GLOW_MEMBER_BOOL;
  return false;
}

static Expr *read_expr(Reader *r);

static Expr *read_call(Reader *r, const char *name) {
  Expr *args[3] = {0};
  for (uint32_t i = 0; !is(r, ")") && !r->failed; i++) {
    if (i == 3 || (i && !accept(r, ","))) {
      r->failed = true;
      break;
    }
    args[i] = read_expr(r);
  }
  want(r, ")");
  return make(r, EXPR_CALL, name, args[0], args[1], args[2]);
}

static Expr *read_primary(Reader *r) {
  if (accept(r, "(")) {
    Expr *e = read_expr(r);
    want(r, ")");
    return e;
  }
  char word[sizeof r->token];
  strcpy(word, r->token);
  if (!isalnum((unsigned char)*word) && *word != '_') {
    r->failed = true;
    return make(r, EXPR_STATIC_WORD, "0", NULL, NULL, NULL);
  }
  next(r);
  if (accept(r, "("))
    return read_call(r, word);
  int port = find_port(r->op, word);
  Expr *e = make(r, port < 0 ? EXPR_STATIC_WORD : EXPR_PORT, word, NULL, NULL, NULL);
  e->port = (uint32_t)port;
  const OpDecl *op = r->op;
  e->is_bool = port < 0 ? is_bool_member(op, word)
                        : is_bool_port((uint32_t)port < op->in.count ? &op->in.data[port]
                                                                     : &op->out.data[0]);
  return e;
}

static Expr *read_unary(Reader *r) {
  static const char *const operators[] = {"-", "!", "~"};
  for (int i = 0; i < 3; i++)
    if (accept(r, operators[i])) {
      Expr *e = make(r, EXPR_UNARY, operators[i], read_unary(r), NULL, NULL);
      e->is_bool = i == 1;
      return e;
    }
  return read_primary(r);
}

/* Binary operators by falling precedence, as in C. */
static const char *const levels[][5] = {{"*", "/"},   {"+", "-"}, {"<", ">", "<=", ">="},
                                        {"==", "!="}, {"&"},      {"^"},
                                        {"|"},        {"&&"},     {"||"}};
enum { NLEVELS = sizeof levels / sizeof *levels, FIRST_COMPARISON = 2, FIRST_LOGIC = 7 };

static Expr *read_binary(Reader *r, int level) {
  if (level < 0)
    return read_unary(r);
  Expr *e = read_binary(r, level - 1);
  for (int i = 0; i < 5 && levels[level][i] && !r->failed;) {
    if (!accept(r, levels[level][i])) {
      i++;
      continue;
    }
    e = make(r, EXPR_BINARY, levels[level][i], e, read_binary(r, level - 1), NULL);
    e->is_bool =
        (level >= FIRST_COMPARISON && level < FIRST_COMPARISON + 2) || level >= FIRST_LOGIC;
    i = 0;
  }
  return e;
}

static Expr *read_expr(Reader *r) {
  Expr *e = read_binary(r, NLEVELS - 1);
  if (r->failed || !accept(r, "?"))
    return e;
  Expr *then = read_expr(r);
  want(r, ":");
  e = make(r, EXPR_SELECT, "?", e, then, read_expr(r));
  e->is_bool = then->is_bool;
  return e;
}

/* ---- Which operators stand for what ---------------------------------------------------------- */

/* The body of op as one expression, if it is a single assignment of the result. */
static Expr *sole_expression(const OpFile *file, const OpDecl *op) {
  Reader r = {.file = file, .op = op, .at = op->scalar.text};
  next(&r);
  if (find_port(op, r.token) != (int)op->in.count)
    return NULL;
  next(&r);
  want(&r, "=");
  Expr *e = read_expr(&r);
  want(&r, ";");
  return r.failed || *r.token ? NULL : e;
}

/* Whether op is this one operation on its ports in order. */
static bool is_atom(const OpFile *file, const OpDecl *op, const Expr *like) {
  const Expr *e = op->scalar.text && !op->members.count ? sole_expression(file, op) : NULL;
  if (!e || e->kind != like->kind || strcmp(e->text, like->text) || e->nargs != like->nargs ||
      e->nargs != op->in.count)
    return false;
  for (uint32_t i = 0; i < e->nargs; i++)
    if (e->args[i]->kind != EXPR_PORT || e->args[i]->port != i)
      return false;
  return true;
}

static const OpDecl *find_atom(const OpFile *file, const Expr *like) {
  for (uint32_t i = 0; i < file->ops.count; i++)
    if (is_atom(file, file->ops.data[i], like))
      return file->ops.data[i];
  return NULL;
}

const OpDecl *find_call(const OpFile *file, const char *name, uint32_t nargs) {
  Expr like = {.kind = EXPR_CALL, .text = name, .nargs = nargs};
  return find_atom(file, &like);
}

/* ---- Writing --------------------------------------------------------------------------------- */

typedef struct Writer {
  const OpFile *file;
  const OpDecl *op;
  GlowText *out;
  int values, indent;
  bool failed, needs; /* needs: what is written will be compiled */
} Writer;

static void line(Writer *w) {
  for (int i = 0; i < w->indent; i++)
    glow_text_puts(w->out, "  ");
}

static void put_static(const Expr *e, GlowText *out) {
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
    put_static(e->args[i], out);
  }
  glow_text_putc(out, ')');
}

static int value(Writer *w, const Expr *e);

/* GlowValue *vN = glow_expand_WHAT(&e, ...); returns N. */
static int step(Writer *w, const char *what, const OpDecl *op, const int *args, uint32_t nargs) {
  line(w);
  glow_text_printf(w->out, "GlowValue *v%d = glow_expand_%s(&expand", w->values, what);
  if (op)
    glow_text_printf(w->out, ", GLOW_OP_%s", op->upper);
  for (uint32_t i = 0; i < nargs; i++)
    glow_text_printf(w->out, ", v%d", args[i]);
  glow_text_puts(w->out, ");\n");
  return w->values++;
}

static int static_value(Writer *w, const Expr *e) {
  line(w);
  glow_text_printf(w->out, "GlowValue *v%d = glow_expand_%s(&expand, ", w->values,
                   e->is_bool ? "bool" : "number");
  put_static(e, w->out);
  glow_text_puts(w->out, ");\n");
  return w->values++;
}

/* A choice that members or absent operands make: only one side is built. */
static int static_select(Writer *w, const Expr *e) {
  int result = w->values++;
  line(w);
  glow_text_printf(w->out, "GlowValue *v%d;\n", result);
  for (int side = 1; side <= 2; side++) {
    line(w);
    glow_text_puts(w->out, side == 1 ? "if (" : "} else {\n");
    if (side == 1) {
      put_static(e->args[0], w->out);
      glow_text_puts(w->out, ") {\n");
    }
    w->indent++;
    int v = value(w, e->args[side]);
    line(w);
    glow_text_printf(w->out, "v%d = v%d;\n", result, v);
    w->indent--;
  }
  line(w);
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

/* build_glow_x(&expand, ...) for double, build_glow_xf for the kinds that compute in float. */
static int function_call(Writer *w, const Expr *e, const int *args) {
  const char *name = e->kind == EXPR_CALL ? math_call(w->file, e->text) : NULL;
  if (!name) {
    w->failed = true;
    return 0;
  }
  line(w);
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

static int operation(Writer *w, const Expr *e) {
  Expr like = *e;
  if (e->kind == EXPR_BINARY && (strcmp(e->text, "/") == 0 || strcmp(e->text, "==") == 0)) {
    like.kind = EXPR_CALL; /* on floating-point values DIV is `/`, on all EQUAL is `==` */
    like.text = *e->text == '/' ? "DIV" : "EQUAL";
  }
  int args[3];
  for (uint32_t i = 0; i < e->nargs; i++)
    args[i] = value(w, e->args[i]);
  for (size_t i = 0; i < sizeof derived / sizeof *derived; i++)
    if (derived[i].kind == e->kind && strcmp(derived[i].text, e->text) == 0)
      return step(w, derived[i].name, NULL, args, e->nargs);
  const OpDecl *op = find_atom(w->file, &like);
  if (!op || op == w->op)
    return function_call(w, &like, args);
  static const char *const steps[] = {"", "1", "2", "3"};
  return step(w, steps[e->nargs], op, args, e->nargs);
}

static int value(Writer *w, const Expr *e) {
  if (e->is_static)
    return static_value(w, e);
  if (e->kind == EXPR_PORT) {
    int v = w->values++;
    line(w);
    glow_text_printf(w->out, "GlowValue *v%d = p_%s;\n", v, e->text);
    return v;
  }
  return e->kind == EXPR_SELECT && e->args[0]->is_static ? static_select(w, e) : operation(w, e);
}

/* [if (static)] result = expr; */
static void statement(Writer *w, Reader *r) {
  bool guarded = accept(r, "if");
  if (guarded) {
    want(r, "(");
    Expr *condition = read_expr(r);
    want(r, ")");
    w->failed |= !condition->is_static;
    line(w);
    glow_text_puts(w->out, "if (");
    put_static(condition, w->out);
    glow_text_puts(w->out, ") {\n");
    w->indent++;
  }
  w->failed |= find_port(w->op, r->token) != (int)w->op->in.count;
  char result[sizeof r->token];
  strcpy(result, r->token);
  next(r);
  want(r, "=");
  Expr *e = read_expr(r);
  want(r, ";");
  int v = r->failed ? 0 : value(w, e);
  line(w);
  glow_text_printf(w->out, "p_%s = v%d;\n", result, v);
  if (guarded) {
    w->indent--;
    line(w);
    glow_text_puts(w->out, "}\n");
  }
}

/* The first operand of the type variable that the body is keyed by. */
static uint32_t key_port(const OpDecl *op) {
  for (uint32_t i = 0; op->vars.count && i < op->in.count; i++)
    if (op->in.data[i].type_kind == GLOW_PORT_VAR && op->in.data[i].var == 0)
      return i;
  return 0;
}

static void declarations(Writer *w) {
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
  const Expr *sole = op->members.count ? NULL : sole_expression(file, op);
  bool negated = false;
  for (size_t i = 0; sole && i < sizeof derived / sizeof *derived; i++)
    negated |= derived[i].kind == sole->kind && strcmp(derived[i].text, sole->text) == 0;
  if (sole && !negated && !body_rule && is_atom(file, op, sole))
    return false; /* a primitive */
  GlowText body;
  glow_text_init(&body, file->ctx);
  GlowDefer release;
  glow_defer_push(file->ctx, &release, glow_text_release_fn, &body);
  Writer w = {.file = file, .op = op, .out = &body, .indent = 1, .needs = out != NULL};
  char result[64] = {0};
  for (size_t k = 0; op->out.data[0].name.text[k] && k < sizeof result - 1; k++)
    result[k] = (char)tolower((unsigned char)op->out.data[0].name.text[k]);
  glow_text_printf(&body,
                   "\nstatic bool expand_%s(GlowBuilder *builder, const GlowNode *node, "
                   "GlowValue **results) {\n"
                   "  GlowExpand expand = glow_expand_begin(builder, node, %u);\n",
                   op->snake, key_port(op));
  declarations(&w);
  glow_text_printf(&body, "  GlowValue *p_%s = NULL;\n", result);
  Reader r = {.file = file, .op = op, .at = op->scalar.text};
  next(&r);
  while (*r.token && !r.failed)
    statement(&w, &r);
  glow_text_printf(&body, "  return glow_expand_end(&expand, p_%s, results);\n}\n", result);
  bool ok = !w.failed && !r.failed;
  if (ok && out)
    glow_text_bytes(out, body.data, body.size);
  glow_defer_pop(file->ctx, &release, true);
  return ok;
}
