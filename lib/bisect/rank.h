/* Ranking: which node of a network costs accuracy when the pass -quantize rounds it.
 *
 * Each node that the pass rounds is rounded alone, and the outputs are compared with those of the
 * network in float on samples. To keep until a bar holds, the worst nodes stay in float, one more
 * each time; then each of them is rounded again if the bar holds without it. */
#ifndef GLOW_BISECT_RANK_H
#define GLOW_BISECT_RANK_H

#include "driver/judge.h"
#include "driver/sampled.h"

/* What the rounded network must reach. */
typedef struct GlowBar {
  enum { GLOW_BAR_COSINE, GLOW_BAR_AGREEMENT, GLOW_BAR_SQNR } of;
  double least;
} GlowBar;

/* Reads "cosine>=0.995", "agreement>=0.99" or "sqnr>=30". False after an error. */
bool glow_bar_read(GlowContext *ctx, const char *text, GlowBar *bar);

typedef struct GlowRanking {
  GlowContext *ctx;
  GlowSampledSetup how;         /* the model and its samples; `passes` counts for nothing */
  const GlowPipeline *pipeline; /* -quantize is one of its passes */
  const GlowBar *bar;           /* NULL: only rank */
  const char *output;           /* with a bar: the file of ranges, with the nodes that are kept */
  bool verbose;                 /* a line on stderr for each step towards the bar */
} GlowRanking;

/* Prints the nodes to stdout, the worst one first; with a bar, the nodes that stay in float, too,
 * and writes the file. BAD_INPUT or IO after a diagnostic. */
GlowStatus glow_bisect_rank(const GlowRanking *r);

/* ---- What rank.c and keep.c share ------------------------------------------------------------ */

/* How far a rounded network is from that in float, and the seconds of the fastest run of each. */
typedef struct GlowOutcome {
  GlowDistance distance;
  double before, after;
} GlowOutcome;

/* A node that the pass rounds. */
typedef struct GlowRankedNode {
  GlowStr name; /* of its first result */
  const char *op;
  uint32_t place; /* in the text */
  bool judged;    /* `alone` is set; else it cannot be rounded alone */
  GlowOutcome alone;
  bool kept; /* in float */
} GlowRankedNode;

typedef struct GlowRankedList {
  const GlowRanking *ranking;
  GlowSampled plain; /* the network in float */
  GLOW_VEC(GlowRankedNode) nodes;
} GlowRankedList;

/* The pass -quantize. */
const GlowPass *glow_ranked_pass(void);
/* The option keep= or nodes= that names only this node, for a list. */
GlowStr glow_ranked_name(GlowContext *ctx, GlowStr node);
/* Runs the network that a pipeline makes on all samples. */
GlowStatus glow_rank_judge(GlowRankedList *l, const GlowPipeline *p, GlowOutcome *out);
/* Finds nodes that stay in float so that the bar holds. `all` is the network without any. BAD_INPUT
 * after an error: the bar does not hold even if all of them do. */
GlowStatus glow_rank_keep(GlowRankedList *l, const GlowOutcome *all);

#endif
