/* Unified diffs of two texts, line by line. */
#ifndef GLOW_SUPPORT_DIFF_H
#define GLOW_SUPPORT_DIFF_H

#include "support/file.h"
#include "support/text.h"

/* Appends the hunks that turn a into b, with `context` unchanged lines round each, as diff -u
 * prints them; red and green if `color`. Returns false, and appends nothing, if the texts are
 * equal. Takes O(n log n) for texts whose lines are mostly different from each other, as those of
 * modules are. */
bool glow_diff(GlowText *out, GlowArena *scratch, GlowBytes a, GlowBytes b, uint32_t context,
               bool color);

#endif
