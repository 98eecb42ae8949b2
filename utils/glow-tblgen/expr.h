/* Expressions of scalar bodies and slopes: a reader, and a writer of C that builds nodes. */
#ifndef GLOW_TBLGEN_EXPR_H
#define GLOW_TBLGEN_EXPR_H

#include "tblgen.h"

typedef enum ExprKind {
  EXPR_STATIC_WORD, /* a member, an enumerator, has_x, a number */
  EXPR_PORT,
  EXPR_VALUE, /* `text` is C of type GlowValue * */
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

/* ---- Reading --------------------------------------------------------------------------------- */

typedef struct ExprReader {
  const OpFile *file;
  const OpDecl *op; /* whose ports and members the words name */
  const char *at;
  char token[64];
  bool failed;
} ExprReader;

/* Begins to read text, which stays the caller's. */
ExprReader expr_reader(const OpFile *file, const OpDecl *op, const char *text);
void expr_next(ExprReader *r);
bool expr_accept(ExprReader *r, const char *token);
void expr_want(ExprReader *r, const char *token);
Expr *expr_read(ExprReader *r);
Expr *expr_make(const OpFile *file, ExprKind kind, const char *text, Expr *a, Expr *b, Expr *c);
/* The number of the input, or of the result as inputs + 1, that a word names; -1 if it is none. */
int expr_find_port(const OpDecl *op, const char *word);

bool expr_equal(const Expr *a, const Expr *b);

/* The body of op as one expression, if it is a single assignment of the result; else NULL. */
Expr *expr_sole(const OpFile *file, const OpDecl *op);
/* Whether op is this one operation on its ports in order. */
bool expr_is_atom(const OpFile *file, const OpDecl *op, const Expr *like);
const OpDecl *expr_find_atom(const OpFile *file, const Expr *like);

/* ---- Writing --------------------------------------------------------------------------------- */

typedef struct ExprWritten {
  const Expr *expr;
  int value;
} ExprWritten;

typedef struct ExprWriter {
  const OpFile *file;
  const OpDecl *op;
  GlowText *out;
  int values, indent;
  bool failed, needs; /* needs: what is written will be compiled */
  /* Any operator may be used, not only those that -lower=all leaves; equal expressions are written
   * once. */
  bool plain;
  GLOW_VEC(ExprWritten) written;
} ExprWriter;

void expr_line(ExprWriter *w); /* the blanks before a line */
void expr_put_static(const Expr *e, GlowText *out);
/* Writes the nodes of e; returns N, where the C variable vN is their result. */
int expr_write(ExprWriter *w, const Expr *e);
/* Whether e is an operation that comes down to others: see lib/lower/expand.h. */
bool expr_is_derived(const Expr *e);

#endif
