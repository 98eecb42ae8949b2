/* Which pieces of a program are worth to be compiled: what compiled code gains over library code,
 * by estimates from types and from the table of kernels. */
#ifndef GLOW_BACKEND_CPU_PAYS_H
#define GLOW_BACKEND_CPU_PAYS_H

#include "codegen/codegen.h"
#include "exec/executable.h"

/* Pieces that one kernel runs with the same params, so that most likely one function serves all. */
typedef struct GlowPieceGroup {
  const uint32_t *pieces; /* ascending */
  uint32_t count;
  double gain; /* multiply-adds, or what takes as long */
} GlowPieceGroup;

typedef struct GlowPieceGroups {
  const GlowPieceGroup *groups; /* the largest gain first */
  uint32_t count;
} GlowPieceGroups;

/* The groups that pay. Those that are left out would gain less than a thousandth of the time of
 * the program together; reference kernels and hosted steps gain nothing. What the library cannot
 * run is never left out. */
GlowPieceGroups glow_pieces_that_pay(GlowArena *arena, const GlowProgramData *program,
                                     const GlowEntryCode *code);

#endif
