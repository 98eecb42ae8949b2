/* The layouts of convolutions and products. */
#include "target/cpu/layouts.h"

#include <stdio.h>
#include <string.h>

const GlowLayout *glow_layout_named(GlowContext *ctx, const char *text, uint32_t rank) {
  const char *error = NULL;
  const GlowLayout *l = glow_layout_parse(ctx, text, strlen(text), rank, &error);
  GLOW_CHECK(ctx, l, error);
  return l;
}

static bool stays_plain(const char **why, const char *reason) {
  *why = reason;
  return false;
}

/* Blocks of the target's filters: so many output channels in a row, if they divide `out`. */
static uint32_t filter_block(GlowContext *ctx, const GlowIsa *isa, int64_t out) {
  const GlowLayout *l = glow_layout_named(ctx, isa->filter, 4);
  uint32_t block = l->blocks[l->nblocks - 1].size;
  return out % block ? GLOW_CHANNEL_BLOCK : block;
}

static const GlowLayout *layout_of(GlowContext *ctx, const char *axes, int64_t in, uint32_t out) {
  char text[64];
  if (in > 1)
    snprintf(text, sizeof text, "%s%lldi%uo", axes, (long long)in, out);
  else
    snprintf(text, sizeof text, "%s%uo", axes, out);
  return glow_layout_named(ctx, text, 4);
}

/* Groups: each of one channel, or of whole blocks of channels. */
static bool grouped_layouts(GlowContext *ctx, const GlowIsa *isa, int64_t groups, int64_t in,
                            int64_t out, GlowConvLayouts *l, const char **why) {
  bool depthwise = in == 1 && out == 1;
  if (!depthwise && (in % GLOW_CHANNEL_BLOCK || out % GLOW_CHANNEL_BLOCK))
    return stays_plain(why, glow_arena_printf(ctx->arena,
                                              "each of its %lld groups has %lld channels in and "
                                              "%lld out, which are no whole blocks of %d",
                                              (long long)groups, (long long)in, (long long)out,
                                              GLOW_CHANNEL_BLOCK));
  l->filter = depthwise ? layout_of(ctx, "OIHW", 1, GLOW_CHANNEL_BLOCK)
                        : layout_of(ctx, "OIHW", GLOW_CHANNEL_BLOCK, filter_block(ctx, isa, out));
  return true;
}

bool glow_conv_layouts(const GlowIsa *isa, const GlowNode *n, GlowConvLayouts *l,
                       const char **why) {
  GlowContext *ctx = n->block->module->ctx;
  const GlowConvolutionMembers *m = n->members;
  const GlowType *x = glow_node_in(n, GLOW_CONVOLUTION_IN_X)->type;
  const GlowType *w = glow_node_in(n, GLOW_CONVOLUTION_IN_W)->type;
  const GlowType *y = glow_node_out(n, 0)->type;
  *l = (GlowConvLayouts){0};
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
    return grouped_layouts(ctx, isa, groups, w->dims[1].size, w->dims[0].size / groups, l, why);
  uint32_t block = filter_block(ctx, isa, 0);
  bool winograd = m->strategy == GLOW_CONV_STRATEGY_WINOGRAD;
  l->reads_plain = !winograd && in < GLOW_CHANNEL_BLOCK;
  l->filter = winograd ? layout_of(ctx, "HWOI", GLOW_CHANNEL_BLOCK, block)
                       : layout_of(ctx, "OIHW", l->reads_plain ? in : GLOW_CHANNEL_BLOCK, block);
  return true;
}

/* Panels of as many columns as a tile has, cut into chunks of rows. A block has two elements or
 * more. */
static const GlowLayout *panels(GlowContext *ctx, const GlowIsa *isa, const GlowType *b) {
  if (b->layout == NULL && (b->dims[0].size < 2 || b->dims[1].size < 2))
    return NULL;
  return glow_layout_named(ctx,
                           glow_arena_printf(ctx->arena, "KN%lldk%un",
                                             (long long)glow_isa_chunk(isa, b->dims[0].size),
                                             isa->vl * isa->tile_vectors),
                           2);
}

bool glow_packed_operand(const GlowIsa *isa, const GlowNode *n, uint32_t *port,
                         const GlowLayout **layout) {
  *layout = NULL;
  if (n->op == GLOW_OP_CONVOLUTION) {
    GlowConvLayouts l = {0};
    const char *why;
    *port = GLOW_CONVOLUTION_IN_W;
    if (isa && glow_conv_layouts(isa, n, &l, &why))
      *layout = l.filter;
    return true;
  }
  if (n->op != GLOW_OP_MAT_MUL)
    return false;
  const GlowType *b = glow_node_in(n, GLOW_MAT_MUL_IN_B)->type;
  *port = GLOW_MAT_MUL_IN_B;
  if (!glow_type_is_static(b) || b->rank != 2 || b->kind != GLOW_KIND_FLOAT)
    return false;
  if (isa)
    *layout = panels(n->block->module->ctx, isa, b);
  return true;
}
