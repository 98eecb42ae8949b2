/* Extents that follow from others: expressions over symbols with ranges, in a normal form.
 *
 * A symbol of range `least..most step s` is least + s * i, with an index i from 0. A form is a sum
 * of a constant and terms; a term is a number times a product of at most four atoms. An atom is the
 * index of a symbol, a quotient floor(form / number), or min(form, 0). In a quotient all that the
 * number divides is taken out; so `$H / 2 * 2` is `$H` where the step of $H is even. Terms and
 * atoms have an order that names and numbers alone decide: equal forms have equal contents.
 *
 * Functions that return bool return false where a form would leave 64 bits or grow too large, or
 * the operation has no form; then *f has no meaning. f may be one of the operands. */
#ifndef GLOW_TENSOR_FORM_H
#define GLOW_TENSOR_FORM_H

#include "tensor/type.h"

enum { GLOW_FORM_TERMS = 16, GLOW_FORM_ATOMS = 4 };

typedef struct GlowAtom GlowAtom;
typedef struct GlowTerm {
  int64_t factor;                         /* not 0 */
  const GlowAtom *atoms[GLOW_FORM_ATOMS]; /* in order, at least one; NULL behind the last */
} GlowTerm;

struct GlowForm {
  int64_t constant;
  uint32_t count;
  GlowTerm terms[GLOW_FORM_TERMS]; /* of more atoms first, then in the order of atoms */
};

typedef enum GlowAtomKind { GLOW_ATOM_INDEX, GLOW_ATOM_QUOTIENT, GLOW_ATOM_NEGATIVE } GlowAtomKind;
/* Interned in the context. */
struct GlowAtom {
  GlowAtomKind kind;
  int64_t least, most;      /* its range */
  const GlowExtent *extent; /* INDEX: the symbol, which has no definition */
  const GlowForm *form;     /* QUOTIENT, NEGATIVE */
  int64_t divisor;          /* QUOTIENT */
};

/* ---- Making forms ---------------------------------------------------------------------------- */

GlowForm glow_form_number(int64_t n);
/* The form of an exact extent or a symbol with a range. */
bool glow_form_of(GlowContext *ctx, GlowDim d, GlowForm *f);
bool glow_form_add(const GlowForm *a, const GlowForm *b, GlowForm *f);
bool glow_form_sub(const GlowForm *a, const GlowForm *b, GlowForm *f);
bool glow_form_mul(const GlowForm *a, const GlowForm *b, GlowForm *f);
/* floor(a / b): b is a positive number, or a form above 0 that divides a as a polynomial. */
bool glow_form_div(GlowContext *ctx, const GlowForm *a, const GlowForm *b, GlowForm *f);
/* a - b * floor(a / b) */
bool glow_form_mod(GlowContext *ctx, const GlowForm *a, const GlowForm *b, GlowForm *f);
bool glow_form_min(GlowContext *ctx, const GlowForm *a, const GlowForm *b, GlowForm *f);
bool glow_form_max(GlowContext *ctx, const GlowForm *a, const GlowForm *b, GlowForm *f);

/* ---- Questions ------------------------------------------------------------------------------- */

bool glow_form_equals(const GlowForm *a, const GlowForm *b);
/* Bounds of all values of a. */
bool glow_form_range(const GlowForm *a, int64_t *least, int64_t *most);
/* All values of a are its constant plus multiples of this; 0: a is a number. */
int64_t glow_form_step(const GlowForm *a);

/* What takes the place of a symbol; false: nothing does. */
typedef bool GlowFormFn(void *arg, const GlowExtent *symbol, GlowForm *f);
/* The form with every symbol replaced. With numbers for all symbols this evaluates it. */
bool glow_form_replace(GlowContext *ctx, const GlowForm *a, GlowFormFn *fn, void *arg, GlowForm *f);
/* Sets *number to the extent e, a symbol or what follows by its definition, with the numbers that
 * fn gives symbols; it may be out of e's range. False: fn does not know a symbol. */
bool glow_extent_number(const GlowExtent *e, GlowFormFn *fn, void *arg, int64_t *number);
/* Calls fn for every symbol in a, those in atoms included. */
void glow_form_symbols(const GlowForm *a, void (*fn)(void *arg, const GlowExtent *symbol),
                       void *arg);

/* ---- Extents --------------------------------------------------------------------------------- */

/* The extent whose definition a is, within least..most: exact, a symbol with a range, or a symbol
 * with a definition. It has the name that this form has in the context already, or a new one. A
 * bound or unknown if no extent can be that. */
GlowDim glow_form_dim(GlowContext *ctx, const GlowForm *a, int64_t least, int64_t most);
/* The symbol that has this definition, within a range; NULL if the definition allows no extent in
 * the range, or is too long for a text. */
const GlowExtent *glow_extent_define(GlowContext *ctx, GlowStr symbol, const GlowForm *a,
                                     int64_t least, int64_t most);

/* ---- Text ------------------------------------------------------------------------------------ */

/* Finds the symbol with this name and a range; NULL: there is none. */
typedef const GlowExtent *GlowSymbolFn(void *arg, GlowStr name);
/* Reads sums, products, quotients (rounded down), remainders, min(a, b) and max(a, b) of symbols
 * and numbers, all of [text, end). On error returns false, with what is wrong in *error and where
 * in *at. */
bool glow_form_parse(GlowContext *ctx, const char *text, const char *end, GlowSymbolFn *find,
                     void *arg, GlowForm *f, const char **at, const char **error);
/* The text of a; reading gives a again. False if that is not possible within the limits. */
bool glow_form_print(const GlowForm *a, GlowText *out);

#endif
