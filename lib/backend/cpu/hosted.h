/* Instructions of a compiled program whose extents are known only when they run: the walker calls
 * back, and the interpreter's walker takes a step on the same memory. */
#ifndef GLOW_BACKEND_CPU_HOSTED_H
#define GLOW_BACKEND_CPU_HOSTED_H

#include "backend/cpu/cpu.h"
#include "backend/interp/interp_internal.h"
#include "backend/interp/profile.h"

/* More values of GlowFault.error, for errors that code of this process finds. */
enum {
  GLOW_HOSTED_FAILED = -1, /* a step failed and has said why */
  GLOW_HOSTED_LATE = -2    /* the time of the tool is over */
};

/* One run. The fault is the first member, since callbacks get nothing but its address. A run
 * without hosted steps sets only fault, ctx and profile. */
typedef struct GlowHosted {
  GlowFault fault;
  GlowProfile *profile; /* of a profiled run; or NULL */
  GlowContext *ctx;
  GlowArena *arena;
  GlowNode **nodes; /* by order */
  GlowCells cells;
  GlowProgramRun *run;
  GlowNode *node; /* the one under way */
  bool ok;
} GlowHosted;

/* tensors[i] holds outer value i of the plan, or is NULL; `memory` is the program's arena. */
void glow_hosted_begin(GlowHosted *h, GlowFunction *f, const GlowCpuPlan *plan,
                       GlowTensor *const *tensors, uint8_t *memory);
void glow_hosted_end(GlowHosted *h);
/* GlowRunContext.host. */
void glow_hosted_step(GlowFault *fault, int64_t instruction);
/* GlowRunContext.hook: notes the time of a piece if there is a profile, and looks at the deadline.
 */
void glow_hosted_piece(GlowFault *fault, int64_t piece);

/* Memory for an outer value of this type that is written, or whose value is not aligned: room for
 * the bounds of its extents, with the value t (or NULL) in it. */
GlowTensor *glow_hosted_tensor(GlowContext *ctx, const GlowType *type, const GlowTensor *t);

#endif
