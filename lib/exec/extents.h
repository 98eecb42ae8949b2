/* Extents that the inputs of a run must agree on. */
#ifndef GLOW_EXEC_EXTENTS_H
#define GLOW_EXEC_EXTENTS_H

#include "exec/executable.h"

/* Whether a port names a symbol. */
bool glow_entry_has_ranges(const GlowEntry *e);
/* Whether inputs that name the same symbol have the same extent there; inputs[i] is the tensor of
 * value i, or NULL. BAD_INPUT after a diagnostic. Under the executable's lock. */
GlowStatus glow_entry_check_extents(const GlowEntry *e, const GlowTensor *const *inputs);

#endif
