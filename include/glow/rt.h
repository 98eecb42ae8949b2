/* What compiled programs and whoever runs them agree on. C99, no headers but stdint.h, no code:
 * bundles bring it along, code generation and the kernels include it. Structs hold only pointers and
 * 64-bit integers: the machine's compilers lay them out alike, and all 64-bit ones in one way. */
#ifndef GLOW_RT_RT_H
#define GLOW_RT_RT_H

#include <stdint.h>

/* Units [begin, end) of a piece of work on the operands `ptrs`, by worker number `worker`, whose
 * scratch memory nobody else uses meanwhile. */
typedef void GlowPieceFn(void *const *ptrs, int64_t begin, int64_t end, int64_t worker);

/* Threads that share work. [0, units) is cut into `shards` parts of about equal size; run calls
 * piece for ranges of whole shards that cover them all, on up to `workers` threads at the same
 * time, numbered from 0, and returns when all are done. The order does not matter. Each thread must
 * round to nearest and keep denormals. */
typedef struct GlowParallel {
  void (*run)(const struct GlowParallel *parallel, GlowPieceFn *piece, void *const *ptrs,
              int64_t units, int64_t shards);
  void *pool; /* the owner's */
  int64_t workers;
} GlowParallel;

/* What went wrong in a run, and in which instruction (numbered in the order of the text from 0; -1:
 * before the first). error is one of GLOW_FAULT_...; detail is the offending index or extent. */
typedef struct GlowFault {
  int64_t error, instruction, detail;
} GlowFault;
enum {
  GLOW_FAULT_NONE,
  GLOW_FAULT_INDEX,       /* an index is out of range */
  GLOW_FAULT_SHAPE,       /* a shape breaks its claim or does not fit */
  GLOW_FAULT_TRIP,        /* a loop ran past its bound */
  GLOW_FAULT_VALUE,       /* an operand's value is not allowed */
  GLOW_FAULT_UNSUPPORTED, /* a combination of kinds has no kernel */
  GLOW_FAULT_FAIL,        /* a branch was taken that has no types for the program's shapes */
  /* Of bundles: */
  GLOW_FAULT_BUFFER, /* a buffer is missing or not aligned; detail: which member of the struct */
  GLOW_FAULT_ARENA,  /* the arena is too small; detail: the bytes it must have */
  GLOW_FAULT_WEIGHTS /* the weights are not those that this code was compiled with */
};

#endif
