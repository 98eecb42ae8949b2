/* Extents that the inputs of a run, and variables that grow, must agree on. */
#ifndef GLOW_EXEC_EXTENTS_H
#define GLOW_EXEC_EXTENTS_H

#include "exec/executable.h"

/* Whether a port, or a variable that the program touches, names a symbol. */
bool glow_entry_has_ranges(const GlowEntry *e);
/* The extent of value i along an axis; -1: neither inputs nor the state have a tensor for it. */
int64_t glow_entry_extent(const GlowEntry *e, const GlowState *s, const GlowTensor *const *inputs,
                          uint32_t i, uint32_t axis);
/* The number of an extent for these of the entry's symbols. -1: it follows from other symbols. */
int64_t glow_entry_size(const GlowEntry *e, const GlowExtent *extent, const int64_t *extents);
/* Whether inputs and variables that name the same symbol have the same extent there, and what
 * follows from these lies in its range; inputs[i] is the tensor of value i, or NULL. From any
 * thread: nothing but these is read. */
bool glow_entry_extents_agree(const GlowEntry *e, const GlowState *s,
                              const GlowTensor *const *inputs);
/* Says what does not agree. BAD_INPUT, or what the context throws. Under the executable's lock. */
GlowStatus glow_entry_report_extents(const GlowEntry *e, const GlowState *s,
                                     const GlowTensor *const *inputs);

#endif
