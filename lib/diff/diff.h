/* The structural difference of two modules of one context: what one has to change in the first to
 * compute what the second does. Order and names of values do not matter, nor do locations. */
#ifndef GLOW_DIFF_DIFF_H
#define GLOW_DIFF_DIFF_H

#include "ir/ir.h"

typedef struct GlowDiffOptions {
  bool weights; /* compare the values of constants and variables, bit by bit, not only types */
} GlowDiffOptions;

/* Writes lines that begin with - (first), + (second) or ! (values differ) below `@@ where @@`
 * lines; nothing if there is no difference. Both modules must verify. *differ is set. False after
 * a diagnostic, when a value cannot be computed. */
bool glow_module_diff(GlowModule *a, GlowModule *b, const GlowDiffOptions *options, GlowText *out,
                      bool *differ);

#endif
