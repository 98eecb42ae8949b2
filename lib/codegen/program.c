/* A program as data (rt/walk.h): a list of work, laid out as steps over tables of addresses and of
 * pieces. */
#include <string.h>

#include "codegen/emit.h"
#include "rt/walk.h"

typedef struct Tables {
  GlowEmitter *e;
  GLOW_VEC(GlowStep) steps;
  GLOW_VEC(GlowAddress) addresses;
  GLOW_VEC(LLVMValueRef) pieces;
  int32_t loops;
  int64_t most, zeros; /* addresses of a step; bytes of zeros that one reads */
  int64_t storage;     /* that steps name */
} Tables;

static void emit_list(Tables *t, const GlowWork *work, uint32_t count);

/* ---- Addresses ------------------------------------------------------------------------------- */

static void add_address(Tables *t, int64_t space, int64_t offset) {
  GlowAddress a = offset * (1 << GLOW_SPACE_BITS) + space;
  glow_vec_push(t->e->arena, &t->addresses, a);
}

static void add_place(Tables *t, const GlowPlace *p) {
  switch (p->storage) {
  case GLOW_PLACE_ABSENT:
    add_address(t, GLOW_SPACE_ABSENT, 0);
    break;
  case GLOW_PLACE_ZEROS:
    t->zeros = p->bytes > t->zeros ? p->bytes : t->zeros;
    add_address(t, GLOW_SPACE_ZEROS, 0);
    break;
  case GLOW_PLACE_ARENA:
    add_address(t, GLOW_SPACE_ARENA, p->offset);
    break;
  default:
    t->storage = p->storage >= t->storage ? p->storage + 1 : t->storage;
    add_address(t, GLOW_SPACE_STORAGE + (int64_t)p->storage, p->offset);
    break;
  }
}

/* ---- Steps ----------------------------------------------------------------------------------- */

/* A new step, whose addresses are added next. */
static uint32_t begin_step(Tables *t, GlowStepKind kind, const GlowWork *w) {
  GlowStep s = {.kind = (int16_t)kind,
                .instruction = (int32_t)w->source->instruction,
                .address = (int32_t)t->addresses.count};
  glow_vec_push(t->e->arena, &t->steps, s);
  return t->steps.count - 1;
}

static GlowStep *end_step(Tables *t, uint32_t i) {
  GlowStep *s = &t->steps.data[i];
  s->addresses = (int32_t)t->addresses.count - s->address;
  t->most = s->addresses > t->most ? s->addresses : t->most;
  return s;
}

/* Where a step goes on if it does not go on at the next one: behind all that there is so far. */
static void go_on_here(Tables *t, uint32_t i) { t->steps.data[i].next = (int32_t)t->steps.count; }

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

static void add_piece(Tables *t, const GlowWork *w) {
  GlowEmitter *e = t->e;
  bool shared;
  LLVMValueRef code = glow_emit_work(e, w, &shared);
  if (shared && e->debug.builder)
    code = with_line(e, w, code);
  uint32_t i = begin_step(t, GLOW_STEP_PIECE, w);
  for (uint32_t k = 0; k < w->nplaces; k++)
    add_place(t, &w->places[k]);
  for (uint32_t k = 0; k < w->noperands; k++)
    add_place(t, &w->operands[k].place);
  if (w->faults)
    add_address(t, GLOW_SPACE_FAULT, 0);
  if (w->scratch)
    add_address(t, GLOW_SPACE_SCRATCH, 0);
  GlowStep *s = end_step(t, i);
  s->piece = (int32_t)t->pieces.count;
  s->units = w->units;
  s->shards = (int16_t)(w->shards < INT16_MAX ? w->shards : INT16_MAX);
  glow_vec_push(e->arena, &t->pieces, code);
}

static void add_host(Tables *t, const GlowWork *w) {
  uint32_t i = begin_step(t, GLOW_STEP_HOST, w);
  t->steps.data[i].piece = (int32_t)t->pieces.count;
  LLVMValueRef none = LLVMConstNull(t->e->l.ptr);
  glow_vec_push(t->e->arena, &t->pieces, none);
}

static void add_if(Tables *t, const GlowWork *w) {
  uint32_t test = begin_step(t, GLOW_STEP_IF, w);
  add_place(t, &w->places[0]);
  end_step(t, test);
  emit_list(t, w->then.data, w->then.count);
  uint32_t jump = begin_step(t, GLOW_STEP_JUMP, w);
  go_on_here(t, test);
  emit_list(t, w->otherwise.data, w->otherwise.count);
  go_on_here(t, jump);
}

static void add_loop(Tables *t, const GlowWork *w) {
  const GlowPlace *trip = &w->places[0], *cond = &w->places[1], *round = &w->places[2];
  int32_t loop = t->loops++;
  uint32_t begin = begin_step(t, GLOW_STEP_LOOP, w);
  add_place(t, trip);
  end_step(t, begin)->piece = loop;
  uint32_t test = begin_step(t, GLOW_STEP_TEST, w);
  add_place(t, cond);
  add_place(t, round);
  end_step(t, test)->piece = loop;
  emit_list(t, w->then.data, w->then.count);
  uint32_t again = begin_step(t, GLOW_STEP_AGAIN, w);
  t->steps.data[again].piece = loop;
  t->steps.data[again].next = (int32_t)test;
  go_on_here(t, test);
}

static void emit_list(Tables *t, const GlowWork *work, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    switch (work[i].kind) {
    case GLOW_WORK_KERNEL:
    case GLOW_WORK_REFERENCE:
      add_piece(t, &work[i]);
      break;
    case GLOW_WORK_HOST:
      add_host(t, &work[i]);
      break;
    case GLOW_WORK_IF:
      add_if(t, &work[i]);
      break;
    case GLOW_WORK_LOOP:
      add_loop(t, &work[i]);
      break;
    }
  }
}

/* ---- The program ----------------------------------------------------------------------------- */

LLVMValueRef glow_emit_program(GlowEmitter *e, const char *symbol, const GlowWork *work,
                               uint32_t count, GlowProgramNeeds *needs) {
  Tables t = {.e = e};
  emit_list(&t, work, count);
  *needs = (GlowProgramNeeds){.pointers = t.most, .rounds = 2 * (int64_t)t.loops};
  LLVMValueRef pieces = LLVMConstArray2(e->l.ptr, t.pieces.data, t.pieces.count);
  /* The fields of GlowProgram. */
  LLVMValueRef fields[] = {
      glow_emit_table(e, t.steps.data, t.steps.count * sizeof *t.steps.data),
      glow_emit_table(e, t.addresses.data, t.addresses.count * sizeof *t.addresses.data),
      glow_emit_global(e, pieces, ""),
      t.zeros ? glow_emit_zeros(e, t.zeros) : LLVMConstNull(e->l.ptr),
      glow_emit_i64(e, t.steps.count),
      glow_emit_i64(e, t.most),
      glow_emit_i64(e, t.loops),
      glow_emit_i64(e, t.storage),
      glow_emit_i64(e, e->scratch),
  };
  LLVMValueRef init =
      LLVMConstStructInContext(e->l.llvm, fields, sizeof fields / sizeof *fields, 0);
  return glow_emit_global(e, init, symbol);
}
