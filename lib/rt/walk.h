/* Programs as data: steps over tables of addresses, and what walks them. C99, for the process that
 * compiles a program as for bundles. Nothing is allocated. */
#ifndef GLOW_RT_WALK_H
#define GLOW_RT_WALK_H

#include "glow/rt.h"

/* Where an operand is: an offset in bytes from the beginning of a space. The low GLOW_SPACE_BITS
 * bits are the space, one of GlowSpace or a storage; the bits above are the offset. */
typedef int64_t GlowAddress;
enum GlowSpace {
  GLOW_SPACE_ARENA,
  GLOW_SPACE_ABSENT,  /* the address is null; offset 0 */
  GLOW_SPACE_ZEROS,   /* constant zeros */
  GLOW_SPACE_SCRATCH, /* the workers' memory */
  GLOW_SPACE_FAULT,   /* the GlowFault of the run */
  GLOW_SPACE_PARAMS,  /* what pieces read besides their operands */
  GLOW_SPACE_STORAGE, /* storage 0; the others follow */
  GLOW_SPACE_BITS = 20
};
#define GLOW_MAX_STORAGE ((1 << GLOW_SPACE_BITS) - GLOW_SPACE_STORAGE) /* storages of a program */
#define GLOW_MAX_OFFSET ((int64_t)1 << (63 - GLOW_SPACE_BITS))         /* offsets are below */

typedef enum GlowStepKind {
  GLOW_STEP_PIECE, /* calls a piece, on all workers if it has more shards than one */
  GLOW_STEP_HOST,  /* the process runs the instruction */
  GLOW_STEP_IF,    /* address: a bool; goes on at `number` if that is false */
  GLOW_STEP_JUMP,  /* goes on at `number` */
  GLOW_STEP_LOOP,  /* address: the number of rounds, an i64, or absent. Begins at round 0 */
  GLOW_STEP_TEST,  /* addresses: a bool or absent, and the i64 that gets the round; goes on at
                      `number` if the bool is false or all rounds are done */
  GLOW_STEP_AGAIN, /* the next round: goes on at `number`, a TEST */
  GLOW_STEP_BANDS  /* one thread may take the next `shards` steps, pieces all of them, in turns:
                      the first of `number` equal parts of their units, then the next */
} GlowStepKind;

typedef struct GlowStep {
  int16_t kind;        /* a GlowStepKind */
  int16_t shards;      /* of a piece; BANDS: how many pieces */
  int32_t instruction; /* its number in the text */
  int32_t piece;       /* PIECE and HOST: their number in order; LOOP, TEST, AGAIN: the loop's */
  int32_t address; /* the first of its addresses, which end where those of the next step begin */
  int64_t number;  /* PIECE: its units; IF, JUMP, TEST, AGAIN: the step to go on at; BANDS: their
                      number */
} GlowStep;

/* A program. What it points to is constant, but for the elements of `pieces`: in a process that
 * makes better code while programs run, they are replaced atomically. */
typedef struct GlowProgram {
  const GlowStep *steps;
  const GlowAddress *addresses;
  GlowPieceFn *const *pieces; /* by number; NULL for HOST */
  const void *params, *zeros;
  int64_t nsteps, naddresses;
  int64_t loops;   /* how many there are */
  int64_t scratch; /* where the workers' memory begins in the arena */
} GlowProgram;

/* What runs work on, one at a time. `arena` is as large and aligned as the program says, for
 * parallel->workers workers; storage[i] is the memory of storage i, aligned to 64 bytes. */
typedef struct GlowRunContext {
  uint8_t *arena;
  void *const *storage;         /* as many as the program names */
  const GlowParallel *parallel; /* NULL: one thread */
  GlowFault *fault;             /* of this run; what it says before is forgotten */
  void **resolved;              /* by glow_resolve; NULL: addresses are added up at each step */
  void **pointers;              /* room for the addresses of one step, if there is no `resolved` */
  int64_t *rounds;              /* room for two for each loop */
  /* Runs an instruction; sets an error to end the run. NULL if the program has no HOST step. */
  void (*host)(GlowFault *fault, int64_t instruction);
  /* Called after each piece, or a band of it, with its number, and after each round of a loop with
   * -1. May set an error. Or NULL. */
  void (*hook)(GlowFault *fault, int64_t piece);
  int64_t apart; /* each piece runs whole before the next one: there are no bands */
} GlowRunContext;

/* Adds up all addresses of a program into `resolved`, which has room for program->naddresses. From
 * then on run->arena, run->fault and the elements of run->storage must stay the same. */
void glow_resolve(const GlowProgram *program, const GlowRunContext *run, void **resolved);

/* Runs a program. Returns fault->error; after an error the contents of outputs are not specified.
 */
int64_t glow_walk(const GlowProgram *program, const GlowRunContext *run);

#endif
