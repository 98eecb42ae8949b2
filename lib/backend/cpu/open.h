/* Programs on open extents: one program of machine code for each set of extents that runs ask for.
 * All of them have the memory of the text, where buffers lie apart for the largest extents, and its
 * constants; their pieces and params are selected for the numbers, without passes and without
 * LLVM. */
#ifndef GLOW_BACKEND_CPU_OPEN_H
#define GLOW_BACKEND_CPU_OPEN_H

#include "backend/cpu/shared.h"
#include "exec/executable.h"
#include "exec/run_options.h"
#include "ir/ir.h"

/* Fills in an entry. If inputs say what the symbols are, the entry names them and is compiled for
 * their largest numbers; instructions on other open extents are steps of the interpreter. False
 * after diagnostics. */
bool glow_cpu_compile_open(GlowEntry *entry, GlowFunction *f, const GlowRunOptions *options);
/* Whether what follows from these extents of the entry's symbols lies in its ranges. From any
 * thread. */
bool glow_cpu_allows(const GlowEntry *entry, const int64_t *extents);
/* Makes the program for extents that are not the entry's own: for shared.h. False after a
 * diagnostic. */
bool glow_open_compile(GlowOpenProgram *open, GlowEntry *made, GlowArena *arena,
                       const int64_t *extents, GlowBound *bound);
GlowSharedPrograms *glow_open_shared(const GlowOpenProgram *open);
/* Destroys all programs of an entry, which nobody runs. */
void glow_cpu_forget_programs(GlowEntry *entry);
/* What HOST steps see: the types of the entry's program for its numbers. Again: those of the text.
 */
void glow_cpu_swap_types(const GlowEntry *entry);

#endif
