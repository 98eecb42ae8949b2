/* Shared by print.c and print_payload.c. */
#ifndef GLOW_IR_PRINT_INTERNAL_H
#define GLOW_IR_PRINT_INTERNAL_H

#include "ir/ir_internal.h"

/* Prints a number with the fewest digits that read back; `single`: read back as a float. */
void glow_print_scalar(GlowText *out, const GlowScalar *v, bool single);
/* Whether the option elide_constants elides this initializer. */
bool glow_init_is_elided(const GlowInit *init);
bool glow_module_elides(const GlowModule *m);
/* Prints `payload <size>` and the bytes; with `omit`, a comment instead. */
void glow_print_payload(GlowText *out, const GlowModule *m, bool omit);

#endif
