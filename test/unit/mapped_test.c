/* A program is bytes: steps, addresses and params are written to a file, and the library's kernels
 * run them from where the file is mapped, twice at different places, after the place where they
 * were made has been overwritten. Each run leaves in memory what the first one left. */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backend/cpu/image.h"
#include "backend/cpu/library.h"
#include "exec/tables.h"
#include "test/unit/programs.h"
#include "test/unit/unit.h"

/* A program in a file: what is where, in bytes. */
typedef struct Layout {
  size_t steps, addresses, fixups, image, size;
} Layout;

static size_t add(size_t *size, size_t bytes) {
  size_t at = *size;
  *size = (at + bytes + 63) / 64 * 64;
  return at;
}

static Layout lay_out(const GlowProgramData *d) {
  Layout l = {0};
  l.steps = add(&l.size, (size_t)d->nsteps * sizeof *d->steps);
  l.addresses = add(&l.size, (size_t)d->naddresses * sizeof *d->addresses);
  l.fixups = add(&l.size, d->params.nfixups * sizeof *d->params.fixups);
  l.image = add(&l.size, d->params.size);
  return l;
}

static bool put(int file, size_t at, const void *data, size_t bytes) {
  return !bytes || pwrite(file, data, bytes, (off_t)at) == (ssize_t)bytes;
}

/* The file, which has no name any more; -1: the program cannot be written. */
static int write_program(const GlowProgramData *d, const Layout *l) {
  char name[] = "/tmp/glow-mapped-XXXXXX";
  int file = mkstemp(name);
  if (file < 0)
    return -1;
  unlink(name);
  if (ftruncate(file, (off_t)l->size) == 0 &&
      put(file, l->steps, d->steps, (size_t)d->nsteps * sizeof *d->steps) &&
      put(file, l->addresses, d->addresses, (size_t)d->naddresses * sizeof *d->addresses) &&
      put(file, l->fixups, d->params.fixups, d->params.nfixups * sizeof *d->params.fixups) &&
      put(file, l->image, d->params.bytes, d->params.size))
    return file;
  close(file);
  return -1;
}

/* What a run works on. */
typedef struct Memory {
  const GlowCpuPlan *plan;
  uint8_t *arena;
  size_t arena_bytes;
  void **storage;
} Memory;

static Memory make_memory(GlowArena *arena, const GlowCpuPlan *plan) {
  size_t align = (size_t)plan->align, size = (size_t)(plan->arena + plan->scratch) + align;
  Memory m = {.plan = plan, .arena_bytes = (size + align - 1) / align * align};
  m.arena = aligned_alloc(align, m.arena_bytes);
  memset(m.arena, 0, m.arena_bytes);
  m.storage = make_outer_memory(arena, plan);
  return m;
}

static void free_memory(Memory *m) {
  free_outer_memory(m->plan, m->storage);
  free(m->arena);
}

static int64_t run(const GlowProgram *p, Memory *m) {
  GlowContext *ctx = glow_context_create();
  GlowFault fault = {0};
  GlowRunContext context = {.arena = m->arena, .storage = m->storage, .fault = &fault};
  glow_walk_tables(ctx->arena, p, &context);
  int64_t status = glow_walk(p, &context);
  glow_context_destroy(ctx);
  return status;
}

static void same_memory(const char *file, const Memory *want, const Memory *got) {
  for (uint32_t i = 0; i < want->plan->nouter; i++) {
    size_t bytes = (size_t)glow_type_bytes(want->plan->outer[i]->type);
    EXPECT(!memcmp(want->storage[i], got->storage[i], bytes), "%s: '%s' differs", file,
           want->plan->outer[i]->name);
  }
}

/* The program from the file, at a place of its own; NULL: it cannot be mapped. */
static void *map(int file, const Layout *l, GlowProgram *p, const GlowProgramData *d) {
  size_t room = l->size + (d->params.size + 63) / 64 * 64;
  char *memory = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return NULL;
  if (pread(file, memory, l->size, 0) != (ssize_t)l->size)
    return NULL;
  GlowImage image = {.bytes = memory + l->image,
                     .size = d->params.size,
                     .fixups = (const GlowFixup *)(void *)(memory + l->fixups),
                     .nfixups = d->params.nfixups};
  p->steps = (const GlowStep *)(void *)(memory + l->steps);
  p->addresses = (const GlowAddress *)(void *)(memory + l->addresses);
  p->params = memory + l->size;
  glow_image_place(&image, memory + l->size);
  return memory;
}

static void check_program(GlowContext *ctx, const char *name, GlowFunction *f, const GlowIsa *isa) {
  GlowCpuPlan plan;
  if (!glow_cpu_plan(ctx->arena, f, isa, &plan)) {
    EXPECT(false, "%s: no plan", name);
    return;
  }
  const GlowProgramData *data = glow_cpu_program(ctx->arena, &plan, isa);
  GlowEntryCode code;
  const GlowProgram *made = glow_library_bind(ctx, ctx->arena, isa, data, true, &code);
  const Layout l = lay_out(data);
  int file = write_program(data, &l);
  CHECK(made && file >= 0);
  if (!made || file < 0)
    return;
  Memory want = make_memory(ctx->arena, &plan);
  CHECK(run(made, &want) == 0);
  GlowProgram moved[2] = {*made, *made};
  void *maps[2] = {map(file, &l, &moved[0], data), map(file, &l, &moved[1], data)};
  CHECK(maps[0] && maps[1] && maps[0] != maps[1]);
  /* Nothing may lead back to where the program was made. */
  memset((char *)(uintptr_t)made->params, 0xEE, data->params.size);
  memset((char *)(uintptr_t)data->params.bytes, 0xEE, data->params.size);
  memset((char *)(uintptr_t)data->steps, 0xEE, (size_t)data->nsteps * sizeof *data->steps);
  for (int i = 0; i < 2 && maps[0] && maps[1]; i++) {
    Memory got = make_memory(ctx->arena, &plan);
    CHECK(run(&moved[i], &got) == 0);
    same_memory(name, &want, &got);
    free_memory(&got);
    munmap(maps[i], l.size); /* the second run finds nothing of the first */
  }
  free_memory(&want);
  close(file);
}

static void check_file(const char *name) {
  GlowContext *ctx = glow_context_create();
  GlowInput input;
  bool opened = open_codegen_file(ctx, name, &input);
  GlowModule *m =
      opened ? glow_module_parse(ctx, name, (const char *)input.data, input.size) : NULL;
  bool ok = m && glow_module_verify(m) && m->first_function;
  EXPECT(ok, "%s: no program", name);
  const GlowIsa *isa = ok && m->target ? glow_isa_find(m->target) : glow_isa_host();
  if (ok && isa && glow_isa_runs_here(isa))
    check_program(ctx, name, m->first_function, isa);
  if (opened)
    glow_input_close(&input);
  glow_context_destroy(ctx);
}

int main(void) {
  /* Lists among members; control flow around reference kernels; bodies of stacks; epilogues. */
  static const char *const files[] = {"tf-idf.gir",   "reference.gir", "kinds.gir",
                                      "headline.gir", "matmul.gir",    "resize.gir"};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    check_file(files[i]);
  return unit_finish();
}
