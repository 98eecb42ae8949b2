/* The values of a module's storage: what initializers evaluate to, and what variables hold between
 * runs. They are no part of the module: each session, executable, run and pass has a table of its
 * own.
 *
 * A table is empty at first and evaluates what it is asked for. What takes memory it holds until it
 * is destroyed or told to forget it; constants in files are read where they lie. The module may get
 * more storage meanwhile, but an initializer must not change as long as the table holds its value.
 * One thread at a time may use a table. */
#ifndef GLOW_BACKEND_INTERP_VALUES_H
#define GLOW_BACKEND_INTERP_VALUES_H

#include "exec/executable.h"
#include "ir/ir.h"

typedef struct GlowValues GlowValues;

/* An empty table. Throws when memory is exhausted, as all of these functions do that say nothing
 * else. */
GlowValues *glow_values_create(GlowModule *m);
/* Needs the context but not the module. NULL is ignored. */
void glow_values_destroy(GlowValues *v);
void glow_values_destroy_fn(void *v); /* for glow_defer_push */

/* The value of a constant or variable of the module. NULL after a diagnostic. Borrowed, until the
 * table forgets it or gets another one, or, if one initializer alone reads it, has that evaluated:
 * then it is forgotten, and evaluated again for who asks again. */
const GlowTensor *glow_values_get(GlowValues *v, GlowStorage *s);
/* The same at a multiple of `align` (at most 64) bytes. */
const GlowTensor *glow_values_aligned(GlowValues *v, GlowStorage *s, size_t align);
/* What the table holds. NULL: nothing yet, or the value lies in a file. Throws nothing. */
const GlowTensor *glow_values_held(const GlowValues *v, const GlowStorage *s);

/* Takes t, also if this throws: the value from now on. NULL: the table holds nothing. */
void glow_values_set(GlowValues *v, const GlowStorage *s, GlowTensor *t);
/* Gives away what the table holds, which the caller frees. NULL: nothing. Throws nothing. */
GlowTensor *glow_values_take(GlowValues *v, const GlowStorage *s);
/* Frees what the table holds. Throws nothing. */
void glow_values_forget(GlowValues *v, const GlowStorage *s);

/* Computes those of the constants that are packed from others that are at hand (see pack.c), in up
 * to `threads` threads (0: one for each processor) if there is much to do, and gives back pages of
 * files that nothing else needs. Leaves the others, and all messages, to glow_values_get, but for
 * the time limit, at which this throws BAD_INPUT after a diagnostic. */
void glow_values_pack(GlowValues *v, GlowStorage *const *storage, uint32_t count, uint32_t threads);

/* Copies of the variables that `from` holds become values of v, a table of the same module. */
void glow_values_copy_variables(GlowValues *v, const GlowValues *from);
/* Moves the variables of a state of an executable of the module into v. The state is without values
 * then. */
void glow_values_take_state(GlowValues *v, GlowState *state);

#endif
