/* Files of ranges: what the values of a function were in the runs of a profile, as lines of JSON
 * that people read, compare and edit.
 *
 *   {"glow":"ranges","version":1,"module":"digits","function":"main","text":"9f3c51d2a4b80e17",
 *    "samples":200}                                             (one line)
 *   {"value":"relu","op":"Relu","type":"float<1 x 8>","min":0.0,"max":4.8125,"nan":0,"inf":0,
 *    "exponent":3,"bins":[[2048,51234],[2049,410]]}             (one line for each value)
 *   {"value":"relu","channels":1,"mean":[0.5,1.25]}             of each slice of axis 1, of what
 *                                                               contractions read
 *   {"value":"relu","channels":1,"mean":[0.5,1.25],"min":[0.0,0.0],"max":[4.1,4.8125]}
 *                                                               and the ends, or 0; glow-run
 *                                                               --ranges-channels
 *   {"value":"mul","keep":"float","why":"cosine 0.91 alone"}    stays in float
 *   {"value":"concat","kind":"u8","scale":0.0625,"offset":3}    has these parameters
 *
 * Values stand in the order of the text, and the file depends on the samples alone, not on their
 * order. A value whose elements were all NaN or infinite, or that has none, lacks min, max and
 * bins. Bins are those of num/range.h: [number, count], ascending. */
#ifndef GLOW_QUANTIZE_RANGES_H
#define GLOW_QUANTIZE_RANGES_H

#include "quantize/observed.h"
#include "support/file.h"

typedef struct GlowRangeBin {
  uint32_t place; /* from 0 to GLOW_RANGE_BINS - 1 */
  int64_t count;  /* at least 1 */
} GlowRangeBin;

/* What a file says of a value. */
typedef struct GlowRange {
  GlowStr value, op, type;
  GlowLoc loc;   /* of the first line about it */
  bool observed; /* there is a line from a profile, which sets the next fields */
  bool bounded;  /* min, max and bins are there */
  float min, max;
  int64_t nan, inf;
  int exponent;
  GLOW_VEC(GlowRangeBin) bins;
  int64_t axis; /* the next three have its slices; -1: they are not given */
  GLOW_VEC(float) mean;
  GLOW_VEC(float) low, high; /* at most 0, at least 0; empty: they are not given */
  bool keep;                 /* it stays in float */
  GlowStr why;               /* NULL: no reason is given */
  bool fixed;                /* it has these parameters */
  GlowKind kind;
  float scale;
  int32_t offset;
} GlowRange;

typedef struct GlowRanges {
  GlowStr module, function; /* NULL: not given */
  uint64_t text;            /* glow_function_text_hash; 0: not given */
  int64_t samples;
  GLOW_VEC(GlowRange) list;
  GlowMap *by_value; /* interned name to its place in the list plus one */
} GlowRanges;

/* Reads a file; all of it lives in the context. NULL after diagnostics at its lines. */
GlowRanges *glow_ranges_read(GlowContext *ctx, const char *path);
/* The same of bytes in memory. `name` is for messages. */
GlowRanges *glow_ranges_parse(GlowContext *ctx, const char *name, const char *data, size_t size);
/* What is said of the value of this interned name; NULL: nothing. */
const GlowRange *glow_ranges_find(const GlowRanges *r, GlowStr value);

/* Whether the ranges are those of f: each value of the file is in f and, unless the texts are the
 * same, computed by the same operator, of the same rank and extents but for the first one. All
 * differences are errors at their lines; with `partial` they are warnings, and what the file says
 * of these values is forgotten. */
bool glow_ranges_fit(GlowRanges *r, GlowFunction *f, bool partial);

/* The line of a file before those of values. */
void glow_ranges_put_head(GlowText *out, const GlowModule *m, GlowStr function, uint64_t text,
                          int64_t samples);
/* The line of a value; `state` has GLOW_RANGE_SIZE numbers. */
void glow_ranges_put(GlowText *out, const GlowObserved *o, const int64_t *state);
/* The line of its channels: the means that `sums` has, the state of ObserveSums, and the ends of
 * `low` and `high`, unless these are NULL or not finite. None if a channel had no finite element.
 */
void glow_ranges_put_channels(GlowText *out, const GlowObserved *o, const GlowTensor *sums,
                              const GlowTensor *low, const GlowTensor *high);
/* A line that leaves the node of this value in float. */
void glow_ranges_put_keep(GlowText *out, GlowStr value, GlowStr why);

#endif
