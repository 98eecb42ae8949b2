/* What the files of lib/pass share. */
#ifndef GLOW_PASS_PASS_INTERNAL_H
#define GLOW_PASS_PASS_INTERNAL_H

#include "pass/pass.h"

typedef enum GlowItemKind {
  GLOW_ITEM_PASS,
  GLOW_ITEM_FIXPOINT, /* fixpoint(...): its items again and again until nothing changes */
  GLOW_ITEM_LEVEL     /* O0, O1, O2: expanded by glow_pipeline_resolve */
} GlowItemKind;

typedef struct GlowPipelineItem GlowPipelineItem;
struct GlowPipelineItem {
  GlowItemKind kind;
  const GlowPass *pass;
  const char **names, **values; /* options; a flag has the value "" */
  uint32_t noptions;
  GlowPipelineItem *first, *last; /* FIXPOINT */
  int optimization;               /* LEVEL */
  const GlowNamedPipeline *named; /* LEVEL: it stands for this, not for an optimization; or NULL */
  GlowPipelineItem *next;
};

struct GlowPipeline {
  GlowContext *ctx;
  const GlowPassTable *table;
  GlowPipelineItem *first, *last;
};

/* A file that is written when the pipeline has succeeded. */
typedef struct GlowSideFile GlowSideFile;
struct GlowSideFile {
  GlowStr path;
  GlowText text;
  GlowSideFile *next;
};

/* One call of a pass, on a function or on the module, as the runner describes it to dumps, times,
 * statistics and bisection. */
typedef struct GlowPassCall {
  const GlowPipelineItem *item;
  const GlowFunction *function; /* NULL for module passes */
  uint32_t number;              /* from 1, in the order of the run */
} GlowPassCall;

/* ---- dump.c: -print-before, -print-after, -print-changed, -print-ir-dir ---------------------- */
typedef struct GlowDumps {
  GlowModule *module;
  const GlowRunnerOptions *options;
  bool compares;     /* against the text before each pass */
  GlowText previous; /* that text */
} GlowDumps;
/* False after a diagnostic about an option. Release with glow_dumps_release. */
bool glow_dumps_begin(GlowDumps *d, GlowModule *m, const GlowPassTable *table,
                      const GlowRunnerOptions *o);
void glow_dumps_release(void *dumps);
/* To be called before the first and after the last call of a pipeline's item; `number` counts the
 * items that ran. False: a file cannot be written. */
bool glow_dumps_before(GlowDumps *d, const GlowPass *pass, uint32_t number);
bool glow_dumps_after(GlowDumps *d, const GlowPass *pass, uint32_t number);

/* ---- times.c: -time-passes, -time-trace ------------------------------------------------------ */
typedef struct GlowSeconds {
  double wall, user;
} GlowSeconds;
typedef struct GlowTimes {
  GlowContext *ctx;
  const GlowPassTable *table;
  const GlowRunnerOptions *options;
  struct GlowPassTime *passes; /* one for each row of the table, then the verifier */
  GlowSeconds start;
  GlowText trace;
} GlowTimes;
void glow_times_begin(GlowTimes *t, GlowContext *ctx, const GlowPassTable *table,
                      const GlowRunnerOptions *o);
void glow_times_release(void *times);
GlowSeconds glow_times_now(const GlowTimes *t); /* zeros if nobody asks for times */
/* Adds what has passed since `since`; call NULL: the verifier. */
void glow_times_add(GlowTimes *t, const GlowPassCall *call, GlowSeconds since);
/* Prints the table, writes the trace; false if it cannot be written. */
bool glow_times_end(GlowTimes *t);

/* ---- stats.c: -stats, -stats-json ------------------------------------------------------------ */
typedef struct GlowStatistics GlowStatistics;
/* NULL if nobody asks for them. */
GlowStatistics *glow_stats_begin(GlowModule *m, const GlowRunnerOptions *o);
void glow_stats_count(GlowStatistics *s, const char *owner, const char *name, int64_t amount);
/* Prints them, writes the file; false if it cannot be written. */
bool glow_stats_end(GlowStatistics *s, GlowModule *m);

/* ---- bisect.c: -bisect-limit ----------------------------------------------------------------- */
typedef struct GlowBisect GlowBisect;
/* False after a diagnostic about the option; *bisect is NULL if it was not given. */
bool glow_bisect_begin(GlowContext *ctx, const char *limit, GlowBisect **bisect);
/* Whether the call runs, and with how many rewrites. b may be NULL. */
bool glow_bisect_allows(const GlowBisect *b, const GlowPassCall *call, uint64_t *rewrites);
/* Says on stderr what became of the call; run NULL: it was left out. */
void glow_bisect_report(const GlowBisect *b, const GlowPassCall *call, const GlowPassRun *run);

#endif
