/* A function's body without Calls, as a copy. */
#ifndef GLOW_TRANSFORMS_INLINED_H
#define GLOW_TRANSFORMS_INLINED_H

#include "pass/pass.h"

/* A storage, and the value that is saved into it. */
typedef struct GlowSavedValue {
  GlowValue *storage, *value;
} GlowSavedValue;
typedef GLOW_VEC(GlowSavedValue) GlowSavedValues;

/* Copies the body of f, but not its terminator, to b. Calls become what they call, down to the last
 * one, but Calls of functions whose names are in `keep` stay. `map` maps f's parameters to values
 * at b, and gets the copies of f's values. Saves are not copied: *saved gets what f and its callees
 * save, by storage, and callees read what others have saved before. False after a diagnostic: a
 * callee has no body, or there are too many nodes. */
bool glow_clone_inlined(GlowPassRun *run, GlowBuilder *b, const GlowFunction *f,
                        const GlowMap *keep, GlowMap *map, GlowSavedValues *saved);
/* The copy of v, or v itself if it has none. */
GlowValue *glow_inlined_value(const GlowMap *map, GlowValue *v);
/* The function that a Call calls; NULL for other nodes. */
GlowFunction *glow_callee(const GlowNode *n);

#endif
