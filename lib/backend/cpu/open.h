/* Programs on open extents: one program of machine code for each set of extents that runs ask for.
 * All of them have the memory of the text, where buffers lie apart for the largest extents, and its
 * constants; their pieces and params are selected for the numbers, without passes and without
 * LLVM. */
#ifndef GLOW_BACKEND_CPU_OPEN_H
#define GLOW_BACKEND_CPU_OPEN_H

#include "exec/executable.h"
#include "exec/run_options.h"
#include "ir/ir.h"

typedef struct GlowOpenProgram GlowOpenProgram;

/* Fills in an entry. If inputs say what the symbols are, the entry names them and is compiled for
 * their largest numbers; instructions on other open extents are steps of the interpreter. False
 * after diagnostics. */
bool glow_cpu_compile_open(GlowEntry *entry, GlowFunction *f, const GlowRunOptions *options);
/* GlowEngine.at and leave. The last few programs that nobody runs are kept. */
GlowEntry *glow_cpu_program_at(const GlowEntry *entry, const int64_t *extents);
void glow_cpu_leave_program(GlowEntry *at);
/* Destroys all programs of an entry, which nobody runs. */
void glow_cpu_forget_programs(GlowEntry *entry);
/* What HOST steps see: the types of the entry's program for its numbers. Again: those of the text.
 */
void glow_cpu_swap_types(const GlowEntry *entry);

#endif
