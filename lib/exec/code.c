/* Maps images. Every number of an image is checked before it is used: see code.h. */
#include "exec/code.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "exec/code_debug.h"
#include "support/diag.h"

#define MOST ((uint64_t)1 << 40) /* no size in an image is larger */

struct GlowCode {
  char *base; /* NULL: nothing is mapped */
  size_t mapped;
  const GlowProgram *program;
  int64_t size;
  GlowCodeDebug *debug;
};

/* An image that is read. */
typedef struct Image {
  GlowCodeHead head;
  const char *memory; /* instructions, then data */
  const char *rebases, *imports, *functions, *names, *objects;
} Image;

/* ---- Checks ---------------------------------------------------------------------------------- */

static uint32_t this_machine(void) {
#if defined __x86_64__
  return EM_X86_64;
#elif defined __aarch64__
  return EM_AARCH64;
#elif defined __riscv && __riscv_xlen == 64
  return EM_RISCV;
#else
  return EM_NONE;
#endif
}

/* Whether `size` bytes from `at` lie in [from, to). */
static bool within(uint64_t at, uint64_t size, uint64_t from, uint64_t to) {
  return at >= from && at <= to && size <= to - at;
}

/* What is wrong with the head; NULL: nothing. Finds the parts. */
static const char *read_head(const void *bytes, size_t size, Image *m) {
  if (size < sizeof m->head)
    return "it is shorter than its head";
  memcpy(&m->head, bytes, sizeof m->head);
  const GlowCodeHead *h = &m->head;
  if (memcmp(h->magic, GLOW_CODE_MAGIC, sizeof h->magic) != 0)
    return "it is no image of code";
  if (h->version != GLOW_CODE_VERSION)
    return "it is of another version";
  if (!h->machine || h->machine != this_machine())
    return "it is for another machine";
  if (h->text >= MOST || h->data >= MOST || h->rebases >= MOST || h->imports >= MOST ||
      h->functions >= MOST || h->names >= MOST || h->objects >= MOST)
    return "a size is too large";
  if (h->text % GLOW_CODE_PAGE || h->data % 8 || h->used > h->text)
    return "a size is odd";
  const char *at = (const char *)bytes + sizeof *h;
  m->memory = at;
  const uint64_t parts[] = {h->text + h->data, h->rebases * sizeof(uint64_t),
                            h->imports * sizeof(GlowCodeImport),
                            h->functions * sizeof(GlowCodeFunction), h->names};
  const char **const ends[] = {&m->rebases, &m->imports, &m->functions, &m->names, &m->objects};
  uint64_t left = size - sizeof *h;
  for (int i = 0; i < 5; i++) {
    if (parts[i] > left)
      return "it is cut off";
    left -= parts[i];
    at += parts[i];
    *ends[i] = at;
  }
  if (left != h->objects)
    return left < h->objects ? "it is cut off" : "something follows it";
  if (h->names && m->names[h->names - 1])
    return "its last name does not end";
  if (h->program % _Alignof(GlowProgram) ||
      !within(h->program, sizeof(GlowProgram), h->text, h->text + h->data))
    return "its program lies outside of it";
  return NULL;
}

/* Whether `count` elements of `size` bytes from `data` lie in the image at `base`. */
static bool has(const Image *m, const char *base, const void *data, int64_t count, size_t size) {
  uint64_t bytes = m->head.text + m->head.data, at = (uint64_t)((uintptr_t)data - (uintptr_t)base);
  return count >= 0 && at <= bytes && (uint64_t)count <= (bytes - at) / size;
}

/* Whether the tables of a program that is in memory lie in its image, as far as steps lead. */
static bool check_program(const Image *m, const char *base, const GlowProgram *p) {
  if (!has(m, base, p->steps, p->nsteps, sizeof *p->steps) || p->loops < 0 || p->scratch < 0 ||
      (uintptr_t)p->steps % _Alignof(GlowStep) || (uintptr_t)p->pieces % sizeof(void *) ||
      (p->naddresses && !has(m, base, p->addresses, p->naddresses, sizeof *p->addresses)) ||
      (p->params && !has(m, base, p->params, 0, 1)) || (p->zeros && !has(m, base, p->zeros, 0, 1)))
    return false;
  for (int64_t i = 0; i < p->nsteps; i++) {
    const GlowStep *s = &p->steps[i];
    if (s->address < 0 || s->address > p->naddresses)
      return false;
    if (s->kind == GLOW_STEP_PIECE &&
        (s->piece < 0 || !has(m, base, p->pieces, (int64_t)s->piece + 1, sizeof *p->pieces) ||
         (uint64_t)((uintptr_t)p->pieces[s->piece] - (uintptr_t)base) >= m->head.used))
      return false;
  }
  return true;
}

/* ---- Addresses ------------------------------------------------------------------------------- */

static void add(char *place, uint64_t address) {
  uint64_t sum;
  memcpy(&sum, place, sizeof sum);
  sum += address;
  memcpy(place, &sum, sizeof sum);
}

/* Compilers call these wherever they like. */
static const GlowSymbol of_memory[] = {
    {"memcpy", (const void *)(uintptr_t)memcpy},
    {"memmove", (const void *)(uintptr_t)memmove},
    {"memset", (const void *)(uintptr_t)memset},
    {"memcmp", (const void *)(uintptr_t)memcmp},
};

static const void *address_of(const char *name, const GlowSymbol *symbols, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    if (strcmp(symbols[i].name, name) == 0)
      return symbols[i].address;
  return NULL;
}

/* Makes the copy at `base` ready for that place. Returns what is wrong, or NULL; *missing is then
 * a name, or NULL. */
static const char *settle(const Image *m, char *base, const GlowSymbol *symbols, uint32_t count,
                          const char **missing) {
  const GlowCodeHead *h = &m->head;
  uint64_t end = h->text + h->data;
  for (uint64_t i = 0; i < h->rebases; i++) {
    uint64_t at, target;
    memcpy(&at, m->rebases + i * sizeof at, sizeof at);
    if (!within(at, sizeof target, h->text, end))
      return "an address lies outside of it";
    memcpy(&target, m->memory + at, sizeof target);
    if (target > end)
      return "an address leads out of it";
    add(base + at, (uint64_t)(uintptr_t)base);
  }
  for (uint64_t i = 0; i < h->imports; i++) {
    GlowCodeImport import;
    memcpy(&import, m->imports + i * sizeof import, sizeof import);
    if (!within(import.at, sizeof(uint64_t), h->text, end) || import.name >= h->names)
      return "an import lies outside of it";
    const char *name = m->names + import.name;
    const void *address = address_of(name, symbols, count);
    address = address ? address : address_of(name, of_memory, sizeof of_memory / sizeof *of_memory);
    if (!address) {
      *missing = name;
      return "this process does not have";
    }
    add(base + import.at, (uint64_t)(uintptr_t)address);
  }
  return NULL;
}

/* ---- Mapping --------------------------------------------------------------------------------- */

/* Whether instructions may run now, and nothing be written; if not, errno says why. With larger
 * pages than ours, data share one with instructions. */
static bool protect(const GlowCode *code, const Image *m) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE), text = (size_t)m->head.text;
  size_t executable = text % page ? code->mapped : text;
  if (executable && mprotect(code->base, executable, PROT_READ | PROT_EXEC) != 0)
    return false;
  return executable == code->mapped ||
         mprotect(code->base + executable, code->mapped - executable, PROT_READ) == 0;
}

static void refuse_memory(GlowContext *ctx, int error) {
  char reason[128];
  if (error == ENOMEM)
    glow_throw(ctx, GLOW_NO_MEMORY);
  glow_error(ctx, GLOW_NOWHERE,
             "machine code cannot be loaded: this system does not let memory become executable: %s",
             strerror_r(error, reason, sizeof reason));
  glow_note(ctx, GLOW_NOWHERE,
            "--tier=library runs machine code that is there already, and glow-llc makes objects");
}

/* False after a diagnostic. */
static bool load(GlowContext *ctx, GlowCode *code, const Image *m, const GlowSymbol *symbols,
                 uint32_t count) {
  const GlowCodeHead *h = &m->head;
  size_t size = (size_t)(h->text + h->data);
  void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    glow_throw(ctx, GLOW_NO_MEMORY);
  code->base = memory;
  code->mapped = size;
  code->size = (int64_t)h->used;
  code->program = (const GlowProgram *)(code->base + h->program);
  memcpy(code->base, m->memory, size);
  const char *missing = NULL, *wrong = settle(m, code->base, symbols, count, &missing);
  if (!wrong && !check_program(m, code->base, code->program))
    wrong = "a table of its program lies outside of it";
  if (wrong) {
    glow_error(ctx, GLOW_NOWHERE, "machine code cannot be loaded: %s%s%s%s", wrong,
               missing ? " '" : "", missing ? missing : "", missing ? "'" : "");
    return false;
  }
  __builtin___clear_cache(code->base, code->base + h->text);
  if (!protect(code, m)) {
    refuse_memory(ctx, errno);
    return false;
  }
  if (h->objects)
    code->debug = glow_code_show(m->objects, (size_t)h->objects, code->base);
  if (h->functions)
    glow_code_dump(h, (const void *)m->functions, m->names, code->base);
  return true;
}

static void destroy(void *code) { glow_code_destroy(code); }

GlowCode *glow_code_load(GlowContext *ctx, const void *image, size_t size,
                         const GlowSymbol *symbols, uint32_t count) {
  Image m;
  const char *wrong = read_head(image, size, &m);
  if (wrong) {
    glow_error(ctx, GLOW_NOWHERE, "machine code cannot be loaded: %s", wrong);
    return NULL;
  }
  GlowCode *code = calloc(1, sizeof *code);
  if (!code)
    glow_throw(ctx, GLOW_NO_MEMORY);
  GlowDefer defer;
  glow_defer_push(ctx, &defer, destroy, code);
  bool ok = load(ctx, code, &m, symbols, count);
  glow_defer_pop(ctx, &defer, !ok);
  return ok ? code : NULL;
}

const GlowProgram *glow_code_program(const GlowCode *code) { return code->program; }

GlowPieceFn *const *glow_code_pieces(const GlowCode *code, uint32_t count) {
  GlowPieceFn *const *pieces = code->program->pieces;
  uint64_t at = (uint64_t)((uintptr_t)pieces - (uintptr_t)code->base);
  if (at > code->mapped || count > (code->mapped - at) / sizeof *pieces)
    return NULL;
  for (uint32_t i = 0; i < count; i++)
    if (pieces[i] &&
        (uint64_t)((uintptr_t)pieces[i] - (uintptr_t)code->base) >= (uint64_t)code->size)
      return NULL;
  return pieces;
}

int64_t glow_code_size(const GlowCode *code) { return code->size; }

void glow_code_destroy(GlowCode *code) {
  if (!code)
    return;
  glow_code_hide(code->debug);
  if (code->base)
    munmap(code->base, code->mapped);
  free(code);
}
