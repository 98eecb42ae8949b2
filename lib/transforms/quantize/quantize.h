/* What the passes that quantize share. */
#ifndef GLOW_TRANSFORMS_QUANTIZE_H
#define GLOW_TRANSFORMS_QUANTIZE_H

#include "quantize/parameters.h"
#include "transforms/contraction.h"
#include "transforms/globs.h"

/* How much of 8 bits the weights of a contraction use.
 *
 *   pairs   as much as lets no sum of two neighbouring products with bytes leave 16 bits
 *   8       -127 to 127
 *   7       -63 to 63 */
typedef enum GlowWeightBits { GLOW_WEIGHTS_PAIRS, GLOW_WEIGHTS_8, GLOW_WEIGHTS_7 } GlowWeightBits;

typedef struct GlowWeightHow {
  GlowWeightBits bits;
  bool tensor; /* one scale for all, in place of one for each channel */
} GlowWeightHow;

/* The weights of a contraction, which must be constant, as an `eval` constant of i8, and the float
 * of a step: one number, or one for each result channel. NULL after a diagnostic. */
GlowValue *glow_store_weights(GlowPassRun *run, const GlowContraction *c, GlowWeightHow how,
                              GlowValue **scale);
/* Adds to the bias of c, whose weights are still those before, what rounding takes from results in
 * the mean; `range` tells the means of its operand's channels. Does nothing if it does not, or is
 * NULL, if the bias is not constant, or if c is a product without an Add that could take a bias.
 * False after a diagnostic. */
bool glow_quantize_bias(GlowPassRun *run, const GlowContraction *c, GlowConstness *constness,
                        const GlowRange *range, GlowValue *stored, GlowValue *scale);

/* What -quantize and -quantize-dynamic are told about nodes. */
typedef struct GlowQuantNodeOptions {
  GlowWeightHow weights;
  GlowGlobs keep, nodes; /* names of operators, results, nodes; %NAME: only of results. No `nodes`:
                            all */
  bool assert_all;
} GlowQuantNodeOptions;

/* False after a diagnostic. */
bool glow_quantize_read_node_options(GlowPassRun *run, GlowQuantNodeOptions *o);
/* Why the options keep n in float; NULL: they do not. */
const char *glow_quant_unwanted(GlowQuantNodeOptions *o, const GlowNode *n);
/* Warns of names in the options that glow_quant_unwanted found in no node of run->function. */
void glow_quant_warn_of_names(const GlowQuantNodeOptions *o);
/* Counts n, and says why it stays in float unless `reason` is NULL. False if the options make an
 * error of that. */
bool glow_quant_tell(GlowPassRun *run, const GlowQuantNodeOptions *o, const GlowNode *n,
                     const char *reason);

/* The file that the option `ranges` names. NULL after a diagnostic. */
GlowRanges *glow_quantize_read_ranges(GlowPassRun *run);
/* The function that the ranges are of. NULL after an error. */
GlowFunction *glow_quantize_function(GlowPassRun *run, const GlowRanges *r);
/* The number that an option's text is. False after an error: it is none from least to most. */
bool glow_quantize_read_number(GlowPassRun *run, const char *option, const char *text, double least,
                               double most, double *value);

/* How many times too large for a value a scale may be that it shares, unless `tie` says. */
#define GLOW_USUAL_TIE 4.0

/* The options of -quantize. */
typedef struct GlowQuantizeOptions {
  GlowRanges *ranges;
  GlowCalibration calibrate;
  double percent; /* of percentile */
  GlowQuantScheme scheme;
  GlowKind kind;
  GlowQuantNodeOptions nodes;
  double tie;
  bool inputs, outputs, partial, all;
  bool keep_biases; /* they do not make up for rounded weights */
} GlowQuantizeOptions;

/* False after a diagnostic. */
bool glow_quantize_read_options(GlowPassRun *run, GlowQuantizeOptions *o);

/* A floating-point value of the function. */
typedef struct GlowQuantValue GlowQuantValue;
struct GlowQuantValue {
  GlowValue *value;
  const GlowRange *range; /* NULL: there is none */
  GlowQuantValue *tied;   /* towards the head of the values with the same parameters; NULL: this is
                             the head, which has the next seven fields for all of them */
  bool ranged;            /* a value has a range; else min, max and least mean nothing */
  double min, max;        /* what all of them need; 0 lies between */
  double least;           /* the smallest max - min of one that is more than 0; infinite: none is */
  bool right;             /* one is the right operand of a product: i8 with offset 0 */
  bool leads;             /* others are tied to it */
  const GlowRange *fixed; /* the line that gives the parameters, or NULL */
  bool rooted;    /* a contraction computes it, or element-wise nodes on the result of one */
  bool converted; /* Quantize and Dequantize follow it */
};

/* A node of the function, outside of regions. */
typedef struct GlowQuantNode {
  GlowNode *node;
  GlowQuantForm form;
  const char *reason;  /* why it stays in float; NULL: it does not, or it has no part in it */
  const char *sharing; /* which values it ties by `tie`, if that is more than usual; or NULL */
} GlowQuantNode;

/* Which nodes of a function work on quantized values, and which values become such. */
typedef struct GlowQuantPlan {
  GlowPassRun *run;
  GlowQuantizeOptions *options;
  GlowConstness *constness;
  GLOW_VEC(GlowQuantNode) nodes;     /* in order */
  GLOW_VEC(GlowQuantValue *) values; /* in the order of the text */
  GlowMap *by_node, *by_value;       /* to a GlowQuantNode, to a GlowQuantValue */
  bool failed;                       /* an error was reported */
} GlowQuantPlan;

/* Plans for run->function. False after diagnostics: a value that is needed has no range, or had NaN
 * or infinities. */
bool glow_quantize_plan(GlowQuantPlan *p);
/* Whether n works on quantized values. */
bool glow_quant_is_quantized(const GlowQuantPlan *p, const GlowNode *n);
/* The value of operand i of n, if it is a floating-point one that counts; of a contraction these
 * are X and W. NULL for others and for constants. */
GlowQuantValue *glow_quant_operand(const GlowQuantPlan *p, const GlowNode *n, uint32_t i);
/* The parameters of a value that is converted. */
GlowQuantParameters glow_quant_parameters_of(const GlowQuantPlan *p, const GlowQuantValue *v);

#endif
