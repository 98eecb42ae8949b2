/* Checks the embedded bitcode of a row as a whole: for tests. */
#include <string.h>

#include "codegen/blobs.h"
#include "codegen/llvm.h"
#include "support/map.h"
#include "target/cpu/table.h"

/* Names that the blobs define, and those they declare, in the order of the blobs. */
typedef struct Names {
  GlowArena *arena;
  GlowMap *defined; /* interned names */
  GLOW_VEC(GlowStr) declared;
  uint32_t functions;
} Names;

static void collect(GlowContext *ctx, Names *names, LLVMModuleRef module) {
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
    size_t length;
    GlowStr name = glow_str(ctx, LLVMGetValueName2(f, &length));
    if (!LLVMIsDeclaration(f)) {
      names->functions++;
      glow_map_set(names->defined, name, names);
    } else if (strncmp(name, "llvm.", 5) != 0) {
      glow_vec_push(names->arena, &names->declared, name);
    }
  }
}

/* Reads and verifies one blob. */
static bool read_blob(GlowLlvm *l, const GlowBitcode *b, Names *names) {
  LLVMMemoryBufferRef buffer =
      LLVMCreateMemoryBufferWithMemoryRange(b->data, (size_t)(b->end - b->data), b->name, 0);
  LLVMModuleRef module;
  glow_llvm_begin(&l->fault, "reading", b->name);
  bool ok = !LLVMParseBitcodeInContext2(l->llvm, buffer, &module);
  LLVMDisposeMemoryBuffer(buffer);
  if (!ok)
    return glow_llvm_message(&l->fault, true, NULL);
  char *message = NULL;
  glow_llvm_begin(&l->fault, "verifying", b->name);
  bool broken = LLVMVerifyModule(module, LLVMReturnStatusAction, &message);
  ok = glow_llvm_message(&l->fault, broken, message) && glow_llvm_same_table(l, module);
  if (ok)
    collect(l->ctx, names, module);
  LLVMDisposeModule(module);
  return ok;
}

static bool check_defined(GlowContext *ctx, const GlowIsa *isa, const Names *names,
                          const char *function) {
  if (glow_map_get(names->defined, glow_str(ctx, function)))
    return true;
  glow_error(ctx, GLOW_NOWHERE, "the kernels for %s lack '%s', which is in a table", isa->name,
             function);
  return false;
}

/* Whether the blobs define every function that the tables of operators and of lanes name. */
static bool check_operators(GlowContext *ctx, const GlowIsa *isa, const Names *names) {
  bool ok = true;
  for (int op = 0; op < GLOW_OP_COUNT; op++) {
    const char *kernel = glow_op_desc[op].kernel;
    ok = (!kernel || check_defined(ctx, isa, names, kernel)) && ok;
  }
  for (uint32_t i = 1; i < glow_lane_count; i++)
    ok = check_defined(ctx, isa, names, glow_lane_names[i]) && ok;
  return ok;
}

/* Whether the blobs define every function that the kernel table names. */
static bool check_table(GlowContext *ctx, const GlowIsa *isa, const Names *names) {
  bool ok = true;
  for (const GlowKernel *k = glow_kernels; k->name; k++)
    ok = check_defined(ctx, isa, names, k->function) && ok;
  for (const GlowTile *t = glow_tiles[isa - glow_isa]; t->name; t++)
    ok = check_defined(ctx, isa, names, t->function) && ok;
  return ok;
}

bool glow_blobs_verify(GlowContext *ctx, const GlowIsa *isa, uint32_t *functions) {
  GlowLlvm l;
  if (!glow_llvm_open(&l, ctx, &(GlowMachine){.isa = isa}))
    return glow_llvm_report(&l.fault, NULL);
  Names names = {.arena = glow_arena_create(ctx)};
  names.defined = glow_map_create(names.arena);
  static const char *const allowed[] = {"memcpy", "memmove", "memset"};
  for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
    glow_map_set(names.defined, glow_str(ctx, allowed[i]), &names);
  bool ok = true;
  for (size_t i = 0; i < glow_nbitcode; i++) {
    if (glow_blob_serves(&glow_bitcode[i], isa))
      ok = read_blob(&l, &glow_bitcode[i], &names) && ok;
  }
  for (uint32_t i = 0; i < names.declared.count; i++) {
    if (!glow_map_get(names.defined, names.declared.data[i])) {
      glow_error(ctx, GLOW_NOWHERE, "the kernels for %s need '%s'", isa->name,
                 names.declared.data[i]);
      ok = false;
    }
  }
  ok = check_table(ctx, isa, &names) && ok;
  ok = check_operators(ctx, isa, &names) && ok;
  if (l.fault.failed)
    glow_llvm_report(&l.fault, NULL);
  *functions = names.functions;
  glow_arena_destroy(names.arena);
  glow_llvm_close(&l);
  return ok;
}
