/* A family for tests, `tiny`: two boards with few kernels, layouts, a pipeline and refusals of
 * their own. glow-opt-tiny is glow-opt with it; nothing else of Glow knows it. */
#include "target/target.h"

enum { CHANNELS = 4 };

/* What differs between the boards is how filters are packed. */
static const GlowTarget boards[] = {{"tiny", &glow_target_family_tiny, "OIHW4i4o"},
                                    {"tiny-wide", &glow_target_family_tiny, "OIHW4i8o"}};

static const char *lacks(const GlowTarget *t) {
  (void)t;
  return "a board";
}

/* What is not listed here is lowered, or refused. */
static GlowSupport support(const GlowTarget *t, const GlowNode *n, const char **why) {
  (void)t;
  switch (n->op) {
  case GLOW_OP_CONVOLUTION:
  case GLOW_OP_MAX_POOL:
  case GLOW_OP_ADD:
  case GLOW_OP_MUL:
  case GLOW_OP_LESS:
  case GLOW_OP_WHERE:
  case GLOW_OP_RELU:
    return GLOW_NATIVE;
  case GLOW_OP_SPLAT:
  case GLOW_OP_RESHAPE:
  case GLOW_OP_RELAYOUT:
    return GLOW_REFERENCE;
  default:
    *why = "its kernels are seven";
    return GLOW_REFUSED;
  }
}

static bool in_whole_blocks(const GlowType *t) {
  return glow_type_is_static(t) && t->rank == 4 && t->kind == GLOW_KIND_FLOAT &&
         t->dims[1].size % CHANNELS == 0 && glow_type_elements(t) > 0;
}

static uint32_t choices(const GlowTarget *t, const GlowNode *n, GlowChoice out[GLOW_CHOICES],
                        const char **why) {
  GlowContext *ctx = n->block->module->ctx;
  const GlowConvolutionMembers *m = n->op == GLOW_OP_CONVOLUTION ? n->members : NULL;
  if (!m && n->op != GLOW_OP_MAX_POOL)
    return 0;
  *why = "it has no whole blocks of four channels";
  if (!in_whole_blocks(glow_node_in(n, 0)->type) || !in_whole_blocks(glow_node_out(n, 0)->type) ||
      (m && m->group > 1) || (m && m->strategy != GLOW_CONV_STRATEGY_DIRECT))
    return 0;
  out[0] = (GlowChoice){.out = glow_layout_named(ctx, t->family->blocks, 4)};
  out[0].in[0] = out[0].out;
  if (!m)
    return 1;
  out[0].in[GLOW_CONVOLUTION_IN_W] = glow_layout_named(ctx, t->machine, 4);
  out[0].packed = 1u << GLOW_CONVOLUTION_IN_W;
  return 1;
}

/* A convolution may end in Relu. */
static bool fuses(const GlowTarget *t, const GlowNode *into, const GlowNode *n, const char **why) {
  (void)t;
  *why = "a kernel ends in Relu or in nothing";
  return into->op == GLOW_OP_CONVOLUTION && n->op == GLOW_OP_RELU;
}

static uint32_t tile(const GlowTarget *t, const GlowNode *n, uint32_t values[GLOW_TILE_VALUES],
                     const char **why) {
  (void)t, (void)n;
  *why = "the one tile of the board";
  values[0] = 1;
  values[1] = 2;
  return 2;
}

const GlowTargetFamily glow_target_family_tiny = {
    .about = "a board for tests",
    .targets = boards,
    .count = 2,
    .lacks = lacks,
    .blocks = "NCHW4c",
    .passes = {"assign-layouts,cse", "assign-tiles,plan-memory<align=16>"},
    .support = support,
    .choices = choices,
    .fuses = fuses,
    .tile = tile};
