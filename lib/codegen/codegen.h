/* Code generation: from a list of work that a backend makes of a program to machine code.
 *
 * A backend decides (layouts, tiles, places in memory); this library emits. Each piece of work is
 * one kernel of lib/kernels/cpu with parameters that become constants. Equal pieces share their
 * code. No type of LLVM appears here. LLVM ends the process, with status 3, where it cannot go on,
 * and by SIGABRT when it runs out of memory; everything else is a diagnostic. */
#ifndef GLOW_CODEGEN_CODEGEN_H
#define GLOW_CODEGEN_CODEGEN_H

#include "codegen/machine.h"
#include "exec/code.h"
#include "kernels/kernel.h"
#include "ops/op.h"
#include "rt/walk.h"
#include "support/diag.h"
#include "target/cpu/table.h"

/* Some bytes that a program touches: of its arena, or of one of the buffers in `storage`. */
typedef struct GlowPlace {
  int32_t storage; /* index into the storage of a run, or one of GlowPlaceBase */
  int64_t offset, bytes;
} GlowPlace;

typedef enum GlowPlaceBase {
  GLOW_PLACE_ARENA = -1,
  GLOW_PLACE_ABSENT = -2, /* a null pointer */
  GLOW_PLACE_ZEROS = -3,  /* constant zeros */
  GLOW_PLACE_NUMBERS = -4 /* the numbers of the work */
} GlowPlaceBase;

#define GLOW_OPERAND_DIMS 6

/* An operand of a scalar body: its elements and their strides (counted in elements) along the
 * coordinates of the loop. In an epilogue these are image, channel block, row, column, channel in
 * the block; of a matrix four batch indices, row, column; in a stack the loops of GlowStackParams.
 * A last stride of 1 or 0 (broadcast) is cheap. */
typedef struct GlowOperand {
  GlowPlace place;
  GlowKind kind;
  int64_t stride[GLOW_OPERAND_DIMS];
  int64_t channels; /* epilogues: how many channels or columns may be read; 0: whole registers */
} GlowOperand;

#define GLOW_BODY_ABSENT UINT32_MAX /* an operand that is not there */

enum { GLOW_BODY_TURN = 4 }; /* vectors that take turns: GLOW_TURN of lib/kernels/cpu/lanes.h */

/* One step of a body: a function of lanes (lib/kernels/cpu/lanes_*.c), or a constant. */
typedef struct GlowLaneCall {
  uint32_t lane; /* number of the function; 0: `members` are one element, which all lanes get */
  const char *turns;   /* the same function on GLOW_BODY_TURN vectors; NULL: there is none */
  const void *members; /* what it reads besides lanes; bytes are constant, without pointers */
  const uint32_t *ins; /* numbers of values, or GLOW_BODY_ABSENT */
  uint32_t bytes;      /* of members */
  uint32_t nins;
  uint32_t optional; /* bit i: operand i may be absent, and the function is told whether it is */
  GlowLoc loc;       /* the line of its operator, for debuggers */
} GlowLaneCall;

/* What is computed on each element: calls in order. Values are numbered, parameters first, then the
 * result of each call. No results: the element stays as it is. */
typedef struct GlowBody {
  uint32_t nparams, ncalls, nresults;
  uint32_t operators;    /* how many scalar operators the calls stand for */
  const GlowKind *kinds; /* of all values, as they are stored: whole bytes */
  const GlowLaneCall *calls;
  const uint32_t *results;
  GlowLoc yield; /* where the text says the results, for debuggers; without a line: nowhere */
} GlowBody;

typedef enum GlowBodyForm {
  GLOW_BODY_NONE,
  GLOW_BODY_EPILOGUE, /* one GlowEpilogueFn, which gets what the kernel is about to store: parameter
                         0 and result 0 are floats */
  GLOW_BODY_MATRIX,   /* the same for matrices: one GlowMatrixEpilogueFn */
  GLOW_BODY_STEPS     /* two GlowStackFn: as many vectors as the kernel's params say, and what is
                         left of a row */
} GlowBodyForm;

/* Functions of the library that become functions of their own, specialized by the parameters and
 * the epilogue: the inner loops of a kernel, which calls them through pointers. In C,
 *   void tile(const Params *p, GlowEpilogueFn *e, char *ptr..., int64_t int...),
 * without e if they are `plain`. A kernel of the library passes p on, and the e that it got behind
 * its tiles; in compiled code both are constants of the specialized functions. */
typedef struct GlowTiles {
  const GlowTile *const *all; /* NULL entries: the kernel gets a null pointer */
  uint32_t count;
  uint32_t pointers, ints; /* what they take besides p and e; pointer i is places[i], then others */
  bool plain;              /* they get p, but no e */
} GlowTiles;

typedef enum GlowWorkKind {
  GLOW_WORK_KERNEL,
  GLOW_WORK_REFERENCE,
  GLOW_WORK_HOST,
  GLOW_WORK_IF,  /* then, or otherwise */
  GLOW_WORK_LOOP /* then, again and again */
} GlowWorkKind;

typedef struct GlowWorkList {
  struct GlowWork *data;
  uint32_t count, capacity;
} GlowWorkList;

/* The instruction that a piece of work belongs to, for messages and debuggers. */
typedef struct GlowWorkSource {
  const GlowOpDesc *desc;
  const char *name;    /* as in the model, else of its result */
  int64_t instruction; /* its number in the program */
  GlowLoc loc;         /* what a message is about */
  GlowLoc line;        /* the same for debuggers: it has a line */
} GlowWorkSource;

/* One piece of work.
 *
 * KERNEL: a kernel of lib/kernels/cpu with parameters that become constants. In C,
 *   void kernel(const Params *p, tiles..., epilogue or steps..., void *const *ptrs, int64_t begin,
 *               int64_t end, char *scratch)
 * where ptrs holds the addresses of `places`; if there is a body, its GlowBodyCode, then those of
 * `operands`; [begin, end) is a part of `units`, and scratch is memory of the worker, or of all. A
 * kernel that `faults` gets the address of the GlowFault behind them: it sets error and detail, and
 * the run ends; `call` describes the operands for the message.
 *
 * REFERENCE: the reference kernel of the instruction's operator. `call` describes its operands,
 * without addresses, and members; `places` are those of its results, then of its inputs.
 *
 * HOST: the instruction is run by the process (GlowRunContext.host); only for code in memory.
 *
 * IF: places[0] is a bool. LOOP: places are the number of rounds (i64) and the condition (bool),
 * either may be absent, and the i64 that counts the rounds.
 *
 * As a step of a program, a piece's first address is that of its params in memory; kernels get the
 * addresses behind it. Compiled code has the params of kernels as constants and reads none. What it
 * shall read, so that pieces that differ in nothing else share it, are `numbers`. */
typedef struct GlowWork {
  GlowWorkKind kind;
  const GlowWorkSource *source; /* where it comes from */
  const GlowCall *call;
  GlowWorkList then, otherwise;
  const GlowKernel *kernel;
  const int64_t *params; /* of the program's arena, like all that follows */
  uint32_t nparams, nnumbers;
  const int64_t *numbers; /* in memory, at the place GLOW_PLACE_NUMBERS */
  GlowTiles tiles;
  const GlowPlace *places;
  uint32_t nplaces, nwritten; /* the first nwritten places are written */
  GlowBodyForm form;
  GlowBody body;
  const GlowOperand
      *operands; /* what the body reads besides the accumulator; stacks: outputs first */
  uint32_t noperands, nouts;
  int64_t units, shards; /* of how many units the work is, and into how many parts they are cut */
  int64_t scratch;       /* bytes that each worker needs besides */
  bool faults;           /* may end the run; REFERENCE always may */
  bool common; /* scratch is one memory for all workers; the next work of the instruction finds it
                  as it is */
} GlowWork;

/* The index of the scratch memory among the addresses that a kernel gets, if the program is not
 * bare. */
static inline int64_t glow_work_scratch_slot(const GlowWork *w) {
  return (int64_t)w->nplaces + (w->form != GLOW_BODY_NONE) + w->noperands + w->faults;
}

/* A pointer in an image: at byte `place`, to byte `target` of the same image. */
typedef struct GlowFixup {
  int64_t place, target;
} GlowFixup;

/* Bytes with pointers among them, which are null until the place of the image is known. */
typedef struct GlowImage {
  const char *bytes; /* aligned to GLOW_IMAGE_ALIGN, wherever they are used */
  size_t size;
  const GlowFixup *fixups; /* with ascending places */
  uint32_t nfixups;
} GlowImage;
#define GLOW_IMAGE_ALIGN 64

/* A program as data (rt/walk.h), with work in the place of code for its pieces. */
typedef struct GlowProgramData {
  const GlowStep *steps;
  const GlowAddress *addresses;
  const GlowWork *const *pieces; /* KERNEL, REFERENCE or HOST; NULL: no code is made of it */
  GlowImage params;
  int64_t nsteps, naddresses, npieces;
  int64_t loops, scratch; /* as in GlowProgram */
  int64_t most;           /* the largest number of addresses of a step */
  int64_t zeros;          /* bytes of zeros that a step reads */
  bool bare; /* the addresses of params and of bodies, which compiled kernels do not read, are left
                out: no library code can run the program */
} GlowProgramData;

/* Whether code is made of a piece. */
static inline bool glow_work_has_code(const GlowWork *w) { return w && w->kind != GLOW_WORK_HOST; }

/* Hears what became of a piece of work. */
typedef void GlowRemarkFn(const GlowWorkSource *source, const char *text);

typedef struct GlowCodegenOptions {
  const GlowIsa *isa;
  const GlowMachine *machine; /* of the same row; NULL: as the row says */
  bool debug;                 /* lines and names for debuggers and profilers */
  GlowLoc program;            /* where the text of the program begins, for debuggers */
  const void *kernels;        /* bitcode to use before the row's own, for tests; or NULL */
  size_t kernels_size;
  const GlowSymbol *symbols; /* for code in memory: the reference kernels of this process */
  uint32_t nsymbols;
  GlowRemarkFn *remark;      /* in the order of the program; NULL: nobody listens */
  uint32_t threads;          /* that make code at most; 0: one for each processor */
} GlowCodegenOptions;

/* Seconds of processor time of all threads, by what they were spent on. Objects are linked while
 * loading. */
typedef struct GlowCodegenTimes {
  double emit, link, optimize, generate, load;
} GlowCodegenTimes;

/* Compiles for this host, which must be able to run options->isa, and loads. NULL after a
 * diagnostic. times may be NULL. */
GlowCode *glow_codegen_compile(GlowContext *ctx, const GlowProgramData *program,
                               const GlowCodegenOptions *options, GlowCodegenTimes *times);

/* Appends an image (exec/code.h) to `out`, for a row of 64 bits of isa.def. False after a
 * diagnostic. If the object has something that lib/codegen/link.c does not know, *unlinked says
 * what, and nothing is appended; else *unlinked is NULL. */
bool glow_codegen_emit_image(GlowContext *ctx, const GlowProgramData *program,
                             const GlowCodegenOptions *options, const char **unlinked,
                             GlowText *out, GlowCodegenTimes *times);
/* Appends the object file to `out`, for any row. False after a diagnostic. */
bool glow_codegen_emit_object(GlowContext *ctx, const GlowProgramData *program,
                              const GlowCodegenOptions *options, GlowText *out,
                              GlowCodegenTimes *times);

/* The same as assembly text, for any row of isa.def. False after a diagnostic. */
bool glow_codegen_emit_asm(GlowContext *ctx, const GlowProgramData *program,
                           const GlowCodegenOptions *options, GlowText *out);
/* The optimized module as LLVM IR. False after a diagnostic. */
bool glow_codegen_emit_ir(GlowContext *ctx, const GlowProgramData *program,
                          const GlowCodegenOptions *options, GlowText *out);

/* The version of LLVM that this process has loaded, "19.1.7". Lives in the context. */
const char *glow_codegen_llvm_version(GlowContext *ctx);

#endif
