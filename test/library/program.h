/* Random programs for one row of isa.def: a text that grows by instructions, each with storage of
 * its own, and a run by library code beside the interpreter. */
#ifndef GLOW_TEST_LIBRARY_PROGRAM_H
#define GLOW_TEST_LIBRARY_PROGRAM_H

#include "ir/ir.h"
#include "support/text.h"
#include "target/cpu/isa.h"

enum { MOST_DIMS = 8 };

/* The elements of @v<value> are whole numbers in [low, high], times `step`. */
typedef struct Limit {
  int value, low, high;
  double step;
} Limit;

typedef struct Program {
  GlowContext *ctx;
  const GlowIsa *isa;
  uint32_t state; /* of random numbers */
  GlowText declare, body;
  int values; /* declared so far: @v0, ... */
  GLOW_VEC(Limit) limits;
  const char *const *without; /* see program_run; ends with NULL */
} Program;

void program_begin(Program *p, const GlowIsa *isa, uint32_t seed);
void program_end(Program *p);

/* ---- Random numbers -------------------------------------------------------------------------- */

uint32_t draw(Program *p, uint32_t below);
int draw_in(Program *p, int low, int high);
/* Bit i of a set: GlowKind i. */
GlowKind draw_kind(Program *p, GlowKindSet kinds);
#define NUMBERS ((GLOW_KIND_BIT(GLOW_KIND_U64) << 1) - 1)
#define FLOATS ((GLOW_KIND_BIT(GLOW_KIND_BFLOAT16) << 1) - 1)
#define INTEGERS (NUMBERS & ~FLOATS)
#define INDICES (GLOW_KIND_BIT(GLOW_KIND_I32) | GLOW_KIND_BIT(GLOW_KIND_I64))

/* ---- Texts ----------------------------------------------------------------------------------- */

/* A type. */
typedef struct Shape {
  GlowKind kind;
  int rank, dims[MOST_DIMS];
  const char *layout;    /* NULL: plain */
  const char *quantized; /* `S:0.5 O:3`, or NULL */
} Shape;
Shape shape(GlowKind kind, const char *layout, int rank, ...); /* and its extents */
/* Up to `most` elements along each axis; rarely none. */
Shape draw_shape(Program *p, GlowKind kind, int low_rank, int high_rank, int most);
/* `float<2 x 3 | NCHW16c>` */
void put_type(GlowText *t, const Shape *s);

/* A placeholder: the number k of @vk. What no instruction writes gets random elements. */
int declare(Program *p, const Shape *s);
/* The same with whole numbers in [low, high] as elements, and with indices in [-limit, limit). */
int declare_between(Program *p, const Shape *s, int low, int high);
int declare_indices(Program *p, const Shape *s, int limit);
/* The same with floats of magnitude 1/8 at most. */
int declare_small(Program *p, const Shape *s);
/* The same with floats so small that products with others are denormal, as some of them are. */
int declare_tiny(Program *p, const Shape *s);
/* A constant list of i64, or one number. */
int declare_ints(Program *p, int count, const int *values);
int declare_int(Program *p, int value);
void put(Program *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* `[1, 2]` */
void put_list(Program *p, int count, const int *values);
/* The last member of an instruction, and the end of its line. */
void put_shards(Program *p);

/* What follows a product or a convolution. */
typedef struct Epilogue {
  const char *body;                                              /* NULL: there is none */
  enum { ALONE = 0, SAME_SHAPE = 1, EACH_CHANNEL = 2 } operands; /* in this order */
} Epilogue;
Epilogue draw_epilogue(Program *p);
/* `, @in @v3` for each operand: of the shape of the result, or one number for each index along axis
 * `channel`. */
void put_epilogue_operands(Program *p, const Epilogue *e, const Shape *result, int channel);
void put_epilogue(Program *p, const Epilogue *e);

/* ---- Runs ------------------------------------------------------------------------------------ */

/* How often what of the library ran. */
enum { MOST_KERNELS = 1024, MOST_TILES = 4096, MOST_LANES = 4096 };
typedef struct Counts {
  unsigned kernels[MOST_KERNELS]; /* instructions that kernel k of glow_kernels had a part in */
  unsigned tiles[MOST_TILES];     /* pieces of work with tile t of the library */
  unsigned lanes[MOST_LANES];     /* calls of the function of lanes l */
} Counts;

/* Runs the program on both and compares all bits, any NaN for a NaN; counts what ran. One program
 * of four takes no tiles with fixed params, where others do.
 * What calls a function of lanes whose name begins as one of p->without does not run at all. False,
 * after a message: the bits differ, or it does not run. */
bool program_run(Program *p, Counts *counts);

#endif
