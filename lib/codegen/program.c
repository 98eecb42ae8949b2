/* A program (rt/walk.h) as constants of a module, and the functions of its pieces. */
#include <string.h>

#include "codegen/emit.h"

/* With lines, a piece whose code belongs to another instruction gets a function of its own that
 * calls that code, so that debuggers stop at its line. */
static LLVMValueRef with_line(GlowEmitter *e, const GlowWork *w, LLVMValueRef code) {
  LLVMTypeRef types[] = {e->l.ptr, e->l.i64, e->l.i64, e->l.i64};
  e->debug.source = w->source;
  LLVMValueRef f = glow_emit_function(e, w->kernel ? w->kernel->name : w->source->desc->instr,
                                      e->l.void_type, types, 4);
  e->debug.source = NULL;
  LLVMValueRef args[] = {LLVMGetParam(f, 0), LLVMGetParam(f, 1), LLVMGetParam(f, 2),
                         LLVMGetParam(f, 3)};
  LLVMBuildCall2(e->l.builder, LLVMGlobalGetValueType(code), code, args, 4, "");
  LLVMBuildRetVoid(e->l.builder);
  return f;
}

/* The name that other parts know a piece's code by. */
static const char *name_of(GlowEmitter *e, uint32_t piece) {
  return glow_arena_printf(e->arena, "piece.%u", piece);
}

/* The function of another part. */
static LLVMValueRef declare_piece(GlowEmitter *e, uint32_t piece) {
  LLVMTypeRef types[] = {e->l.ptr, e->l.i64, e->l.i64, e->l.i64};
  const char *name = name_of(e, piece);
  LLVMValueRef f = LLVMGetNamedFunction(e->l.module, name);
  return f ? f : LLVMAddFunction(e->l.module, name, LLVMFunctionType(e->l.void_type, types, 4, 0));
}

void glow_emit_part(GlowEmitter *e, const GlowProgramData *p) {
  e->bare = p->bare;
  for (uint32_t i = 0; i < p->npieces; i++) {
    bool shared, mine = e->parts->part[i] == e->part && e->parts->first[i] == i;
    if (!mine || !glow_work_has_code(p->pieces[i]))
      continue;
    LLVMValueRef f = glow_emit_work(e, p->pieces[i], &shared);
    const char *name = name_of(e, i);
    LLVMSetValueName2(f, name, strlen(name));
    LLVMSetLinkage(f, LLVMExternalLinkage);
  }
}

static LLVMValueRef emit_piece(GlowEmitter *e, const GlowWork *w, uint32_t i) {
  bool shared;
  if (!glow_work_has_code(w))
    return LLVMConstNull(e->l.ptr);
  if (e->parts && e->parts->part[i] != e->part)
    return declare_piece(e, e->parts->first[i]);
  LLVMValueRef code = glow_emit_work(e, w, &shared);
  return shared && e->debug.builder ? with_line(e, w, code) : code;
}

/* ---- Images ---------------------------------------------------------------------------------- */

/* An image under construction: runs of bytes, with pointers in between. */
typedef struct Fields {
  GlowEmitter *e;
  GLOW_VEC(LLVMValueRef) all;
} Fields;

static void put_bytes(Fields *f, const GlowImage *m, int64_t from, int64_t to) {
  if (from < to) {
    LLVMValueRef bytes = LLVMConstStringInContext2(f->e->l.llvm, m->bytes + from,
                                                   (size_t)(to - from), 1 /* no NUL */);
    glow_vec_push(f->e->arena, &f->all, bytes);
  }
}

/* A pointer takes the room of one of this process; those of the target may be shorter. */
static void put_pointer(Fields *f, LLVMValueRef pointer) {
  glow_vec_push(f->e->arena, &f->all, pointer);
  if (LLVMPointerSize(LLVMGetModuleDataLayout(f->e->l.module)) < sizeof(void *))
    glow_vec_push(f->e->arena, &f->all, LLVMConstInt(f->e->l.i32, 0, 0));
}

/* The contents of an image that the global constant `global` will hold. Before there is a global,
 * the pointers in it are null. */
static LLVMValueRef image_struct(GlowEmitter *e, const GlowImage *m, LLVMValueRef global) {
  Fields f = {.e = e};
  int64_t done = 0;
  for (uint32_t i = 0; i < m->nfixups; i++) {
    LLVMValueRef to = LLVMConstNull(e->l.ptr), offset = glow_emit_i64(e, m->fixups[i].target);
    if (global)
      to = LLVMConstInBoundsGEP2(LLVMInt8TypeInContext(e->l.llvm), global, &offset, 1);
    put_bytes(&f, m, done, m->fixups[i].place);
    put_pointer(&f, to);
    done = m->fixups[i].place + (int64_t)sizeof(void *);
  }
  put_bytes(&f, m, done, (int64_t)m->size);
  return LLVMConstStructInContext(e->l.llvm, f.all.data, f.all.count, 1 /* packed */);
}

static LLVMValueRef emit_image(GlowEmitter *e, const GlowImage *m) {
  if (!m->size)
    return LLVMConstNull(e->l.ptr);
  LLVMValueRef global = glow_emit_global(e, image_struct(e, m, NULL), "");
  LLVMSetInitializer(global, image_struct(e, m, global));
  LLVMSetAlignment(global, GLOW_IMAGE_ALIGN);
  return global;
}

/* ---- The program ----------------------------------------------------------------------------- */

LLVMValueRef glow_emit_program(GlowEmitter *e, const char *symbol, const GlowProgramData *p) {
  static const GlowStep none; /* a program without steps has a table, too: null is no place */
  LLVMValueRef *pieces = GLOW_NEW_ARRAY(e->arena, LLVMValueRef, p->npieces);
  e->bare = p->bare;
  for (uint32_t i = 0; i < p->npieces; i++)
    pieces[i] = emit_piece(e, p->pieces[i], i);
  LLVMValueRef table = LLVMConstArray2(e->l.ptr, pieces, (uint64_t)p->npieces);
  /* The fields of GlowProgram. */
  LLVMValueRef fields[] = {
      glow_emit_table(e, p->nsteps ? p->steps : &none,
                      (size_t)(p->nsteps ? p->nsteps : 1) * sizeof none),
      glow_emit_table(e, p->addresses, (size_t)p->naddresses * sizeof *p->addresses),
      glow_emit_global(e, table, ""),
      emit_image(e, &p->params),
      p->zeros ? glow_emit_zeros(e, p->zeros) : LLVMConstNull(e->l.ptr),
      glow_emit_i64(e, p->nsteps),
      glow_emit_i64(e, p->naddresses),
      glow_emit_i64(e, p->loops),
      glow_emit_i64(e, p->scratch),
  };
  LLVMValueRef init =
      LLVMConstStructInContext(e->l.llvm, fields, sizeof fields / sizeof *fields, 0);
  return glow_emit_global(e, init, symbol);
}
