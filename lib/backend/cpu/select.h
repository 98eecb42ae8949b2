/* Selecting work for instructions; shared by the files of this folder. */
#ifndef GLOW_BACKEND_CPU_SELECT_H
#define GLOW_BACKEND_CPU_SELECT_H

#include "backend/cpu/cpu.h"
#include "target/cpu/layouts.h"

#define GLOW_VIEW_RANK (GLOW_MAX_RANK + 4)

/* A buffer, or a part of one, as an instruction sees it: physical axes with strides in elements. */
typedef struct GlowView {
  const GlowType *type;
  GlowPlace place; /* from the first element to the last */
  uint32_t rank;   /* physical */
  int64_t dims[GLOW_VIEW_RANK], strides[GLOW_VIEW_RANK];
} GlowView;

/* State of one selection. */
typedef struct GlowSelect {
  GlowContext *ctx;
  GlowArena *arena;
  const GlowIsa *isa;
  GlowCpuNumbers cpu; /* of isa */
  GlowWorkList work;
  GlowMap *places; /* GlowValue of an alloc or a storage -> GlowPlace */
  GlowCpuPlan *plan;
  GlowCpuNotes refusals;
  const char *why; /* set by a selection that fails: what it cannot do */
} GlowSelect;

/* Says why the instruction cannot be compiled; returns false. */
static inline bool glow_select_fail(GlowSelect *s, const char *why) {
  s->why = why;
  return false;
}

/* Fills in the view of a value. False, with s->why, if its type is not static or its elements are
 * not whole bytes. */
bool glow_select_view(GlowSelect *s, const GlowValue *v, GlowView *view);

/* A dense buffer of a static type, wherever it is. */
void glow_view_dense(const GlowType *t, GlowView *view);

/* glow_select_view for a value that must be dense: in a plain layout, without gaps, and with
 * elements of whole bytes. False, with s->why, for others. */
bool glow_select_dense(GlowSelect *s, const GlowValue *v, GlowView *view);
/* Whether a view has the layout that the row of a kernel says of an operand; `blocks` as in
 * glow_kernel_takes. False, with s->why. */
bool glow_select_layout(GlowSelect *s, const GlowKernel *k, const char *operand, const GlowView *v,
                        int64_t *blocks);
/* The product of the extents of physical axes [first, last). */
int64_t glow_view_extent(const GlowView *v, uint32_t first, uint32_t last);
/* An axis that counts from the end if it is negative. */
static inline uint32_t glow_axis_from(int64_t axis, uint32_t rank) {
  return (uint32_t)(axis < 0 ? axis + rank : axis);
}
/* Whether the elements lie one behind the other in the order of the physical axes. */
bool glow_view_is_dense(const GlowView *v);

/* What the constructors of cpu/work.h are told besides parameters, tiles and places. */
typedef struct GlowWorkSpec {
  int64_t units; /* how far it can be split */
  int64_t grain; /* units that a shard should have, since each reads much besides; 0: one */
  int64_t cost;  /* if the instruction has other work besides: multiply-adds of this work, or
                    bytes that it moves, so that little work is not split into as many shards
                    as the instruction. 0: this is all of it */
  const GlowCall *fault; /* the kernel may end the run: the call that messages are about */
} GlowWorkSpec;
/* The tile that a setup names, which the machine must have; NULL: none is named. */
const GlowTile *glow_select_sized(GlowSelect *s, const GlowTileSize *t);

/* For cpu/work.h, whose functions append work by a kernel of the table. Params are a struct of
 * int64_t, behind which the `count` numbers of `table` follow. Everything is copied. */
typedef struct GlowWorkParts {
  const GlowKernel *kernel;
  const void *params;
  size_t params_size;
  const int64_t *table;
  uint32_t count;
  const GlowPlace *places;
  uint32_t nplaces, nwritten;
} GlowWorkParts;
GlowWork *glow_select_work(GlowSelect *s, const GlowNode *n, const GlowWorkParts *parts,
                           const GlowWorkSpec *spec);
/* Gives work the numbers that its kernel reads at a place that glow_place_numbers gives. */
void glow_select_numbers(GlowSelect *s, GlowWork *w, const void *numbers, size_t bytes);
/* Gives work its tiles, NULL where none is needed. kinds[i] has a bit for each kind (GlowTileKind)
 * that tile i may be of. */
void glow_select_tiles(GlowSelect *s, GlowWork *w, const GlowTile *const *tiles,
                       const uint64_t *kinds, uint32_t count);

/* The operands of n without their addresses. NULL, with s->why, if one cannot be described. */
const GlowCall *glow_select_call(GlowSelect *s, const GlowNode *n);

/* A pointer that is null, and constant zeros. */
static inline GlowPlace glow_place_absent(void) { return (GlowPlace){GLOW_PLACE_ABSENT, 0, 0}; }
static inline GlowPlace glow_place_zeros(int64_t bytes) {
  return (GlowPlace){GLOW_PLACE_ZEROS, 0, bytes};
}
static inline GlowPlace glow_place_numbers(int64_t bytes) {
  return (GlowPlace){GLOW_PLACE_NUMBERS, 0, bytes};
}
/* Number i of the work. */
static inline GlowPlace glow_place_number(int64_t i) {
  return (GlowPlace){GLOW_PLACE_NUMBERS, i * (int64_t)sizeof(int64_t), sizeof(int64_t)};
}

/* The block of a logical axis in a type's layout, or -1. */
int glow_block_of(const GlowType *t, uint32_t axis);

/* The GlowGridElement of a kind. False: it is none. */
bool glow_grid_element(GlowKind kind, int64_t *element);

/* Selections: append work, or return false with s->why. */
bool glow_select_conv_transpose(GlowSelect *s, const GlowNode *n);
bool glow_select_conv(GlowSelect *s, const GlowNode *n);
bool glow_select_matmul(GlowSelect *s, const GlowNode *n);
bool glow_select_affine_grid(GlowSelect *s, const GlowNode *n);
bool glow_select_arg_max(GlowSelect *s, const GlowNode *n);
bool glow_select_col2_im(GlowSelect *s, const GlowNode *n);
bool glow_select_concat(GlowSelect *s, const GlowNode *n);
bool glow_select_det(GlowSelect *s, const GlowNode *n);
bool glow_select_dft(GlowSelect *s, const GlowNode *n);
bool glow_select_deform_conv(GlowSelect *s, const GlowNode *n);
bool glow_select_expand(GlowSelect *s, const GlowNode *n);
bool glow_select_filter_gradient(GlowSelect *s, const GlowNode *n);
bool glow_select_gather(GlowSelect *s, const GlowNode *n);
bool glow_select_gather_elements(GlowSelect *s, const GlowNode *n);
bool glow_select_gather_nd(GlowSelect *s, const GlowNode *n);
bool glow_select_grid_sample(GlowSelect *s, const GlowNode *n);
bool glow_select_halo(GlowSelect *s, const GlowNode *n);
bool glow_select_max_roi_pool(GlowSelect *s, const GlowNode *n);
bool glow_select_max_unpool(GlowSelect *s, const GlowNode *n);
bool glow_select_move(GlowSelect *s, const GlowNode *n);
bool glow_select_one_hot(GlowSelect *s, const GlowNode *n);
bool glow_select_pad(GlowSelect *s, const GlowNode *n);
bool glow_select_pool(GlowSelect *s, const GlowNode *n);
bool glow_select_reverse_sequence(GlowSelect *s, const GlowNode *n);
bool glow_select_tensor_scatter(GlowSelect *s, const GlowNode *n);
/* Matrix products that glow_select_matmul has no tiles for. */
bool glow_select_product(GlowSelect *s, const GlowNode *n);
bool glow_select_mat_mul_integer(GlowSelect *s, const GlowNode *n);
bool glow_select_mat_mul_nbits(GlowSelect *s, const GlowNode *n);
bool glow_select_conv_integer(GlowSelect *s, const GlowNode *n);
bool glow_select_reduce(GlowSelect *s, const GlowNode *n);
bool glow_select_resize(GlowSelect *s, const GlowNode *n);
bool glow_select_roi_align(GlowSelect *s, const GlowNode *n);
bool glow_select_scan(GlowSelect *s, const GlowNode *n);
bool glow_select_scatter_elements(GlowSelect *s, const GlowNode *n);
bool glow_select_scatter_nd(GlowSelect *s, const GlowNode *n);
bool glow_select_slice(GlowSelect *s, const GlowNode *n);
bool glow_select_split(GlowSelect *s, const GlowNode *n);
bool glow_select_tiled_attention(GlowSelect *s, const GlowNode *n);
bool glow_select_stack(GlowSelect *s, const GlowNode *n);
bool glow_select_lookup_table(GlowSelect *s, const GlowNode *n);
bool glow_select_logic(GlowSelect *s, const GlowNode *n);
bool glow_select_if(GlowSelect *s, const GlowNode *n);
bool glow_select_loop(GlowSelect *s, const GlowNode *n);
/* Any instruction with a reference kernel, and its epilogue. */
bool glow_has_reference(const GlowNode *n);
bool glow_select_reference(GlowSelect *s, const GlowNode *n);
bool glow_select_tile(GlowSelect *s, const GlowNode *n);
bool glow_select_top_k(GlowSelect *s, const GlowNode *n);
bool glow_select_transpose(GlowSelect *s, const GlowNode *n);
bool glow_select_trilu(GlowSelect *s, const GlowNode *n);
/* A scalar body over buffers: values[0, nouts) = body(the other values). The body is that of b, or
 * of n itself if b is NULL. */
bool glow_select_body(GlowSelect *s, const GlowNode *n, const GlowBlock *b,
                      const GlowValue *const *values, uint32_t count, uint32_t nouts);

/* Sets bit a of *mask for each axis a of `rank` that a reduction reduces. False, with s->why, if
 * the axes are not known. */
bool glow_select_reduced_axes(GlowSelect *s, const GlowNode *n, uint32_t rank, uint32_t *mask);
/* One kernel for n and the instructions behind it, if they take rows through several steps, as a
 * Softmax does: appends its work and returns the last of them. NULL: nothing is appended. */
const GlowNode *glow_select_rows(GlowSelect *s, const GlowNode *n);

/* A machine kernel, or else the reference kernel; which and why is noted. False, with s->why, if
 * there is neither. */
bool glow_select_instruction(GlowSelect *s, const GlowNode *n);
/* An instruction that also pools, where no kernel does both: two instructions, with a buffer of
 * their own between them. */
bool glow_select_apart(GlowSelect *s, const GlowNode *n, const GlowMaxPoolMembers *pool);
/* The work of a region; refusals are noted. */
GlowWorkList glow_select_block(GlowSelect *s, GlowBlock *b);
/* Says where an alloc or the counter of a loop is. */
void glow_select_place(GlowSelect *s, const GlowValue *v, const GlowPlace *place);
/* Memory that lives as long as the run, behind the planned buffers. */
GlowPlace glow_select_extra(GlowSelect *s, int64_t bytes);

/* What operand i of an element-wise instruction is, if it is one constant number behind the first
 * operand: a part of the body. Else NULL. */
const GlowTensor *glow_select_literal(const GlowNode *n, uint32_t i);
/* Make the body of an element-wise instruction, whose parameters are the operands that are present
 * and no literals, or of a scalar block. Return the first node that has no vector form for its kinds, or NULL. */
const GlowNode *glow_select_node_body(GlowSelect *s, const GlowNode *n, GlowBody *body);
const GlowNode *glow_select_block_body(GlowSelect *s, const GlowBlock *b, GlowBody *body);
/* Makes the body of n's epilogue, which gets a float from the kernel and gives it one to store;
 * empty if there is no epilogue. False, with s->why, if a node has no vector form. */
bool glow_select_epilogue_body(GlowSelect *s, const GlowNode *n, GlowBody *body);
/* Where the work of n comes from. */
const GlowWorkSource *glow_select_source(GlowSelect *s, const GlowNode *n);

/* Appends the epilogue of n, if it has one, as a loop of its own: result = body(result, the extra
 * operands). */
bool glow_select_epilogue(GlowSelect *s, const GlowNode *n);
/* Appends zeros into the padding lanes of a blocked buffer. */
bool glow_select_zero_padding(GlowSelect *s, const GlowNode *n, const GlowView *to);

/* An operand that is read along the physical axes of `to`, with broadcasting: fills in place,
 * stride (one for each physical axis of `to`, at most GLOW_VIEW_RANK) and the number of channels
 * that may be read, 0 if whole blocks are there. False, with s->why, if its layout does not allow
 * that. */
bool glow_select_operand(GlowSelect *s, const GlowView *to, const GlowView *from, int64_t *stride,
                         int64_t *channels);

#endif
