/* Who reads and writes which part of a buffer. */
#ifndef GLOW_ANALYSIS_SPANS_H
#define GLOW_ANALYSIS_SPANS_H

#include "ir/ir.h"

/* How many instructions passes look ahead or back; keeps their time linear in the program's
 * length. */
enum { GLOW_MAX_DISTANCE = 4096 };
/* What an instruction does to elements: bits of an `access`. */
enum { GLOW_READS = 1, GLOW_WRITES = 2 };
/* What n, or anything in its regions, does to the elements of s. Views, allocs and deallocs do
 * nothing. */
unsigned glow_instr_access(const GlowNode *n, GlowSpan s);
/* Whether a node from `first` to `last` of one block may do any of `access` to s. True, too, if
 * they are too far from each other to look. */
bool glow_span_accessed(const GlowNode *first, const GlowNode *last, GlowSpan s, unsigned access);
/* Whether n itself writes every element of v, for certain. */
bool glow_instr_covers(const GlowNode *n, const GlowValue *v);
/* Whether nodes of b write every element of v, for certain: v itself, all of it under another
 * shape, or boxes of it that are views and have nothing in common. */
bool glow_block_covers(const GlowBlock *b, const GlowValue *v);
/* The node of block b that is n or has n inside; NULL if there is none. */
GlowNode *glow_node_in_block(GlowNode *n, const GlowBlock *b);
/* All uses of a buffer and of views of it, views among them; not its dealloc. */
typedef GLOW_VEC(GlowUse *) GlowUseVec;
GlowUseVec glow_buffer_all_uses(GlowArena *arena, const GlowValue *buffer);

#endif
