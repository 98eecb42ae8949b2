/* Tensors: values at compile time and at run time.
 *
 * A tensor of a static type has `bytes` of data in the type's physical layout; strings are arrays
 * of GlowString. A sequence has `count` items; an optional 0 or 1. A tensor either owns its data
 * (64-byte aligned; malloc'ed if no `room` is counted) or borrows it (a blob's, of any alignment:
 * read it through glow_tensor_aligned or memcpy). Tensors are values: putting one into a sequence
 * copies it. */
#ifndef GLOW_TENSOR_TENSOR_H
#define GLOW_TENSOR_TENSOR_H

#include "ops/desc.h"
#include "tensor/type.h"

typedef struct GlowTensor GlowTensor;
struct GlowTensor {
  const GlowType *type; /* static tensor type; or SEQ, OPT of any precision */
  void *data;
  size_t bytes;
  bool owned;
  GlowContext *ctx; /* if owned: the context whose tensor_bytes include this tensor's `room`; NULL:
                       no context counts it */
  size_t room;
  uint32_t count; /* SEQ, OPT */
  GlowTensor **items;
};

/* These functions throw when memory is exhausted. glow_tensor_create fills with zeros; a tensor
 * type must be static; a sequence or optional is empty. glow_tensor_free ignores NULL;
 * glow_tensor_free_fn is the same for GlowDefer. */
GlowTensor *glow_tensor_create(GlowContext *ctx, const GlowType *type);
/* The same for a caller who writes all of it, padding lanes included: elements may have any value.
 * Strings, and elements of fewer than 8 bits, are zeros here, too. */
GlowTensor *glow_tensor_create_unset(GlowContext *ctx, const GlowType *type);
GlowTensor *glow_tensor_borrow(GlowContext *ctx, const GlowType *type, const void *data,
                               size_t bytes);
GlowTensor *glow_tensor_copy(GlowContext *ctx, const GlowTensor *t);
/* A copy of a tensor of a static type whose data, strings included, lie in an arena. */
GlowTensor *glow_tensor_in_arena(GlowArena *arena, const GlowTensor *t);
/* The same values in a layout (NULL: plain); sequences and optionals are copied as they are. */
GlowTensor *glow_tensor_in_layout(GlowContext *ctx, const GlowTensor *t, const GlowLayout *layout);
GlowTensor *glow_tensor_plain(GlowContext *ctx, const GlowTensor *t);
void glow_tensor_free(GlowTensor *t);
void glow_tensor_free_fn(void *t);
/* Appends item to seq, which owns item from then on. item is freed if this throws. */
void glow_tensor_append(GlowContext *ctx, GlowTensor *seq, GlowTensor *item);
void glow_tensor_set_string(GlowContext *ctx, GlowTensor *t, int64_t index, const char *s,
                            size_t n);

/* Access to elements by logical row-major index, for any layout, alignment and kind, packed ones
 * included. Of a complex element, these functions read and write the real part; writing clears the
 * imaginary part. */
int64_t glow_tensor_elements(const GlowTensor *t);
double glow_tensor_get_double(const GlowTensor *t,
                              int64_t i); /* not strings; quantized: stored value */
int64_t glow_tensor_get_int(const GlowTensor *t, int64_t i);
GlowScalar glow_tensor_get(const GlowTensor *t, int64_t i);
GlowString glow_tensor_get_string(const GlowTensor *t, int64_t i); /* borrowed; strings only */
void glow_tensor_set(GlowTensor *t, int64_t i, GlowScalar v); /* rounds, saturates as casts do */
void glow_tensor_fill(GlowTensor *t, GlowScalar v);

/* `[[1.0, 2.0], [3.0, 4.0]]`; rank 0 prints its one value. */
void glow_tensor_print(GlowText *out, const GlowTensor *t);

/* Random initializers (lib/tensor/random.c): Philox4x32-10, counter-based. */
typedef enum GlowRandomKind {
  GLOW_RANDOM_XAVIER,
  GLOW_RANDOM_UNIFORM,
  GLOW_RANDOM_NORMAL
} GlowRandomKind;
typedef struct GlowRandom {
  GlowRandomKind kind;
  double fan;         /* xavier: uniform in +-sqrt(3/fan) */
  double low, high;   /* uniform */
  double mean, scale; /* normal */
  uint64_t seed;
} GlowRandom;
void glow_tensor_fill_random(GlowTensor *t, const GlowRandom *r);

/* Comparison with a reference: |got - want| <= atol + rtol * |want|; NaN equals NaN; strings and
 * shapes exactly; sequences item by item. */
typedef struct GlowCompare {
  bool ok;
  const char *mismatch; /* types or counts differ: a message, in the context's arena; the rest is
                           then unset */
  int64_t elements, wrong;
  int64_t worst; /* logical index of the element with the largest excess over its tolerance */
  double worst_got, worst_want; /* that element in both */
  double max_abs, max_rel;      /* largest absolute and relative error */
  uint64_t max_ulp;             /* in the element kind's own ULPs; integers: distance */
  int64_t first_nan;            /* first NaN in got where want has none, or -1 */
} GlowCompare;
GlowCompare glow_tensor_compare(GlowContext *ctx, const GlowTensor *got, const GlowTensor *want,
                                double rtol, double atol);
/* Several lines for a person: counts, worst element with its index, errors, first NaN. */
void glow_compare_print(GlowText *out, const char *name, const GlowTensor *want,
                        const GlowCompare *c);
bool glow_tensor_same_bits(const GlowTensor *a, const GlowTensor *b); /* two NaNs are equal */

#endif
