/* What the checked entry of a bundle knows about its program; see kernels.ops for why every field
 * is int64_t. */
#ifndef GLOW_KERNELS_CPU_BUNDLE_H
#define GLOW_KERNELS_CPU_BUNDLE_H

#include <stdint.h>

/* The alignment of everything that a bundle is given, and of what its file holds. */
#define GLOW_BUNDLE_ALIGN 64
#define GLOW_BUNDLE_MAGIC INT64_C(0x3174775f776f6c67) /* "glow_wt1" */

/* How a file of weights begins; 64 bytes. The values of constants follow, each aligned, then the
 * first values of variables. */
typedef struct GlowWeightsHeader {
  int64_t magic, size;    /* of the file */
  int64_t identity[2];    /* of what it holds; also in the code */
  int64_t variables;      /* where the first values of variables begin */
  int64_t variables_size; /* bytes of these values */
  int64_t unused[2];
} GlowWeightsHeader;

typedef struct GlowBundleParams {
  GlowWeightsHeader weights; /* those that the code was compiled with */
  int64_t arena, align;      /* bytes of the arena, and its alignment */
  int64_t worker;            /* bytes for each worker behind it */
  int64_t variables;         /* whether the program uses any */
  int64_t nbuffers;          /* inputs and outputs */
  int64_t nstorage;
} GlowBundleParams;

/* Where the memory of one storage is. */
typedef enum GlowBundleSource {
  GLOW_BUNDLE_UNUSED,
  GLOW_BUNDLE_WEIGHTS,   /* at an offset in the file of weights */
  GLOW_BUNDLE_VARIABLES, /* at an offset in the memory of variables */
  GLOW_BUNDLE_BUFFER,    /* number `offset` */
  GLOW_BUNDLE_SOURCES
} GlowBundleSource;
typedef int64_t GlowBundleSlot; /* offset * GLOW_BUNDLE_SOURCES + source */

/* What the caller gives: the struct of a bundle's header, which has names for the buffers. */
typedef struct GlowBundleArguments {
  void *arena;
  int64_t arena_size;
  const void *weights; /* NULL if they are linked in */
  int64_t weights_size;
  void *variables; /* kept from run to run; NULL if there are none */
  void *buffers[]; /* inputs and outputs */
} GlowBundleArguments;

#endif
