/* Reference kernels in compiled code: a function that fills in a GlowCall and calls the kernel.
 *
 * Everything but the addresses is constant: descriptions of the operands, and the members of the
 * operator with the arrays they point to. Structs have the layout of this host, which every
 * little-endian machine shares: support/pointer.h gives pointers of 32 bits the room of 64. */
#include <stddef.h>
#include <string.h>

#include "codegen/emit.h"

/* A constant struct under construction: bytes of an image, with pointers in between. */
typedef struct Image {
  GlowEmitter *e;
  const char *bytes;
  size_t size, done;
  GLOW_VEC(LLVMValueRef) fields;
} Image;

static void put_bytes(Image *m, size_t end) {
  if (end == m->done)
    return;
  LLVMValueRef c =
      LLVMConstStringInContext2(m->e->l.llvm, m->bytes + m->done, end - m->done, 1 /* no NUL */);
  glow_vec_push(m->e->arena, &m->fields, c);
  m->done = end;
}

static void put_pointer(Image *m, size_t offset, LLVMValueRef pointer) {
  GlowEmitter *e = m->e;
  put_bytes(m, offset);
  glow_vec_push(e->arena, &m->fields, pointer);
  if (LLVMPointerSize(LLVMGetModuleDataLayout(e->l.module)) < sizeof(void *))
    glow_vec_push(e->arena, &m->fields, LLVMConstInt(e->l.i32, 0, 0));
  m->done = offset + sizeof(void *);
}

static LLVMValueRef constant_global(GlowEmitter *e, LLVMValueRef init) {
  LLVMValueRef global = glow_emit_global(e, init, "");
  LLVMSetAlignment(global, 16);
  return global;
}

static LLVMValueRef finish_image(Image *m) {
  put_bytes(m, m->size);
  return constant_global(
      m->e, LLVMConstStructInContext(m->e->l.llvm, m->fields.data, m->fields.count, 1));
}

static LLVMValueRef text_constant(GlowEmitter *e, const char *text) {
  return text ? glow_emit_constant(e, text, strlen(text) + 1) : LLVMConstNull(e->l.ptr);
}

/* Bytes of an element of a member; 0: it is a pointer to text. */
static size_t element_size(const GlowMember *m) {
  switch ((GlowMemberType)m->type) {
  case GLOW_MEMBER_BOOL:
    return sizeof(bool);
  case GLOW_MEMBER_U32:
    return sizeof(uint32_t);
  case GLOW_MEMBER_I64:
    return sizeof(int64_t);
  case GLOW_MEMBER_FLOAT:
    return sizeof(float);
  case GLOW_MEMBER_KIND:
    return sizeof(GlowKind);
  case GLOW_MEMBER_SCALAR:
    return sizeof(GlowScalar);
  case GLOW_MEMBER_ENUM:
    return sizeof(int);
  case GLOW_MEMBER_STR:
  case GLOW_MEMBER_SYMBOL:
  case GLOW_MEMBER_TYPE:
    break;
  }
  return 0;
}

static LLVMValueRef array_constant(GlowEmitter *e, const GlowMember *m, GlowArray a) {
  size_t size = element_size(m);
  if (!a.count)
    return LLVMConstNull(e->l.ptr);
  if (size)
    return glow_emit_constant(e, a.data, a.count * size);
  LLVMValueRef *texts = GLOW_NEW_ARRAY(e->arena, LLVMValueRef, a.count);
  for (uint32_t i = 0; i < a.count; i++)
    texts[i] = text_constant(e, glow_array_at(a, char *, i));
  return constant_global(e, LLVMConstArray2(e->l.ptr, texts, a.count));
}

/* Members of an operator as the kernel reads them. Types are left out: no kernel knows the IR. */
static LLVMValueRef members_constant(GlowEmitter *e, const GlowOpDesc *d, const void *members) {
  if (!d->member_size)
    return LLVMConstNull(e->l.ptr);
  char *bytes = glow_arena_alloc(e->arena, d->member_size);
  memcpy(bytes, members, d->member_size);
  Image image = {.e = e, .bytes = bytes, .size = d->member_size};
  for (uint32_t i = 0; i < d->nmembers; i++) { /* in the order of their offsets */
    const GlowMember *m = &d->members[i];
    const char *field = (const char *)members + m->offset;
    if (m->array)
      put_pointer(&image, m->offset + offsetof(GlowArray, data),
                  array_constant(e, m, *(const GlowArray *)field));
    else if (m->type == GLOW_MEMBER_TYPE)
      put_pointer(&image, m->offset, LLVMConstNull(e->l.ptr));
    else if (!element_size(m))
      put_pointer(&image, m->offset, text_constant(e, *(const char *const *)field));
  }
  return finish_image(&image);
}

static LLVMValueRef field_at(GlowEmitter *e, LLVMValueRef base, size_t offset) {
  LLVMValueRef index = glow_emit_i64(e, (int64_t)offset);
  return LLVMBuildInBoundsGEP2(e->l.builder, LLVMInt8TypeInContext(e->l.llvm), base, &index, 1, "");
}

static LLVMValueRef local_copy(GlowEmitter *e, const void *data, size_t size) {
  LLVMBuilderRef b = e->l.builder;
  LLVMTypeRef type = LLVMArrayType2(LLVMInt8TypeInContext(e->l.llvm), size);
  LLVMValueRef local = LLVMBuildAlloca(b, type, "");
  LLVMSetAlignment(local, 16);
  LLVMBuildMemCpy(b, local, 16, glow_emit_constant(e, data, size), 16,
                  glow_emit_i64(e, (int64_t)size));
  return local;
}

static LLVMValueRef load_pointer(GlowEmitter *e, LLVMValueRef ptrs, uint32_t i) {
  LLVMValueRef index = glow_emit_i64(e, i);
  LLVMValueRef at = LLVMBuildInBoundsGEP2(e->l.builder, e->l.ptr, ptrs, &index, 1, "");
  return LLVMBuildLoad2(e->l.builder, e->l.ptr, at, "");
}

/* The operands' descriptions as the kernel may change them, with their addresses. */
static LLVMValueRef local_buffers(GlowEmitter *e, const GlowBuf *bufs, uint32_t count,
                                  LLVMValueRef ptrs, uint32_t first) {
  if (!count)
    return LLVMConstNull(e->l.ptr);
  LLVMValueRef local = local_copy(e, bufs, count * sizeof *bufs);
  for (uint32_t i = 0; i < count; i++) {
    if (glow_buf_present(&bufs[i]))
      LLVMBuildStore(e->l.builder, load_pointer(e, ptrs, first + i),
                     field_at(e, local, i * sizeof *bufs + offsetof(GlowBuf, data)));
  }
  return local;
}

/* A failed kernel leaves its error and detail in the fault. */
static void emit_fault(GlowEmitter *e, LLVMValueRef function, LLVMValueRef error, LLVMValueRef call,
                       LLVMValueRef fault) {
  LLVMBuilderRef b = e->l.builder;
  LLVMBasicBlockRef failed = LLVMAppendBasicBlockInContext(e->l.llvm, function, "failed");
  LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(e->l.llvm, function, "done");
  LLVMValueRef bad = LLVMBuildICmp(b, LLVMIntNE, error, LLVMConstInt(e->l.i32, 0, 0), "");
  LLVMBuildCondBr(b, bad, failed, done);
  LLVMPositionBuilderAtEnd(b, failed);
  LLVMBuildStore(b, LLVMBuildZExt(b, error, e->l.i64, ""),
                 field_at(e, fault, offsetof(GlowFault, error)));
  LLVMValueRef detail =
      LLVMBuildLoad2(b, e->l.i64, field_at(e, call, offsetof(GlowCall, detail)), "");
  LLVMBuildStore(b, detail, field_at(e, fault, offsetof(GlowFault, detail)));
  LLVMBuildBr(b, done);
  LLVMPositionBuilderAtEnd(b, done);
}

LLVMValueRef glow_emit_reference(GlowEmitter *e, const GlowWork *w) {
  const GlowOpDesc *d = w->source->desc;
  const GlowCall *c = w->call;
  LLVMBuilderRef b = e->l.builder;
  LLVMTypeRef ptr = e->l.ptr, types[] = {ptr, e->l.i64, e->l.i64, e->l.i64};
  LLVMValueRef f = glow_emit_function(e, d->instr, e->l.void_type, types, 4);
  LLVMValueRef ptrs = LLVMGetParam(f, 0);
  uint32_t nouts = c->nout + d->nout, nins = c->nin + d->nin;
  GlowCall plain = {.nin = c->nin, .nout = c->nout};
  LLVMValueRef call = local_copy(e, &plain, sizeof plain);
  LLVMBuildStore(b, members_constant(e, d, c->members),
                 field_at(e, call, offsetof(GlowCall, members)));
  LLVMBuildStore(b, local_buffers(e, c->out, nouts, ptrs, 0),
                 field_at(e, call, offsetof(GlowCall, out)));
  LLVMBuildStore(b, local_buffers(e, c->in, nins, ptrs, c->nout),
                 field_at(e, call, offsetof(GlowCall, in)));
  LLVMValueRef fault = load_pointer(e, ptrs, w->nplaces);
  if (w->scratch)
    LLVMBuildStore(b, load_pointer(e, ptrs, w->nplaces + 1),
                   field_at(e, call, offsetof(GlowCall, scratch)));
  LLVMTypeRef type = LLVMFunctionType(e->l.i32, &ptr, 1, 0);
  LLVMValueRef kernel = LLVMGetNamedFunction(e->l.module, d->kernel);
  if (!kernel)
    kernel = LLVMAddFunction(e->l.module, d->kernel, type);
  LLVMValueRef error = LLVMBuildCall2(b, type, kernel, &call, 1, "");
  emit_fault(e, f, error, call, fault);
  LLVMBuildRetVoid(b);
  return f;
}

void glow_reference_key(const GlowWork *w, GlowText *key) {
  const GlowOpDesc *d = w->source->desc;
  const GlowCall *c = w->call;
  glow_text_bytes(key, &d, sizeof d);
  glow_text_bytes(key, &w->scratch, sizeof w->scratch);
  glow_text_bytes(key, c->out, (c->nout + d->nout) * sizeof *c->out);
  glow_text_bytes(key, c->in, (c->nin + d->nin) * sizeof *c->in);
  for (uint32_t i = 0; i < d->nmembers; i++) {
    const GlowMember *m = &d->members[i];
    const char *field = (const char *)c->members + m->offset;
    GlowArray one = {1, field}, a = m->array ? *(const GlowArray *)field : one;
    glow_text_bytes(key, &a.count, sizeof a.count);
    for (uint32_t k = 0; k < a.count; k++) {
      size_t size = element_size(m);
      const char *at = (const char *)a.data + k * (size ? size : sizeof(void *));
      if (size)
        glow_text_bytes(key, at, size);
      else if (m->type != GLOW_MEMBER_TYPE && *(const char *const *)at)
        glow_text_puts(key, *(const char *const *)at);
    }
  }
}
