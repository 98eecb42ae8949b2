/* The public steps: emit, link, optimize, generate, load. */
#include <string.h>
#include <time.h>

#include "codegen/blobs.h"
#include "codegen/emit.h"
#include "codegen/jit.h"
#include "support/deadline.h"

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

/* What is compiled together: a unit, a program that a process looks up, or one piece alone. */
typedef struct Source {
  const GlowUnit *unit;
  const GlowProgramData *program;
  const GlowWork *piece;
} Source;

static void emit(GlowEmitter *e, const Source *s, const GlowCodegenOptions *o) {
  e->arena = glow_arena_create(e->l.ctx);
  e->l.has_reference = o->nsymbols > 0;
  e->remark = o->remark;
  glow_debug_open(&e->debug, &e->l, e->arena, o->debug,
                  o->program.file || !s->program || !s->program->npieces
                      ? o->program
                      : s->program->pieces[0]->source->line);
  bool shared;
  if (s->unit)
    glow_emit_unit(e, s->unit);
  else if (s->program)
    LLVMSetLinkage(glow_emit_program(e, GLOW_CODE_PROGRAM, s->program), LLVMExternalLinkage);
  else
    LLVMSetLinkage(glow_emit_work(e, s->piece, &shared), LLVMExternalLinkage);
  glow_emit_names(e);
  glow_debug_close(&e->debug);
  glow_arena_destroy(e->arena);
}

static GlowLoc place_of(const Source *s, const GlowCodegenOptions *o) {
  return s->unit && s->unit->nentries ? s->unit->entries[0].program : o->program;
}

/* Opens e->l and leaves an optimized module in it. On failure, which e->l.fault says, e->l is
 * closed. */
static bool build(GlowEmitter *e, GlowContext *ctx, const Source *s, const GlowCodegenOptions *o,
                  GlowCodegenTimes *times) {
  double since = seconds();
  const GlowMachine row = {.isa = o->isa};
  if (!glow_llvm_open(&e->l, ctx, o->machine ? o->machine : &row))
    return false;
  ctx->task = "code generation";
  emit(e, s, o);
  lap(&since, &times->emit);
  glow_deadline_check(ctx, place_of(s, o));
  bool ok = link_kernels(e, o);
  lap(&since, &times->link);
  glow_deadline_check(ctx, place_of(s, o));
  ok = ok && glow_llvm_optimize(&e->l);
  lap(&since, &times->optimize);
  glow_deadline_check(ctx, place_of(s, o));
  ctx->task = NULL;
  if (!ok)
    glow_llvm_close(&e->l);
  return ok;
}

/* ---- Failures -------------------------------------------------------------------------------- */

static bool compiles(GlowContext *ctx, const GlowWork *w, const GlowCodegenOptions *o) {
  GlowEmitter e = {0};
  GlowCodegenTimes times = {0};
  if (!build(&e, ctx, &(Source){.piece = w}, o, &times))
    return false;
  LLVMMemoryBufferRef object = glow_llvm_generate(&e.l, LLVMObjectFile);
  glow_llvm_close(&e.l);
  if (object)
    LLVMDisposeMemoryBuffer(object);
  return object != NULL;
}

/* The first piece of a program that fails alone, too; NULL if none does. */
static const GlowWorkSource *find_culprit(GlowContext *ctx, const GlowProgramData *p,
                                          const GlowCodegenOptions *o) {
  for (int64_t i = 0; i < p->npieces; i++)
    if (p->pieces[i]->kind != GLOW_WORK_HOST && !compiles(ctx, p->pieces[i], o))
      return p->pieces[i]->source;
  return NULL;
}

/* LLVM does not say which instruction its error is about, so they are tried one by one. Always
 * false. */
static bool fail(GlowContext *ctx, const GlowLlvmFault *fault, const Source *s,
                 const GlowCodegenOptions *o) {
  const GlowWorkSource *culprit = s->program ? find_culprit(ctx, s->program, o) : NULL;
  for (uint32_t i = 0; s->unit && i < s->unit->nentries && !culprit; i++)
    culprit = find_culprit(ctx, s->unit->entries[i].data, o);
  return glow_llvm_report(fault, culprit);
}

/* ---- Steps ----------------------------------------------------------------------------------- */

/* The object; NULL after a diagnostic. Fills in all times but that of loading. */
static LLVMMemoryBufferRef make_object(GlowContext *ctx, const GlowProgramData *program,
                                       const GlowCodegenOptions *o, GlowCodegenTimes *times) {
  *times = (GlowCodegenTimes){0};
  GlowEmitter e = {0};
  const Source s = {.program = program};
  if (!build(&e, ctx, &s, o, times)) {
    fail(ctx, &e.l.fault, &s, o);
    return NULL;
  }
  double since = seconds();
  LLVMMemoryBufferRef object = glow_llvm_generate(&e.l, LLVMObjectFile);
  lap(&since, &times->generate);
  glow_llvm_close(&e.l);
  if (!object)
    fail(ctx, &e.l.fault, &s, o);
  return object;
}

GlowCode *glow_codegen_compile(GlowContext *ctx, const GlowProgramData *program,
                               const GlowCodegenOptions *o, GlowCodegenTimes *times) {
  GlowCodegenTimes unused;
  times = times ? times : &unused;
  LLVMMemoryBufferRef object = make_object(ctx, program, o, times);
  double since = seconds();
  GlowCode *code =
      object ? glow_jit_load(ctx, object, GLOW_CODE_PROGRAM, o->symbols, o->nsymbols) : NULL;
  lap(&since, &times->load);
  return code;
}

bool glow_codegen_emit_object(GlowContext *ctx, const GlowProgramData *program,
                              const GlowCodegenOptions *o, GlowText *out, GlowCodegenTimes *times) {
  GlowCodegenTimes unused;
  LLVMMemoryBufferRef object = make_object(ctx, program, o, times ? times : &unused);
  if (!object)
    return false;
  glow_text_bytes(out, LLVMGetBufferStart(object), LLVMGetBufferSize(object));
  LLVMDisposeMemoryBuffer(object);
  return true;
}

GlowCode *glow_code_load(GlowContext *ctx, const void *object, size_t size,
                         const GlowSymbol *symbols, uint32_t count) {
  LLVMMemoryBufferRef copy = LLVMCreateMemoryBufferWithMemoryRangeCopy(object, size, "object");
  return glow_jit_load(ctx, copy, GLOW_CODE_PROGRAM, symbols, count);
}

static bool write(GlowContext *ctx, const Source *s, const GlowCodegenOptions *o, GlowCodeForm form,
                  GlowText *out) {
  GlowCodegenTimes times = {0};
  GlowEmitter e = {0};
  if (!build(&e, ctx, s, o, &times))
    return fail(ctx, &e.l.fault, s, o);
  bool ok = glow_llvm_write(&e.l, form, out);
  glow_llvm_close(&e.l);
  return ok || fail(ctx, &e.l.fault, s, o);
}

bool glow_codegen_unit(GlowContext *ctx, const GlowUnit *unit, const GlowCodegenOptions *o,
                       GlowCodeForm form, GlowText *out) {
  return write(ctx, &(Source){.unit = unit}, o, form, out);
}

bool glow_codegen_emit_asm(GlowContext *ctx, const GlowProgramData *program,
                           const GlowCodegenOptions *o, GlowText *out) {
  return write(ctx, &(Source){.program = program}, o, GLOW_CODE_ASM, out);
}

bool glow_codegen_emit_ir(GlowContext *ctx, const GlowProgramData *program,
                          const GlowCodegenOptions *o, GlowText *out) {
  return write(ctx, &(Source){.program = program}, o, GLOW_CODE_IR, out);
}
