/* Reads the expressions of scalar bodies, and finds the operator that an operation is. */
#include "expr.h"

#include <ctype.h>

/* ---- Reading --------------------------------------------------------------------------------- */

void expr_next(ExprReader *r) {
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

ExprReader expr_reader(const OpFile *file, const OpDecl *op, const char *text) {
  ExprReader r = {.file = file, .op = op, .at = text};
  expr_next(&r);
  return r;
}

static bool is(const ExprReader *r, const char *token) { return strcmp(r->token, token) == 0; }

bool expr_accept(ExprReader *r, const char *token) {
  if (!is(r, token))
    return false;
  expr_next(r);
  return true;
}

void expr_want(ExprReader *r, const char *token) {
  if (!expr_accept(r, token))
    r->failed = true;
}

Expr *expr_make(const OpFile *file, ExprKind kind, const char *text, Expr *a, Expr *b, Expr *c) {
  Expr *e = GLOW_NEW(file->arena, Expr);
  *e = (Expr){.kind = kind, .text = glow_arena_copy(file->arena, text, strlen(text) + 1)};
  Expr *args[] = {a, b, c};
  e->is_static = kind == EXPR_STATIC_WORD || kind >= EXPR_UNARY;
  for (int i = 0; i < 3 && args[i]; i++) {
    e->args[e->nargs++] = args[i];
    e->is_static &= args[i]->is_static;
  }
  return e;
}

bool expr_equal(const Expr *a, const Expr *b) {
  if (a == b)
    return true;
  if (a->kind != b->kind || strcmp(a->text, b->text) || a->nargs != b->nargs ||
      a->is_bool != b->is_bool)
    return false;
  for (uint32_t i = 0; i < a->nargs; i++)
    if (!expr_equal(a->args[i], b->args[i]))
      return false;
  return true;
}

static Expr *make(ExprReader *r, ExprKind kind, const char *text, Expr *a, Expr *b, Expr *c) {
  return expr_make(r->file, kind, text, a, b, c);
}

static bool same_word(const char *port, const char *word) {
  for (; *port && tolower((unsigned char)*port) == *word; port++, word++)
    ;
  return !*port && !*word;
}

int expr_find_port(const OpDecl *op, const char *word) {
  for (uint32_t i = 0; i < op->in.count; i++)
    if (same_word(op->in.data[i].name.text, word))
      return (int)i;
  return same_word(op->out.data[0].name.text, word) ? (int)op->in.count : -1;
}

static bool is_bool_port(const PortDecl *p) {
  return p->type_kind == GLOW_PORT_KIND && p->var == GLOW_KIND_BOOL;
}

static bool is_bool_word(const OpDecl *op, const char *word) {
  if (strcmp(word, "true") == 0 || strcmp(word, "false") == 0)
    return true;
  for (uint32_t i = 0; i < op->members.count; i++)
    if (strcmp(op->members.data[i].name.text, word) == 0)
      return op->members.data[i].member_type == GLOW_MEMBER_BOOL;
  return false;
}

static Expr *read_call(ExprReader *r, const char *name) {
  Expr *args[3] = {0};
  for (uint32_t i = 0; !is(r, ")") && !r->failed; i++) {
    if (i == 3 || (i && !expr_accept(r, ","))) {
      r->failed = true;
      break;
    }
    args[i] = expr_read(r);
  }
  expr_want(r, ")");
  return make(r, EXPR_CALL, name, args[0], args[1], args[2]);
}

static Expr *read_primary(ExprReader *r) {
  if (expr_accept(r, "(")) {
    Expr *e = expr_read(r);
    expr_want(r, ")");
    return e;
  }
  char word[sizeof r->token];
  strcpy(word, r->token);
  if (!isalnum((unsigned char)*word) && *word != '_') {
    r->failed = true;
    return make(r, EXPR_STATIC_WORD, "0", NULL, NULL, NULL);
  }
  expr_next(r);
  if (expr_accept(r, "("))
    return read_call(r, word);
  int port = expr_find_port(r->op, word);
  Expr *e = make(r, port < 0 ? EXPR_STATIC_WORD : EXPR_PORT, word, NULL, NULL, NULL);
  e->port = (uint32_t)port;
  const OpDecl *op = r->op;
  e->is_bool = port < 0 ? is_bool_word(op, word)
                        : is_bool_port((uint32_t)port < op->in.count ? &op->in.data[port]
                                                                     : &op->out.data[0]);
  return e;
}

static Expr *read_unary(ExprReader *r) {
  static const char *const operators[] = {"-", "!", "~"};
  for (int i = 0; i < 3; i++)
    if (expr_accept(r, operators[i])) {
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

static Expr *read_binary(ExprReader *r, int level) {
  if (level < 0)
    return read_unary(r);
  Expr *e = read_binary(r, level - 1);
  for (int i = 0; i < 5 && levels[level][i] && !r->failed;) {
    if (!expr_accept(r, levels[level][i])) {
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

Expr *expr_read(ExprReader *r) {
  Expr *e = read_binary(r, NLEVELS - 1);
  if (r->failed || !expr_accept(r, "?"))
    return e;
  Expr *then = expr_read(r);
  expr_want(r, ":");
  e = make(r, EXPR_SELECT, "?", e, then, expr_read(r));
  e->is_bool = then->is_bool;
  return e;
}

/* ---- Which operators stand for what ---------------------------------------------------------- */

Expr *expr_sole(const OpFile *file, const OpDecl *op) {
  ExprReader r = expr_reader(file, op, op->scalar.text);
  if (expr_find_port(op, r.token) != (int)op->in.count)
    return NULL;
  expr_next(&r);
  expr_want(&r, "=");
  Expr *e = expr_read(&r);
  expr_want(&r, ";");
  return r.failed || *r.token ? NULL : e;
}

bool expr_is_atom(const OpFile *file, const OpDecl *op, const Expr *like) {
  const Expr *e = op->scalar.text && !op->members.count ? expr_sole(file, op) : NULL;
  if (!e || e->kind != like->kind || strcmp(e->text, like->text) || e->nargs != like->nargs ||
      e->nargs != op->in.count)
    return false;
  for (uint32_t i = 0; i < e->nargs; i++)
    if (e->args[i]->kind != EXPR_PORT || e->args[i]->port != i)
      return false;
  return true;
}

const OpDecl *expr_find_atom(const OpFile *file, const Expr *like) {
  for (uint32_t i = 0; i < file->ops.count; i++)
    if (expr_is_atom(file, file->ops.data[i], like))
      return file->ops.data[i];
  return NULL;
}

const OpDecl *find_call(const OpFile *file, const char *name, uint32_t nargs) {
  Expr like = {.kind = EXPR_CALL, .text = name, .nargs = nargs};
  return expr_find_atom(file, &like);
}
