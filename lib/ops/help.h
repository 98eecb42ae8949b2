/* Help on operators: their sections of the page Ops, and the names of equivalent operators in other
 * systems. Generated from the descriptions, like the table of desc.h. */
#ifndef GLOW_OPS_HELP_H
#define GLOW_OPS_HELP_H

#include "ops/op.h"
#include "support/text.h"

typedef struct GlowOpHelp {
  const char *text;        /* the section */
  const char *const *also; /* the clause `also`, then NULL; or NULL */
} GlowOpHelp;
extern const GlowOpHelp glow_op_help[GLOW_OP_COUNT];

/* The operator that is equivalent to the operator `name` of another system; the case of letters
 * does not matter. GLOW_OP_COUNT if there is none. */
GlowOp glow_op_from_other_name(const char *name, size_t length);
/* Prints all operators: the names of node and instruction, and the sentence of the description. */
void glow_ops_print(GlowText *out);

#endif
