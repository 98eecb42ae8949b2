/* Which of the layouts that rows of the kernel table take is best for a node. Filters and constant
 * right operands of products are packed by the columns of a tile, so they are what a change of the
 * target changes. Nothing here affects a result. */
#include "ir/infer.h"
#include "kernels/params.h"
#include "target/cpu/cpu.h"
#include "target/cpu/layouts.h"
#include "target/cpu/rows.h"
#include "tensor/tensor.h"

#include <string.h>

enum { CHANNELS = GLOW_CONV_BLOCK, ALL_BUT_CHANNELS = 0xd }; /* bits of axes 0, 2, 3 */

static uint32_t stays_plain(const char **why, const char *reason) {
  *why = reason;
  return 0;
}

static const GlowLayout *blocks(GlowContext *ctx) {
  return glow_layout_named(ctx, GLOW_CPU_BLOCKS, 4);
}

/* Which layout of filters: blocks of a tile's width, if they divide `out`, else of 16. */
static uint32_t filter_of(const GlowIsa *isa, int64_t out) {
  return out % ((int64_t)isa->vl * isa->tile_vectors) ? 1 : 0;
}

/* As a kernel takes its operands: the filter packed by text `which` of its row, `in` channels of a
 * group in a block. */
static GlowChoice convolution(GlowContext *ctx, const GlowIsa *isa, const GlowKernel *k,
                              uint32_t which, int64_t in) {
  GlowChoice c = {.out = glow_kernel_layout(ctx, k, "y", 0, isa, 0),
                  .packed = 1u << GLOW_CONVOLUTION_IN_W};
  if (k != glow_find_conv_few())
    c.in[GLOW_CONVOLUTION_IN_X] = glow_kernel_layout(ctx, k, "x", 0, isa, 0);
  c.in[GLOW_CONVOLUTION_IN_W] = glow_kernel_layout(ctx, k, "w", which, isa, in);
  return c;
}

/* Groups: each of one channel, of half a block of channels in and out, or of whole blocks. */
static uint32_t grouped_choices(GlowContext *ctx, const GlowIsa *isa, int64_t groups, int64_t in,
                                int64_t out, GlowChoice *choices, const char **why) {
  bool depthwise = in == 1 && out == 1;
  bool shared = in == GLOW_CONV_GROUP && out == GLOW_CONV_GROUP && groups % 2 == 0;
  if (!depthwise && !shared && (in % CHANNELS || out % CHANNELS))
    return stays_plain(why, glow_arena_printf(ctx->arena,
                                              "each of its %lld groups has %lld channels in and "
                                              "%lld out, which are no whole blocks of %d",
                                              (long long)groups, (long long)in, (long long)out,
                                              CHANNELS));
  choices[0] = depthwise ? convolution(ctx, isa, glow_find_depthwise(), 0, 1)
               : shared  ? convolution(ctx, isa, glow_find_conv(), 1, in)
                         : convolution(ctx, isa, glow_find_conv(), filter_of(isa, out), CHANNELS);
  return 1;
}

/* Maps of narrow integers with a filter for each channel: all channels are one block. */
static uint32_t lane_choices(const GlowIsa *isa, const GlowNode *n, GlowChoice *choices,
                             const char **why) {
  GlowContext *ctx = n->block->module->ctx;
  const GlowType *y = glow_node_out(n, 0)->type;
  if (((const GlowConvolutionMembers *)n->members)->layout == GLOW_LAYOUT_NHWC)
    return stays_plain(why, "its channels lie together");
  int64_t channels = y->dims[1].size;
  choices[0] =
      (GlowChoice){.out = glow_kernel_layout(ctx, glow_find_dot_lanes(), "y", 0, isa, channels)};
  choices[0].in[GLOW_CONVOLUTION_IN_X] =
      glow_kernel_layout(ctx, glow_find_dot_lanes(), "x", 0, isa, channels);
  return 1;
}

/* Whether a panel of 16 columns, with as many rows as steps of up to 64 fill, can be blocks of a
 * layout. */
static bool has_panels(int64_t rows) {
  enum { COLUMNS = 16, STEP = 64 };
  return (rows + STEP - 1) / STEP * STEP <= GLOW_MAX_BLOCK / COLUMNS;
}

/* The filter in panels of 16 for steps of four channels. In the order NCHW all channels of a map
 * are one block, but those of an input of a few, which is copied anyway. */
static uint32_t narrow_choices(const GlowIsa *isa, const GlowNode *n, GlowChoice *choices,
                               const char **why) {
  enum { FEW = 8 };
  GlowContext *ctx = n->block->module->ctx;
  const GlowKernel *k = glow_find_narrow();
  const GlowConvolutionMembers *m = n->members;
  const GlowType *x = glow_node_in(n, GLOW_CONVOLUTION_IN_X)->type;
  const GlowType *w = glow_node_in(n, GLOW_CONVOLUTION_IN_W)->type;
  const GlowType *y = glow_node_out(n, 0)->type;
  bool last = m->layout == GLOW_LAYOUT_NHWC;
  if (x->rank != 4 || w->kind != GLOW_KIND_I8 || w->quantized)
    return stays_plain(why, "it has a filter that is not of i8, or not two spatial axes");
  int64_t in = w->dims[last ? 3 : 1].size, out = w->dims[0].size;
  if (!has_panels(in) || !has_panels(out))
    return stays_plain(why, "it has too many channels");
  if (m->group > 1 && in == 1 && out == (int64_t)m->group && glow_type_elements(y) > 0)
    return lane_choices(isa, n, choices, why);
  if (m->group > 1)
    return stays_plain(why, "it has groups of several channels, or no elements");
  if (out < 2 || glow_type_elements(y) == 0 || glow_type_elements(w) == 0)
    return stays_plain(why, "it has few filters, or no elements");
  choices[0] = (GlowChoice){.packed = 1u << GLOW_CONVOLUTION_IN_W};
  choices[0].in[GLOW_CONVOLUTION_IN_W] =
      glow_kernel_layout(ctx, k, "w", last ? 1 : 0, isa, (in + 3) / 4);
  if (last)
    return 1;
  choices[0].out = glow_kernel_layout(ctx, k, "y", 0, isa, out);
  if (in >= FEW)
    choices[0].in[GLOW_CONVOLUTION_IN_X] = glow_kernel_layout(ctx, k, "x", 0, isa, in);
  return 1;
}

/* The filter in panels of 16 for steps of two channels of bfloat16; few input channels stay plain.
 */
static uint32_t bf16_choices(GlowContext *ctx, const GlowIsa *isa, const GlowNode *n,
                             GlowChoice *choices, const char **why) {
  const GlowConvolutionMembers *m = n->members;
  const bool pair = m->order == GLOW_BF16_ORDER_PAIR;
  const GlowKernel *k = pair ? glow_find_bf16_pair() : glow_find_bf16();
  const GlowType *w = glow_node_in(n, GLOW_CONVOLUTION_IN_W)->type;
  int64_t in = w->dims[1].size;
  if (w->kind != GLOW_KIND_BFLOAT16 || (!pair && w->dims[0].size % GLOW_CONV_BLOCK))
    return stays_plain(why, "its filters are not of bfloat16, or fill no whole blocks of 16");
  if (!has_panels(in))
    return stays_plain(why, "it has too many channels");
  choices[0] = (GlowChoice){.out = glow_kernel_layout(ctx, k, "y", 0, isa, 0),
                            .packed = 1u << GLOW_CONVOLUTION_IN_W};
  if (in >= CHANNELS)
    choices[0].in[GLOW_CONVOLUTION_IN_X] = glow_kernel_layout(ctx, k, "x", 0, isa, 0);
  choices[0].in[GLOW_CONVOLUTION_IN_W] = glow_kernel_layout(ctx, k, "w", 0, isa, (in + 1) / 2);
  return 1;
}

/* Input channels may stay plain, too, if there are fewer than a block has. */
static uint32_t convolution_choices(const GlowIsa *isa, const GlowNode *n, GlowChoice *choices,
                                    const char **why) {
  GlowContext *ctx = n->block->module->ctx;
  const GlowConvolutionMembers *m = n->members;
  const GlowType *x = glow_node_in(n, GLOW_CONVOLUTION_IN_X)->type;
  const GlowType *w = glow_node_in(n, GLOW_CONVOLUTION_IN_W)->type;
  const GlowType *y = glow_node_out(n, 0)->type;
  if (!glow_type_is_known(x) || !glow_type_is_static(w) || !glow_type_is_known(y))
    return stays_plain(why, "its extents are not known");
  if (glow_node_is_narrow(n))
    return narrow_choices(isa, n, choices, why);
  if (x->kind != GLOW_KIND_FLOAT || y->kind != GLOW_KIND_FLOAT)
    return stays_plain(why, "it is not of float");
  if (x->rank != 4 || m->layout != GLOW_LAYOUT_NCHW)
    return stays_plain(why, "it has not two spatial axes in the order NCHW");
  if (glow_type_elements(y) == 0 || glow_type_elements(w) == 0)
    return stays_plain(why, "it has no elements");
  if (m->strategy == GLOW_CONV_STRATEGY_BF16)
    return bf16_choices(ctx, isa, n, choices, why);
  int64_t groups = m->group ? m->group : 1, in = x->dims[1].size;
  if (groups > 1)
    return grouped_choices(ctx, isa, groups, w->dims[1].size, w->dims[0].size / groups, choices,
                           why);
  if (m->strategy == GLOW_CONV_STRATEGY_WINOGRAD) {
    choices[0] = convolution(ctx, isa, glow_find_winograd(), 0, CHANNELS);
    return 1;
  }
  bool few = in < CHANNELS;
  choices[0] = convolution(ctx, isa, glow_find_conv(), 0, few ? in : CHANNELS);
  if (few)
    choices[1] = convolution(ctx, isa, glow_find_conv_few(), 0, in);
  return few ? 2 : 1;
}

/* Two ways: the right operand in panels of as many columns as a tile has, cut into chunks of rows;
 * or plain. Blocks of a layout have two elements or more, so small operands have no choice. */
static uint32_t product_choices(const GlowIsa *isa, const GlowNode *n, GlowChoice *choices) {
  const GlowType *b = glow_node_in(n, GLOW_MAT_MUL_IN_B)->type;
  const bool narrow = glow_node_is_narrow(n) && b->kind == GLOW_KIND_I8;
  const bool direct = glow_product_is_direct(n);
  const bool bf16 = !direct && b->kind == GLOW_KIND_BFLOAT16;
  const bool plain = direct && glow_node_in(n, GLOW_MAT_MUL_IN_A)->type->kind == GLOW_KIND_FLOAT;
  if (!glow_type_is_static(b) || b->rank != 2 || !(plain || narrow || bf16) ||
      (!b->layout && (b->dims[0].size < 2 || b->dims[1].size < 2)) ||
      (!plain && !has_panels(b->dims[0].size)))
    return 0;
  GlowContext *ctx = n->block->module->ctx;
  choices[0] = (GlowChoice){.packed = 1u << GLOW_MAT_MUL_IN_B};
  if (bf16) {
    choices[0].in[GLOW_MAT_MUL_IN_B] =
        glow_kernel_layout(ctx, glow_find_bf16(), "w", 1, isa, (b->dims[0].size + 1) / 2);
    return 1;
  }
  if (narrow) {
    choices[0].in[GLOW_MAT_MUL_IN_B] =
        glow_kernel_layout(ctx, glow_find_narrow(), "w", 2, isa, (b->dims[0].size + 3) / 4);
    return 1;
  }
  choices[0].in[GLOW_MAT_MUL_IN_B] = glow_kernel_layout(ctx, glow_find_matmul(), "b", 0, isa,
                                                        glow_isa_chunk(isa, b->dims[0].size));
  choices[1] = (GlowChoice){0};
  return 2;
}

/* Below so many rows a product takes as long as its weights take from memory, if it has many. */
enum { FEW_ROWS = 8, FEW_WEIGHTS = 65536 };

bool glow_cpu_product_stores(const GlowIsa *isa, const GlowNode *n, GlowKind kind) {
  const GlowType *b = glow_node_in(n, GLOW_MAT_MUL_IN_B)->type, *c = glow_node_out(n, 0)->type;
  bool converts =
      kind == GLOW_KIND_BFLOAT16 || strstr(isa->features, "f16c") || !strcmp(isa->arch, "aarch64");
  int64_t weights = glow_type_is_static(b) ? glow_type_elements(b) : 0;
  return converts && glow_product_is_direct(n) && weights > FEW_WEIGHTS && b->rank == 2 &&
         glow_kernel_takes(glow_find_matmul_stored(), "b", isa, b->layout, NULL) &&
         glow_type_is_static(c) && c->kind == GLOW_KIND_FLOAT &&
         glow_type_elements(c) < FEW_ROWS * b->dims[1].size;
}

/* The same of bytes: panels are as deep as B, in whole squares of 16 groups of four steps. */
static uint32_t dot_choices(const GlowIsa *isa, const GlowNode *n, GlowChoice *choices) {
  const GlowType *b = glow_node_in(n, GLOW_MAT_MUL_INTEGER_IN_B)->type;
  if (!glow_type_is_static(b) || b->rank != 2 ||
      (!b->layout && (b->dims[0].size < 2 || b->dims[1].size < 2)) || !has_panels(b->dims[0].size))
    return 0;
  int64_t groups = (b->dims[0].size + 63) / 64 * 16;
  choices[0] = (GlowChoice){.packed = 1u << GLOW_MAT_MUL_INTEGER_IN_B};
  choices[0].in[GLOW_MAT_MUL_INTEGER_IN_B] =
      glow_kernel_layout(n->block->module->ctx, glow_find_dot(), "b", 0, isa, groups);
  choices[1] = (GlowChoice){0};
  return 2;
}

/* Words of weights, scales and zero points in panels as deep as they are. */
static uint32_t few_bits_choices(const GlowIsa *isa, const GlowNode *n, GlowChoice *choices) {
  choices[0] = choices[1] = (GlowChoice){0};
  for (uint32_t i = GLOW_MAT_MUL_NBITS_IN_W; i <= GLOW_MAT_MUL_NBITS_IN_ZERO; i++) {
    const GlowType *t = glow_node_in(n, i) ? glow_node_in(n, i)->type : NULL;
    if (!t)
      continue;
    if (!glow_type_is_static(t) || t->dims[0].size < 2 || t->dims[1].size < 2 ||
        !has_panels(t->dims[0].size))
      return 0;
    choices[0].packed |= 1u << i;
    choices[0].in[i] = glow_kernel_layout(n->block->module->ctx, glow_find_few_bits(), "w", 0, isa,
                                          t->dims[0].size);
  }
  return 2;
}

/* Filters of bytes in the order NHWC, each tap with its channels in groups of four. */
static uint32_t dot_conv_choices(const GlowIsa *isa, const GlowNode *n, GlowChoice *choices) {
  const GlowConvIntegerMembers *m = n->members;
  const GlowType *w = glow_node_in(n, GLOW_CONV_INTEGER_IN_W)->type;
  if (!glow_type_is_static(w) || w->rank != 4 || m->layout != GLOW_LAYOUT_NHWC || m->group > 1 ||
      glow_type_elements(w) == 0)
    return 0;
  choices[0] = (GlowChoice){.packed = 1u << GLOW_CONV_INTEGER_IN_W};
  choices[0].in[GLOW_CONV_INTEGER_IN_W] = glow_kernel_layout(
      n->block->module->ctx, glow_find_dot_conv(), "w", 0, isa, (w->dims[3].size + 3) / 4);
  choices[1] = (GlowChoice){0};
  return 2;
}

/* Maps of bytes come and go with all channels in one block, as products of bytes have them. */
static uint32_t byte_map_choices(const GlowIsa *isa, const GlowNode *n, GlowChoice *choices) {
  const GlowType *x = glow_node_in(n, 0)->type;
  choices[0] = choices[1] = (GlowChoice){0};
  if (!glow_type_is_known(x) || x->rank != 4 || x->dims[1].kind != GLOW_DIM_EXACT)
    return 0;
  int64_t channels = x->dims[1].size;
  if (channels < CHANNELS)
    return 1;
  choices[0].out = choices[0].in[0] =
      glow_kernel_layout(n->block->module->ctx, glow_find_narrow(), "y", 0, isa, channels);
  return 2;
}

static uint32_t pool_choices(const GlowIsa *isa, const GlowNode *n, int order, GlowChoice *choices,
                             const char **why) {
  const GlowType *x = glow_node_in(n, 0)->type;
  bool argmax = n->nresults > 1 && n->results[1].uses;
  bool bytes = n->op == GLOW_OP_MAX_POOL && glow_kind_info[x->kind].bits == 8;
  if (!glow_type_is_known(x) || x->rank != 4 || x->dims[1].kind != GLOW_DIM_EXACT ||
      glow_type_elements(x) == 0 || order != GLOW_LAYOUT_NCHW || argmax ||
      !(bytes || (x->kind == GLOW_KIND_FLOAT && !x->quantized)))
    return stays_plain(why, "it has not two spatial axes of float, or of bytes for maxima, in the "
                            "order NCHW, or an Argmax");
  if (bytes)
    return byte_map_choices(isa, n, choices);
  choices[0] = (GlowChoice){.out = blocks(n->block->module->ctx)};
  choices[0].in[0] = choices[0].out;
  choices[1] = (GlowChoice){0}; /* rows of plain values are as fast as blocks without a Relayout */
  return 2;
}

/* X and DY in blocks or plain, as they come. */
static uint32_t filter_gradient_choices(GlowContext *ctx, const GlowNode *n, GlowChoice *choices) {
  const GlowFilterGradientMembers *m = n->members;
  const GlowType *x = glow_node_in(n, GLOW_FILTER_GRADIENT_IN_X)->type;
  const GlowType *dy = glow_node_in(n, GLOW_FILTER_GRADIENT_IN_DY)->type;
  if (!glow_type_is_static(x) || !glow_type_is_static(dy) || x->rank != 4 ||
      x->kind != GLOW_KIND_FLOAT || m->group > 1)
    return 0;
  for (uint32_t i = 0; i < 4; i++) {
    choices[i] = (GlowChoice){0};
    choices[i].in[GLOW_FILTER_GRADIENT_IN_X] = i & 1 ? NULL : blocks(ctx);
    choices[i].in[GLOW_FILTER_GRADIENT_IN_DY] = i & 2 ? NULL : blocks(ctx);
  }
  return 4;
}

/* A sum or mean for each channel over images and places reads blocks, too. */
static uint32_t channel_choices(GlowContext *ctx, const GlowNode *n, GlowChoice *choices) {
  const GlowType *x = glow_node_in(n, 0)->type;
  const GlowValue *list = glow_node_nins(n) > 1 ? glow_node_in(n, 1) : NULL;
  const GlowTensor *axes = list ? glow_value_known(list) : NULL;
  uint32_t mask = 0;
  for (int64_t i = 0; axes && i < glow_tensor_elements(axes); i++) {
    int64_t a = glow_tensor_get_int(axes, i);
    mask |= 1u << (a < 0 ? a + x->rank : a);
  }
  if (!glow_type_is_known(x) || x->rank != 4 || x->kind != GLOW_KIND_FLOAT || x->quantized ||
      x->dims[1].kind != GLOW_DIM_EXACT || x->dims[1].size % CHANNELS || !glow_type_elements(x) ||
      mask != ALL_BUT_CHANNELS)
    return 0;
  choices[0] = choices[1] = (GlowChoice){0};
  choices[0].in[0] = blocks(ctx);
  return 2;
}

uint32_t glow_cpu_choices(const GlowTarget *t, const GlowNode *n, GlowChoice choices[GLOW_CHOICES],
                          const char **why) {
  switch (n->op) {
  case GLOW_OP_CONVOLUTION:
    return convolution_choices(t->machine, n, choices, why);
  case GLOW_OP_WINOGRAD_FILTER: /* packed as it is made */
    choices[0] = (GlowChoice){.out = glow_kernel_layout(n->block->module->ctx, glow_find_winograd(),
                                                        "w", 0, t->machine, 0)};
    return 1;
  case GLOW_OP_FILTER_GRADIENT:
    return filter_gradient_choices(n->block->module->ctx, n, choices);
  case GLOW_OP_REDUCE_MEAN:
  case GLOW_OP_REDUCE_SUM:
    return channel_choices(n->block->module->ctx, n, choices);
  case GLOW_OP_MAT_MUL:
    return product_choices(t->machine, n, choices);
  case GLOW_OP_MAT_MUL_INTEGER:
    return dot_choices(t->machine, n, choices);
  case GLOW_OP_MAT_MUL_NBITS:
    return few_bits_choices(t->machine, n, choices);
  case GLOW_OP_CONV_INTEGER:
    return dot_conv_choices(t->machine, n, choices);
  case GLOW_OP_MAX_POOL:
    return pool_choices(t->machine, n, ((const GlowMaxPoolMembers *)n->members)->layout, choices,
                        why);
  case GLOW_OP_AVERAGE_POOL:
    return pool_choices(t->machine, n, ((const GlowAveragePoolMembers *)n->members)->layout,
                        choices, why);
  case GLOW_OP_LOOKUP_TABLE:
    return byte_map_choices(t->machine, n, choices);
  case GLOW_OP_LP_POOL:
    return pool_choices(t->machine, n, ((const GlowLpPoolMembers *)n->members)->layout, choices,
                        why);
  default:
    return 0;
  }
}
