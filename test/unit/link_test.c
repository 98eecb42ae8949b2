/* Objects as images: all kernels (with --slice K/N, a part of them) and programs of test/codegen
 * link for each machine of 64 bits; several objects make one image; what the linker does not know
 * is refused by name; whatever is wrong with an image, it is refused with a reason and nothing
 * outside of it is read. */
#include <elf.h>
#include <llvm-c/IRReader.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/cpu.h"
#include "codegen/blobs.h"
#include "codegen/link.h"
#include "codegen/llvm.h"
#include "exec/code.h"
#include "exec/tables.h"
#include "test/unit/programs.h"
#include "test/unit/unit.h"

typedef struct Report {
  uint32_t errors;
  char message[256];
} Report;

static void take(void *user, const GlowDiagnostic *d) {
  Report *r = user;
  if (d->severity == GLOW_ERROR && r->errors++ == 0)
    snprintf(r->message, sizeof r->message, "%s", d->message);
}

/* ---- Programs of test/codegen ---------------------------------------------------------------- */

/* A row may not be able to run a program that was made for another. */
static uint32_t link_program(GlowContext *ctx, GlowFunction *f, const GlowIsa *isa, bool debug) {
  GlowCpuPlan plan;
  GlowText image;
  const char *unlinked = NULL;
  if (!glow_cpu_plan(ctx->arena, f, isa, &plan))
    return 0;
  const GlowProgramData *data = glow_cpu_program(ctx->arena, &plan, NULL);
  GlowCodegenOptions o = {.isa = isa, .debug = debug};
  glow_text_init(&image, ctx);
  CHECK(glow_codegen_emit_image(ctx, data, &o, &unlinked, &image, NULL));
  EXPECT(!unlinked, "%s, %s: %s", isa->name, f->name, unlinked);
  if (!unlinked && glow_isa_runs_here(isa)) {
    GlowCode *code = glow_code_load(ctx, image.data, image.size, NULL, 0);
    CHECK(code);
    CHECK(!code || glow_code_program(code)->nsteps == data->nsteps);
    glow_code_destroy(code);
  }
  glow_text_release(&image);
  return 1;
}

static uint32_t link_file(const GlowIsa *isa, const char *name, bool debug) {
  GlowContext *ctx = glow_context_create();
  GlowInput input;
  Report r = {0};
  uint32_t count = 0;
  bool opened = open_codegen_file(ctx, name, &input);
  CHECK(opened);
  if (!opened) {
    glow_context_destroy(ctx);
    return 0;
  }
  glow_context_set_diagnostic_fn(ctx, take, &r);
  GlowModule *m = glow_module_parse(ctx, name, (const char *)input.data, input.size);
  if (m && glow_module_verify(m))
    for (GlowFunction *f = m->first_function; f; f = f->next)
      count += f->body->level == GLOW_LEVEL_PROGRAM ? link_program(ctx, f, isa, debug) : 0;
  glow_input_close(&input);
  glow_context_destroy(ctx);
  return count;
}

static void check_programs(const GlowIsa *isa) {
  static const char *const files[] = {"spine.gir", "indices.gir",         "lines.gir",
                                      "halos.gir", "tiled-attention.gir", "matmul-packed.gir"};
  uint32_t programs = 0;
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    programs += link_file(isa, files[i], i == 0);
  EXPECT(programs >= 8, "%s: only %u programs link", isa->name, programs);
}

/* ---- Objects of our own ---------------------------------------------------------------------- */

/* A program of one step, whose piece another object defines. The piece gets a null pointer as its
 * params, and the first storage. */
static const char program[] =
    "%step = type { i16, i16, i32, i32, i32, i64 }\n"
    "@steps = internal constant [1 x %step] [%step { i16 0, i16 1, i32 0, i32 0, i32 0, i64 1 }]\n"
    "@addresses = internal constant [2 x i64] [i64 1, i64 6]\n"
    "declare void @piece(ptr, i64, i64, ptr)\n"
    "@pieces = internal constant [1 x ptr] [ptr @piece]\n"
    "@glow_program = constant { ptr, ptr, ptr, ptr, ptr, i64, i64, i64, i64 }\n"
    "  { ptr @steps, ptr @addresses, ptr @pieces, ptr null, ptr null, i64 1, i64 2, i64 0, i64 0 "
    "}\n";
static const char piece[] =
    "declare i64 @outside(i64)\n"
    "@more = internal constant [2 x i64] [i64 7, i64 40]\n"
    "define void @piece(ptr %p, i64 %begin, i64 %end, ptr %scratch) {\n"
    "  %at = getelementptr ptr, ptr %p, i64 1\n  %out = load ptr, ptr %at\n"
    "  %from = getelementptr i64, ptr @more, i64 %end\n  %add = load i64, ptr %from\n"
    "  %v = call i64 @outside(i64 %end)\n  %sum = add i64 %v, %add\n"
    "  store i64 %sum, ptr %out\n  ret void\n}\n";
static const char writes[] = "@count = global i64 3\n"
                             "define void @piece(ptr %p, i64 %begin, i64 %end, ptr %scratch) {\n"
                             "  store i64 %end, ptr @count\n  ret void\n}\n";

static int64_t outside(int64_t x) { return x + 1; }
static const GlowSymbol symbols[] = {{"outside", (const void *)(uintptr_t)outside}};

/* The object of LLVM's text or bitcode, for a row; of the context. */
static GlowBytes object_from(GlowContext *ctx, const GlowIsa *isa, GlowBytes code) {
  LLVMContextRef llvm = LLVMContextCreate();
  LLVMModuleRef m;
  LLVMTargetRef target;
  LLVMMemoryBufferRef object;
  char *message = NULL;
  glow_llvm_register_targets();
  LLVMMemoryBufferRef source =
      LLVMCreateMemoryBufferWithMemoryRangeCopy(code.data, code.size, "code");
  if (LLVMParseIRInContext(llvm, source, &m, &message) ||
      LLVMGetTargetFromTriple(isa->triple, &target, &message)) {
    printf("%s\n", message);
    abort();
  }
  LLVMTargetMachineOptionsRef o = LLVMCreateTargetMachineOptions();
  LLVMTargetMachineOptionsSetCPU(o, isa->cpu);
  LLVMTargetMachineOptionsSetFeatures(o, isa->attrs);
  LLVMTargetMachineOptionsSetABI(o, isa->abi);
  LLVMTargetMachineOptionsSetRelocMode(o, LLVMRelocPIC);
  LLVMTargetMachineOptionsSetCodeGenOptLevel(o, LLVMCodeGenLevelLess);
  LLVMTargetMachineRef machine = LLVMCreateTargetMachineWithOptions(target, isa->triple, o);
  LLVMDisposeTargetMachineOptions(o);
  if (LLVMTargetMachineEmitToMemoryBuffer(machine, m, LLVMObjectFile, &message, &object)) {
    printf("%s\n", message);
    abort();
  }
  GlowBytes bytes = {.size = LLVMGetBufferSize(object)};
  bytes.data =
      memcpy(glow_arena_alloc(ctx->arena, bytes.size), LLVMGetBufferStart(object), bytes.size);
  LLVMDisposeMemoryBuffer(object);
  LLVMDisposeTargetMachine(machine);
  LLVMDisposeModule(m);
  LLVMContextDispose(llvm);
  return bytes;
}

static GlowBytes object_of(GlowContext *ctx, const GlowIsa *isa, const char *text) {
  return object_from(ctx, isa, (GlowBytes){text, strlen(text)});
}

/* ---- Kernels --------------------------------------------------------------------------------- */

/* The kernels of a row, each with all that it calls: what programs have is made of these. A slice
 * has every `slices`-th one. */
static void check_kernels(const GlowIsa *isa, uint32_t slice, uint32_t slices) {
  uint32_t blobs = 0;
  for (size_t i = 0; i < glow_nbitcode; i++) {
    const GlowBitcode *b = &glow_bitcode[i];
    if (b->isa != (GlowIsaId)(isa - glow_isa)) /* rows share those of a simpler one */
      continue;
    if (blobs++ % slices != slice)
      continue;
    GlowContext *ctx = glow_context_create();
    GlowBytes code = {b->data, (size_t)(b->end - b->data)};
    GlowBytes both[] = {object_of(ctx, isa, program), object_from(ctx, isa, code)};
    GlowText image;
    glow_text_init(&image, ctx);
    const char *wrong = glow_link(ctx, both, 2, "glow_program", NULL, 0, &image);
    EXPECT(!wrong, "%s, %s: %s", isa->name, b->name, wrong);
    glow_text_release(&image);
    glow_context_destroy(ctx);
  }
  EXPECT(blobs, "%s has no kernels", isa->name);
}

/* ---- Several objects ------------------------------------------------------------------------- */

static void run(GlowContext *ctx, const GlowText *image) {
  GlowCode *code = glow_code_load(ctx, image->data, image->size, symbols, 1);
  CHECK(code);
  if (!code)
    return;
  int64_t out = 0;
  void *storage[] = {&out};
  GlowFault fault;
  GlowRunContext r = {.storage = storage, .fault = &fault};
  glow_walk_tables(ctx->arena, glow_code_program(code), &r);
  CHECK(glow_walk(glow_code_program(code), &r) == 0);
  EXPECT(out == 42, "the piece of another object writes %d", (int)out);
  glow_code_destroy(code);
}

static void check_several(const GlowIsa *isa) {
  GlowContext *ctx = glow_context_create();
  GlowBytes a = object_of(ctx, isa, program), b = object_of(ctx, isa, piece);
  for (int swapped = 0; swapped < 2; swapped++) {
    GlowBytes both[] = {swapped ? b : a, swapped ? a : b};
    GlowText image;
    glow_text_init(&image, ctx);
    const char *wrong = glow_link(ctx, both, 2, "glow_program", NULL, 0, &image);
    EXPECT(!wrong, "%s: two objects do not link: %s", isa->name, wrong);
    if (!wrong && glow_isa_runs_here(isa))
      run(ctx, &image);
    glow_text_release(&image);
  }
  glow_context_destroy(ctx);
}

/* ---- What is not linked ---------------------------------------------------------------------- */

static void refuse(GlowContext *ctx, const GlowBytes *objects, uint32_t count, const char *name,
                   const char *why) {
  GlowText image;
  glow_text_init(&image, ctx);
  const char *wrong = glow_link(ctx, objects, count, name, NULL, 0, &image);
  EXPECT(wrong && strstr(wrong, why) && !image.size, "the linker says '%s', not '%s'",
         wrong ? wrong : "nothing", why);
  glow_text_release(&image);
}

/* A copy in which the first relocation has another type. */
static GlowBytes with_relocation(GlowContext *ctx, GlowBytes object, uint32_t type) {
  char *copy = memcpy(glow_arena_alloc(ctx->arena, object.size), object.data, object.size);
  const Elf64_Ehdr *h = (const void *)copy;
  const Elf64_Shdr *s = (const void *)(copy + h->e_shoff);
  while (s->sh_type != SHT_RELA)
    s++;
  Elf64_Rela *r = (void *)(copy + s->sh_offset);
  r->r_info = ELF64_R_INFO(ELF64_R_SYM(r->r_info), type);
  return (GlowBytes){copy, object.size};
}

static void check_unknown(const GlowIsa *isa) {
  GlowContext *ctx = glow_context_create();
  GlowBytes a = object_of(ctx, isa, program), b = object_of(ctx, isa, piece);
  GlowBytes odd[] = {a, with_relocation(ctx, b, 99)}, none = {"no object", 9};
  GlowBytes written[] = {a, object_of(ctx, isa, writes)};
  refuse(ctx, odd, 2, "glow_program", "unknown relocation 99 of machine");
  refuse(ctx, written, 2, "glow_program", "unknown kind of section '.");
  refuse(ctx, &none, 1, "glow_program", "an object cannot be read");
  refuse(ctx, &b, 1, "glow_program", "there is no program");
  for (size_t size = 0; size < a.size; size += 7) {
    GlowBytes part = {memcpy(malloc(size + 1), a.data, size), size};
    GlowText image;
    glow_text_init(&image, ctx);
    CHECK(glow_link(ctx, &part, 1, "glow_program", NULL, 0, &image));
    glow_text_release(&image);
    free((void *)(uintptr_t)part.data);
  }
  glow_context_destroy(ctx);
}

/* ---- Damaged images -------------------------------------------------------------------------- */

/* Whether bytes are refused, with one error. They are as many as the memory that they lie in. */
static bool is_refused(const char *bytes, size_t size, Report *r) {
  GlowContext *ctx = glow_context_create();
  char *copy = malloc(size ? size : 1);
  *r = (Report){0};
  memcpy(copy, bytes, size);
  glow_context_set_diagnostic_fn(ctx, take, r);
  GlowCode *code = glow_code_load(ctx, copy, size, symbols, 1);
  CHECK(!code == (r->errors == 1));
  glow_code_destroy(code);
  free(copy);
  glow_context_destroy(ctx);
  return !code;
}

/* Each number of the head, replaced by others. */
static void damage_head(char *image, size_t size) {
  Report r;
  for (size_t at = offsetof(GlowCodeHead, text); at < sizeof(GlowCodeHead); at += 8) {
    uint64_t was;
    memcpy(&was, image + at, 8);
    const uint64_t values[] = {0,
                               was - 1,
                               was + 1,
                               was - 8,
                               was + 8,
                               was + 4096,
                               was * 2,
                               1 << 20,
                               1u << 31,
                               UINT64_MAX,
                               UINT64_MAX - 4095,
                               (uint64_t)1 << 39,
                               (uint64_t)1 << 63,
                               UINT64_MAX / 8 + 1};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
      memcpy(image + at, &values[i], 8);
      bool may_be_sound = at == offsetof(GlowCodeHead, used) && values[i] && values[i] <= 4096;
      bool refused = values[i] == was || is_refused(image, size, &r) || may_be_sound;
      EXPECT(refused, "byte %zu of the head may be %llu", at, (unsigned long long)values[i]);
    }
    memcpy(image + at, &was, 8);
  }
  for (size_t at = 0; at < offsetof(GlowCodeHead, text); at++) {
    image[at] ^= 0x40;
    EXPECT(is_refused(image, size, &r), "byte %zu of the head may be another", at);
    image[at] ^= 0x40;
  }
}

static void check_damage(const GlowIsa *isa) {
  GlowContext *ctx = glow_context_create();
  GlowBytes both[] = {object_of(ctx, isa, program), object_of(ctx, isa, piece)};
  GlowText image;
  GlowCodeHead head;
  Report r;
  glow_text_init(&image, ctx);
  CHECK(!glow_link(ctx, both, 2, "glow_program", NULL, 0, &image));
  CHECK(!is_refused(image.data, image.size, &r));
  memcpy(&head, image.data, sizeof head);
  damage_head(image.data, image.size);
  for (size_t size = 0; size < image.size; size++)
    CHECK(is_refused(image.data, size, &r));
  glow_text_putc(&image, 0);
  CHECK(is_refused(image.data, image.size, &r) && strstr(r.message, "something follows"));
  image.size--;
  /* Everything but instructions, one byte at a time. */
  size_t refused = 0, count = 0;
  for (size_t at = sizeof head + head.text; at < image.size; at++)
    for (int bit = 0; bit < 8; bit++, count++) {
      image.data[at] ^= (char)(1 << bit);
      refused += is_refused(image.data, image.size, &r);
      image.data[at] ^= (char)(1 << bit);
    }
  EXPECT(refused > count / 4, "of %zu damages %zu are seen", count, refused);
  /* A name that this process does not have. */
  GlowCode *code = glow_code_load(ctx, image.data, image.size, symbols, 1);
  CHECK(code);
  glow_code_destroy(code);
  Report missing = {0};
  glow_context_set_diagnostic_fn(ctx, take, &missing);
  CHECK(!glow_code_load(ctx, image.data, image.size, NULL, 0));
  EXPECT(!strcmp(missing.message,
                 "machine code cannot be loaded: this process does not have 'outside'"),
         "'%s'", missing.message);
  glow_text_release(&image);
  glow_context_destroy(ctx);
}

int main(int argc, char **argv) {
  uint32_t slice = 0, slices = 1;
  bool sliced = argc == 3 && !strcmp(argv[1], "--slice") &&
                sscanf(argv[2], "%u/%u", &slice, &slices) == 2 && slice < slices;
  if (argc != 1 && !sliced) {
    fprintf(stderr, "usage: link_test [--slice K/N]\n");
    return 2;
  }
  for (int i = 0; i < GLOW_ISA_COUNT; i++) {
    if (strcmp(glow_isa[i].arch, "i686") == 0)
      continue;
    check_kernels(&glow_isa[i], slice, slices);
    check_programs(&glow_isa[i]);
    check_several(&glow_isa[i]);
    check_unknown(&glow_isa[i]);
  }
  if (glow_isa_host())
    check_damage(glow_isa_host());
  return unit_finish();
}
