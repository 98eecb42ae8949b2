/* The inside of the interpreter: rows of buffers, running one operator, and the state of a walk. */
#ifndef GLOW_BACKEND_INTERP_INTERP_INTERNAL_H
#define GLOW_BACKEND_INTERP_INTERP_INTERNAL_H

#include <string.h>

#include "backend/interp/interp.h"
#include "backend/interp/kernel_table.h"
#include "kernels/ref/ref.h"

/* ---- Buffers (buf.c) ------------------------------------------------------------------------- */

GlowBuf glow_buf_absent(void);
/* A dense buffer of a static tensor type (bounds count as extents) in its layout. */
GlowBuf glow_buf_of(const GlowType *t, const void *data);
/* Sets the strides of a plain buffer to row-major over its dims. */
void glow_buf_pack(GlowBuf *b);

enum { GLOW_ROW_BLOCK = 512, GLOW_ROW_OPERANDS = 64 };

/* Visits the index space of bufs[0] in rows of at most GLOW_ROW_BLOCK elements; the other buffers
 * are broadcast to it. After each glow_row_loop_next a row has n elements; in buffer i the row
 * starts at offset[i] and has the stride step[i]. */
typedef struct GlowRowLoop {
  GlowBuf *const *bufs;
  uint32_t count, rank;
  bool blocked, started;
  int64_t block; /* blocked: rows are the blocks of bufs[0]; 0: single elements */
  uint32_t block_axis;
  int64_t dims[GLOW_MAX_RANK + 1], index[GLOW_MAX_RANK + 1];
  int64_t strides[GLOW_ROW_OPERANDS][GLOW_MAX_RANK + 1];
  int64_t n, offset[GLOW_ROW_OPERANDS], step[GLOW_ROW_OPERANDS];
} GlowRowLoop;
/* False if there is nothing to visit. At most GLOW_ROW_OPERANDS buffers. */
bool glow_row_loop_init(GlowRowLoop *l, GlowBuf *const *bufs, uint32_t count);
bool glow_row_loop_next(GlowRowLoop *l);

/* ---- Element-wise operators (elementwise.c) and scalar bodies (body.c) ----------------------- */

/* A row of elements in memory: of a kind, with a stride of 0 or more elements. */
typedef struct GlowRow {
  const GlowBuf *buf; /* kind and quantization */
  int64_t offset, step;
} GlowRow;

/* rows[0] = op(rows[1..]): n <= GLOW_ROW_BLOCK elements. Rows of absent operands have absent
 * buffers. False if there is no loop for these kinds. */
bool glow_elementwise_row(const GlowKernels *k, GlowOp op, const void *members, const GlowRow *rows,
                          uint32_t nin, int64_t n);
/* out = op(in...) with broadcasting; padding lanes of out become zero. */
bool glow_elementwise(const GlowKernels *k, GlowOp op, const void *members, GlowBuf *out,
                      GlowBuf *in, uint32_t nin);

/* Runs a scalar body over the index space of outs[0]: parameters are ins in order, yields go to
 * outs. ins may name buffers of outs: an epilogue's first parameter is what it overwrites. False if
 * an operator has no place in a scalar body. */
bool glow_body_run(GlowContext *ctx, const GlowKernels *k, const GlowBlock *block, GlowBuf *outs,
                   uint32_t nouts, GlowBuf *const *ins, uint32_t nins);

/* ---- One operator (exec.c) ------------------------------------------------------------------- */

/* Memory that kernels ask for; grows, and is used again. */
typedef struct GlowScratch {
  void *data;
  size_t size;
} GlowScratch;
void glow_scratch_release(void *scratch); /* a GlowDefer release */
void *glow_scratch_get(GlowContext *ctx, GlowScratch *s, size_t bytes);

/* Reports an error of n's kernel, with the operand that it is about where that is known. */
void glow_report_run_error(const GlowNode *n, GlowRunError e, const GlowCall *call);
/* False after a diagnostic if rules replace n's operator: see GlowRunOptions.primitives. */
bool glow_run_primitive(const GlowNode *n);
/* Ends the run at n if the time of the tool is over. */
void glow_run_check_time(const GlowNode *n);
/* Reports at n: "Op '%result': message". */
void glow_run_error(const GlowNode *n, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The types of n's results for operands at hand (NULL: absent): bounded tensor types, exact except
 * for DYNAMIC operators. False after a diagnostic, for example if a type contradicts its claim. */
bool glow_exec_types(const GlowNode *n, const GlowTensor *const *in, const GlowType **out);
/* Runs n's kernel or scalar loop on buffers, then its epilogue. False after a diagnostic. */
bool glow_exec_kernel(const GlowNode *n, const GlowKernels *k, GlowCall *call,
                      GlowScratch *scratch);
/* Computes the results, new tensors, of a node that is not lowered and has no `value` kernel
 * (GlowKernelRow). over: where the owner of an operand of an element-wise node has it, if nothing
 * else needs its value; it may become the result, and *over is NULL then. Or over is NULL. */
bool glow_exec_node(const GlowNode *n, const GlowKernels *k, const GlowTensor *const *in,
                    GlowTensor **over, GlowTensor **out, GlowScratch *scratch);
/* A tensor whose data is aligned to its elements: t itself, or *copy, which the caller frees. */
const GlowTensor *glow_tensor_aligned(GlowContext *ctx, const GlowTensor *t, GlowTensor **copy);
/* Strings that a kernel moved into t belong to other tensors: makes copies of them t's own. */
void glow_tensor_own_strings(GlowContext *ctx, GlowTensor *t);
/* Elements [start, start + count) along an axis, which goes unless `keep`. New. */
GlowTensor *glow_tensor_part(GlowContext *ctx, const GlowTensor *x, int64_t axis, int64_t start,
                             int64_t count, bool keep);
/* Tensors (at least one) one after the other along an axis, or stacked along a new one. New; NULL
 * after a diagnostic at n. */
GlowTensor *glow_tensors_join(const GlowNode *n, GlowTensor *const *parts, uint32_t count,
                              int64_t axis, bool new_axis);
/* Cast to or from string. */
bool glow_cast_strings(const GlowNode *n, const GlowTensor *in, GlowTensor *out);

/* ---- Storage during a run (storage.c) -------------------------------------------------------- */

/* What a run has in a storage: a bound input (borrowed) or what was written (owned). Indexed by
 * the id of the storage's value; tensor NULL: what it had before the run. */
typedef struct GlowCell {
  GlowTensor *tensor;
  bool owned, written;
} GlowCell;
typedef struct GlowCells {
  GlowValues *values; /* before the run */
  GlowCell *cells;
  uint32_t count; /* 0 for initializers, which bind and write nothing */
} GlowCells;
void glow_cells_begin(GlowContext *ctx, GlowCells *c, GlowValues *values, const GlowModule *m);
void glow_cells_end(void *cells); /* a GlowDefer release */
/* The value of s now. Borrowed; NULL after a diagnostic. */
const GlowTensor *glow_cells_read(GlowCells *c, GlowStorage *s);
/* Takes t. Returns the value it replaces if that was owned, else NULL. */
GlowTensor *glow_cells_write(GlowCells *c, const GlowStorage *s, GlowTensor *t);

/* Whether the initializer of `reader`, outside of regions, is all that reads s. */
bool glow_storage_is_read_only_by(const GlowStorage *s, const GlowStorage *reader);
/* A storage that block b reads whose eval initializer has not been run; NULL if there is none. */
GlowStorage *glow_values_missing(const GlowValues *v, const GlowBlock *b);
/* The table has the value of s: it forgets those that only the initializer of s reads, and gives
 * back pages of their files. */
void glow_values_forget_sources(GlowValues *v, const GlowStorage *s);

/* ---- Walks over graphs (graph.c) ------------------------------------------------------------- */

/* A value while it is needed. */
typedef struct GlowSlot {
  GlowTensor *tensor;
  bool owned;
  const GlowNode *last; /* the node after which it is not needed */
  struct GlowSlot *next_dying, *next;
} GlowSlot;

/* A storage with a value: one that a Save gave it, waiting for the end of the function
 * (GlowFrame.pending), or one that a caller still sees after a callee saved (GlowFrame.entry). */
typedef struct GlowSaved {
  GlowStorage *storage;
  GlowTensor *tensor; /* owned; NULL: what it had before the run */
  bool owned;
  struct GlowSaved *next;
} GlowSaved;

/* A function that is running. Reads see the values at entry. */
typedef struct GlowFrame {
  GlowSaved *pending, *entry;
  struct GlowFrame *caller;
} GlowFrame;

typedef struct GlowWalk {
  GlowContext *ctx;
  const GlowKernels *kernels;
  const GlowRunOptions *options; /* may be NULL */
  GlowCells *cells;              /* NULL: no storage is read */
  GlowScratch *scratch;
  GlowArena *arena;
  bool primitives;             /* lower whatever has a rule: see GlowRunOptions */
  uint32_t depth;              /* functions and loop bodies around this one */
  GlowFrame *frame;            /* NULL in initializers */
  GlowMap *values;             /* value to its slot; NULL until there is one */
  GlowMap *deaths;             /* node to the first slot that is not needed after it */
  GlowSlot *slots;             /* all of them */
  GlowMap *rules;              /* node to its GlowLowered (lowered.c), or NULL */
  struct GlowLowered *lowered; /* all of them */
  uint64_t done, total;        /* progress */
} GlowWalk;

/* A walk over blocks of m; `scratch` is shared with the walks around it. Release with
 * glow_walk_end, also through a GlowDefer. */
void glow_walk_begin(GlowWalk *w, GlowModule *m, GlowScratch *scratch);
void glow_walk_end(void *walk);
/* Orders the nodes of a block and its regions: needed once before it runs. */
void glow_walk_number(GlowBlock *b);
/* Gives a parameter or result its value; takes it if owned. */
void glow_walk_set(GlowWalk *w, const GlowValue *v, GlowTensor *t, bool owned);
/* The value of v, which must have one. Borrowed; NULL after a diagnostic. */
const GlowTensor *glow_walk_get(GlowWalk *w, const GlowValue *v);
/* Runs b; results[i] are new tensors, the values of its terminator. On failure, which has been
 * reported, results are NULL. */
bool glow_walk_block(GlowWalk *w, GlowBlock *b, GlowTensor **results);
/* Runs the nodes of b before `end`; values that later nodes need can be got then. */
bool glow_walk_before(GlowWalk *w, GlowBlock *b, const GlowNode *end);
/* The same as glow_walk_block for a function's body with arguments (borrowed); Saves take effect at
 * its end. */
bool glow_walk_function(GlowWalk *w, GlowFunction *f, GlowTensor *const *args, GlowTensor **results,
                        const GlowNode *call);
/* One node with its operands at hand (NULL: absent): results are new, but for `over` (see
 * glow_exec_node). False after a diagnostic. */
bool glow_walk_op(GlowWalk *w, const GlowNode *n, const GlowTensor *const *in, GlowTensor **over,
                  GlowTensor **out);
/* A Splat whose type names symbols, which inputs say. */
bool glow_walk_open_splat(GlowWalk *w, const GlowNode *n, GlowTensor **out);
/* One more level of functions or loop bodies; false after a diagnostic at n. */
bool glow_walk_enter(GlowWalk *w, const GlowNode *n);

/* Tensors that are freed together. */
typedef struct GlowTensorList {
  GlowTensor **data;
  uint32_t count;
  GlowDefer defer;
} GlowTensorList;
/* `count` places, NULL at first, in memory of their own; freed with what they hold by end, or by a
 * throw. */
void glow_tensor_list_begin(GlowContext *ctx, GlowTensorList *l, uint32_t count);
void glow_tensor_list_end(GlowContext *ctx, GlowTensorList *l);

/* A node whose operator has a lowering rule (lowered.c). */
bool glow_walk_lowered(GlowWalk *w, const GlowNode *n, const GlowTensor *const *in,
                       GlowTensor **out);
void glow_lowered_release(GlowWalk *w);

/* ---- Runs as a whole (run.c, program.c) ------------------------------------------------------ */

/* IEEE defaults: rounding to nearest, denormals kept. Restores what was, at the pop. */
typedef struct GlowFloatMode {
  GlowDefer defer;
  char saved[64];
} GlowFloatMode;
void glow_float_mode_enter(GlowContext *ctx, GlowFloatMode *m);
void glow_float_mode_leave(GlowContext *ctx, GlowFloatMode *m);

/* Runs a program; what it writes is left in cells. False after a diagnostic. */
bool glow_program_run(GlowFunction *f, GlowCells *cells, const GlowRunOptions *options);
/* A program run step by step, by a backend that runs most instructions itself and has memory for
 * all buffers. */
typedef struct GlowProgramRun GlowProgramRun;
/* Whether n needs a step: its extents, or the list that it reads, are known only when it runs. */
bool glow_program_is_dynamic(const GlowNode *n);
/* Cells hold all storage that the program touches; what it writes is marked as written already. */
GlowProgramRun *glow_program_begin(GlowFunction *f, GlowCells *cells);
/* The memory of an alloc, or of the counter of a loop. */
void glow_program_place(GlowProgramRun *p, const GlowValue *v, void *data);
/* Begins another run, in the same memory. */
void glow_program_restart(GlowProgramRun *p);
/* Runs n, which may be an alloc or a view of open extents. False after a diagnostic. */
bool glow_program_step(GlowProgramRun *p, GlowNode *n);
/* Gives tensors of open extents the types that were written. */
void glow_program_finish(GlowProgramRun *p);
/* Releases everything. Throws nothing. */
void glow_program_end(GlowProgramRun *p);
/* How much of a run n is: a weight, guessed from the elements that it touches. */
uint64_t glow_node_weight(const GlowNode *n);

#endif
