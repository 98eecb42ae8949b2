/* The public steps: emit, link kernels, optimize, generate, link objects, load. */
#include <string.h>
#include <time.h>

#include "codegen/blobs.h"
#include "codegen/emit.h"
#include "codegen/link.h"
#include "codegen/parts.h"
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

/* Links what is missing from those of the row's blobs that have a name like it, or from all: to
 * look into a blob takes as long as to link a function. *more becomes whether one was linked. */
static bool link_blobs(GlowEmitter *e, const GlowCodegenOptions *o, bool all, bool *more) {
  bool ok = true;
  for (size_t i = 0; ok && i < glow_nbitcode; i++) {
    const GlowBitcode *b = &glow_bitcode[i];
    bool wanted = glow_blob_serves(b, o->isa) && !(e->l.has_reference && b->kind == GLOW_BLOB_REF);
    if (wanted && (all ? glow_llvm_missing(&e->l) != NULL : glow_llvm_misses_like(&e->l, b->name)))
      ok = glow_llvm_link(&e->l, b->data, (size_t)(b->end - b->data), b->name, more);
  }
  return ok;
}

/* Links what is missing. Reference kernels call each other across sources, so blobs are gone
 * through until nothing new comes in. */
static bool link_kernels(GlowEmitter *e, const GlowCodegenOptions *o) {
  bool ok = true, more = true;
  if (o->kernels)
    ok = glow_llvm_link(&e->l, o->kernels, o->kernels_size, "kernels", &more);
  ok = ok && link_blobs(e, o, false, &more);
  for (more = true; ok && more && glow_llvm_missing(&e->l);) {
    more = false;
    ok = link_blobs(e, o, true, &more);
  }
  return ok;
}

/* What is compiled together: a unit, a program that a process looks up or a part of it, or one
 * piece alone. */
typedef struct Source {
  const GlowUnit *unit;
  const GlowProgramData *program;
  const GlowWork *piece;
  const GlowParts *parts; /* of the program: `part` alone is compiled; NULL: all of it */
  uint32_t part;
  bool told; /* the remarks were made */
} Source;

/* Where the text of the program begins: as the options say, else about where its first piece is. */
static GlowLoc beginning(const Source *s, const GlowCodegenOptions *o) {
  for (int64_t i = 0; !o->program.file && s->program && i < s->program->npieces; i++)
    if (s->program->pieces[i])
      return s->program->pieces[i]->source->line;
  return o->program;
}

static void emit(GlowEmitter *e, const Source *s, const GlowCodegenOptions *o) {
  e->arena = glow_arena_create(e->l.ctx);
  e->l.has_reference = o->nsymbols > 0;
  e->remark = s->told ? NULL : o->remark;
  e->parts = s->parts;
  e->part = s->part;
  glow_debug_open(&e->debug, &e->l, e->arena, o->debug, beginning(s, o));
  bool shared;
  if (s->unit)
    glow_emit_unit(e, s->unit);
  else if (s->part)
    glow_emit_part(e, s->program);
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
    if (glow_work_has_code(p->pieces[i]) && !compiles(ctx, p->pieces[i], o))
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

typedef GLOW_VEC(GlowLinkLine) Lines;

/* The functions of a module that have lines, with texts of the context. */
static void list_lines(const GlowLlvm *l, Lines *lines) {
  for (LLVMValueRef f = LLVMGetFirstFunction(l->module); f; f = LLVMGetNextFunction(f)) {
    LLVMMetadataRef scope = LLVMGetSubprogram(f);
    if (!scope)
      continue;
    size_t size;
    unsigned folder_size, file_size;
    LLVMMetadataRef file = LLVMDIScopeGetFile(scope);
    const char *name = LLVMGetValueName2(f, &size), *path = LLVMDIFileGetFilename(file, &file_size);
    const char *folder = LLVMDIFileGetDirectory(file, &folder_size);
    GlowLinkLine line = {.function = glow_str_n(l->ctx, name, size),
                         .file = glow_str_n(l->ctx, path, file_size),
                         .line = LLVMDISubprogramGetLine(scope)};
    if (*line.file != '/')
      line.file =
          glow_str_printf(l->ctx, "%s/%s", glow_str_n(l->ctx, folder, folder_size), line.file);
    glow_vec_push(l->ctx->arena, lines, line);
  }
}

/* What becomes of a part. */
typedef struct Part {
  LLVMMemoryBufferRef object; /* NULL: there is none, or none yet */
  GlowLlvmFault fault;
  GlowCodegenTimes times;
} Part;

typedef struct Objects {
  const GlowCodegenOptions *options;
  const GlowProgramData *program;
  GlowParts parts;
  bool told;    /* the remarks were made */
  Lines *lines; /* of a program in one part; or NULL */
  Part part[GLOW_MOST_PARTS];
} Objects;

static void release_objects(void *objects) {
  Objects *all = objects;
  for (uint32_t i = 0; i < GLOW_MOST_PARTS; i++) {
    if (all->part[i].object)
      LLVMDisposeMemoryBuffer(all->part[i].object);
    all->part[i].object = NULL;
  }
}

/* A GlowPartFn. Of parts of the same program, several run at a time. */
static bool make_part(GlowContext *ctx, uint32_t i, void *objects) {
  Objects *all = objects;
  Part *part = &all->part[i];
  GlowEmitter e = {0};
  const Source s = {.program = all->program,
                    .parts = all->parts.count > 1 ? &all->parts : NULL,
                    .part = i,
                    .told = all->told};
  if (build(&e, ctx, &s, all->options, &part->times)) {
    double since = seconds();
    part->object = glow_llvm_generate(&e.l, LLVMObjectFile);
    lap(&since, &part->times.generate);
    if (all->lines)
      list_lines(&e.l, all->lines);
    glow_llvm_close(&e.l);
  }
  part->fault = e.l.fault;
  return part->object != NULL;
}

static void add_times(GlowCodegenTimes *sum, const GlowCodegenTimes *t) {
  sum->emit += t->emit;
  sum->link += t->link;
  sum->optimize += t->optimize;
  sum->generate += t->generate;
}

/* The objects of a program, for release_objects, which is the caller's. False after a diagnostic.
 * Fills in all times but that of loading, and appends to `lines`, which may be NULL. */
static bool make_objects(GlowContext *ctx, Objects *all, GlowCodegenTimes *times) {
  const GlowCodegenOptions *o = all->options;
  GlowStatus status = GLOW_OK;
  uint32_t failed = 0;
  *times = (GlowCodegenTimes){0};
  ctx->task = "code generation";
  if (all->parts.count > 1)
    status = glow_parts_run(ctx, all->parts.count, o->threads, make_part, all, &failed);
  else
    failed = make_part(ctx, 0, all);
  for (uint32_t i = 0; i < all->parts.count; i++)
    add_times(times, &all->part[i].times);
  if (status != GLOW_OK) {
    glow_deadline_check(ctx, o->program); /* reports what a silent thread found out */
    glow_throw(ctx, status);
  }
  ctx->task = NULL;
  if (failed == all->parts.count)
    return true;
  const Source s = {.program = all->program};
  all->part[failed].fault.ctx = ctx;
  return fail(ctx, &all->part[failed].fault, &s, o);
}

bool glow_codegen_emit_image(GlowContext *ctx, const GlowProgramData *program,
                             const GlowCodegenOptions *o, const char **unlinked, GlowText *out,
                             GlowCodegenTimes *times) {
  GlowCodegenTimes unused;
  Lines lines = {0};
  GlowBytes bytes[GLOW_MOST_PARTS];
  GlowDefer defer;
  Objects *all = GLOW_NEW(ctx->arena, Objects);
  *all = (Objects){.options = o, .program = program, .told = true};
  times = times ? times : &unused;
  glow_parts_divide(ctx, ctx->arena, program, o, &all->parts);
  if (all->parts.count == 1)
    all->lines = &lines;
  glow_defer_push(ctx, &defer, release_objects, all);
  bool ok = make_objects(ctx, all, times);
  double since = seconds();
  for (uint32_t i = 0; ok && i < all->parts.count; i++)
    bytes[i] = (GlowBytes){LLVMGetBufferStart(all->part[i].object),
                           LLVMGetBufferSize(all->part[i].object)};
  if (ok)
    *unlinked =
        glow_link(ctx, bytes, all->parts.count, GLOW_CODE_PROGRAM, lines.data, lines.count, out);
  glow_defer_pop(ctx, &defer, true);
  lap(&since, &times->load);
  return ok;
}

GlowCode *glow_codegen_compile(GlowContext *ctx, const GlowProgramData *program,
                               const GlowCodegenOptions *o, GlowCodegenTimes *times) {
  GlowCodegenTimes unused;
  GlowText image;
  GlowDefer defer;
  GlowCode *code = NULL;
  const char *unlinked = NULL;
  times = times ? times : &unused;
  glow_text_init(&image, ctx);
  glow_defer_push(ctx, &defer, glow_text_release_fn, &image);
  bool made = glow_codegen_emit_image(ctx, program, o, &unlinked, &image, times);
  double since = seconds();
  if (made && unlinked)
    glow_error(ctx, GLOW_NOWHERE, "machine code cannot be linked: %s", unlinked);
  else if (made)
    code = glow_code_load(ctx, image.data, image.size, o->symbols, o->nsymbols);
  lap(&since, &times->load);
  glow_defer_pop(ctx, &defer, true);
  return code;
}

bool glow_codegen_emit_object(GlowContext *ctx, const GlowProgramData *program,
                              const GlowCodegenOptions *o, GlowText *out, GlowCodegenTimes *times) {
  GlowCodegenTimes unused;
  GlowDefer defer;
  Objects all = {.options = o, .program = program, .parts = {.count = 1}};
  glow_defer_push(ctx, &defer, release_objects, &all);
  bool ok = make_objects(ctx, &all, times ? times : &unused);
  if (ok)
    glow_text_bytes(out, LLVMGetBufferStart(all.part[0].object),
                    LLVMGetBufferSize(all.part[0].object));
  glow_defer_pop(ctx, &defer, true);
  return ok;
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
