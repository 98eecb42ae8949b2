/* The layouts that kernels take. Activations of two-dimensional convolutions and pools are NCHW16c
 * on every row. Filters and constant right operands of products are packed by the columns of a
 * tile, so they are what a change of the target changes. Nothing here affects a result. */
#include "target/cpu/cpu.h"

#include <stdio.h>

enum { CHANNELS = 16 }; /* of a block */

static uint32_t stays_plain(const char **why, const char *reason) {
  *why = reason;
  return 0;
}

/* Blocks of the target's filters: so many output channels in a row, if they divide `out`. */
static uint32_t filter_block(GlowContext *ctx, const GlowIsa *isa, int64_t out) {
  const GlowLayout *l = glow_layout_named(ctx, isa->filter, 4);
  uint32_t block = l->blocks[l->nblocks - 1].size;
  return out % block ? CHANNELS : block;
}

static const GlowLayout *layout_of(GlowContext *ctx, const char *axes, int64_t in, uint32_t out) {
  char text[64];
  if (in > 1)
    snprintf(text, sizeof text, "%s%lldi%uo", axes, (long long)in, out);
  else
    snprintf(text, sizeof text, "%s%uo", axes, out);
  return glow_layout_named(ctx, text, 4);
}

static const GlowLayout *blocks(GlowContext *ctx) {
  return glow_layout_named(ctx, GLOW_CPU_BLOCKS, 4);
}

/* X in blocks, the filter packed. */
static void add_convolution(GlowContext *ctx, GlowChoice *c, const GlowLayout *filter) {
  *c = (GlowChoice){.out = blocks(ctx), .packed = 1u << GLOW_CONVOLUTION_IN_W};
  c->in[GLOW_CONVOLUTION_IN_X] = c->out;
  c->in[GLOW_CONVOLUTION_IN_W] = filter;
}

/* Groups: each of one channel, or of whole blocks of channels. */
static uint32_t grouped_choices(GlowContext *ctx, const GlowIsa *isa, int64_t groups, int64_t in,
                                int64_t out, GlowChoice *choices, const char **why) {
  bool depthwise = in == 1 && out == 1;
  if (!depthwise && (in % CHANNELS || out % CHANNELS))
    return stays_plain(why, glow_arena_printf(ctx->arena,
                                              "each of its %lld groups has %lld channels in and "
                                              "%lld out, which are no whole blocks of %d",
                                              (long long)groups, (long long)in, (long long)out,
                                              CHANNELS));
  add_convolution(ctx, choices,
                  depthwise ? layout_of(ctx, "OIHW", 1, CHANNELS)
                            : layout_of(ctx, "OIHW", CHANNELS, filter_block(ctx, isa, out)));
  return 1;
}

/* Of less than a block of input channels a kernel reads plain ones, too. */
static uint32_t convolution_choices(const GlowIsa *isa, const GlowNode *n, GlowChoice *choices,
                                    const char **why) {
  GlowContext *ctx = n->block->module->ctx;
  const GlowConvolutionMembers *m = n->members;
  const GlowType *x = glow_node_in(n, GLOW_CONVOLUTION_IN_X)->type;
  const GlowType *w = glow_node_in(n, GLOW_CONVOLUTION_IN_W)->type;
  const GlowType *y = glow_node_out(n, 0)->type;
  if (!glow_type_is_static(x) || !glow_type_is_static(w) || !glow_type_is_static(y))
    return stays_plain(why, "its extents are not known");
  if (x->kind != GLOW_KIND_FLOAT || y->kind != GLOW_KIND_FLOAT)
    return stays_plain(why, "it is not of float");
  if (x->rank != 4 || m->layout != GLOW_LAYOUT_NCHW)
    return stays_plain(why, "it has not two spatial axes in the order NCHW");
  if (glow_type_elements(y) == 0 || glow_type_elements(w) == 0)
    return stays_plain(why, "it has no elements");
  int64_t groups = m->group ? m->group : 1, in = x->dims[1].size;
  if (groups > 1)
    return grouped_choices(ctx, isa, groups, w->dims[1].size, w->dims[0].size / groups, choices,
                           why);
  uint32_t block = filter_block(ctx, isa, 0);
  if (m->strategy == GLOW_CONV_STRATEGY_WINOGRAD) {
    add_convolution(ctx, choices, layout_of(ctx, "HWOI", CHANNELS, block));
    return 1;
  }
  bool few = in < CHANNELS;
  add_convolution(ctx, choices, layout_of(ctx, "OIHW", few ? in : CHANNELS, block));
  if (!few)
    return 1;
  choices[1] = choices[0];
  choices[1].in[GLOW_CONVOLUTION_IN_X] = NULL;
  return 2;
}

/* The right operand in panels of as many columns as a tile has, cut into chunks of rows; a block
 * has two elements or more. Or as it is. */
static uint32_t product_choices(const GlowIsa *isa, const GlowNode *n, GlowChoice *choices) {
  const GlowType *b = glow_node_in(n, GLOW_MAT_MUL_IN_B)->type;
  if (!glow_type_is_static(b) || b->rank != 2 || b->kind != GLOW_KIND_FLOAT ||
      (!b->layout && (b->dims[0].size < 2 || b->dims[1].size < 2)))
    return 0;
  GlowContext *ctx = n->block->module->ctx;
  long long chunk = glow_isa_chunk(isa, b->dims[0].size);
  const char *text =
      glow_arena_printf(ctx->arena, "KN%lldk%un", chunk, isa->vl * isa->tile_vectors);
  choices[0] = (GlowChoice){.packed = 1u << GLOW_MAT_MUL_IN_B};
  choices[0].in[GLOW_MAT_MUL_IN_B] = glow_layout_named(ctx, text, 2);
  choices[1] = (GlowChoice){0};
  return 2;
}

static uint32_t pool_choices(const GlowNode *n, int order, GlowChoice *choices, const char **why) {
  const GlowType *x = glow_node_in(n, 0)->type;
  bool argmax = n->nresults > 1 && n->results[1].uses;
  if (!glow_type_is_static(x) || x->rank != 4 || x->quantized || glow_type_elements(x) == 0 ||
      x->kind != GLOW_KIND_FLOAT || order != GLOW_LAYOUT_NCHW || argmax)
    return stays_plain(why, "it has not two spatial axes of float in the order NCHW, or an Argmax");
  choices[0] = (GlowChoice){.out = blocks(n->block->module->ctx)};
  choices[0].in[0] = choices[0].out;
  return 1;
}

uint32_t glow_cpu_choices(const GlowTarget *t, const GlowNode *n, GlowChoice choices[GLOW_CHOICES],
                          const char **why) {
  switch (n->op) {
  case GLOW_OP_CONVOLUTION:
    return convolution_choices(t->machine, n, choices, why);
  case GLOW_OP_MAT_MUL:
    return product_choices(t->machine, n, choices);
  case GLOW_OP_MAX_POOL:
    return pool_choices(n, ((const GlowMaxPoolMembers *)n->members)->layout, choices, why);
  case GLOW_OP_AVERAGE_POOL:
    return pool_choices(n, ((const GlowAveragePoolMembers *)n->members)->layout, choices, why);
  case GLOW_OP_LP_POOL:
    return pool_choices(n, ((const GlowLpPoolMembers *)n->members)->layout, choices, why);
  default:
    return 0;
  }
}
