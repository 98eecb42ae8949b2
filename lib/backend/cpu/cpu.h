/* The CPU backend: programs as machine code.
 *
 * It compiles convolutions over blocked layouts (with an epilogue), element-wise instructions and
 * stacks of float, Relayout and copy, with alloc, dealloc and tensorview around them. What else a
 * program holds is refused with one list. The bits are those of the interpreter. */
#ifndef GLOW_BACKEND_CPU_CPU_H
#define GLOW_BACKEND_CPU_CPU_H

#include "backend/interp/interp.h"
#include "codegen/codegen.h"

/* A compiled program. Borrows the function, which must not change while it is in use. */
typedef struct GlowCpuProgram GlowCpuProgram;

/* Compiles a program (kind GLOW_PROGRAM) for its module's target, or for this host if there is
 * none. NULL after diagnostics: the target is unknown or this host lacks it, or there are
 * instructions that cannot be compiled. times may be NULL. */
GlowCpuProgram *glow_cpu_compile(GlowFunction *program, GlowCodegenTimes *times);
void glow_cpu_destroy(GlowCpuProgram *p); /* NULL is ignored */

/* Runs it. Inputs and outputs as for glow_interp_run: every placeholder that is read must be bound,
 * `outputs` receives each placeholder that was written, in declaration order, and variables that
 * were written keep their value for the next run. */
GlowStatus glow_cpu_execute(GlowCpuProgram *p, const GlowBindings *inputs, GlowBindings *outputs);

/* Compiles, runs once and forgets. Of the options only progress is used, at the end. */
GlowStatus glow_cpu_run(GlowFunction *program, const GlowBindings *inputs, GlowBindings *outputs,
                        const GlowRunOptions *options);

/* The row that a program of this module is compiled for. NULL after a diagnostic at loc. */
const GlowIsa *glow_cpu_target(const GlowModule *m, GlowLoc loc);

/* What a program is compiled from: the work of its instructions, and where everything lies. */
typedef struct GlowCpuPlan {
  GlowWork *work;
  uint32_t count;
  GlowStorage **storage; /* in the order of their indices in places */
  bool *reads, *writes;  /* of each storage */
  uint32_t nstorage;
  int64_t arena, align; /* bytes of the arena, a multiple of its alignment */
  int64_t scratch;      /* bytes behind it for each worker */
} GlowCpuPlan;

/* Selects the work of a program for a machine. All memory comes from `arena`. False after one error
 * with a note for each instruction that cannot be compiled. */
bool glow_cpu_plan(GlowArena *arena, GlowFunction *program, const GlowIsa *isa, GlowCpuPlan *plan);

/* The register tile of a convolution when the instruction does not say: how many output rows and
 * columns, for `ow` columns, `rows` rows of all images, and `edges` pixels of a row of the tile
 * that may need padding. */
void glow_cpu_conv_tile(const GlowIsa *isa, int64_t ow, int64_t rows, int64_t edges,
                        int64_t *tile_rows, int64_t *tile_cols);

#endif
