/* The named pipelines. This table is the whole order of compilation:
 *
 *   model -> bind -> O0, O1 or O2 on graphs -> irgen -> O0, O1 or O2 on programs -> code
 *
 * -O0 does what irgen needs and nothing else. -O1 folds, lowers and merges once. -O2 repeats that
 * until nothing changes. Both choose strategies, layouts and an order in the end. Passes of class
 * "bounded" are left out under -exact, those of class "unsafe" without -fast-math.
 *
 * @layout and @place are slots: the family of the module's target says which passes stand there. */
#include <string.h>

#include "driver/passes.h"
#include "target/target.h"

/* Small rewrites of single nodes. */
#define SIMPLIFY "fold-splat,algebraic,fast-algebraic,simplify-clip,simplify-cast,eliminate-noop"
/* Shapes and movement. */
#define MOVE                                                                                       \
  "gather-constant,gather-early,merge-slice,merge-split,merge-concat,merge-pad,drop-expand,"       \
  "sink-transpose,simplify-transpose,fold-flatten,sink-reshape,simplify-reshape"
/* Convolutions that become smaller, or fewer. */
#define CONVOLVE "small-conv,crop-filter,group-conv"
#define O2_ROUND                                                                                   \
  "fixpoint(constant-fold,simplify-control,hoist-invariant,hoist-accumulation," SIMPLIFY           \
  ",cse,fold-bn,fold-input,merge-affine," CONVOLVE "," MOVE ",dce)"

/* Makes integers of what a model quantizes: before anything is folded into its weights. */
#define INTEGERS                                                                                   \
  "type-quantized,fold-zero-points,merge-quantize,sink-quantize,merge-quantize,clip-in-steps,"     \
  "recognize-integer,recognize-weights,lookup-table,scale-in-steps,offset-binary"

/* Finds operators in nodes that spell them out: before anything moves into neighbours, or is
 * lowered. */
#define RECOGNIZE                                                                                  \
  "constant-fold,cse,simplify-transpose," INTEGERS ",dilate-conv,recognize-softmax,"               \
  "recognize-unshifted-softmax,recognize-logsumexp,recognize-layer-norm,recognize-rms-norm,"       \
  "fold-layer-norm,recognize-leaky-relu,recognize-gelu,recognize-activation,"                      \
  "recognize-attention,tile-attention,matrix-chain,fuse-products,fold-mul-add,"                    \
  "flush-denormals"

/* Chooses element kinds, algorithms and layouts for kernels: last. */
#define KERNELS                                                                                    \
  "widen,reduce-mean-pool,subpixel-conv,conv-3d,merge-groups,conv-3x3,sink-transpose,"             \
  "simplify-transpose,sink-reshape,simplify-reshape,winograd,@layout,dce,recompute-cheap,schedule"

static const char *const graph_pipelines[] = {
    "inline,lower",
    "inline,drop-layouts," RECOGNIZE ",fold-bn,lower,conv-2d,simplify-reshape,simplify-transpose,"
    "fold-bn,fold-input,merge-affine,constant-fold,recognize-weights," SIMPLIFY "," CONVOLVE
    "," MOVE ",cse," KERNELS,
    "inline,drop-layouts," RECOGNIZE ",cse,merge-matmul," O2_ROUND ",lower,conv-2d," O2_ROUND
    ",recognize-weights," KERNELS,
};

const GlowNamedPipeline glow_named_pipelines[GLOW_NAMED_PIPELINES] = {
    /* A graph with as few nodes as possible and none lowered: what is profiled and quantized. */
    {"prepare", "inline,drop-layouts," RECOGNIZE
                ",fold-bn,fold-input,merge-affine,constant-fold," SIMPLIFY "," MOVE ",cse,dce"},
};

/* One loop for several instructions; then buffers of 16 bits, while few views divide them. */
#define FUSE "fuse-epilogue,fuse-pool,stack,narrow-buffers"

/* Fewer bytes moved, and fewer buffers. Views come first, since they make copies. Sharing comes
 * last, since an instruction that runs in place cannot move to another buffer any more. */
#define COALESCE                                                                                   \
  "view-extracts,view-strides,halos,view-inserts,eliminate-copies,eliminate-dead-stores,"          \
  "share-buffers,delete-dead-allocs"

static const char *const program_pipelines[] = {
    "plan-memory",
    "forward-splats,eliminate-dead-stores," FUSE "," COALESCE ",@place",
    "forward-splats,eliminate-dead-stores," FUSE ",fixpoint(" COALESCE "),@place",
};

static const char *const slots[GLOW_SLOT_COUNT] = {"@layout", "@place"};

/* Fills the slots of a text with a family's passes. For a slot without passes the comma before it
 * goes too. */
static const char *fill(GlowContext *ctx, const GlowTargetFamily *family, const char *text) {
  for (int i = 0; i < GLOW_SLOT_COUNT; i++) {
    const char *at = strstr(text, slots[i]), *passes = family->passes[i];
    if (at)
      text = glow_arena_printf(ctx->arena, "%.*s%s%s", (int)(at - text) - !passes, text,
                               passes ? passes : "", at + strlen(slots[i]));
  }
  return text;
}

const char *glow_pipeline_text(GlowContext *ctx, const char *target, GlowLevel level,
                               int optimization) {
  const GlowTarget *t = target ? glow_target_find(target) : NULL;
  return fill(ctx, t ? t->family : &glow_target_family_cpu,
              (level == GLOW_LEVEL_GRAPH ? graph_pipelines : program_pipelines)[optimization]);
}

void glow_pipelines_print(GlowText *out) {
  glow_text_puts(out, "named pipelines:\n");
  for (int i = 0; i < 3; i++)
    glow_text_printf(out, "  O%d on graphs\n      %s\n  O%d on programs\n      %s\n", i,
                     glow_pipeline_text(out->ctx, NULL, GLOW_LEVEL_GRAPH, i), i,
                     glow_pipeline_text(out->ctx, NULL, GLOW_LEVEL_PROGRAM, i));
  for (int i = 0; i < GLOW_NAMED_PIPELINES; i++)
    glow_text_printf(out, "  %s\n      %s\n", glow_named_pipelines[i].name,
                     glow_named_pipelines[i].passes);
  glow_text_puts(out, "  -exact leaves their bounded passes out; unsafe ones run only with "
                      "-fast-math.\n");
}

GlowPipeline *glow_pipeline_to_programs(const GlowModule *m, int optimization, GlowMath math) {
  GlowContext *ctx = m->ctx;
  GlowPipeline *p = glow_pipeline_parse(ctx, &glow_passes, GLOW_INLINE_ALL);
  glow_pipeline_append(
      p, glow_pipeline_default(ctx, &glow_passes, m->target, GLOW_LEVEL_GRAPH, optimization, math));
  glow_pipeline_append(p, glow_pipeline_parse(ctx, &glow_passes, "irgen"));
  return p;
}
