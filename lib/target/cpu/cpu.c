/* The family `cpu`. */
#include "target/cpu/cpu.h"

#include "ir/infer.h"
#include "target/cpu/layouts.h"
#include "target/cpu/native.h"
#include "target/cpu/requantize.h"
#include "target/cpu/rows.h"
#include "target/cpu/rules.h"

static const GlowTarget targets[GLOW_ISA_COUNT] = {
#define ISA(id, name, ...)                                                                         \
  [GLOW_ISA_##id] = {name, &glow_target_family_cpu, &glow_isa[GLOW_ISA_##id]},
#include "kernels/isa.def"
#undef ISA
};

const GlowIsa *glow_cpu_isa(const GlowTarget *t) {
  return t->family == &glow_target_family_cpu ? t->machine : NULL;
}

static const GlowTarget *host(void) {
  const GlowIsa *isa = glow_isa_host();
  return isa ? &targets[isa - glow_isa] : NULL;
}

static const char *lacks(const GlowTarget *t) {
  const GlowIsa *isa = t->machine;
  return glow_isa_runs_here(isa) ? NULL : isa->features;
}

static void describe(const GlowTarget *t, GlowText *out) {
  const GlowIsa *isa = t->machine;
  glow_text_printf(out, "%-8s vectors of %2u floats", isa->arch, isa->vl);
}

static bool on_heap(const GlowValue *v) {
  const GlowType *t = v ? v->type : NULL;
  return t && (t->cls == GLOW_TYPE_SEQ || t->cls == GLOW_TYPE_OPT ||
               (t->cls == GLOW_TYPE_TENSOR && t->kind == GLOW_KIND_STRING));
}

static GlowSupport support(const GlowTarget *t, const GlowNode *n, const char **why) {
  (void)t;
  bool heap = GLOW_HAS(glow_node_desc(n), HEAP);
  for (uint32_t i = 0; i < n->noperands && !heap; i++)
    heap = on_heap(n->operands[i].value);
  for (uint32_t i = 0; i < n->nresults && !heap; i++)
    heap = on_heap(&n->results[i]);
  *why = heap ? "it works on sequences, optionals or strings" : "there is no machine kernel of it";
  return heap ? GLOW_HOSTED : glow_cpu_is_native(n->op) ? GLOW_NATIVE : GLOW_REFERENCE;
}

/* Epilogues and loops take whatever a scalar body may hold, but for those of narrow integers. */
static bool fuses(const GlowTarget *t, const GlowNode *into, const GlowNode *n, const char **why) {
  if (glow_node_is_narrow(into)) {
    const GlowType *w = glow_node_in(into, 1)->type;
    bool lanes = glow_narrow_has_lanes(into);
    bool packed =
        w->layout && glow_kernel_takes(glow_find_narrow(), "w", t->machine, w->layout, NULL);
    bool takes =
        n->op != GLOW_OP_MAX_POOL && (lanes || packed) && glow_requantize_takes(into, n, packed);
    *why = takes ? NULL : "sums of narrow integers are finished in another form";
    return takes;
  }
  if (n->op != GLOW_OP_MAX_POOL)
    return true;
  const GlowValue *y = n->operands[0].value, *x = glow_node_in(n, GLOW_MAX_POOL_IN_X);
  *why = !x->type->layout || x->type->layout != y->type->layout
             ? "it is not in blocks of channels"
             : glow_pool_stays(into->members, n->members);
  return !*why;
}

/* Loops over elements convert what they load and store, epilogues what they load, and what moves
 * elements asks for no kind. Maxima of 16-bit floats are slower. */
static bool stores(const GlowTarget *t, const GlowNode *n, uint32_t i, GlowKind kind) {
  if (glow_node_desc(n)->epilogue < 0)
    return n->op != GLOW_OP_MAX_POOL;
  if (i >= n->noperands - n->nextra)
    return !glow_node_is_narrow(n);
  if (n->op == GLOW_OP_MAT_MUL)
    return i == n->nouts + GLOW_MAT_MUL_IN_B && glow_cpu_product_stores(t->machine, n, kind);
  return n->op == GLOW_OP_CONVOLUTION && i <= n->nouts + GLOW_CONVOLUTION_IN_X &&
         glow_cpu_conv_stores(t->machine, n);
}

static int64_t shards(const GlowTarget *t, int64_t cost) {
  (void)t;
  return glow_shards(cost);
}

static GlowEnumBf16Order bf16_order(const GlowTarget *t) {
  return glow_isa_numbers(t->machine).pairs ? GLOW_BF16_ORDER_PAIR : GLOW_BF16_ORDER_TILE;
}

#define PLACE "shrink-lifetimes,assign-tiles,assign-shards,plan-memory"

const GlowTargetFamily glow_target_family_cpu = {.targets = targets,
                                                 .count = GLOW_ISA_COUNT,
                                                 .host = host,
                                                 .lacks = lacks,
                                                 .describe = describe,
                                                 .blocks = GLOW_CPU_BLOCKS,
                                                 .passes = {"assign-layouts", PLACE},
                                                 .support = support,
                                                 .choices = glow_cpu_choices,
                                                 .fuses = fuses,
                                                 .stores = stores,
                                                 .tile = glow_cpu_tile,
                                                 .shards = shards,
                                                 .bf16_order = bf16_order};
