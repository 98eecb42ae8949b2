/* The named pipelines. This table is the whole order of compilation:
 *
 *   model -> bind -> O0, O1 or O2 on graphs -> irgen -> O0, O1 or O2 on programs -> code
 *
 * -O0 does what irgen needs and nothing else. -O1 folds, lowers and merges once. -O2 repeats that
 * until nothing changes. Both choose strategies, layouts and an order in the end. Passes of class
 * "bounded" are left out under -exact, those of class "unsafe" without -fast-math. */
#include "driver/passes.h"

/* Small rewrites of single nodes. */
#define SIMPLIFY "fold-splat,algebraic,fast-algebraic,simplify-clip,simplify-cast,eliminate-noop"
/* Shapes and movement. */
#define MOVE                                                                                       \
  "gather-constant,merge-slice,merge-concat,merge-pad,drop-expand,sink-transpose,"                 \
  "simplify-transpose,fold-flatten,sink-reshape,simplify-reshape"
/* Convolutions that become smaller, or fewer. */
#define CONVOLVE "small-conv,crop-filter,group-conv"
#define O2_ROUND                                                                                   \
  "fixpoint(constant-fold,simplify-control,hoist-invariant," SIMPLIFY                              \
  ",cse,fold-bn,fold-input,merge-affine," CONVOLVE "," MOVE ",dce)"

/* Operators in what spells them: before anything moves into neighbours, or is lowered. */
#define RECOGNIZE                                                                                  \
  "constant-fold,cse,simplify-transpose,dilate-conv,recognize-softmax,"                            \
  "recognize-unshifted-softmax,recognize-logsumexp,recognize-layer-norm,recognize-rms-norm,"       \
  "fold-layer-norm,recognize-leaky-relu,recognize-gelu,recognize-activation,"                      \
  "recognize-attention,tile-attention,matrix-chain,fuse-products,fold-mul-add"

/* What kernels compute, in which kinds, by which algorithm and in which layouts: last. */
#define KERNELS "widen,reduce-mean-pool,winograd,assign-layouts,dce,schedule"

static const char *const graph_pipelines[] = {
    "inline,lower",
    "inline,drop-layouts," RECOGNIZE ",fold-bn,lower,conv-2d,simplify-reshape,simplify-transpose,"
    "fold-bn,fold-input,merge-affine,constant-fold," SIMPLIFY "," CONVOLVE "," MOVE ",cse," KERNELS,
    "inline,drop-layouts," RECOGNIZE ",cse,merge-matmul," O2_ROUND ",lower,conv-2d," O2_ROUND
    "," KERNELS,
};

/* One loop for several instructions. */
#define FUSE "fuse-epilogue,fuse-pool,stack"

/* Fewer bytes moved, and fewer buffers: views first, since they make copies; sharing last, since
 * what is in place cannot move to another buffer any more. */
#define COALESCE                                                                                   \
  "view-extracts,view-strides,halos,view-inserts,eliminate-copies,eliminate-dead-stores,"          \
  "share-buffers,delete-dead-allocs"

/* How each instruction runs, and where each buffer lies. */
#define PLACE "shrink-lifetimes,assign-tiles,assign-shards,plan-memory"

static const char *const program_pipelines[] = {
    "plan-memory",
    "forward-splats,eliminate-dead-stores," FUSE "," COALESCE "," PLACE,
    "forward-splats,eliminate-dead-stores," FUSE ",fixpoint(" COALESCE ")," PLACE,
};

const char *glow_pipeline_text(GlowLevel level, int optimization) {
  return (level == GLOW_LEVEL_GRAPH ? graph_pipelines : program_pipelines)[optimization];
}

void glow_pipelines_print(GlowText *out) {
  glow_text_puts(out, "named pipelines:\n");
  for (int i = 0; i < 3; ++i)
    glow_text_printf(out, "  O%d on graphs\n      %s\n  O%d on programs\n      %s\n", i,
                     graph_pipelines[i], i, program_pipelines[i]);
  glow_text_puts(out, "  -exact leaves their bounded passes out; unsafe ones run only with "
                      "-fast-math.\n");
}

GlowPipeline *glow_pipeline_to_programs(GlowContext *ctx, int optimization, GlowMath math) {
  GlowPipeline *p = glow_pipeline_parse(ctx, &glow_passes, GLOW_INLINE_ALL);
  glow_pipeline_append(
      p, glow_pipeline_default(ctx, &glow_passes, GLOW_LEVEL_GRAPH, optimization, math));
  glow_pipeline_append(p, glow_pipeline_parse(ctx, &glow_passes, "irgen"));
  return p;
}
