/* Loops in segments: what a Loop keeps of each iteration for a Loop that comes behind it and goes
 * from the last iteration to the first, as -grad makes them, is kept for one segment at a time.
 *
 *   h..., tapes... = Loop(trips, h0...)              stacks what iteration i has, for
 *   d... = Loop(trips, d0...)                        iteration j, which reads tape[trips - 1 - j]
 *
 * becomes, with count * length + rest = trips,
 *
 *   m..., starts... = Loop(count, h0...)             stacks what each segment starts with
 *     Loop(length)                                   the same iterations, with no tapes
 *   h..., tapes... = Loop(rest, m...)
 *   d.1... = Loop(rest, d0...)
 *   d... = Loop(count, d.1...)
 *     tapes... = Loop(length, starts[count - 1 - j]) the iterations of a segment again
 *     Loop(length)                                   and back
 *
 * The loop over segments stacks and reads in the same way: so it can be cut into segments again. */
#ifndef GLOW_TRANSFORMS_SEGMENTS_H
#define GLOW_TRANSFORMS_SEGMENTS_H

#include "ir/ir.h"

/* Cuts the loop of f that keeps the most bytes less for it into segments of about the root of its
 * trips, whose iterations then run twice. False, with nothing done, if no loop keeps less. Extents
 * of what the two loops carry and stack, and how often they run, must be known. */
bool glow_segment_loop(GlowArena *arena, GlowFunction *f);
/* The first Loop of f that stacks what its iterations have, and that is not cut because how often it
 * runs is known only while it does: so many segments cannot be divided evenly beforehand. NULL if
 * there is none. */
const GlowNode *glow_segment_open(const GlowFunction *f);

#endif
