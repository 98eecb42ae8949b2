/* What the parts of the printer share. */
#ifndef GLOW_IR_PRINT_INTERNAL_H
#define GLOW_IR_PRINT_INTERNAL_H

#include "ir/ir_internal.h"

/* The digits of a number; `single` gives those of a float. */
void glow_print_scalar(GlowText *out, const GlowScalar *v, bool single);
/* Whether elide_constants leaves this initializer out. */
bool glow_init_is_elided(const GlowInit *init);
bool glow_module_elides(const GlowModule *m);
/* `payload <bytes>` and the bytes; with `omit` a comment in their place. */
void glow_print_payload(GlowText *out, const GlowModule *m, bool omit);

#endif
