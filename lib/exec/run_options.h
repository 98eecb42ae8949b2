/* How functions are compiled and run: what all backends understand. */
#ifndef GLOW_EXEC_RUN_OPTIONS_H
#define GLOW_EXEC_RUN_OPTIONS_H

#include "tensor/tensor.h"

struct GlowNode;

/* Where machine code comes from; the bits are the same. */
typedef enum GlowTier {
  GLOW_TIER_COMPILED, /* made for the program by LLVM */
  GLOW_TIER_LIBRARY,  /* of each kernel, made when Glow was built */
  GLOW_TIER_AUTO /* of the library first; made by LLVM while the program runs, if it runs long */
} GlowTier;

typedef struct GlowRunOptions {
  /* Called after each node with its results, and after each instruction with what it wrote, NULL
   * where that is absent: numerical bisection, tracing. */
  void (*trace)(void *user, const struct GlowNode *n, GlowTensor *const *results);
  void *trace_user;
  /* Called after each node or instruction that computes; not for If, Loop and the like, whose nodes
   * are. For profiles. */
  void (*finished)(void *user, const struct GlowNode *n);
  void *finished_user;
  void (*progress)(void *user, uint64_t done, uint64_t total);
  void *progress_user;
  /* Run no kernel of an operator that has a lowering rule. -lower=all leaves nodes whose rule needs
   * extents or values that are still open. In a graph they are lowered when they run; in a program
   * they are an error. */
  bool primitives;
  /* Variables begin with what this table of the module holds, and it gets what a run leaves in
   * them. Runs of the interpreter find and leave values of constants there; executables have a
   * table of their own and take copies of the variables. NULL: variables begin as their
   * initializers say, and what runs leave in them is forgotten. */
  struct GlowValues *values;
  const struct GlowKernels
      *kernels;   /* NULL: the best for this machine; a backend may bring its own */
  bool debug;     /* machine code has lines for debuggers and profilers */
  bool isolate;   /* LLVM runs in a process of its own */
  bool code_only; /* of an executable nothing is wanted but its code: no values are made */
  GlowTier tier;  /* of machine code */
  const struct GlowParallel *parallel; /* threads that share the work of machine code, or NULL */
  const struct GlowCache *cache;       /* where machine code is kept, or NULL */
  const struct GlowWritten *written;   /* where machine code of the module is already, or NULL */
  bool profile;                        /* of networks: note where time goes */
  /* The interpreter fills the memory of a program with this byte first: a program that reads memory
   * before writing it gives other results with another byte. NULL: memory is not filled. */
  const unsigned char *poison;
  int64_t max_memory; /* bytes; what needs more is refused. 0: no limit. docs: glow-run */
} GlowRunOptions;

#endif
