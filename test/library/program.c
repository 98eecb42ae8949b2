/* See program.h. */
#include "test/library/program.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/access.h"
#include "backend/cpu/cpu.h"
#include "backend/cpu/library.h"
#include "exec/tables.h"
#include "kernels/library.h"
#include "tensor/element.h"
#include "test/unit/any_order.h"

void program_begin(Program *p, const GlowIsa *isa, uint32_t seed) {
  *p = (Program){.ctx = glow_context_create(), .isa = isa, .state = seed};
  glow_text_init(&p->declare, p->ctx);
  glow_text_init(&p->body, p->ctx);
  for (int i = 0; i < 4; i++)
    draw(p, 2); /* neighbouring seeds part */
}

void program_end(Program *p) {
  glow_text_release(&p->declare);
  glow_text_release(&p->body);
  glow_context_destroy(p->ctx);
}

/* ---- Random numbers -------------------------------------------------------------------------- */

uint32_t draw(Program *p, uint32_t below) { return any_order_draw(&p->state, below); }

int draw_in(Program *p, int low, int high) {
  return low + (int)draw(p, (uint32_t)(high - low + 1));
}

GlowKind draw_kind(Program *p, GlowKindSet kinds) {
  uint32_t count = 0, k = 0;
  for (uint32_t i = 0; i < 32; i++)
    count += kinds >> i & 1;
  for (uint32_t left = draw(p, count); !(kinds >> k & 1) || left--;)
    k++;
  return (GlowKind)k;
}

/* ---- Texts ----------------------------------------------------------------------------------- */

Shape shape(GlowKind kind, const char *layout, int rank, ...) {
  Shape s = {.kind = kind, .rank = rank, .layout = layout};
  va_list dims;
  va_start(dims, rank);
  for (int i = 0; i < rank; i++)
    s.dims[i] = va_arg(dims, int);
  va_end(dims);
  return s;
}

Shape draw_shape(Program *p, GlowKind kind, int low_rank, int high_rank, int most) {
  Shape s = {.kind = kind, .rank = draw_in(p, low_rank, high_rank)};
  for (int i = 0; i < s.rank; i++)
    s.dims[i] = draw_in(p, 1, most);
  if (s.rank && draw(p, 50) == 0)
    s.dims[draw(p, (uint32_t)s.rank)] = 0;
  return s;
}

void put_type(GlowText *t, const Shape *s) {
  glow_text_puts(t, glow_kind_info[s->kind].name);
  if (s->quantized)
    glow_text_printf(t, "[%s]", s->quantized);
  glow_text_putc(t, '<');
  for (int i = 0; i < s->rank; i++)
    glow_text_printf(t, "%s%d", i ? " x " : "", s->dims[i]);
  if (s->layout)
    glow_text_printf(t, " | %s", s->layout);
  glow_text_putc(t, '>');
}

int declare(Program *p, const Shape *s) {
  glow_text_printf(&p->declare, "  placeholder @v%d : ", p->values);
  put_type(&p->declare, s);
  glow_text_putc(&p->declare, '\n');
  return p->values++;
}

int declare_between(Program *p, const Shape *s, int low, int high) {
  Limit l = {declare(p, s), low, high, 1};
  glow_vec_push(p->ctx->arena, &p->limits, l);
  return l.value;
}

int declare_small(Program *p, const Shape *s) {
  Limit l = {declare(p, s), -1000, 1000, 1.0 / 8192};
  glow_vec_push(p->ctx->arena, &p->limits, l);
  return l.value;
}

int declare_tiny(Program *p, const Shape *s) {
  Limit l = {declare(p, s), -1000, 1000, 0x1p-130};
  glow_vec_push(p->ctx->arena, &p->limits, l);
  return l.value;
}

int declare_indices(Program *p, const Shape *s, int limit) {
  return declare_between(p, s, -limit, limit - 1);
}

int declare_ints(Program *p, int count, const int *values) {
  glow_text_printf(&p->declare, "  constant @v%d : i64<%d> = [", p->values, count);
  for (int i = 0; i < count; i++)
    glow_text_printf(&p->declare, "%s%d", i ? ", " : "", values[i]);
  glow_text_puts(&p->declare, "]\n");
  return p->values++;
}

int declare_int(Program *p, int value) {
  glow_text_printf(&p->declare, "  constant @v%d : i64<> = %d\n", p->values, value);
  return p->values++;
}

void put(Program *p, const char *format, ...) {
  va_list args;
  va_start(args, format);
  glow_text_vprintf(&p->body, format, args);
  va_end(args);
}

void put_list(Program *p, int count, const int *values) {
  for (int i = 0; i < count; i++)
    put(p, "%s%d", i ? ", " : "[", values[i]);
  put(p, count ? "]" : "[]");
}

void put_shards(Program *p) { put(p, "shards = %d}\n", draw_in(p, 1, 5)); }

Epilogue draw_epilogue(Program *p) {
#define ACC "    ^epilogue(%a : float<>) = {"
#define ACC_AND "    ^epilogue(%a : float<>, %s : float<>) = {"
#define ACC_BOTH "    ^epilogue(%a : float<>, %s : float<>, %c : float<>) = {"
#define IS(n, call) " %" n " = " call " : float<>"
  static const Epilogue all[] = {
      {NULL, ALONE},
      {ACC IS("0", "Relu(%a)") " yield %0 }\n", ALONE},
      {ACC IS("lo", "Splat() {value = -1.5}") IS("hi", "Splat() {value = 0.75}")
           IS("0", "Clip(%a, %lo, %hi)") " yield %0 }\n",
       ALONE},
      {ACC IS("0", "Clip(%a)") " yield %0 }\n", ALONE},
      {ACC IS("0", "Sigmoid(%a)") IS("1", "Mul(%a, %0)") " yield %1 }\n", ALONE},
      {ACC_AND IS("0", "Add(%a, %s)") " yield %0 }\n", SAME_SHAPE},
      {ACC_AND IS("0", "Add(%a, %s)") IS("1", "Relu(%0)") " yield %1 }\n", SAME_SHAPE},
      {ACC_AND IS("0", "Add(%s, %a)") IS("1", "HardSwish(%0)") " yield %1 }\n", SAME_SHAPE},
      {ACC_AND IS("0", "Add(%a, %s)") IS("1", "Relu(%0)") " yield %1 }\n", EACH_CHANNEL},
      {ACC_AND IS("0", "Mul(%s, %a)") " yield %0 }\n", EACH_CHANNEL},
      {ACC_AND IS("0", "PRelu(%a, %s)") IS("1", "Tanh(%0)") " yield %1 }\n", EACH_CHANNEL},
      {ACC_BOTH IS("0", "Mul(%c, %a)") IS("1", "Add(%0, %s)")
           IS("2", "LeakyRelu(%1)") " yield %2 }\n",
       SAME_SHAPE | EACH_CHANNEL},
      {ACC_AND IS("0", "Add(%s, %a)") IS("1", "Sigmoid(%0)") " yield %1 }\n", SAME_SHAPE},
      {ACC_BOTH IS("0", "Add(%a, %c)") IS("1", "Mul(%s, %0)") IS("2", "Tanh(%1)")
           IS("one", "Splat() {value = 1.0}") IS("3", "Sub(%one, %s)") IS("4", "Mul(%3, %2)")
               IS("5", "Mul(%s, %c)") IS("6", "Add(%4, %5)") " yield %6 }\n",
       SAME_SHAPE | EACH_CHANNEL},
  };
#undef ACC
#undef ACC_AND
#undef ACC_BOTH
#undef IS
  return all[draw(p, sizeof all / sizeof *all)];
}

void put_epilogue_operands(Program *p, const Epilogue *e, const Shape *result, int channel) {
  Shape each = {.rank = result->rank - channel};
  for (int i = 0; i < each.rank; i++)
    each.dims[i] = i ? 1 : result->dims[channel];
  if (e->operands & SAME_SHAPE)
    put(p, ", @in @v%d", declare(p, result));
  if (e->operands & EACH_CHANNEL)
    put(p, ", @in @v%d", declare(p, &each));
}

void put_epilogue(Program *p, const Epilogue *e) {
  if (e->body)
    put(p, "%s", e->body);
}

/* ---- Elements -------------------------------------------------------------------------------- */

/* Mostly small numbers; sometimes what breaks shortcuts. */
static GlowScalar draw_element(Program *p, GlowKind kind, bool odd) {
  static const double numbers[] = {-0.0,  0.0,    INFINITY, -INFINITY, NAN,
                                   1e-42, -1e-40, 3e38,     1.5,       -2.5};
  uint64_t bits =
      (uint64_t)draw(p, 1 << 22) << 42 | (uint64_t)draw(p, 1 << 21) << 21 | draw(p, 1 << 21);
  uint32_t width = glow_kind_info[kind].bits;
  GlowScalar s = {.is_int = !glow_kind_is_float(kind), .i = (int)draw(p, 25) - 12};
  if (s.is_int && odd)
    s.i = (int64_t)bits >> (64 - width);
  if (kind == GLOW_KIND_BOOL)
    s.i &= 1;
  s.f = s.is_int ? (double)s.i : ((int)draw(p, 2001) - 1000) / 1000.0;
  if (!s.is_int && odd && draw(p, 30) == 0)
    s.f = numbers[draw(p, sizeof numbers / sizeof *numbers)];
  return s;
}

static void fill(Program *p, int value, GlowTensor *t) {
  const Limit *limit = NULL;
  bool odd = draw(p, 3) == 0;
  for (uint32_t i = 0; i < p->limits.count; i++)
    limit = p->limits.data[i].value == value ? &p->limits.data[i] : limit;
  for (int64_t i = 0, n = glow_tensor_elements(t); i < n; i++) {
    GlowScalar index = {.is_int = true, .i = limit ? draw_in(p, limit->low, limit->high) : 0};
    index.f = limit ? (double)index.i * limit->step : 0;
    glow_tensor_set(t, i, limit ? index : draw_element(p, t->type->kind, odd));
  }
}

/* ---- Runs ------------------------------------------------------------------------------------ */

typedef struct Run {
  Program *program;
  GlowFunction *f;
  GlowCpuPlan plan;
  GlowTensor **tensors; /* by outer value */
  void **storage;       /* what they are made of */
  GlowBindings in, out; /* of the interpreter */
  GlowValues *values;
} Run;

static bool parse(Run *r, GlowText *text) {
  Program *p = r->program;
  glow_text_printf(text, "module {target = \"%s\"}\ndeclare {\n", p->isa->name);
  glow_text_bytes(text, p->declare.data, p->declare.size);
  glow_text_puts(text, "}\nprogram @p {\n");
  glow_text_bytes(text, p->body.data, p->body.size);
  glow_text_puts(text, "}\n");
  size_t size = text->size;
  GlowModule *m = glow_module_parse(p->ctx, "random", glow_text_cstr(text), size);
  r->f = m && glow_module_verify(m) ? glow_module_entry(m, NULL) : NULL;
  return r->f && glow_cpu_plan(p->ctx->arena, r->f, p->isa, &r->plan);
}

/* Random elements for both; an instruction in place overwrites them. */
static void bind_input(Run *r, const GlowValue *v, GlowTensor *t) {
  GlowContext *ctx = r->program->ctx;
  fill(r->program, atoi(v->name + 1), t);
  GlowBinding binding = {v->name, glow_tensor_copy(ctx, t)};
  glow_vec_push(ctx->arena, &r->in, binding);
}

/* Inputs with random elements; what is only written begins as bytes that nobody expects. */
static bool bind(Run *r) {
  GlowContext *ctx = r->program->ctx;
  const GlowCpuPlan *plan = &r->plan;
  r->tensors = GLOW_NEW_ARRAY(ctx->arena, GlowTensor *, plan->nouter);
  r->storage = GLOW_NEW_ARRAY(ctx->arena, void *, plan->nouter);
  for (uint32_t i = 0; i < plan->nouter; i++) {
    GlowValue *v = plan->outer[i];
    bool constant = glow_outer_class(v) != GLOW_PLACEHOLDER;
    const GlowTensor *value = constant ? glow_values_get(r->values, v->def.storage) : NULL;
    if (constant && !value)
      return false;
    GlowTensor *t = constant ? glow_tensor_copy(ctx, value) : glow_tensor_create(ctx, v->type);
    r->tensors[i] = t;
    r->storage[i] = t->data;
    if (!constant && !plan->reads[i])
      memset(t->data, 0xA5, t->bytes);
    else if (!constant)
      bind_input(r, v, t);
  }
  return true;
}

/* By library code, on one thread, or on several in any order. */
static bool walk(Run *r, const GlowProgram *program) {
  Program *p = r->program;
  uint32_t order = p->state;
  GlowParallel parallel = any_order(&order);
  bool shared = draw(p, 4) != 0;
  size_t align = (size_t)r->plan.align;
  size_t size = (size_t)(r->plan.arena + (shared ? parallel.workers : 1) * r->plan.scratch) + align;
  char *memory = glow_malloc(p->ctx, size + align);
  memset(memory, 0xA5, size + align);
  GlowFault fault = {0};
  GlowRunContext run = {.arena = (uint8_t *)memory + (align - (uintptr_t)memory % align) % align,
                        .storage = r->storage,
                        .parallel = shared ? &parallel : NULL,
                        .fault = &fault};
  glow_walk_tables(p->ctx->arena, program, &run);
  bool ok = glow_walk(program, &run) == 0;
  free(memory);
  return ok;
}

static bool is_nan(const GlowTensor *t, size_t i) {
  return glow_kind_is_float(t->type->kind) &&
         isnan(glow_element_get(t->type->kind, t->data, (int64_t)i).f);
}

static size_t count_different(const GlowTensor *want, const GlowTensor *got) {
  size_t bytes = glow_kind_info[want->type->kind].bits / 8, count = 0;
  if (!memcmp(want->data, got->data, want->bytes))
    return 0;
  for (size_t i = 0; i < want->bytes / bytes; i++) {
    const char *a = (const char *)want->data + i * bytes, *b = (const char *)got->data + i * bytes;
    count += memcmp(a, b, bytes) && !(is_nan(want, i) && is_nan(got, i));
  }
  return count;
}

/* Names the first value that differs. */
static bool compare(const Run *r) {
  for (uint32_t i = 0; i < r->plan.nouter; i++) {
    const GlowTensor *want = glow_bindings_find(&r->out, r->plan.outer[i]->name);
    size_t different = want ? count_different(want, r->tensors[i]) : 0;
    if (!different && (want != NULL) == r->plan.writes[i])
      continue;
    printf("@%s: %zu elements differ\n", r->plan.outer[i]->name, different);
    return false;
  }
  return true;
}

/* Whether a function of lanes is called that must not be. */
static bool is_left_out(const Program *p, const GlowProgramData *data) {
  for (const char *const *name = p->without; *name; name++)
    for (int64_t i = 0; i < data->npieces; i++)
      for (uint32_t c = 0; c < data->pieces[i]->body.ncalls; c++) {
        const char *lane = glow_lane_names[data->pieces[i]->body.calls[c].lane];
        if (lane && !strncmp(lane, *name, strlen(*name)))
          return true;
      }
  return false;
}

/* The head of a piece's params. */
static GlowPieceHead *head_of(const GlowProgramData *data, const void *params, const GlowStep *s) {
  const int64_t offset = data->addresses[s->address] >> GLOW_SPACE_BITS;
  return (GlowPieceHead *)((char *)(uintptr_t)params + offset);
}

/* Has each piece of a program take tiles that have no params fixed. */
static void forget_forms(const GlowIsa *isa, const GlowProgramData *data, const void *params) {
  const int64_t count = glow_tile_number(isa, glow_tiles[isa - glow_isa], 1);
  for (int64_t i = 0; i < data->nsteps; i++) {
    const GlowStep *s = &data->steps[i];
    if (s->kind != GLOW_STEP_PIECE || data->pieces[s->piece]->kind != GLOW_WORK_KERNEL)
      continue;
    GlowPieceHead *head = head_of(data, params, s);
    for (int t = 0; t < GLOW_PIECE_TILES; t++)
      if (head->tiles[t] >= 0)
        head->tiles[t] %= count;
  }
}

static void count_tiles(const GlowProgramData *data, const void *params, Counts *counts) {
  for (int64_t i = 0; i < data->nsteps; i++) {
    const GlowStep *s = &data->steps[i];
    if (s->kind != GLOW_STEP_PIECE || data->pieces[s->piece]->kind != GLOW_WORK_KERNEL)
      continue;
    const GlowPieceHead *head = head_of(data, params, s);
    for (int t = 0; t < GLOW_PIECE_TILES; t++)
      if (head->tiles[t] >= 0)
        counts->tiles[head->tiles[t]]++;
  }
}

static void count_work(const GlowWork *w, Counts *counts) {
  for (uint32_t c = 0; w->form != GLOW_BODY_NONE && c < w->body.ncalls; c++)
    counts->lanes[w->body.calls[c].lane]++;
}

static void count(const GlowProgramData *data, Counts *counts) {
  for (int64_t i = 0; i < data->npieces; i++) {
    const GlowWork *w = data->pieces[i];
    bool before = false;
    if (w->kind != GLOW_WORK_KERNEL)
      continue;
    for (int64_t k = 0; k < i && !before; k++)
      before = data->pieces[k]->kernel == w->kernel &&
               data->pieces[k]->source->instruction == w->source->instruction;
    counts->kernels[w->kernel - glow_kernels] += !before;
    count_work(w, counts);
  }
}

static void release(Run *r) {
  for (uint32_t i = 0; r->tensors && i < r->plan.nouter; i++)
    glow_tensor_free(r->tensors[i]);
  for (uint32_t i = 0; i < r->in.count; i++)
    glow_tensor_free(r->in.data[i].tensor);
  for (uint32_t i = 0; i < r->out.count; i++)
    glow_tensor_free(r->out.data[i].tensor);
  glow_values_destroy(r->values);
}

bool program_run(Program *p, Counts *counts) {
  Run r = {.program = p};
  GlowText text;
  glow_text_init(&text, p->ctx);
  bool ok = parse(&r, &text);
  r.values = ok ? glow_values_create(r.f->module) : NULL;
  ok = ok && bind(&r);
  const GlowProgramData *data = ok ? glow_cpu_program(p->ctx->arena, &r.plan, p->isa) : NULL;
  bool runs = ok && !is_left_out(p, data);
  GlowEntryCode code;
  const GlowProgram *program =
      runs ? glow_library_bind(p->ctx, p->ctx->arena, p->isa, data, true, &code) : NULL;
  if (program && draw(p, 4) == 0)
    forget_forms(p->isa, data, program->params);
  if (runs)
    ok = program && walk(&r, program) && glow_interp_run(r.f, &r.in, &r.out, NULL) == GLOW_OK;
  if (runs && ok) {
    count(data, counts);
    count_tiles(data, program->params, counts);
  }
  ok = ok && (!runs || compare(&r));
  if (!ok)
    printf("on %s:\n%s", p->isa->name, glow_text_cstr(&text));
  release(&r);
  glow_text_release(&text);
  return ok;
}
