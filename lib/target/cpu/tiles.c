/* Register tiles of convolutions: how many output pixels a kernel keeps in registers. The pass
 * assign-tiles writes them into programs. The rule is glow_conv_tile; this file reads its grid from
 * types. Where a program names no tile, the CPU backend reads the grid from strides. */
#include "ir/infer.h"
#include "ops/listed.h"
#include "target/cpu/cpu.h"
#include "target/cpu/layouts.h"
#include "target/cpu/rows.h"
#include "target/cpu/rules.h"

enum { FEW_CHANNELS = 16 };

static bool is_view(const GlowValue *v) { return glow_value_def(v, GLOW_OP_TENSORVIEW) != NULL; }

/* Whether there may be gaps between the rows of a map: those of a view lie as its strides say. */
static bool has_gaps(const GlowValue *v) {
  const GlowNode *view = glow_value_def(v, GLOW_OP_TENSORVIEW);
  const GlowTensorviewMembers *m = view ? view->members : NULL;
  if (!m || !m->strides.count)
    return false;
  const GlowSize row = glow_array_at(m->strides, GlowSize, 2);
  const GlowSize column = glow_array_at(m->strides, GlowSize, 3);
  return row.extent || column.extent || row.size != v->type->dims[3].size * column.size;
}

/* Whether an operand of the epilogue has all rows and columns of the result, or one of each. */
static bool follows_rows(const GlowType *t, const GlowType *y) {
  if (!glow_type_is_static(t) || t->rank > y->rank)
    return false;
  int64_t h = t->rank < 2 ? 1 : t->dims[t->rank - 2].size;
  int64_t w = t->rank < 1 ? 1 : t->dims[t->rank - 1].size;
  return (h == y->dims[2].size && w == y->dims[3].size) || (h == 1 && w == 1);
}

/* Whether neighbouring rows can be seen as one: a 1x1 window on buffers without gaps. */
static bool is_flat(const GlowNode *n, const GlowType *w, const GlowType *y) {
  const GlowConvolutionMembers *m = n->members;
  if (w->dims[2].size != 1 || w->dims[3].size != 1)
    return false;
  for (uint32_t i = 0; i < 4; i++) {
    if (glow_listed(m->pads, i, 0) != 0 || glow_listed(m->strides, i % 2, 1) != 1)
      return false;
  }
  if (is_view(glow_node_out(n, 0)) || has_gaps(glow_node_in(n, GLOW_CONVOLUTION_IN_X)))
    return false;
  for (uint32_t i = n->noperands - n->nextra; i < n->noperands; i++) {
    const GlowValue *v = n->operands[i].value;
    if (!v || is_view(v) || !follows_rows(v->type, y))
      return false;
  }
  return true;
}

/* Whether each channel of blocks has a filter of its own. */
static bool is_depthwise(const GlowNode *n, const GlowType *x, const GlowType *w) {
  return x->layout && w->dims[1].size == 1 &&
         ((const GlowConvolutionMembers *)n->members)->group > 1;
}

/* Whether the kernel that computes this convolution has tiles: a direct one with results and a
 * filter in blocks, and an input in blocks or of few plain channels. */
static bool has_tile(const GlowNode *n, const GlowType *x, const GlowType *w, const GlowType *y) {
  const GlowConvolutionMembers *m = n->members;
  return m->strategy == GLOW_CONV_STRATEGY_DIRECT && y->rank == 4 && y->layout && w->layout &&
         m->layout == GLOW_LAYOUT_NCHW && !is_depthwise(n, x, w) &&
         (x->layout || (m->group == 1 && w->dims[1].size < FEW_CHANNELS));
}

bool glow_cpu_conv_stores(const GlowIsa *isa, const GlowNode *n) {
  const GlowType *x = glow_node_in(n, GLOW_CONVOLUTION_IN_X)->type, *y = glow_node_out(n, 0)->type;
  const GlowType *w = glow_node_in(n, GLOW_CONVOLUTION_IN_W)->type;
  const GlowConvolutionMembers *m = n->members;
  const GlowKernel *k = w->rank == 4 && is_depthwise(n, x, w) ? glow_find_depthwise_stored()
                                                              : glow_find_conv_stored();
  return m->strategy == GLOW_CONV_STRATEGY_DIRECT && !m->pool_kernels.count &&
         m->layout == GLOW_LAYOUT_NCHW && y->rank == 4 && w->kind == GLOW_KIND_FLOAT &&
         glow_kernel_takes(k, "y", isa, y->layout, NULL) &&
         glow_kernel_takes(k, "x", isa, x->layout, NULL) &&
         glow_kernel_takes(k, "w", isa, w->layout, NULL);
}

static GlowConvTile tile_of(const GlowIsa *isa, const GlowNode *n, const GlowType *x,
                            const GlowType *w, const GlowType *y) {
  const GlowConvolutionMembers *m = n->members;
  GlowConvLine line = {y->dims[3].size,
                       x->dims[3].size,
                       w->dims[3].size,
                       glow_listed(m->strides, 1, 1),
                       glow_listed(m->dilations, 1, 1),
                       glow_listed(m->pads, 1, 0)};
  GlowConvGrid g = {.rows = y->dims[0].size * y->dims[2].size,
                    .oh = y->dims[2].size,
                    .ow = y->dims[3].size,
                    .taps = w->dims[2].size * w->dims[3].size,
                    .single = !x->layout};
  int64_t left, right;
  glow_conv_edges(&line, &left, &right);
  g.edges = left + right;
  g.flat = is_flat(n, w, y);
  return glow_conv_tile(isa, &g);
}

static uint32_t choose_tile(const GlowIsa *isa, const GlowNode *n,
                            uint32_t values[GLOW_TILE_VALUES]) {
  const GlowType *x = glow_node_in(n, GLOW_CONVOLUTION_IN_X)->type, *y = glow_node_map(n);
  const GlowType *w = glow_node_in(n, GLOW_CONVOLUTION_IN_W)->type;
  if (!glow_type_is_static(x) || !glow_type_is_static(w) || !glow_type_is_static(y) ||
      glow_type_elements(y) == 0 || glow_type_elements(w) == 0 || !has_tile(n, x, w, y))
    return 0;
  GlowConvTile tile = tile_of(isa, n, x, w, y);
  memcpy(values, tile.values, tile.count * sizeof *values);
  return tile.count;
}

uint32_t glow_cpu_tile(const GlowTarget *t, const GlowNode *n, uint32_t values[GLOW_TILE_VALUES],
                       const char **why) {
  uint32_t count = n->op == GLOW_OP_CONVOLUTION ? choose_tile(t->machine, n, values) : 0;
  *why = count == 1   ? "tiles of consecutive pixels, since rows do not fill them"
         : count == 3 ? "tiles of merged rows, so that rows fill them"
                      : "tiles of whole rows, or of parts that divide them";
  return count;
}
