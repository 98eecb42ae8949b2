/* Pieces: boxes of another value that Slice and Split cut out, in one form. */
#ifndef GLOW_TRANSFORMS_PIECES_H
#define GLOW_TRANSFORMS_PIECES_H

#include "transforms/transforms.h"

/* Element i along an axis of the piece is element start + i * step of the source. */
typedef struct GlowPiece {
  GlowValue *source; /* of a static type; or of a known one */
  uint32_t rank;
  int64_t start[GLOW_MAX_RANK], step[GLOW_MAX_RANK], size[GLOW_MAX_RANK];
} GlowPiece;

/* All of v, which has a static type; or a known one, whose symbols count as their largest extents.
 */
GlowPiece glow_piece_whole(GlowValue *v);
/* Describes output `out` of n as a piece of n's operand. False unless n is a Slice or a Split, as a
 * node or an instruction, and all its amounts are known. */
bool glow_piece_cut(const GlowNode *n, uint32_t out, GlowPiece *p);
/* The same where types are known: axes that are cut are exact, the others may be symbols. */
bool glow_piece_cut_known(const GlowNode *n, uint32_t out, GlowPiece *p);
/* The same for v, if a node with the predicate of `user` defines it. */
bool glow_piece_of(const GlowValue *v, const GlowNode *user, GlowPiece *p);
/* Whether p takes every element of its source in order; the second asks along axis k alone. */
bool glow_piece_is_whole(const GlowPiece *p);
bool glow_piece_is_whole_along(const GlowPiece *p, uint32_t k);
/* The Slice that cuts p out, with constants named after `n`; the source itself if p is all of it.
 * NULL after a diagnostic. */
GlowValue *glow_piece_build(GlowBuilder *b, const GlowNode *n, const GlowPiece *p);
/* What a Pad adds to each of the `rank` axes of its input: begins, then ends, in amounts[2 * rank].
 * False if the amounts are not known. */
bool glow_pad_amounts(const GlowNode *pad, uint32_t rank, int64_t *amounts);

#endif
