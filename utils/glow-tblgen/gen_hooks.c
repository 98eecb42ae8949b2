/* Hook tables: for each operator a pointer to the C function that its description promises. The
 * header declares the functions, so that their definitions are checked; a missing one is a link
 * error. */
#include "tblgen.h"

typedef bool Filter(const OpDecl *op);

static bool infer_hook(const OpDecl *op) { return op->rule == GLOW_INFER_HOOK; }
static bool verify_hook(const OpDecl *op) { return op->verify_hook; }
static bool verify_any(const OpDecl *op) { return op->verify_hook || op->same_kind.count; }
static bool lower_hook(const OpDecl *op) { return op->lower.text && !op->expanded; }
static bool expanded(const OpDecl *op) { return op->expanded; }
static bool fold_hook(const OpDecl *op) { return op->fold.text != NULL; }
static bool irgen_hook(const OpDecl *op) {
  return op->irgen.text && strcmp(op->irgen.text, "hook") == 0;
}
static bool grad_hook(const OpDecl *op) {
  for (uint32_t i = 0; i < op->grads.count; i++)
    if (op->grads.data[i].kind == GRAD_HOOK)
      return true;
  return false;
}
static bool macs_hook(const OpDecl *op) { return op->macs.text != NULL; }
static bool scratch_hook(const OpDecl *op) { return op->scratch.text != NULL; }

/* Makes its results itself: on the heap, or by running regions or functions. */
static bool value_kernel(const OpDecl *op) {
  return HAS(op, HEAP) || (HAS(op, CONTROL) && op->out.count);
}
/* Runs regions or functions, or steers a walker. */
static bool steers(const OpDecl *op) {
  return HAS(op, CONTROL) && (op->regions.count || !op->out.count || HAS(op, NODE_ONLY));
}
/* Neither runs by a rule, a scalar body or a walker's own code. */
bool op_has_kernel(const OpDecl *op) {
  return !HAS(op, LOWERED) && !HAS(op, HEAP) && !steers(op) && !HAS(op, SYNTAX) &&
         !op->scalar.text && !op->body && !(HAS(op, WRITES) && HAS(op, NODE_ONLY));
}

static void prototypes(const OpFile *file, Filter *filter, const char *result, const char *stem,
                       const char *params, GlowText *out) {
  for (uint32_t i = 0; i < file->ops.count; i++)
    if (filter(file->ops.data[i]))
      glow_text_printf(out, "%s%s%s(%s);\n", result, stem, file->ops.data[i]->snake, params);
}

/* Designated initializers; false if there is none. */
static bool rows(const OpFile *file, Filter *filter, const char *stem, GlowText *out) {
  bool any = false;
  for (uint32_t i = 0; i < file->ops.count; i++) {
    const OpDecl *op = file->ops.data[i];
    if (filter(op)) {
      glow_text_printf(out, "    [GLOW_OP_%s] = %s%s,\n", op->upper, stem, op->snake);
      any = true;
    }
  }
  return any;
}

static void table(const OpFile *file, Filter *filter, const char *declaration, const char *stem,
                  GlowText *out) {
  glow_text_printf(out, "\n%s = {\n", declaration);
  glow_text_puts(out, rows(file, filter, stem, out) ? "};\n" : "    0};\n");
}

static void guard(GlowText *out, const char *name) {
  glow_text_printf(out, "#ifndef GLOW_OPS_%s_H\n#define GLOW_OPS_%s_H\n\n", name, name);
}

/* ---- Inference and verification -------------------------------------------------------------- */

void gen_infer_header(const OpFile *file, GlowText *out) {
  gen_head(out, "Inference and verification hooks.");
  guard(out, "INFER");
  glow_text_puts(out, "#include \"ir/infer.h\"\n\n");
  prototypes(file, infer_hook, "bool ", "glow_infer_", "GlowInfer *in", out);
  prototypes(file, verify_hook, "bool ", "glow_verify_", "const GlowNode *n", out);
  prototypes(file, macs_hook, "int64_t ", "glow_macs_", "const GlowNode *n", out);
  glow_text_puts(out, "\nextern bool (*const glow_infer_hooks[GLOW_OP_COUNT])(GlowInfer *in);\n"
                      "extern bool (*const glow_verify_hooks[GLOW_OP_COUNT])(const GlowNode *n);\n"
                      "extern int64_t (*const glow_macs_hooks[GLOW_OP_COUNT])(const GlowNode *n);\n"
                      "\n#endif\n");
}

/* The rules of a verify clause in order; the hook last. */
static void verify_function(const OpDecl *op, GlowText *out) {
  glow_text_printf(out, "\nstatic bool verify_%s(const GlowNode *n) {\n  bool ok = true;\n",
                   op->snake);
  for (uint32_t i = 0; i < op->same_kind.count; i++) {
    uint8_t ports[2] = {op->same_kind.data[i].out, op->same_kind.data[i].in};
    glow_text_puts(out, "  ok &= glow_verify_same_kind(n");
    for (int k = 0; k < 2; k++) {
      bool output = ports[k] < op->out.count;
      glow_text_printf(out, ", glow_node_%s(n, %u)", output ? "out" : "in",
                       output ? ports[k] : ports[k] - op->out.count);
    }
    glow_text_puts(out, ");\n");
  }
  if (op->verify_hook)
    glow_text_printf(out, "  ok &= glow_verify_%s(n);\n", op->snake);
  glow_text_puts(out, "  return ok;\n}\n");
}

void gen_infer(const OpFile *file, GlowText *out) {
  gen_head(out, "Inference and verification hooks.");
  glow_text_puts(out, "#include \"ops/infer.h\"\n");
  for (uint32_t i = 0; i < file->ops.count; i++)
    if (verify_any(file->ops.data[i]))
      verify_function(file->ops.data[i], out);
  table(file, infer_hook, "bool (*const glow_infer_hooks[GLOW_OP_COUNT])(GlowInfer *)",
        "glow_infer_", out);
  table(file, verify_any, "bool (*const glow_verify_hooks[GLOW_OP_COUNT])(const GlowNode *)",
        "verify_", out);
  table(file, macs_hook, "int64_t (*const glow_macs_hooks[GLOW_OP_COUNT])(const GlowNode *)",
        "glow_macs_", out);
}

/* ---- Rewrites -------------------------------------------------------------------------------- */

void gen_lower_header(const OpFile *file, GlowText *out) {
  gen_head(out, "Lowering rules.");
  guard(out, "LOWER");
  glow_text_puts(
      out, "#include \"ir/ir.h\"\n\n"
           "/* Builds what stands for n at the builder's place and sets results[i] for each result "
           "of n;\n * n stays. False if extents that it needs are not known, or after a "
           "diagnostic. */\n"
           "typedef bool GlowLowerFn(GlowBuilder *b, const GlowNode *n, GlowValue **results);\n\n");
  prototypes(file, lower_hook, "bool ", "glow_lower_",
             "GlowBuilder *b, const GlowNode *n, GlowValue **results", out);
  glow_text_puts(out, "\nextern GlowLowerFn *const glow_lower_hooks[GLOW_OP_COUNT];\n\n#endif\n");
}

void gen_lower(const OpFile *file, GlowText *out) {
  gen_head(out, "Lowering rules.");
  glow_text_puts(
      out, "#include \"ops/lower.h\"\n#include \"lower/expand.h\"\n#include \"num/math.h\"\n");
  GlowText rules;
  GlowDefer release;
  glow_text_init(&rules, file->ctx);
  glow_defer_push(file->ctx, &release, glow_text_release_fn, &rules);
  for (uint32_t i = 0; i < file->ops.count; i++)
    if (file->ops.data[i]->expanded)
      expand_rule(file, file->ops.data[i], &rules);
  functions_write(file, out);
  glow_text_bytes(out, rules.data, rules.size);
  glow_defer_pop(file->ctx, &release, true);
  glow_text_puts(out, "\nGlowLowerFn *const glow_lower_hooks[GLOW_OP_COUNT] = {\n");
  rows(file, lower_hook, "glow_lower_", out);
  rows(file, expanded, "expand_", out);
  glow_text_puts(out, "};\n");
}

void gen_grad_header(const OpFile *file, GlowText *out) {
  gen_head(out, "Gradient rules.");
  guard(out, "GRAD");
  glow_text_puts(out, "#include \"ir/ir.h\"\n\n"
                      "typedef struct GlowGrad GlowGrad; /* autodiff/autodiff.h */\n"
                      "typedef bool GlowGradFn(GlowGrad *g);\n\n");
  prototypes(file, grad_hook, "bool ", "glow_grad_", "GlowGrad *g", out);
  glow_text_puts(out, "\nextern GlowGradFn *const glow_grad_hooks[GLOW_OP_COUNT];\n\n#endif\n");
}

static bool grad_written(const OpDecl *op) { return has_slopes(op) || has_rules(op); }
static bool only_hook(const OpDecl *op) { return grad_hook(op) && !grad_written(op); }

/* What glow-tblgen knows of op's derivatives, and the hook for the rest. */
static void grad_function(const OpFile *file, const OpDecl *op, GlowText *out) {
  glow_text_printf(out, "\nstatic bool grad_%s(GlowGrad *g) {\n", op->snake);
  if (grad_hook(op))
    glow_text_printf(out, "  if (!glow_grad_%s(g))\n    return false;\n", op->snake);
  if (has_slopes(op))
    slopes_write(file, op, out);
  if (has_rules(op))
    rules_write(file, op, out);
  glow_text_puts(out, "  return true;\n}\n");
}

void gen_grad(const OpFile *file, GlowText *out) {
  gen_head(out, "Gradient rules.");
  glow_text_puts(out, "#include \"ops/grad.h\"\n#include \"autodiff/rule.h\"\n"
                      "#include \"autodiff/slope.h\"\n");
  for (uint32_t i = 0; i < file->ops.count; i++)
    if (grad_written(file->ops.data[i]))
      grad_function(file, file->ops.data[i], out);
  glow_text_puts(out, "\nGlowGradFn *const glow_grad_hooks[GLOW_OP_COUNT] = {\n");
  bool any = rows(file, only_hook, "glow_grad_", out);
  any |= rows(file, grad_written, "grad_", out);
  glow_text_puts(out, any ? "};\n" : "    0};\n");
}

void gen_fold_header(const OpFile *file, GlowText *out) {
  gen_head(out, "Folding hooks: operators whose results are known from types.");
  guard(out, "FOLD");
  glow_text_puts(
      out, "#include \"ir/ir.h\"\n\n"
           "/* Builds values that replace n at the builder's place. False: not now; nothing was "
           "built. */\n"
           "typedef bool GlowFoldFn(GlowBuilder *b, const GlowNode *n, GlowValue **results);\n\n");
  prototypes(file, fold_hook, "bool ", "glow_fold_",
             "GlowBuilder *b, const GlowNode *n, GlowValue **results", out);
  glow_text_puts(out, "\nextern GlowFoldFn *const glow_fold_hooks[GLOW_OP_COUNT];\n\n#endif\n");
}

void gen_fold(const OpFile *file, GlowText *out) {
  gen_head(out, "Folding hooks.");
  glow_text_puts(out, "#include \"ops/fold.h\"\n");
  table(file, fold_hook, "GlowFoldFn *const glow_fold_hooks[GLOW_OP_COUNT]", "glow_fold_", out);
}

void gen_irgen_header(const OpFile *file, GlowText *out) {
  gen_head(out, "IRGen hooks: nodes that do not become the instruction of their name.");
  guard(out, "IRGEN");
  glow_text_puts(out, "#include \"ir/ir.h\"\n\n"
                      "typedef struct GlowIrgen GlowIrgen; /* the state of lib/irgen */\n"
                      "/* Emits instructions for n. False after a diagnostic. */\n"
                      "typedef bool GlowIrgenFn(GlowIrgen *g, const GlowNode *n);\n\n");
  prototypes(file, irgen_hook, "bool ", "glow_irgen_", "GlowIrgen *g, const GlowNode *n", out);
  glow_text_puts(out, "\nextern GlowIrgenFn *const glow_irgen_hooks[GLOW_OP_COUNT];\n\n#endif\n");
}

void gen_irgen(const OpFile *file, GlowText *out) {
  gen_head(out, "IRGen hooks.");
  glow_text_puts(out, "#include \"ops/irgen.h\"\n");
  table(file, irgen_hook, "GlowIrgenFn *const glow_irgen_hooks[GLOW_OP_COUNT]", "glow_irgen_", out);
}

/* ---- Kernels --------------------------------------------------------------------------------- */

/* Freestanding: kernels include it. */
void gen_kernels_header(const OpFile *file, GlowText *out) {
  gen_head(out, "Reference kernels.");
  guard(out, "KERNELS");
  glow_text_puts(out, "#include \"kernels/kernel.h\"\n#include \"ops/op.h\"\n\n");
  prototypes(file, op_has_kernel, "GlowRunError ", "glow_kernel_", "GlowCall *call", out);
  prototypes(file, scratch_hook, "size_t ", "glow_scratch_", "const GlowCall *call", out);
  glow_text_puts(out, "\n#endif\n");
}

void gen_values_header(const OpFile *file, GlowText *out) {
  gen_head(out, "Kernels that make their results themselves.");
  guard(out, "VALUES");
  glow_text_puts(out, "#include \"backend/interp/kernel_table.h\"\n\n");
  prototypes(file, value_kernel, "GlowStatus ", "glow_value_",
             "struct GlowWalk *walk, const GlowNode *n, GlowTensor *const *in, GlowTensor **out",
             out);
  glow_text_puts(out, "\n#endif\n");
}

void gen_kernels(const OpFile *file, GlowText *out) {
  gen_head(out, "The interpreter's table of kernels.");
  glow_text_puts(out, "#include \"ops/kernels.h\"\n#include \"ops/values.h\"\n\n"
                      "const GlowKernelRow glow_kernel_table[GLOW_OP_COUNT] = {\n");
  for (uint32_t i = 0; i < file->ops.count; i++) {
    const OpDecl *op = file->ops.data[i];
    if (!op_has_kernel(op) && !value_kernel(op) && !scratch_hook(op))
      continue;
    glow_text_printf(out, "    [GLOW_OP_%s] = {", op->upper);
    if (op_has_kernel(op))
      glow_text_printf(out, ".kernel = glow_kernel_%s, ", op->snake);
    if (scratch_hook(op))
      glow_text_printf(out, ".scratch = glow_scratch_%s, ", op->snake);
    if (value_kernel(op))
      glow_text_printf(out, ".value = glow_value_%s", op->snake);
    glow_text_puts(out, "},\n");
  }
  glow_text_puts(out, "};\n");
}
