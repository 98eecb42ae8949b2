/* The CPU backend: programs as machine code.
 *
 * Instructions become machine kernels where there is one (native.h), else calls of their reference
 * kernels; what has neither is refused with one list. The bits are those of the interpreter. */
#ifndef GLOW_BACKEND_CPU_CPU_H
#define GLOW_BACKEND_CPU_CPU_H

#include "backend/interp/interp.h"
#include "codegen/codegen.h"
#include "exec/executable.h"

/* Compiles programs (kind GLOW_PROGRAM) of a module, at least one, for the module's target, or for
 * this host if there is none. NULL after diagnostics: the target is unknown or this host lacks it,
 * or there are instructions that cannot be compiled. Of the options, what concerns runs is ignored. The module
 * must not change as long as the executable lives. */
GlowExecutable *glow_cpu_compile(GlowFunction *const *programs, uint32_t count,
                                 const GlowRunOptions *options);

/* Compiles, runs once and forgets. Progress is reported at the end. */
GlowStatus glow_cpu_run(GlowFunction *program, const GlowBindings *inputs, GlowBindings *outputs,
                        const GlowRunOptions *options);

/* The row that a program of this module is compiled for. NULL after a diagnostic at loc. */
const GlowIsa *glow_cpu_target(const GlowModule *m, GlowLoc loc);

/* An instruction, and why it has no machine kernel. */
typedef struct GlowCpuNote {
  const GlowNode *node;
  const char *why;
} GlowCpuNote;
typedef GLOW_VEC(GlowCpuNote) GlowCpuNotes;

/* The place of an alloc, or of the counter of a loop. */
typedef struct GlowCpuBuffer {
  const GlowValue *value;
  const GlowPlace *place;
} GlowCpuBuffer;

/* Where work of this backend comes from. */
typedef struct GlowCpuSource {
  GlowWorkSource base;
  const GlowNode *node;
} GlowCpuSource;
/* The instruction that work comes from. */
const GlowNode *glow_cpu_node(const GlowWorkSource *source);
/* For GlowCodegenOptions. */
void glow_cpu_remark(const GlowWorkSource *source, const char *text);

/* What a program is compiled from: the work of its instructions, and where everything lies. */
typedef struct GlowCpuPlan {
  GlowWork *work;
  uint32_t count;
  GlowValue **outer;    /* storage, then parameters, in the order of their indices in places */
  bool *reads, *writes; /* of each outer value */
  uint32_t nouter;
  int64_t arena, align; /* bytes of the arena, a multiple of its alignment */
  int64_t scratch;      /* bytes of scratch memory for each worker */
  int64_t scratch_at;   /* where the workers' memory begins: it may reach into the arena */
  GLOW_VEC(GlowCpuBuffer) buffers;
  bool hosted; /* has instructions that this process must run: no object can be made of it */
  GlowCpuNotes references; /* instructions that run as their reference kernels */
} GlowCpuPlan;

/* Selects the work of a program for a machine. All memory comes from `arena`. False after one error
 * with a note for each instruction that cannot be compiled. */
bool glow_cpu_plan(GlowArena *arena, GlowFunction *program, const GlowIsa *isa, GlowCpuPlan *plan);
/* The same for a program whose buffers are smaller than those that the text has offsets for: they
 * lie closer to each other if that makes the arena smaller. */
bool glow_cpu_plan_closer(GlowArena *arena, GlowFunction *program, const GlowIsa *isa,
                          GlowCpuPlan *plan);

/* The plan as data: what machine code is made for, and what runs walk. Its memory comes from
 * `arena`; it points to the plan's work. With `library`, params are there for the library code of
 * that machine; NULL: for compiled code. */
const GlowProgramData *glow_cpu_program(GlowArena *arena, const GlowCpuPlan *plan,
                                        const GlowIsa *library);
/* A checksum of steps, params and kernels, by which code for the pieces of a program is known. Where
 * operands lie is no part of it. */
uint64_t glow_cpu_program_sum(const GlowProgramData *program);
/* The same for compiled code alone, as small as it can be: bare (see GlowProgramData). */
const GlowProgramData *glow_cpu_bare_program(GlowArena *arena, const GlowCpuPlan *plan);

/* How many pieces from work[0] on take turns at bands, and how many bands; 0: it stands alone. */
uint32_t glow_cpu_bands(const GlowWork *work, uint32_t count, int64_t *bands);

/* Whether what a planned program touches, its arena and the scratch memory of `workers` threads fit
 * into `limit` bytes (0: no limit). False after a diagnostic. */
bool glow_cpu_fits(GlowFunction *program, const GlowCpuPlan *plan, int64_t workers, int64_t limit);

#endif
