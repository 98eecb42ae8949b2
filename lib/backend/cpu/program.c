/* A list of work as data: steps over tables of addresses and of pieces, and an image of params. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/image.h"
#include "backend/cpu/library.h"
#include "support/checksum.h"

typedef struct Tables {
  GlowArena *arena;
  GLOW_VEC(GlowStep) steps;
  GLOW_VEC(GlowAddress) addresses;
  GLOW_VEC(const GlowWork *) pieces;
  const GlowIsa *library; /* see glow_cpu_program */
  bool bare;              /* see GlowProgramData */
  GlowImageBuilder params;
  int32_t loops;
  int64_t most, zeros; /* addresses of a step; bytes of zeros that one reads */
} Tables;

static void add_list(Tables *t, const GlowWork *work, uint32_t count);

/* ---- Addresses ------------------------------------------------------------------------------- */

static void add_address(Tables *t, int64_t space, int64_t offset) {
  GlowAddress a = offset * (1 << GLOW_SPACE_BITS) + space;
  glow_vec_push(t->arena, &t->addresses, a);
}

static void add_place(Tables *t, const GlowWork *w, const GlowPlace *p) {
  switch (p->storage) {
  case GLOW_PLACE_ABSENT:
    add_address(t, GLOW_SPACE_ABSENT, 0);
    break;
  case GLOW_PLACE_ZEROS:
    t->zeros = p->bytes > t->zeros ? p->bytes : t->zeros;
    add_address(t, GLOW_SPACE_ZEROS, 0);
    break;
  case GLOW_PLACE_NUMBERS:
    add_address(t, GLOW_SPACE_PARAMS,
                glow_image_add(&t->params, (const char *)w->numbers + p->offset, (size_t)p->bytes));
    break;
  case GLOW_PLACE_ARENA:
    add_address(t, GLOW_SPACE_ARENA, p->offset);
    break;
  default:
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
  glow_vec_push(t->arena, &t->steps, s);
  return t->steps.count - 1;
}

static GlowStep *end_step(Tables *t, uint32_t i) {
  GlowStep *s = &t->steps.data[i];
  int64_t addresses = t->addresses.count - s->address;
  t->most = addresses > t->most ? addresses : t->most;
  return s;
}

/* Step i, if it jumps, goes on behind all the steps that there are so far. */
static void go_on_here(Tables *t, uint32_t i) { t->steps.data[i].number = t->steps.count; }

static GlowStep *end_piece(Tables *t, uint32_t step, const GlowWork *w) {
  GlowStep *s = end_step(t, step);
  s->piece = (int32_t)t->pieces.count;
  glow_vec_push(t->arena, &t->pieces, w);
  return s;
}

/* Adds the address of byte `at` of the image of params; -1: a null pointer. */
static void add_param_address(Tables *t, int64_t at) {
  add_address(t, at < 0 ? GLOW_SPACE_ABSENT : GLOW_SPACE_PARAMS, at < 0 ? 0 : at);
}

/* The address of the params of w. In compiled code only reference kernels read params. */
static void add_params(Tables *t, const GlowWork *w) {
  int64_t at = -1;
  if (t->bare && w->kind != GLOW_WORK_REFERENCE)
    return;
  if (w->kind == GLOW_WORK_REFERENCE)
    at = glow_image_add_call(&t->params, w->source->desc, w->call);
  else if (t->library)
    at = glow_library_params(&t->params, t->library, w);
  add_param_address(t, at);
}

static void add_piece(Tables *t, const GlowWork *w) {
  uint32_t step = begin_step(t, GLOW_STEP_PIECE, w);
  add_params(t, w);
  for (uint32_t i = 0; i < w->nplaces; i++)
    add_place(t, w, &w->places[i]);
  if (w->form != GLOW_BODY_NONE && !t->bare)
    add_param_address(t, t->library ? glow_library_body(&t->params, w) : -1);
  for (uint32_t i = 0; i < w->noperands; i++)
    add_place(t, w, &w->operands[i].place);
  if (w->faults)
    add_address(t, GLOW_SPACE_FAULT, 0);
  if (w->scratch || w->kind == GLOW_WORK_REFERENCE)
    add_address(t, w->scratch ? GLOW_SPACE_SCRATCH : GLOW_SPACE_ABSENT, 0);
  GlowStep *s = end_piece(t, step, w);
  s->number = w->units;
  s->shards = (int16_t)(w->shards < INT16_MAX ? w->shards : INT16_MAX);
}

static void add_if(Tables *t, const GlowWork *w) {
  uint32_t test = begin_step(t, GLOW_STEP_IF, w);
  add_place(t, w, &w->places[0]);
  end_step(t, test);
  add_list(t, w->then.data, w->then.count);
  uint32_t jump = begin_step(t, GLOW_STEP_JUMP, w);
  go_on_here(t, test);
  add_list(t, w->otherwise.data, w->otherwise.count);
  go_on_here(t, jump);
}

static void add_loop(Tables *t, const GlowWork *w) {
  const GlowPlace *trip = &w->places[0], *cond = &w->places[1], *round = &w->places[2];
  int32_t loop = t->loops++;
  uint32_t begin = begin_step(t, GLOW_STEP_LOOP, w);
  add_place(t, w, trip);
  end_step(t, begin)->piece = loop;
  uint32_t test = begin_step(t, GLOW_STEP_TEST, w);
  add_place(t, w, cond);
  add_place(t, w, round);
  end_step(t, test)->piece = loop;
  add_list(t, w->then.data, w->then.count);
  uint32_t again = begin_step(t, GLOW_STEP_AGAIN, w);
  t->steps.data[again].piece = loop;
  t->steps.data[again].number = test;
  go_on_here(t, test);
}

/* Says that the next `count` pieces may take turns. */
static void add_bands(Tables *t, const GlowWork *work, uint32_t count, int64_t bands) {
  GlowStep *s = end_step(t, begin_step(t, GLOW_STEP_BANDS, work));
  s->shards = (int16_t)count;
  s->number = bands;
}

static void add_list(Tables *t, const GlowWork *work, uint32_t count) {
  for (uint32_t i = 0, banded = 0; i < count; i++) {
    const GlowWork *w = &work[i];
    int64_t bands;
    if (i >= banded && (banded = i + glow_cpu_bands(w, count - i, &bands)) > i)
      add_bands(t, w, banded - i, bands);
    switch (w->kind) {
    case GLOW_WORK_KERNEL:
    case GLOW_WORK_REFERENCE:
      add_piece(t, w);
      break;
    case GLOW_WORK_HOST:
      end_piece(t, begin_step(t, GLOW_STEP_HOST, w), w);
      break;
    case GLOW_WORK_IF:
      add_if(t, w);
      break;
    case GLOW_WORK_LOOP:
      add_loop(t, w);
      break;
    }
  }
}

static const GlowProgramData *finish(Tables *t, const GlowCpuPlan *plan) {
  add_list(t, plan->work, plan->count);
  GlowProgramData *p = GLOW_NEW(t->arena, GlowProgramData);
  *p = (GlowProgramData){.steps = t->steps.data,
                         .addresses = t->addresses.data,
                         .pieces = t->pieces.data,
                         .params = glow_image_finish(&t->params),
                         .nsteps = t->steps.count,
                         .naddresses = t->addresses.count,
                         .npieces = t->pieces.count,
                         .most = t->most,
                         .loops = t->loops,
                         .scratch = plan->scratch_at,
                         .zeros = t->zeros,
                         .bare = t->bare};
  return p;
}

const GlowProgramData *glow_cpu_program(GlowArena *arena, const GlowCpuPlan *plan,
                                        const GlowIsa *library) {
  Tables t = {.arena = arena, .library = library, .params = {.arena = arena}};
  return finish(&t, plan);
}

const GlowProgramData *glow_cpu_bare_program(GlowArena *arena, const GlowCpuPlan *plan) {
  Tables t = {.arena = arena, .bare = true, .params = {.arena = arena}};
  return finish(&t, plan);
}

uint64_t glow_cpu_program_sum(const GlowProgramData *p) {
  GlowChecksum sum = glow_checksum_begin(4);
  glow_checksum_add(&sum, p->steps, (size_t)p->nsteps * sizeof *p->steps);
  glow_checksum_add(&sum, p->params.bytes, p->params.size);
  for (int64_t i = 0; i < p->npieces; i++) {
    int64_t kernel =
        p->pieces[i]->kind == GLOW_WORK_KERNEL ? p->pieces[i]->kernel - glow_kernels : -1;
    glow_checksum_add(&sum, &kernel, sizeof kernel);
  }
  return glow_checksum_end(&sum);
}
