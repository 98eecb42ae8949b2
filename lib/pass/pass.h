/* Passes: what a pass is, the language of pipelines, and the runner. No pass is known here by name:
 * the caller that parses a pipeline hands over a table of passes (driver/passes.h).
 *
 * A pass is a file with one function `bool glow_pass_<name>(GlowPassRun *run)` and a row in its
 * folder's passes.def. GRAPH passes are called once per func, PROGRAM passes once per program,
 * MODULE passes once. The function returns false after a diagnostic. `-name='key=value;flag'` sets
 * options of the pass. docs/HowTo-add-a-pass.md shows one from the file to its test. */
#ifndef GLOW_PASS_PASS_H
#define GLOW_PASS_PASS_H

#include "ir/ir.h"

typedef enum GlowPassLevel { GLOW_PASS_GRAPH, GLOW_PASS_PROGRAM, GLOW_PASS_MODULE } GlowPassLevel;

/* What a pass may do to numbers; docs/Numerics.md defines the classes. */
typedef enum GlowPassClass {
  GLOW_PASS_EXACT,
  GLOW_PASS_BOUNDED,
  GLOW_PASS_REQUESTED,
  GLOW_PASS_UNSAFE
} GlowPassClass;

/* What the passes of a run may do to numbers: -exact leaves bounded passes out, -fast-math allows
 * unsafe ones. */
typedef enum GlowMath { GLOW_MATH_BOUNDED, GLOW_MATH_EXACT, GLOW_MATH_FAST } GlowMath;
/* "bounded", "exact", "fast". */
extern const char *const glow_math_names[];
bool glow_math_allows(GlowMath math, GlowPassClass cls);

/* Predicates that a pass may need; checked by the runner before it runs.
 * NEED(enumerator, name, what holds, what to do if it does not). */
#define GLOW_NEEDS(NEED)                                                                           \
  NEED(BOUND, "bound", "no symbolic dimension is left", "run -bind or -bind-input first")          \
  NEED(INLINED, "inlined", "no Call is left", "run -inline=devices first")                         \
  NEED(LOWERED, "lowered", "no operator with a lowering rule is left", "run -lower first")         \
  NEED(PLAIN, "plain", "no operator works on a blocked layout", "run -drop-layouts first")         \
  NEED(MATERIALIZED, "materialized", "no eval constant is left", "run -materialize first")         \
  NEED(PLANNED, "planned", "every alloc has an offset", "run -plan-memory first")

typedef enum GlowNeedBit {
#define NEED(e, name, holds, hint) GLOW_NEED_BIT_##e,
  GLOW_NEEDS(NEED)
#undef NEED
      GLOW_NEED_COUNT
} GlowNeedBit;
typedef uint32_t GlowNeeds; /* bit GLOW_NEED_BIT_x: needs x */

typedef struct GlowPassRun GlowPassRun;

typedef struct GlowPassOption {
  const char *name;  /* "*": any name */
  const char *value; /* placeholder for help; NULL: a flag */
  const char *doc;
} GlowPassOption;

/* The bound of a BOUNDED pass: c = per_term * K + constant, where K is the number of products or
 * terms that the rewritten value adds up (docs/Numerics.md). */
typedef struct GlowPassBound {
  double per_term, constant;
  bool overall; /* S takes the largest magnitude of an operand for all its elements */
  bool ties;    /* quantized results move by one step, where the value before rounding lies within
                   c u S of a tie */
} GlowPassBound;

typedef struct GlowPass {
  const char *name; /* kebab-case */
  GlowPassLevel level;
  GlowPassClass cls;
  GlowPassBound bound; /* BOUNDED: what the row states */
  bool required;       /* later passes or other tools depend on its work: never left out */
  bool (*run)(GlowPassRun *run);
  const char *doc; /* one line */
  GlowNeeds needs;
  const GlowPassOption *options; /* ends with an entry without name */
} GlowPass;

/* A pipeline of graphs that others may name as an item. As of O0 to O2, passes that the run does
 * not allow are left out. */
typedef struct GlowNamedPipeline {
  const char *name, *passes;
} GlowNamedPipeline;

/* The passes and pipelines that pipelines may name, and what O0 to O2 stand for. */
typedef struct GlowPassTable {
  const GlowPass *passes;
  uint32_t count;
  const GlowNamedPipeline *named;
  uint32_t nnamed;
  /* The pipeline, as text, that O<optimization> stands for in a module of this level and target
   * (NULL: without a target). */
  const char *(*pipeline)(GlowContext *ctx, const char *target, GlowLevel level, int optimization);
  const char *to_programs; /* the pass that leaves programs in place of graphs */
  const char *retarget;    /* the pass that changes the module's target, to its option `to` */
} GlowPassTable;
const GlowPass *glow_pass_find(const GlowPassTable *table, const char *name);
/* What the writer of an unknown name in a pipeline may have meant; NULL if nothing is near. */
const char *glow_pass_nearest(GlowContext *ctx, const GlowPassTable *table, const char *name);
/* The passes by level with class, needs and options, for people. */
void glow_pass_table_print(const GlowPassTable *table, GlowText *out);

/* Checks one need over the whole module. With `report`, a diagnostic at the first place that breaks
 * the need says what the pass `who` needs and what to do. */
bool glow_need_holds(GlowModule *m, GlowNeedBit need, const char *who, bool report);

struct GlowPassRun {
  GlowContext *ctx;
  GlowModule *module;
  GlowFunction *function; /* NULL for module passes */
  const GlowPass *pass;
  const GlowPassTable *table; /* of the pipeline, and what the run may do to numbers: for passes */
  GlowMath math;              /* that look at what others would make of a copy */
  GlowArena *arena;           /* released after the pass */
  const char *const *option_names, *const *option_values;
  uint32_t noptions;
  uint64_t changes; /* rewrites made: glow_pass_changed */
  uint64_t limit;   /* rewrites that are allowed: -bisect-limit=N:R; UINT64_MAX: any number */
  bool in_batch;    /* between glow_pass_begin_batch and glow_pass_end_batch */
  bool stopped;     /* the limit ended the pass */
  uint32_t settled; /* the module's next id when the last rewrite was counted */
  bool keeps_last;  /* somebody asks for `last` */
  const char *last; /* what the last rewrite said; in `arena`, NULL: nothing */
  struct GlowSideFile **side;   /* see glow_pass_side_file */
  struct GlowStatistics *stats; /* NULL: nobody reads them */
};
const char *glow_pass_option(const GlowPassRun *run,
                             const char *name); /* NULL if not given; "" for flags */
/* The option as an integer; reports a value that is none and sets *ok to false. */
int64_t glow_pass_option_int(const GlowPassRun *run, const char *name, int64_t initial, bool *ok);
/* Counts a rewrite, and emits a remark at n if format is not NULL. Call it for each rewrite before
 * existing nodes change; new nodes may have been built already. If the limit of this run is used
 * up, the call does not return: the pass ends here, and the module has the earlier rewrites
 * alone. */
void glow_pass_changed(GlowPassRun *run, const GlowNode *n, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Does not return if the limit of this run is used up. For passes that call glow_pass_changed only
 * after a rewrite: they call this before. */
void glow_pass_check_limit(GlowPassRun *run);
/* Rewrites between begin and end are made all or none: for steps between which the module is
 * unsound. begin does not return if the limit of this run is used up. */
void glow_pass_begin_batch(GlowPassRun *run);
void glow_pass_end_batch(GlowPassRun *run);
/* A remark that is no rewrite: why something was not done, or a figure. */
void glow_pass_remark(GlowPassRun *run, GlowLoc loc, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Adds to a counter of the pass for -stats: "bytes shared". `name` is a literal. */
void glow_pass_count(GlowPassRun *run, const char *name, int64_t amount);
/* A text for the pass to fill. It is written to `path` when the whole pipeline has succeeded, and
 * never otherwise. */
GlowText *glow_pass_side_file(GlowPassRun *run, const char *path);

/* A parsed pipeline: passes with options, fixpoint(...) groups, and names of pipelines that are
 * expanded once the level of the module is known. Lives in the context. */
typedef struct GlowPipeline GlowPipeline;
GlowPipeline *glow_pipeline_create(GlowContext *ctx, const GlowPassTable *table);
/* Parses 'lower,fixpoint(cse,dce),fold-bn<k=v;flag>,O1'. NULL after a diagnostic, which has a caret
 * inside the text (its place is called -passes) and, for unknown names, a "did you mean". */
GlowPipeline *glow_pipeline_parse(GlowContext *ctx, const GlowPassTable *table, const char *text);
/* Adds one pass with its options as after -name= ("k=v;flag", NULL: none). False after a
 * diagnostic. */
bool glow_pipeline_add(GlowPipeline *p, const GlowPass *pass, const char *options);
void glow_pipeline_append(GlowPipeline *p, const GlowPipeline *other);
/* False after an error at `who` if the pipeline names a pass that `math` does not allow. Passes
 * that O0 to O2 stand for do not count. */
bool glow_pipeline_check_math(const GlowPipeline *p, GlowMath math, GlowLoc who);
/* -O0 to -O2 for a level and a target (NULL: none), without the passes that `math` does not allow.
 */
GlowPipeline *glow_pipeline_default(GlowContext *ctx, const GlowPassTable *table,
                                    const char *target, GlowLevel level, int optimization,
                                    GlowMath math);
/* A copy that lacks one pass, in groups too; O0 to O2 are not looked into. */
GlowPipeline *glow_pipeline_without(const GlowPipeline *p, const GlowPass *pass);
/* The value of an option of the first item that names the pass, in groups too: NULL if there is no
 * such item or it does not give the option. *found says whether there is one. */
const char *glow_pipeline_option(const GlowPipeline *p, const GlowPass *pass, const char *name,
                                 bool *found);
/* A copy in which all items of the pass have the option with this value; a flag has "". */
GlowPipeline *glow_pipeline_with(const GlowPipeline *p, const GlowPass *pass, const char *name,
                                 const char *value);
/* A copy in which each of O0 to O2 is replaced by the passes that it stands for. Those depend on
 * the levels and the target that m will have when the run reaches that item. */
GlowPipeline *glow_pipeline_resolve(const GlowPipeline *p, const GlowModule *m, GlowMath math);
void glow_pipeline_print(const GlowPipeline *p, GlowText *out);

/* A run of a pass on a function, or on the module, that has ended. Valid during the call. */
typedef struct GlowPassEvent {
  GlowModule *module;
  uint32_t number;              /* from 1, in the order of the run, as -bisect-limit counts */
  const GlowPipeline *pipeline; /* the pass alone, with its options */
  const GlowPass *pass;
  const GlowFunction *function; /* NULL for module passes; may have been replaced */
  bool ran;                     /* false: left out */
  bool ok;                      /* false: failed, after a diagnostic */
  uint64_t rewrites;
  const char *last; /* what the last rewrite said, or NULL */
} GlowPassEvent;

/* Texts are NULL for options that were not given, and "" for those given without a value. */
typedef struct GlowRunnerOptions {
  bool verify_each; /* the module after each pass; the default of tools that show passes' work */
  bool verify_last; /* the module after the last pass, where verify_each is off */
  GlowMath math;
  bool print_pipeline;                    /* what is run, on stderr */
  const char *print_before, *print_after; /* comma lists of pass names; "": all */
  bool print_before_all, print_after_all;
  const char *print_changed; /* "", "quiet", "diff", "cdiff", "diff-quiet", "cdiff-quiet" */
  const char *print_funcs;   /* comma list of the functions that dumps show */
  const char *print_dir;     /* dumps go into numbered files there */
  bool time_passes;
  const char *time_trace; /* a file for Chrome's trace viewer */
  bool stats;
  const char *stats_json;
  const char *bisect_limit; /* see bisect.c */
  bool bisect_quiet;        /* without a line for each run */
  /* Called after each run of a pass, before the module is verified. If it returns false, the whole
   * run ends, with success unless a pass failed. With an observer, -bisect-limit prints nothing. */
  bool (*observe)(void *user, const GlowPassEvent *event);
  void *observer;
  uint64_t *changes; /* gets the number of rewrites; may be NULL */
  /* The rewrites of each pass of the pipeline's table are added to its entry; may be NULL. */
  uint64_t *pass_changes;
} GlowRunnerOptions;
/* Runs the pipeline on the module. Stops at the first failure (after diagnostics). */
GlowStatus glow_pipeline_run(GlowModule *m, const GlowPipeline *p, const GlowRunnerOptions *o);

#endif
