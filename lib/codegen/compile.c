/* The public steps: emit, link, optimize, generate, load. */
#include <string.h>
#include <time.h>

#include "codegen/blobs.h"
#include "codegen/emit.h"
#include "codegen/jit.h"

/* This thread's time, so that a busy machine does not count. */
static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Adds what passed since *since to *sum. */
static void lap(double *since, double *sum) {
  double now = seconds();
  *sum += now - *since;
  *since = now;
}

/* Links what is missing from the row's blobs. Reference kernels call each other across sources, so
 * they are gone through until nothing new comes in. */
static bool link_kernels(GlowEmitter *e, const GlowCodegenOptions *o) {
  bool ok = true, more = true;
  if (o->kernels)
    ok = glow_llvm_link(&e->l, o->kernels, o->kernels_size, "kernels", &more);
  more = true;
  while (ok && more && glow_llvm_missing(&e->l)) {
    more = false;
    for (size_t i = 0; ok && i < glow_nbitcode; i++) {
      const GlowBitcode *b = &glow_bitcode[i];
      bool wanted =
          glow_blob_serves(b, o->isa) && !(e->l.has_reference && b->kind == GLOW_BLOB_REF);
      if (wanted && glow_llvm_missing(&e->l))
        ok = glow_llvm_link(&e->l, b->data, (size_t)(b->end - b->data), b->name, &more);
    }
  }
  return ok;
}

/* Opens e->l and leaves an optimized module in it: of a unit, or of one program. On failure e->l is
 * closed. */
static bool build(GlowEmitter *e, GlowContext *ctx, const GlowUnit *unit, const GlowWork *work,
                  uint32_t count, const GlowCodegenOptions *o, GlowCodegenTimes *times) {
  double since = seconds();
  e->arena = glow_arena_create(ctx);
  const GlowMachine row = {.isa = o->isa};
  if (!glow_llvm_open(&e->l, ctx, o->machine ? o->machine : &row, o->effort)) {
    glow_arena_destroy(e->arena);
    return false;
  }
  e->l.has_reference = o->nsymbols > 0;
  e->scratch = o->scratch;
  e->hook = o->hook;
  glow_debug_open(&e->debug, &e->l, e->arena, o->debug,
                  o->program.file || !count ? o->program : glow_debug_place(work[0].node));
  if (unit)
    glow_emit_unit(e, unit);
  else
    glow_emit_program(e, GLOW_CODE_ENTRY, work, count);
  glow_emit_names(e);
  glow_debug_close(&e->debug);
  glow_arena_destroy(e->arena);
  lap(&since, &times->emit);
  bool ok = link_kernels(e, o);
  lap(&since, &times->link);
  ok = ok && glow_llvm_optimize(&e->l);
  lap(&since, &times->optimize);
  if (!ok)
    glow_llvm_close(&e->l);
  return ok;
}

/* The object; NULL after a diagnostic. Fills in all times but that of loading. */
static LLVMMemoryBufferRef make_object(GlowContext *ctx, const GlowWork *work, uint32_t count,
                                       const GlowCodegenOptions *o, GlowCodegenTimes *times) {
  *times = (GlowCodegenTimes){0};
  GlowEmitter e = {0};
  if (!build(&e, ctx, NULL, work, count, o, times))
    return NULL;
  double since = seconds();
  LLVMMemoryBufferRef object = glow_llvm_generate(&e.l, LLVMObjectFile);
  lap(&since, &times->generate);
  glow_llvm_close(&e.l);
  return object;
}

GlowCode *glow_codegen_compile(GlowContext *ctx, const GlowWork *work, uint32_t count,
                               const GlowCodegenOptions *o, GlowCodegenTimes *times) {
  GlowCodegenTimes unused;
  times = times ? times : &unused;
  LLVMMemoryBufferRef object = make_object(ctx, work, count, o, times);
  double since = seconds();
  GlowCode *code =
      object ? glow_jit_load(ctx, object, GLOW_CODE_ENTRY, o->symbols, o->nsymbols) : NULL;
  lap(&since, &times->load);
  return code;
}

bool glow_codegen_emit_object(GlowContext *ctx, const GlowWork *work, uint32_t count,
                              const GlowCodegenOptions *o, GlowText *out, GlowCodegenTimes *times) {
  GlowCodegenTimes unused;
  LLVMMemoryBufferRef object = make_object(ctx, work, count, o, times ? times : &unused);
  if (!object)
    return false;
  glow_text_bytes(out, LLVMGetBufferStart(object), LLVMGetBufferSize(object));
  LLVMDisposeMemoryBuffer(object);
  return true;
}

GlowCode *glow_code_load(GlowContext *ctx, const void *object, size_t size,
                         const GlowSymbol *symbols, uint32_t count) {
  LLVMMemoryBufferRef copy = LLVMCreateMemoryBufferWithMemoryRangeCopy(object, size, "object");
  return glow_jit_load(ctx, copy, GLOW_CODE_ENTRY, symbols, count);
}

static bool write(GlowContext *ctx, const GlowUnit *unit, const GlowWork *work, uint32_t count,
                  const GlowCodegenOptions *o, GlowCodeForm form, GlowText *out) {
  GlowCodegenTimes times = {0};
  GlowEmitter e = {0};
  if (!build(&e, ctx, unit, work, count, o, &times))
    return false;
  bool ok = glow_llvm_write(&e.l, form, out);
  glow_llvm_close(&e.l);
  return ok;
}

bool glow_codegen_unit(GlowContext *ctx, const GlowUnit *unit, const GlowCodegenOptions *o,
                       GlowCodeForm form, GlowText *out) {
  return write(ctx, unit, NULL, 0, o, form, out);
}

bool glow_codegen_emit_asm(GlowContext *ctx, const GlowWork *work, uint32_t count,
                           const GlowCodegenOptions *o, GlowText *out) {
  return write(ctx, NULL, work, count, o, GLOW_CODE_ASM, out);
}

bool glow_codegen_emit_ir(GlowContext *ctx, const GlowWork *work, uint32_t count,
                          const GlowCodegenOptions *o, GlowText *out) {
  return write(ctx, NULL, work, count, o, GLOW_CODE_IR, out);
}
