/* Units of work on the CPU backend: whatever its kernel, no byte of a result is written by two
 * units, which threads would race for and which would be computed twice. Each unit of each piece of
 * work of the programs in test/codegen runs alone on results filled with a pattern; the bytes that
 * it changes must be nobody else's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/cpu.h"
#include "exec/tables.h"
#include "kernels/kernel.h"
#include "test/unit/programs.h"
#include "test/unit/unit.h"

/* Of one piece of work: ranges of several units where there are more. */
enum { MOST_RUNS = 48 };

/* A program that runs. */
typedef struct Run {
  const char *file;
  const GlowWork **shared; /* what threads share, in order */
  uint32_t count, next;
  GlowFault fault;
  uint32_t writers; /* units that wrote something */
} Run;

/* Results are places, those of stacks are operands; *at is which address they have: params come
 * first, a body before its operands. */
static uint32_t results(const GlowWork *w) { return w->nwritten + w->nouts; }
static size_t result(const GlowWork *w, uint32_t i, uint32_t *at) {
  const GlowPlace *p = i < w->nwritten ? &w->places[i] : &w->operands[i - w->nwritten].place;
  *at = i < w->nwritten ? 1 + i : 2 + w->nplaces + i - w->nwritten;
  return p->storage == GLOW_PLACE_ABSENT ? 0 : (size_t)p->bytes;
}

static int64_t written_bytes(const GlowWork *w) {
  int64_t bytes = 0;
  for (uint32_t i = 0, at; i < results(w); i++)
    bytes += (int64_t)result(w, i, &at);
  return bytes;
}

typedef enum Move { SAVE, RESTORE, FILL_LOW, FILL_HIGH } Move;

/* All results of w, from or to `bytes`. */
static void move(const GlowWork *w, void *const *ptrs, uint8_t *bytes, Move how) {
  for (uint32_t i = 0, at; i < results(w); i++) {
    size_t size = result(w, i, &at);
    if (size && how == SAVE)
      memcpy(bytes, ptrs[at], size);
    else if (size && how == RESTORE)
      memcpy(ptrs[at], bytes, size);
    else if (size)
      memset(ptrs[at], how == FILL_LOW ? 0x5A : 0xA5, size);
    bytes += size;
  }
}

/* One range of units. A result may happen to be the pattern, hence two of them. */
static bool find_changes(const GlowWork *w, GlowPieceFn *piece, void *const *ptrs, int64_t begin,
                         int64_t end, uint8_t *now, uint8_t *changed, int64_t size) {
  bool any = false;
  memset(changed, 0, (size_t)size);
  for (Move fill = FILL_LOW; fill <= FILL_HIGH; fill++) {
    move(w, ptrs, now, fill);
    piece(ptrs, begin, end, 0);
    move(w, ptrs, now, SAVE);
    for (int64_t i = 0; i < size; i++)
      any = (changed[i] |= now[i] != (fill == FILL_LOW ? 0x5A : 0xA5)) || any;
  }
  return any;
}

static void check_work(Run *run, const GlowWork *w, GlowPieceFn *piece, void *const *ptrs) {
  int64_t size = written_bytes(w), twice = 0, ranges = w->units < MOST_RUNS ? w->units : MOST_RUNS;
  uint8_t *before = malloc((size_t)size + 1), *now = malloc((size_t)size + 1);
  uint8_t *changed = malloc((size_t)size + 1), *owned = calloc((size_t)size + 1, 1);
  move(w, ptrs, before, SAVE);
  for (int64_t r = 0; r < ranges; r++) {
    run->writers += find_changes(w, piece, ptrs, w->units * r / ranges, w->units * (r + 1) / ranges,
                                 now, changed, size);
    for (int64_t i = 0; i < size; i++) {
      twice += changed[i] && owned[i];
      owned[i] |= changed[i];
    }
  }
  EXPECT(!twice, "%s: %lld of %lld bytes of '%s' (kernel %s, %lld units) are written by two units",
         run->file, (long long)twice, (long long)size, w->source->desc->instr, w->kernel->name,
         (long long)w->units);
  move(w, ptrs, before, RESTORE);
  free(before);
  free(now);
  free(changed);
  free(owned);
  run->fault.error = GLOW_FAULT_NONE; /* patterns are no sound operands */
  piece(ptrs, 0, w->units, 0);
}

static void run_alone(const GlowParallel *parallel, GlowPieceFn *piece, void *const *ptrs,
                      int64_t units, int64_t shards) {
  Run *run = parallel->pool;
  (void)shards;
  const GlowWork *w = run->next < run->count ? run->shared[run->next++] : NULL;
  CHECK(w && w->units == units);
  if (w && w->units == units)
    check_work(run, w, piece, ptrs);
}

/* ---- Programs -------------------------------------------------------------------------------- */

/* Steps of the interpreter share nothing. */
static void no_step(GlowFault *fault, int64_t instruction) {
  (void)fault;
  (void)instruction;
}

static void run_program(GlowContext *ctx, Run *run, const GlowIsa *isa, GlowCpuPlan *plan) {
  run->shared = GLOW_NEW_ARRAY(ctx->arena, const GlowWork *, plan->count + 1);
  for (uint32_t i = 0; i < plan->count; i++) {
    GlowWork *w = &plan->work[i];
    EXPECT(w->kind == GLOW_WORK_KERNEL || w->kind == GLOW_WORK_HOST, "%s: no kernel for '%s'",
           run->file, w->source->desc->instr);
    bool shared = w->kind == GLOW_WORK_KERNEL && w->units > 1;
    w->shards = shared ? 2 : 1;
    if (shared)
      run->shared[run->count++] = w;
  }
  GlowCodegenOptions options = {.isa = isa};
  GlowCode *code =
      glow_codegen_compile(ctx, glow_cpu_program(ctx->arena, plan, NULL), &options, NULL);
  CHECK(code);
  if (!code)
    return;
  size_t align = (size_t)plan->align, size = (size_t)(plan->arena + plan->scratch) + align;
  uint8_t *arena = aligned_alloc(align, (size + align - 1) / align * align);
  memset(arena, 0, size);
  void **storage = make_outer_memory(ctx->arena, plan);
  GlowParallel parallel = {run_alone, run, 1};
  GlowRunContext context = {.arena = arena,
                            .storage = storage,
                            .parallel = &parallel,
                            .fault = &run->fault,
                            .host = no_step,
                            .apart = 1};
  glow_walk_tables(ctx->arena, glow_code_program(code), &context);
  int64_t status = glow_walk(glow_code_program(code), &context);
  EXPECT(status == 0 && run->next == run->count && run->writers > run->count,
         "%s: fault %d, %u of %u pieces of work, %u units that write", run->file, (int)status,
         run->next, run->count, run->writers);
  free_outer_memory(plan, storage);
  free(arena);
  glow_code_destroy(code);
}

/* The first program of a module. */
static void check_text(const char *name, const char *text, size_t size) {
  GlowContext *ctx = glow_context_create();
  GlowModule *m = glow_module_parse(ctx, name, text, size);
  bool ok = m && glow_module_verify(m);
  const GlowIsa *isa = ok && m->target ? glow_isa_find(m->target) : glow_isa_host();
  CHECK(ok && isa && m->first_function);
  GlowCpuPlan plan;
  Run run = {.file = name};
  if (ok && isa && m->first_function && glow_isa_runs_here(isa)) {
    bool planned = glow_cpu_plan(ctx->arena, m->first_function, isa, &plan);
    CHECK(planned);
    if (planned)
      run_program(ctx, &run, isa, &plan);
  }
  glow_context_destroy(ctx);
}

static void check_file(const char *name) {
  GlowContext *ctx = glow_context_create();
  GlowInput input;
  bool opened = open_codegen_file(ctx, name, &input);
  EXPECT(opened, "%s cannot be read", name);
  if (opened) {
    check_text(name, (const char *)input.data, input.size);
    glow_input_close(&input);
  }
  glow_context_destroy(ctx);
}

/* Batches that share B: rows of one product, which has fewer units than its batches. */
static const char shared[] = "declare {\n"
                             "  placeholder @x : float<64 x 1 x 96>\n"
                             "  placeholder @w : float<96 x 1024>\n"
                             "  placeholder @y : float<64 x 1 x 1024>\n"
                             "  placeholder @u : float<3 x 5 x 96>\n"
                             "  placeholder @z : float<3 x 5 x 1024>\n"
                             "}\n"
                             "program @p {\n"
                             "  mat_mul @out @y, @in @x, @in @w\n"
                             "  mat_mul @out @z, @in @u, @in @w\n"
                             "}\n";

int main(void) {
  static const char *const files[] = {"blocked-pieces.gir",  "headline.gir",    "indices.gir",
                                      "kinds.gir",           "lines.gir",       "matmul.gir",
                                      "matmul-packed.gir",   "pools.gir",       "reductions.gir",
                                      "resize.gir",          "specialized.gir", "spine.gir",
                                      "tiled-attention.gir", "views.gir"};
  check_text("shared", shared, sizeof shared - 1);
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    check_file(files[i]);
  return unit_finish();
}
