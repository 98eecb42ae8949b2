/* The rows of isa.def: their bitcode is whole, and code for each of them can be made on any host.
 */
#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>
#include <string.h>

#include "backend/cpu/cpu.h"
#include "codegen/blobs.h"
#include "support/text.h"
#include "target/cpu/cpu.h"
#include "test/unit/unit.h"

static unsigned count_blobs(const GlowIsa *isa, GlowBlobKind kind, const char *name) {
  unsigned count = 0;
  for (size_t i = 0; i < glow_nbitcode; i++) {
    const GlowBitcode *b = &glow_bitcode[i];
    count += glow_blob_serves(b, isa) && b->kind == kind && (!name || strcmp(b->name, name) == 0);
  }
  return count;
}

/* Every source is there once, and all functions that the blobs call are in them. */
static void check_blobs(void) {
  const GlowIsa *first = &glow_isa[0];
  for (size_t k = 0; k < GLOW_ISA_COUNT; k++) {
    const GlowIsa *isa = &glow_isa[k];
    for (size_t i = 0; i < glow_nbitcode; i++) {
      const GlowBitcode *b = &glow_bitcode[i];
      EXPECT(!glow_blob_serves(b, first) || count_blobs(isa, b->kind, b->name) == 1,
             "%s has no blob of %s, or several", isa->name, b->name);
    }
    for (int kind = 0; kind < 2; kind++)
      EXPECT(count_blobs(isa, kind, NULL) == count_blobs(first, kind, NULL),
             "%s has %u blobs of kind %d", isa->name, count_blobs(isa, kind, NULL), kind);
    GlowContext *ctx = glow_context_create();
    uint32_t functions = 0;
    EXPECT(glow_blobs_verify(ctx, isa, &functions), "the bitcode of %s is not sound", isa->name);
    EXPECT(functions > 500, "the bitcode of %s has only %u functions", isa->name, functions);
    glow_context_destroy(ctx);
  }
}

/* Whether LLVM says that this host has all features of a row. */
static bool llvm_agrees(const GlowIsa *isa, const char *host) {
  char all[4096], row[512], *rest = row;
  snprintf(all, sizeof all, ",%s,", host);
  snprintf(row, sizeof row, "%s", isa->features);
  for (char *feature; (feature = strtok_r(rest, " ", &rest));) {
    char has[64];
    snprintf(has, sizeof has, ",+%s,", feature);
    if (!strstr(all, has))
      return false;
  }
  return true;
}

/* Rows of one family stand together, the best that this host runs is its own. On x86-64, where
 * features do not come one behind the other, LLVM says which rows run here; elsewhere all up to
 * one. */
static void check_host(void) {
  const GlowIsa *host = glow_isa_host();
  char *features = LLVMGetHostCPUFeatures();
  for (size_t k = 0; k < GLOW_ISA_COUNT; k++) {
    const GlowIsa *isa = &glow_isa[k];
    EXPECT(glow_isa_find(isa->name) == isa, "two rows are called %s", isa->name);
    const GlowTarget *t = glow_target_find(isa->name);
    EXPECT(t && glow_cpu_isa(t) == isa, "the target %s is another row", isa->name);
    bool should = host && isa <= host && strcmp(isa->arch, host->arch) == 0;
    if (host && strcmp(host->arch, "x86_64") == 0)
      should = strcmp(isa->arch, host->arch) == 0 && llvm_agrees(isa, features);
    EXPECT(glow_isa_runs_here(isa) == should, "%s and the host's %s disagree", isa->name,
           host ? host->name : "nothing");
    EXPECT(strcmp(glow_isa[isa->ref].triple, isa->triple) == 0 &&
               glow_isa[isa->ref].ref == isa->ref,
           "%s uses the reference kernels of a stranger", isa->name);
    EXPECT(!should || isa <= host, "%s is a better row than the host's %s", isa->name,
           host ? host->name : "nothing");
  }
  LLVMDisposeMessage(features);
}

/* A convolution with an epilogue between relayouts, for a row. */
static void write_program(GlowText *t, const GlowIsa *isa) {
  glow_text_printf(t,
                   "module \"t\" {target = \"%s\"}\ndeclare {\n"
                   "  placeholder @x : float<1 x 20 x 9 x 9>\n"
                   "  placeholder @y : float<1 x 40 x 9 x 9>\n"
                   "  constant @w : float<40 x 20 x 3 x 3 | OIHW16i%uo> = splat(0.5)\n}\n",
                   isa->name, isa->vl * isa->tile_vectors);
  glow_text_puts(t, "program @p {\n"
                    "  %x = alloc float<1 x 20 x 9 x 9 | NCHW16c>\n"
                    "  relayout @out %x, @in @x\n"
                    "  %y = alloc float<1 x 40 x 9 x 9 | NCHW16c>\n"
                    "  convolution @out %y, @in %x, @in @w, @in none {pads = [1, 1, 1, 1]}\n"
                    "    ^epilogue(%a : float<>) = { %0 = Sigmoid(%a) : float<>  yield %0 }\n"
                    "  relayout @out @y, @in %y\n  dealloc %x\n  dealloc %y\n}\n");
}

/* What must stand in the assembly of a convolution: the machine's multiply-add, or what it is
 * computed with where there is none. */
static const char *const multiply[GLOW_ISA_COUNT] = {
    [GLOW_ISA_X86_64_V2] = "mulpd",       [GLOW_ISA_X86_64_V3] = "vfmadd",
    [GLOW_ISA_X86_64_V4] = "vfmadd",      [GLOW_ISA_X86_64_V3_VNNI] = "vfmadd",
    [GLOW_ISA_X86_64_V4_VNNI] = "vfmadd", [GLOW_ISA_X86_64_V4_BF16] = "vfmadd",
    [GLOW_ISA_X86_64_V4_AMX] = "vfmadd",  [GLOW_ISA_AARCH64] = "fmla",
    [GLOW_ISA_RV64GC] = "fmadd.s",        [GLOW_ISA_RV64GCV] = "vfmacc.v",
    [GLOW_ISA_GENERIC32] = "mulpd",
};

static void check_emission(void) {
  for (size_t k = 0; k < GLOW_ISA_COUNT; k++) {
    const GlowIsa *isa = &glow_isa[k];
    GlowContext *ctx = glow_context_create();
    GlowText text, assembly;
    glow_text_init(&text, ctx);
    glow_text_init(&assembly, ctx);
    write_program(&text, isa);
    GlowModule *m = glow_module_parse(ctx, "test", glow_text_cstr(&text), text.size);
    bool ok = m && glow_module_verify(m);
    EXPECT(ok, "this does not parse or verify:\n%s", text.data);
    GlowCpuPlan plan;
    GlowCodegenOptions options = {.isa = isa};
    ok = ok && glow_cpu_plan(ctx->arena, glow_module_entry(m, NULL), isa, &plan) &&
         glow_codegen_emit_asm(ctx, glow_cpu_program(ctx->arena, &plan, NULL), &options, &assembly);
    EXPECT(ok, "no code for %s", isa->name);
    EXPECT(!ok || strstr(glow_text_cstr(&assembly), multiply[k]), "the code for %s has no %s",
           isa->name, multiply[k]);
    glow_text_release(&text);
    glow_text_release(&assembly);
    glow_context_destroy(ctx);
  }
}

int main(void) {
  check_blobs();
  check_host();
  check_emission();
  return unit_finish();
}
