/* Unified diffs of two texts, line by line. */
#ifndef GLOW_SUPPORT_DIFF_H
#define GLOW_SUPPORT_DIFF_H

#include "support/file.h"
#include "support/text.h"

/* Appends the hunks that turn a into b, as diff -u prints them, with `context` unchanged lines
 * round each; red and green if `color`. Returns false, and appends nothing, if the texts are equal.
 * Takes O(n log n) time for n lines if most lines of a text differ from each other, as those of
 * modules do. */
bool glow_diff(GlowText *out, GlowArena *scratch, GlowBytes a, GlowBytes b, uint32_t context,
               bool color);

#endif
