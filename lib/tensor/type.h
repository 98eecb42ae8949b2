/* Types: immutable, interned in the context (equal types have equal pointers).
 *
 *   float<8 x ..24 x $N x ?>          tensor: exact, at most, symbol, unknown
 *   float<*>                          tensor of unknown rank
 *   i8[S:0.041 O:-128]<1 x 112>       quantized
 *   float<8 x 64 x 56 x 56 | NCHW16c> with a physical layout
 *   seq<float<?>, 16>  opt<i64<>>     sequence (at most 16 elements), optional */
#ifndef GLOW_TENSOR_TYPE_H
#define GLOW_TENSOR_TYPE_H

#include "ops/kind.h"
#include "support/context.h"
#include "support/diag.h"
#include "support/limits.h"
#include "support/text.h"

typedef enum GlowDimKind {
  GLOW_DIM_EXACT,
  GLOW_DIM_BOUND,
  GLOW_DIM_SYMBOL,
  GLOW_DIM_UNKNOWN
} GlowDimKind;

typedef struct GlowForm GlowForm; /* tensor/form.h */

/* The range of a symbol: least, least + step, and so on up to most, which is one of them; and its
 * definition, if it follows from other symbols. Interned in the context: equal ones have equal
 * pointers. */
typedef struct GlowExtent {
  GlowContext *ctx;
  GlowStr symbol; /* its name without $ */
  int64_t least, most, step;
  const GlowForm *form; /* NULL: each run sets it */
  GlowStr text;         /* of the definition, or NULL */
  uint32_t id;          /* order of creation, from 1 */
} GlowExtent;

typedef struct GlowDim {
  GlowDimKind kind;
  int64_t size;   /* EXACT: the extent; BOUND, and SYMBOL with a range: the largest extent */
  GlowStr symbol; /* SYMBOL: its name without $ */
  const GlowExtent *extent; /* SYMBOL: its range, or NULL */
} GlowDim;
#define GLOW_EXACT(n) ((GlowDim){GLOW_DIM_EXACT, (n), NULL, NULL})
#define GLOW_BOUND(n) ((GlowDim){GLOW_DIM_BOUND, (n), NULL, NULL})
#define GLOW_SYMBOL(name) ((GlowDim){GLOW_DIM_SYMBOL, 0, (name), NULL})
#define GLOW_UNKNOWN ((GlowDim){GLOW_DIM_UNKNOWN, 0, NULL, NULL})

/* What is wrong with a range, as text; NULL: nothing. */
const char *glow_extent_problem(int64_t least, int64_t most, int64_t step);
/* A symbol of its own, with a range that glow_extent_problem accepts. */
const GlowExtent *glow_extent(GlowContext *ctx, GlowStr symbol, int64_t least, int64_t most,
                              int64_t step);
/* '1..512', '32..640 step 32'. The text lives in the context's arena. */
const char *glow_extent_str(GlowContext *ctx, const GlowExtent *e);
/* Reads such a text up to `end`; the range is of `symbol`. NULL if it is malformed, with a message
 * in *error where the form is right and the numbers are wrong. */
const GlowExtent *glow_extent_parse(GlowContext *ctx, GlowStr symbol, const char *text,
                                    const char *end, const char **error);

static inline GlowDim glow_dim_ranged(const GlowExtent *e) {
  return (GlowDim){GLOW_DIM_SYMBOL, e->most, e->symbol, e};
}
/* Whether d.size says how large the extent can be: it is exact, bounded, or a symbol with a range.
 */
static inline bool glow_dim_has_size(GlowDim d) {
  return d.kind == GLOW_DIM_EXACT || d.kind == GLOW_DIM_BOUND || d.extent;
}
/* Whether d is a number, or a symbol with a range. */
static inline bool glow_dim_is_known(GlowDim d) { return d.kind == GLOW_DIM_EXACT || d.extent; }
static inline bool glow_dim_is_exact(GlowDim d, int64_t size) {
  return d.kind == GLOW_DIM_EXACT && d.size == size;
}
/* Whether an extent of n is one that d allows. */
bool glow_dim_allows(GlowDim d, int64_t n);
/* Whether both say the same: one number, bound, symbol with its range, or nothing. */
bool glow_dim_equals(GlowDim a, GlowDim b);
/* Whether both are the same extent for certain: a number or a symbol. */
static inline bool glow_dim_is_same(GlowDim a, GlowDim b) {
  return (a.kind == GLOW_DIM_EXACT || a.kind == GLOW_DIM_SYMBOL) && glow_dim_equals(a, b);
}
/* '8', '..8', '$N' or '?'. The text lives in the context's arena. */
const char *glow_dim_str(GlowContext *ctx, GlowDim d);
/* The same, but '1..512' for a symbol that has this range. */
const char *glow_dim_range_str(GlowContext *ctx, GlowDim d);

/* A physical layout over logical dimensions. Its text has one capital letter per logical axis in
 * logical order, then inner blocks such as 16c: NCHW16c is stored [N][C/16][H][W][16]. Physical
 * axes are the logical axes in order (blocked ones divided, rounded up), then the blocks from
 * left to right, innermost last. Padding lanes hold zeros. The product of the block sizes is at
 * most GLOW_MAX_BLOCK. */
typedef struct GlowLayout {
  GlowStr text;
  uint8_t rank; /* logical rank */
  uint8_t nblocks;
  struct {
    uint8_t axis;
    uint32_t size;
  } blocks[4];
} GlowLayout;

typedef enum GlowTypeClass {
  GLOW_TYPE_TENSOR,
  GLOW_TYPE_SEQ,
  GLOW_TYPE_OPT,
  GLOW_TYPE_ERROR
} GlowTypeClass;

typedef struct GlowType GlowType;
struct GlowType {
  GlowTypeClass cls;
  /* tensors */
  GlowKind kind;
  bool quantized, unranked;
  float scale; /* quantized: real = (stored - offset) * scale */
  int32_t offset;
  uint32_t rank;
  const GlowLayout *layout; /* NULL: plain row-major */
  /* sequences and optionals */
  const GlowType *elem;
  int64_t max_count; /* SEQ: at most so many, or -1 */
  uint32_t id;       /* order of creation: a stable key */
  GlowDim dims[GLOW_MAX_RANK];
};

/* Constructors. Extents are checked before (glow_type_check_dims); these only intern. */
const GlowType *glow_type_tensor(GlowContext *ctx, GlowKind kind, uint32_t rank,
                                 const GlowDim *dims);
const GlowType *glow_type_exact(GlowContext *ctx, GlowKind kind, uint32_t rank,
                                const int64_t *dims);
const GlowType *glow_type_scalar(GlowContext *ctx, GlowKind kind); /* rank 0 */
const GlowType *glow_type_unranked(GlowContext *ctx, GlowKind kind);
const GlowType *glow_type_seq(GlowContext *ctx, const GlowType *elem, int64_t max_count);
const GlowType *glow_type_opt(GlowContext *ctx, const GlowType *elem);
const GlowType *glow_type_error(GlowContext *ctx); /* suppresses follow-up errors */
/* The same type with one thing changed. */
const GlowType *glow_type_with_kind(GlowContext *ctx, const GlowType *t,
                                    GlowKind kind); /* drops quantization */
const GlowType *glow_type_with_dims(GlowContext *ctx, const GlowType *t, uint32_t rank,
                                    const GlowDim *dims); /* drops layout */
const GlowType *glow_type_with_layout(GlowContext *ctx, const GlowType *t,
                                      const GlowLayout *layout);
/* The context's type that equals t, which may be nobody's. */
const GlowType *glow_type_interned(GlowContext *ctx, const GlowType *t);
/* *to is tensor type t with exact extents. It is not interned: for runs, which touch no context.
 * No two such types are to be compared by address. */
void glow_type_fill(GlowType *to, const GlowType *t, const int64_t *extents);
/* The type of the memory for values of t, a bounded tensor type: bounds become exact extents. Types
 * that are static or no tensors are returned as they are. */
const GlowType *glow_type_room(GlowContext *ctx, const GlowType *t);
/* Whether values of t can grow at their end: the first extent is a symbol that runs set, the others
 * are exact, and the layout is plain. */
bool glow_type_grows(const GlowType *t);
/* The same type with the first extent replaced. */
const GlowType *glow_type_with_rows(GlowContext *ctx, const GlowType *t, GlowDim rows);
/* Whether a type that grows allows so many rows, whatever the symbols are. */
bool glow_type_takes_rows(const GlowType *t, GlowDim rows);
const GlowType *glow_type_with_quant(GlowContext *ctx, const GlowType *t, bool quantized,
                                     float scale, int32_t offset);

/* Rank within GLOW_MAX_RANK, extents >= 0, product of (non-zero) extents <= GLOW_MAX_ELEMENTS.
 * Returns NULL or a message without location. The one place that multiplies extents. */
const char *glow_type_check_dims(GlowKind kind, uint32_t rank, const GlowDim *dims);

/* Reads the text of a layout. Returns NULL, with a message in *error, if the text is malformed or
 * does not fit `rank`. */
const GlowLayout *glow_layout_parse(GlowContext *ctx, const char *text, size_t length,
                                    uint32_t rank, const char **error);
/* The same for a text that is known to be well formed. */
const GlowLayout *glow_layout_named(GlowContext *ctx, const char *text, uint32_t rank);
/* Physical extents for logical ones; returns the physical rank (rank + nblocks). */
uint32_t glow_layout_physical(const GlowLayout *layout, uint32_t rank, const int64_t *dims,
                              int64_t *physical);

/* Stores the physical extents of a known type, numbers and symbols, and returns their number, at
 * most GLOW_MAX_RANK + 4. 0: the type has rank 0 and no blocks, or a block divides a symbol, which
 * *divides says. */
uint32_t glow_type_physical(const GlowType *t, GlowDim *physical, bool *divides);

/* The index in memory, in elements, of element i of a static tensor type. i is row-major over the
 * logical extents. */
int64_t glow_type_physical_index(const GlowType *t, int64_t i);

/* Questions. "static": tensor, ranked, every extent exact. "known": every extent exact, or a symbol
 * with a range. "bounded": bounds may be among them. */
static inline bool glow_type_is_tensor(const GlowType *t) { return t->cls == GLOW_TYPE_TENSOR; }
bool glow_type_is_static(const GlowType *t);
bool glow_type_is_known(const GlowType *t);
bool glow_type_is_bounded(const GlowType *t);
bool glow_type_has_symbols(const GlowType *t);   /* anywhere inside; with ranges or without */
bool glow_type_has_rangeless(const GlowType *t); /* symbols without a range */
/* Whether any type of the context names this symbol. */
bool glow_type_names_symbol(const GlowContext *ctx, GlowStr name);
/* For a bounded tensor type, whose bounds count as extents: the number of logical elements; and the
 * bytes in memory, with the padding of a layout, packed kinds rounded up to bytes. -1 if the type
 * is not bounded. */
int64_t glow_type_elements(const GlowType *t);
int64_t glow_type_bytes(const GlowType *t);

/* Whether two known types have the same extents: numbers and symbols. False for others. */
bool glow_type_is_same_shape(const GlowType *a, const GlowType *b);
/* Whether two known types have as many elements, whatever the symbols are. False for others. */
bool glow_type_same_elements(const GlowType *a, const GlowType *b);

/* Whether a file has as many bytes of elements as a static type needs. False after a diagnostic. */
bool glow_type_check_size(GlowContext *ctx, GlowLoc at, const GlowType *type, uint64_t bytes);

/* Claims: how the type `claimed` in an annotation relates to the type `proved` by inference. A
 * symbol says more than `?` and less than an extent or a bound. A layout is a decision, not a
 * claim: if `proved` has no layout, that of `claimed` does not count; any other difference of
 * layouts contradicts. */
typedef enum GlowFit {
  GLOW_FIT_EQUAL,    /* the same type, up to a layout that does not count */
  GLOW_FIT_NARROWER, /* consistent; `claimed` says more */
  GLOW_FIT_WIDER,    /* consistent; `claimed` says less, which is legal */
  GLOW_FIT_CONTRADICTS
} GlowFit;
GlowFit glow_type_fit(const GlowType *claimed, const GlowType *proved);
/* The type with the more exact of both extents for each axis, or NULL if the types contradict each
 * other. If only one has a layout, the result has this layout. */
const GlowType *glow_type_meet(GlowContext *ctx, const GlowType *a, const GlowType *b);
/* A type that includes both: extents that differ become bounds or unknown. NULL if classes, kinds,
 * quantization or layouts differ. */
const GlowType *glow_type_join(GlowContext *ctx, const GlowType *a, const GlowType *b);

/* Text. glow_type_str is for messages; its result lives in the context's arena. */
void glow_type_print(GlowText *out, const GlowType *t);
const char *glow_type_str(GlowContext *ctx, const GlowType *t);

#endif
