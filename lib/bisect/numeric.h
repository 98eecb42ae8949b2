/* Numerical bisection: finds the pass after which a model computes other numbers, the rewrite in
 * the pass, the node whose value differs first, and a small module that shows the fault.
 *
 * After each pass that changed something the module is run on the same inputs, graphs by the graph
 * walker and programs by the program interpreter, so that no pass judges itself. */
#ifndef GLOW_BISECT_NUMERIC_H
#define GLOW_BISECT_NUMERIC_H

#include "driver/backend.h"
#include "driver/session.h"

typedef struct GlowNumericBisect {
  GlowSession *session; /* loaded, its inputs added and bound; passes change the module */
  const GlowPipeline *pipeline;
  GlowMath math;
  /* What outputs should be (by name); none: what the module gives before the first pass. */
  GlowBindings reference;
  GlowBindings inside; /* what values inside of a graph should be, where the reference has them */
  double rtol, atol;
  /* Compare these two on the module that the pipeline makes, instead of pass by pass; or NULL. */
  const GlowBackend *backends[2];
  GlowTier tier;       /* of their machine code */
  const char *reduced; /* write a test to this file, and its inputs beside it; NULL: do not */
  double reduce_time;  /* seconds of the processor to look for a smaller test; 0: no limit */
  bool verbose;        /* a line on stderr for each pass that changed something */
} GlowNumericBisect;

/* Prints what was found to stdout. *found: something differs. BAD_INPUT or IO after a diagnostic.
 */
GlowStatus glow_bisect_numeric(const GlowNumericBisect *b, bool *found);

typedef enum GlowFaultKind {
  GLOW_FAULT_VALUES, /* outputs are wrong */
  GLOW_FAULT_RUN,    /* the module cannot be run behind the pass */
  GLOW_FAULT_VERIFY, /* the pass leaves a module that does not verify */
  GLOW_FAULT_PASS    /* the pass fails */
} GlowFaultKind;

/* What shows the fault: a pass, or with NULL the two backends, on a module. */
typedef struct GlowNumericFault {
  const GlowNumericBisect *bisect;
  const char *pass; /* as text of a pipeline: "fold-bn<k=v>" */
  GlowStr entry;
  GlowFaultKind kind;
  GlowBindings values;  /* what stands for values that are cut off, beside the session's inputs */
  GlowBinding expected; /* without a pass and backends: the output that is wrong */
} GlowNumericFault;

/* What a pass that has just run did wrong to the module, as far as that shows without a run;
 * GLOW_FAULT_VALUES if nothing shows. */
GlowFaultKind glow_fault_of_pass(const GlowPassEvent *e);

/* Reduces *m, which the fault must show on, and writes the test. False after a diagnostic; a module
 * that does not show it is one. */
bool glow_fault_write(const GlowNumericFault *fault, GlowModule **m);
/* Whether the fault shows on a module, with inputs as glow_fault_write uses them. */
bool glow_fault_shows(const GlowNumericFault *fault, const GlowModule *m);

/* The smallest part of a graph around one value on which the fault shows, with random numbers for
 * what is cut off. NULL if there is none, or m is a program. */
GlowModule *glow_fault_cut(const GlowNumericFault *fault, const GlowModule *m, GlowStr node);
/* The node of a graph that defines `name`, alone, with placeholders for its operands and its
 * result. NULL if it stands in a region, or does not verify alone. */
GlowModule *glow_fault_cut_node(const GlowModule *m, GlowStr entry, GlowStr name);
/* Writes the test of m as it is, and destroys m. */
bool glow_fault_write_whole(const GlowNumericFault *fault, GlowModule *m);

/* For a module that differs from --reference before the first pass. Reports which node is to blame,
 * as far as that can be told, and which nodes share code with the passes; writes a test of the
 * node. `outputs` says which outputs differ. False after a diagnostic. */
bool glow_bisect_reference(const GlowNumericBisect *b, const GlowText *outputs);

/* Whether every output of `want` is in `got` within the tolerance; prints each that is not. */
bool glow_outputs_agree(GlowContext *ctx, const GlowBindings *got, const GlowBindings *want,
                        const GlowNumericBisect *b, GlowText *report);

#endif
