/* How much memory a function needs while it runs, as far as that is known before the run. */
#ifndef GLOW_ANALYSIS_FOOTPRINT_H
#define GLOW_ANALYSIS_FOOTPRINT_H

#include "ir/ir.h"

/* Bytes. */
typedef struct GlowFootprint {
  int64_t constants, variables;
  int64_t buffers; /* inputs and outputs */
  int64_t arena;   /* computed values: as planned, else what lives at the peak */
  int64_t scratch; /* of kernels, for all threads; a backend fills it in */
} GlowFootprint;

/* Of a graph or a program: storage that it touches, also through calls, its parameters, and its own
 * values. Bounded extents count as their bounds; values of open extents are left out. */
GlowFootprint glow_function_footprint(GlowFunction *f);

/* Whether the footprint p of f is at most `limit` bytes (0: no limit). If not, reports an error,
 * with notes that name the parts of p and the largest values that live at the peak. */
bool glow_footprint_fits(GlowFunction *f, const GlowFootprint *p, int64_t limit);

#endif
