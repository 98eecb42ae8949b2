/* What takes the place of symbols: the reader of -bind and -bind-input, for models and for modules.
 *
 *   N=8  N=..64            an extent or a bound
 *   N=1..64 step 4         the symbol stays, and has this range
 *   M=N  M=$N              the symbol M is the symbol N, whatever that becomes
 *   M=past + N             M follows from others, each a number or a symbol with a range by then */
#ifndef GLOW_TENSOR_BINDS_H
#define GLOW_TENSOR_BINDS_H

#include "tensor/type.h"

typedef struct GlowBind {
  GlowStr name;          /* of the symbol, without $ */
  GlowStr model;         /* what a model calls it; NULL: nothing */
  GlowDim old, dim;      /* what it was, and what takes its place */
  bool set;              /* an option said what takes its place */
  GlowStr from;          /* the input whose shape said so, or NULL */
  struct GlowBind *same; /* the symbol that it becomes, or NULL */
  GlowStr sum;           /* what it follows from, or NULL */
} GlowBind;

typedef struct GlowBinds {
  GlowContext *ctx;
  GlowArena *arena;
  const char *option;         /* what errors begin with */
  GLOW_VEC(GlowBind) symbols; /* all are added before one is set */
} GlowBinds;

/* Reads VALUE of NAME=VALUE up to `end`: an extent, a bound, a range, the name of a symbol, or what
 * may be a sum of symbols, an unknown dim. False if it is none of them, with a message in *error if
 * it is a range of wrong numbers. */
bool glow_bind_parse(GlowContext *ctx, GlowStr name, const char *text, const char *end,
                     GlowDim *dim, const char **error);
/* Reads a shape: extents and bounds, or `?` for an axis that stays as it is (an unknown dim), with
 * 'x' between them. "scalar" and "" are rank 0. */
bool glow_bind_parse_shape(const char *text, GlowDim *dims, uint32_t *rank);

/* Adds a symbol; `old` says its name and range. */
void glow_binds_add(GlowBinds *b, GlowDim old, GlowStr model);
GlowBind *glow_binds_find(const GlowBinds *b, GlowStr name); /* NULL if there is none */
/* Says what takes the place of s; `from` is the input whose shape says so, or NULL. False after an
 * error: s does not allow it, or is something else already. */
bool glow_binds_set(GlowBinds *b, GlowBind *s, GlowDim dim, GlowStr from);
/* The same by the text of a VALUE. */
bool glow_binds_read(GlowBinds *b, GlowBind *s, const char *text, const char *end);
/* Symbols that no option has set, and that the model calls by a sum of others, follow from these if
 * they can: 'past + N'. */
void glow_binds_take_names(GlowBinds *b);
/* After all options: settles symbols that became others, or follow from others. */
void glow_binds_resolve(GlowBinds *b);

#endif
