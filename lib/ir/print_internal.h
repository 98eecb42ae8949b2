/* Shared by print.c, print_payload.c, and the public functions that read members. */
#ifndef GLOW_IR_PRINT_INTERNAL_H
#define GLOW_IR_PRINT_INTERNAL_H

#include "ir/ir_internal.h"

/* Prints a number with the fewest digits that read back; `single`: read back as a float. */
void glow_print_scalar(GlowText *out, const GlowScalar *v, bool single);
/* Whether the option elide_constants elides this initializer. */
bool glow_init_is_elided(const GlowInit *init);
bool glow_module_elides(const GlowModule *m);
/* Prints the value of one member as the text has it, also a default. False: there is no such member.
 * `shards` of an instruction is 0 while nobody has decided. */
bool glow_node_print_member(GlowText *out, const GlowNode *n, const char *name);
/* Prints `payload <size>` and the bytes; with `omit`, a comment instead. */
void glow_print_payload(GlowText *out, const GlowModule *m, bool omit);

#endif
