/* Errors of LLVM: kernels that it cannot read, link, verify or compile are planted, and there must
 * be one diagnostic that says in which step, for which machine, and at the instruction that uses
 * them. */
#include <llvm-c/BitWriter.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/cpu/cpu.h"
#include "codegen/llvm.h"
#include "codegen/unit.h"
#include "support/file.h"
#include "test/unit/unit.h"

/* The kernel of tanh is what is planted; line 6 of the text. A product that was built from another
 * kernel table is planted whole. */
static const char text[] =
    "declare {\n"
    "  placeholder @x : float<8 x 4>\n  placeholder @y : float<4 x 8>\n}\n"
    "program @main { %a = alloc float<4 x 8>  transpose @out %a, @in @x {perm = [1, 0]}\n"
    "  tanh @out @y, @in %a\n"
    "  dealloc %a\n}\n";

static const char product[] = "declare {\n"
                              "  placeholder @a : float<4 x 8>\n  placeholder @b : float<8 x 6>\n"
                              "  placeholder @y : float<4 x 6>\n}\n"
                              "program @main { mat_mul @out @y, @in @a, @in @b }\n";

typedef enum Plant { SOUND, GARBAGE, MISSING, UNSOUND, ASSEMBLY, FATAL } Plant;

/* ---- Planted kernels ------------------------------------------------------------------------- */

/* A call of a function with no parameters and no result. */
static void call(LLVMBuilderRef b, LLVMValueRef f, LLVMTypeRef type) {
  LLVMBuildCall2(b, type, f, NULL, 0, "");
}

/* What lies at address 64: nobody runs this. */
static LLVMValueRef load(LLVMContextRef c, LLVMBuilderRef b, LLVMTypeRef type) {
  LLVMValueRef at = LLVMConstIntToPtr(LLVMConstInt(LLVMInt64TypeInContext(c), 64, 0),
                                      LLVMPointerTypeInContext(c, 0));
  LLVMValueRef v = LLVMBuildLoad2(b, type, at, "");
  LLVMSetVolatile(v, 1);
  return v;
}

/* An intrinsic that only machines with AVX-512 have; for others LLVM has nothing to select. */
static void call_avx512(LLVMContextRef c, LLVMModuleRef m, LLVMBuilderRef b) {
  LLVMTypeRef v = LLVMVectorType(LLVMFloatTypeInContext(c), 16);
  LLVMTypeRef i = LLVMVectorType(LLVMInt32TypeInContext(c), 16), types[] = {v, i, v};
  LLVMTypeRef type = LLVMFunctionType(v, types, 3, 0);
  LLVMValueRef f = LLVMAddFunction(m, "llvm.x86.avx512.vpermi2var.ps.512", type);
  LLVMValueRef args[] = {load(c, b, v), load(c, b, i), load(c, b, v)};
  LLVMValueRef result = LLVMBuildCall2(b, type, f, args, 3, "");
  LLVMSetVolatile(LLVMBuildStore(b, result,
                                 LLVMConstIntToPtr(LLVMConstInt(LLVMInt64TypeInContext(c), 64, 0),
                                                   LLVMPointerTypeInContext(c, 0))),
                  1);
}

static void fill(Plant plant, LLVMContextRef c, LLVMModuleRef m, LLVMBuilderRef b) {
  LLVMTypeRef none = LLVMFunctionType(LLVMVoidTypeInContext(c), NULL, 0, 0);
  static char bogus[] = "bogus";
  switch (plant) {
  case MISSING:
    call(b, LLVMAddFunction(m, "glow_nowhere", none), none);
    break;
  case ASSEMBLY:
    call(b, LLVMGetInlineAsm(none, bogus, strlen(bogus), "", 0, 1, 0, LLVMInlineAsmDialectATT, 0),
         none);
    break;
  case FATAL:
    call_avx512(c, m, b);
    break;
  case SOUND:
  case GARBAGE:
  case UNSOUND:
    break;
  }
  if (plant == UNSOUND)
    LLVMBuildRet(b,
                 LLVMConstInt(LLVMInt64TypeInContext(c), 0, 0)); /* of a function without result */
  else
    LLVMBuildRetVoid(b);
}

/* Bitcode of glow_stack. */
static LLVMMemoryBufferRef planted(Plant plant) {
  LLVMContextRef c = LLVMContextCreate();
  LLVMModuleRef m = LLVMModuleCreateWithNameInContext("planted", c);
  LLVMTypeRef ptr = LLVMPointerTypeInContext(c, 0), i64 = LLVMInt64TypeInContext(c);
  LLVMTypeRef types[] = {ptr, ptr, ptr, ptr, i64, i64, ptr};
  LLVMValueRef f =
      LLVMAddFunction(m, "glow_stack", LLVMFunctionType(LLVMVoidTypeInContext(c), types, 7, 0));
  LLVMBuilderRef b = LLVMCreateBuilderInContext(c);
  LLVMPositionBuilderAtEnd(b, LLVMAppendBasicBlockInContext(c, f, ""));
  fill(plant, c, m, b);
  LLVMMemoryBufferRef code = LLVMWriteBitcodeToMemoryBuffer(m);
  LLVMDisposeBuilder(b);
  LLVMDisposeModule(m);
  LLVMContextDispose(c);
  return code;
}

/* ---- Compiling ------------------------------------------------------------------------------- */

/* What was reported. */
typedef struct Report {
  unsigned errors;
  uint32_t line; /* of the first */
  char message[800];
} Report;

static void take(void *user, const GlowDiagnostic *d) {
  Report *r = user;
  if (d->severity == GLOW_ERROR && r->errors++ == 0) {
    r->line = d->loc.line;
    snprintf(r->message, sizeof r->message, "%s", d->message);
  }
}

/* Compiles the program with a planted kernel, alone or as a bundle would. */
static bool compile(GlowContext *ctx, Plant plant, const GlowIsa *isa, bool unit) {
  GlowModule *m = glow_module_parse(ctx, "planted.gir", text, strlen(text));
  bool ok = m && glow_module_verify(m);
  GlowCpuPlan plan;
  GlowText out;
  glow_text_init(&out, ctx);
  EXPECT(ok, "the program does not parse");
  ok = ok && glow_cpu_plan(ctx->arena, m->first_function, isa, &plan);
  LLVMMemoryBufferRef kernel = planted(plant);
  GlowCodegenOptions o = {.isa = isa,
                          .kernels = plant == GARBAGE ? "no bitcode" : LLVMGetBufferStart(kernel),
                          .kernels_size = plant == GARBAGE ? 10 : LLVMGetBufferSize(kernel)};
  GlowBundleParams params = {.arena = plan.arena, .nstorage = plan.nouter};
  GlowBundleSlot slots[2] = {0};
  GlowUnitEntry entry = {.symbol = "planted_main",
                         .data = ok ? glow_cpu_program(ctx->arena, &plan, NULL) : NULL,
                         .params = &params,
                         .slots = slots};
  ok = ok && (unit ? glow_codegen_unit(ctx, &(GlowUnit){.entries = &entry, .nentries = 1}, &o,
                                       GLOW_CODE_OBJECT, &out)
                   : glow_codegen_emit_object(ctx, glow_cpu_program(ctx->arena, &plan, NULL), &o,
                                              &out, NULL));
  LLVMDisposeMemoryBuffer(kernel);
  glow_text_release(&out);
  return ok;
}

static void check_error(Plant plant, const GlowIsa *isa, uint32_t line, const char *message) {
  for (int unit = 0; unit < 2; unit++) {
    GlowContext *ctx = glow_context_create();
    Report r = {0};
    glow_context_set_diagnostic_fn(ctx, take, &r);
    bool ok = compile(ctx, plant, isa, unit);
    EXPECT(!ok && r.errors == 1, "plant %d: %u errors", plant, r.errors);
    EXPECT(strstr(r.message, message), "plant %d says '%s', not '%s'", plant, r.message, message);
    EXPECT(r.line == line, "plant %d is reported at line %u", plant, r.line);
    glow_context_destroy(ctx);
  }
}

/* The product by kernels of a file. */
static bool compile_product(GlowContext *ctx, const GlowIsa *isa, const char *path) {
  GlowModule *m = glow_module_parse(ctx, "product.gir", product, strlen(product));
  GlowCpuPlan plan;
  GlowInput kernels;
  GlowText out;
  CHECK(m && glow_module_verify(m) && glow_cpu_plan(ctx->arena, m->first_function, isa, &plan));
  CHECK(glow_input_open(ctx, path, false, GLOW_NOWHERE, &kernels));
  glow_text_init(&out, ctx);
  GlowCodegenOptions o = {.isa = isa, .kernels = kernels.data, .kernels_size = kernels.size};
  bool ok =
      glow_codegen_emit_object(ctx, glow_cpu_program(ctx->arena, &plan, NULL), &o, &out, NULL);
  glow_text_release(&out);
  glow_input_close(&kernels);
  return ok;
}

/* Kernels whose parameters have other fields are not linked. */
static void check_other_table(void) {
  GlowContext *ctx = glow_context_create();
  Report r = {0};
  glow_context_set_diagnostic_fn(ctx, take, &r);
  bool ok = compile_product(ctx, &glow_isa[GLOW_ISA_X86_64_V3], GLOW_TEST_LESS);
  EXPECT(!ok && r.errors == 1, "kernels of another table: %u errors", r.errors);
  EXPECT(!strcmp(r.message, "the kernels of x86-64-v3 were built from another table"),
         "kernels of another table: '%s'", r.message);
  glow_context_destroy(ctx);
}

/* Where LLVM ends the process, its last words are in our form, with the status of a fault of ours.
 */
static void check_fatal(void) {
  int fd[2], status = 0;
  char words[800];
  CHECK(pipe(fd) == 0);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    dup2(fd[1], STDERR_FILENO);
    compile(glow_context_create(), FATAL, &glow_isa[GLOW_ISA_X86_64_V2], false);
    _exit(0);
  }
  close(fd[1]);
  size_t size = 0;
  for (ssize_t n; (n = read(fd[0], words + size, sizeof words - 1 - size)) > 0;)
    size += (size_t)n;
  words[size] = '\0';
  close(fd[0]);
  waitpid(child, &status, 0);
  EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 3, "LLVM's end has status %d", status);
  EXPECT(strncmp(words, "error: LLVM cannot go on, generating code for x86-64-v2: ", 57) == 0,
         "LLVM's last words: %s", words);
}

/* An image for this host that calls a reference kernel, which it is then not given. */
static void make_orphan(GlowContext *ctx, GlowText *out) {
  static const char orphan[] = "declare {\n"
                               "  placeholder @x : float<4 x 4>\n  placeholder @y : float<4 x 4>\n}\n"
                               "program @main { eye_like @out @y, @in @x }\n";
  const GlowSymbol unused = {"unused", ctx};
  GlowModule *m = glow_module_parse(ctx, "orphan.gir", orphan, strlen(orphan));
  GlowCodegenOptions o = {.isa = glow_isa_host(), .symbols = &unused, .nsymbols = 1};
  GlowCpuPlan plan;
  const char *unlinked = NULL;
  CHECK(m && glow_module_verify(m) && glow_cpu_plan(ctx->arena, m->first_function, o.isa, &plan) &&
        glow_codegen_emit_image(ctx, glow_cpu_program(ctx->arena, &plan, NULL), &o, &unlinked, out,
                                NULL) &&
        !unlinked);
}

/* What cannot be loaded into memory. */
static void check_loading(void) {
  for (int orphan = 0; orphan < 2; orphan++) {
    GlowContext *ctx = glow_context_create();
    GlowText image;
    Report r = {0};
    glow_context_set_diagnostic_fn(ctx, take, &r);
    glow_text_init(&image, ctx);
    if (orphan)
      make_orphan(ctx, &image);
    else
      glow_text_puts(&image, "no image");
    GlowCode *code = glow_code_load(ctx, image.data, image.size, NULL, 0);
    EXPECT(!code && r.errors == 1 &&
               strcmp(r.message, orphan ? "machine code cannot be loaded: this process does not "
                                          "have 'glow_kernel_eye_like'"
                                        : "machine code cannot be loaded: it is shorter than its "
                                          "head") == 0,
           "%u errors, the first '%s'", r.errors, r.message);
    glow_code_destroy(code);
    glow_text_release(&image);
    glow_context_destroy(ctx);
  }
}

int main(void) {
  const GlowIsa *v3 = &glow_isa[GLOW_ISA_X86_64_V3];
  GlowContext *ctx = glow_context_create();
  CHECK(compile(ctx, SOUND, v3, false));
  glow_context_destroy(ctx);
  /* What cannot be read is nobody's: the first instruction that needs kernels has it. */
  check_error(GARBAGE, v3, 5,
              "LLVM, reading kernels into the code of transpose 'a' for x86-64-v3: ");
  check_error(
      MISSING, v3, 6,
      "LLVM, linking the code of tanh 'y' for x86-64-v3: there is no kernel 'glow_nowhere'");
  check_error(UNSOUND, v3, 6, "LLVM, verifying the code of tanh 'y' for x86-64-v3: ");
  check_error(ASSEMBLY, v3, 6, "LLVM, generating the code of tanh 'y' for x86-64-v3: ");
  check_error(ASSEMBLY, &glow_isa[GLOW_ISA_AARCH64], 6,
              "LLVM, generating the code of tanh 'y' for aarch64: ");
  if (glow_isa_host())
    check_loading();
  check_other_table();
  check_fatal();
  return unit_finish();
}
