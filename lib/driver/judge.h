/* Judging a model by labels, or by another model, on the same samples. */
#ifndef GLOW_DRIVER_JUDGE_H
#define GLOW_DRIVER_JUDGE_H

#include "driver/samples.h"
#include "tensor/bindings.h"

/* Sums over samples of one output, a row of numbers for each sample. */
typedef struct GlowJudged {
  GlowStr name;
  int64_t classes;      /* elements of a row */
  int64_t right, near;  /* the label is the largest element, or among the five largest */
  int64_t agreed;       /* the largest element is where the other model has it */
  double cosine, least; /* of rows with those of the other model: the sum, and the smallest */
  double signal, noise; /* sums of squares: of the other model's elements, of the differences */
  double worst;         /* the largest difference */
} GlowJudged;

typedef struct GlowJudge {
  GlowContext *ctx;
  const GlowSamples *truth; /* labels: integers; NULL: none. The first output is judged by them */
  bool compares;            /* there is another model */
  int64_t samples;          /* so far */
  GLOW_VEC(GlowJudged) outputs;
} GlowJudge;

/* What must hold. Shares are from 0 to 1. */
typedef struct GlowVerdict {
  double accuracy;  /* at least this share of labels is right; less than 0: any */
  double agreement; /* likewise, of each output with that of the other model */
  double cosine;    /* no row has a smaller one; less than -1: any */
} GlowVerdict;

/* Judges n rows of the outputs of a run, which are samples j->samples and the next ones. `want` are
 * those of the other model, NULL without one; an output has the partner of its name, else that of
 * its place. The first call chooses the outputs: those that have `batch` rows. A difference that is
 * not finite counts as infinite, and the cosine of such a row as -1. False after a diagnostic. */
bool glow_judge_add(GlowJudge *j, const GlowBindings *got, const GlowBindings *want, int64_t batch,
                    int64_t n);
/* How far a model is from the other one, in the worst of its outputs. */
typedef struct GlowDistance {
  double cosine;    /* the smallest of a row */
  double agreement; /* the share of samples whose largest element is in the same place */
  double sqnr;      /* squares of values to squares of differences, in dB; infinite: none differs */
} GlowDistance;
GlowDistance glow_judge_distance(const GlowJudge *j);
/* A line for each output and way of judging. */
void glow_judge_print(GlowText *out, const GlowJudge *j);
/* False after an error for each requirement that does not hold. */
bool glow_judge_holds(const GlowJudge *j, const GlowVerdict *v);

#endif
