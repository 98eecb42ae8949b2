/* Programs that an execution selects for itself. Selection needs a context for types and a module
 * whose values may change theirs for a while. An execution has both in a room of its own
 * (support/room.h), made from the text of the program. So a run of new extents locks nothing and
 * allocates nothing, and many threads may select at once. */
#ifndef GLOW_BACKEND_CPU_SELECTOR_H
#define GLOW_BACKEND_CPU_SELECTOR_H

#include "exec/executable.h"
#include "ir/ir.h"

typedef struct GlowSelectorText GlowSelectorText;

/* Finds out what executions of an entry need, by selecting for some extents in a room: sets
 * entry->own and entry->most. They stay as they are if executions cannot select this program:
 * the interpreter or compiled code has to run a part of it. */
void glow_cpu_plan_selector(GlowEntry *entry, const GlowFunction *f);

/* GlowEngine.selector_begin, selector_at and selector_end. */
void *glow_cpu_selector_begin(const GlowEntry *entry, void *memory);
GlowEntry *glow_cpu_selector_at(void *own, const int64_t *extents);
void glow_cpu_selector_end(void *own);

#endif
