/* Library code (kernels/library.h) is whole, and computes the interpreter's bits: every kernel of
 * the table on a thousand random shapes, for each row of isa.def that this machine can run.
 *
 *   library_test [--slice K/N] [--shapes COUNT] [--kernel NAME] [--without NAME] [--counts]
 *
 * --kernel: only kernels whose names begin so. --without: no functions of lanes whose names begin
 * so, which an emulator may not know. A slice has its part of the shapes, by other seeds than the
 * other slices. The object of each row, GLOW_TEST_LIBRARIES/<row>/library.o, is there for its size
 * alone. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/library.h"
#include "ops/op.h"
#include "support/file.h"
#include "target/cpu/table.h"
#include "test/library/cases.h"
#include "test/unit/unit.h"

enum { BATCH = 8, MOST_WITHOUT = 4 };

static const struct {
  const char *name; /* of a row of the kernel table, which the names of its kernels begin with */
  Case *add;
} cases[] = {
#define CASE(row) {#row, case_##row},
#include "test/library/cases.def"
#undef CASE
};
enum { CASES = sizeof cases / sizeof *cases };

typedef struct Options {
  int slice, slices, shapes;
  const char *kernel, *without[MOST_WITHOUT + 1];
  int nwithout;
  bool counts;
} Options;

static int count_kernels(void) {
  int n = 0;
  while (glow_kernels[n].name)
    n++;
  return n;
}

/* ---- Tables ---------------------------------------------------------------------------------- */

/* Bytes of the sections of an object that a process maps: of code, and of all else. */
static void count_bytes(const GlowInput *object, size_t *code, size_t *data) {
  const Elf64_Ehdr *head = (const void *)object->data;
  const Elf64_Shdr *sections = (const void *)(object->data + head->e_shoff);
  *code = *data = 0;
  for (int i = 0; i < head->e_shnum; i++) {
    if (sections[i].sh_flags & SHF_EXECINSTR)
      *code += sections[i].sh_size;
    else if (sections[i].sh_flags & SHF_ALLOC)
      *data += sections[i].sh_size;
  }
}

static void tell_size(const GlowIsa *isa) {
  char path[1024];
  size_t code, data;
  GlowInput object;
  GlowContext *ctx = glow_context_create();
  snprintf(path, sizeof path, "%s/%s/library.o", GLOW_TEST_LIBRARIES, isa->name);
  bool read = glow_input_open(ctx, path, false, GLOW_NOWHERE, &object);
  EXPECT(read, "%s cannot be read", path);
  if (read) {
    count_bytes(&object, &code, &data);
    printf("%s: %zu bytes of code, %zu of constants\n", isa->name, code, data);
    glow_input_close(&object);
  }
  glow_context_destroy(ctx);
}

/* Forms with fixed params that a tile has. */
static uint32_t count_forms(const GlowIsa *isa, unsigned kind) {
  uint32_t n = 0;
  const GlowFixed *all = glow_tile_forms(isa, kind);
  while (all && all[n].name)
    n++;
  return n;
}
static int most_forms(void) {
  uint32_t most = 0;
  for (size_t k = 0; k < GLOW_ISA_COUNT; k++)
    for (const GlowTile *t = glow_tiles[k]; t->name; t++)
      most = count_forms(&glow_isa[k], t->kind) > most ? count_forms(&glow_isa[k], t->kind) : most;
  return (int)most;
}

/* Everything that a program can ask the library for is there. */
static void check_tables(const GlowIsa *isa, const GlowLibrary *library) {
  int kernels = count_kernels(), tiles = 0;
  CHECK(kernels <= MOST_KERNELS && glow_lane_count <= MOST_LANES);
  EXPECT(library->table == glow_table_hash, "the library of %s is of another table", isa->name);
  for (int k = 0; k < kernels; k++)
    EXPECT(library->kernels[k], "the library of %s lacks %s", isa->name, glow_kernels[k].name);
  for (uint32_t l = 1; l < glow_lane_count; l++)
    EXPECT(library->lanes[l], "the library of %s lacks %s", isa->name, glow_lane_names[l]);
  while (glow_tiles[isa - glow_isa][tiles].name)
    tiles++;
  CHECK(tiles * (1 + most_forms()) <= MOST_TILES);
  printf("%s: %d kernels, %d tiles, %u functions of lanes\n", isa->name, kernels, tiles,
         glow_lane_count - 1);
}

/* ---- Random shapes --------------------------------------------------------------------------- */

/* The case with the longest name that a kernel's begins with; CASES: there is none. */
static int case_of(const char *kernel) {
  size_t longest = 0;
  int found = CASES;
  for (int i = 0; i < CASES; i++) {
    size_t length = strlen(cases[i].name);
    bool begins = !strncmp(kernel, cases[i].name, length) && strchr("_", kernel[length]);
    if (begins && length > longest) {
      longest = length;
      found = i;
    }
  }
  return found;
}

/* What ran on the shapes of a row. */
typedef struct Shapes {
  Counts counts;
  unsigned rounds[CASES], failures;
} Shapes;
enum { MOST_FAILURES = 3 };

static void run_round(const GlowIsa *isa, const Options *o, int which, Shapes *s) {
  Program p;
  uint32_t round = s->rounds[which]++ * (uint32_t)o->slices + (uint32_t)o->slice;
  program_begin(&p, isa, round * 7919 + (uint32_t)which * 104729 + 1);
  p.without = o->without;
  for (int i = 0; i < BATCH; i++)
    cases[which].add(&p);
  bool same = program_run(&p, &s->counts);
  EXPECT(same, "%s, round %u", cases[which].name, round);
  s->failures += !same;
  program_end(&p);
}

/* A stack is as many kernels as there are functions of lanes, and only those of its own case count:
 * others have stacks behind them, nearly all of a few functions. */
enum { STACKS = 10 };

/* Rounds of a case until its kernel has run on enough shapes. */
static void check_kernel(const GlowIsa *isa, const Options *o, int k, Shapes *s) {
  const char *name = glow_kernels[k].name;
  const unsigned *ran = &s->counts.kernels[k];
  int which = case_of(name), shapes = o->shapes;
  unsigned before = 0;
  if (which < CASES && cases[which].add == case_stack) {
    shapes *= STACKS;
    before = *ran;
  }
  unsigned quota = before + (unsigned)((shapes + o->slices - 1) / o->slices);
  EXPECT(which < CASES, "no case runs the kernel %s", name);
  for (unsigned round = 0; which < CASES && *ran < quota && round < 20 * quota; round++) {
    run_round(isa, o, which, s);
    if (s->failures >= MOST_FAILURES)
      return;
  }
  EXPECT(*ran >= quota, "%s ran on %u random shapes, not on %u", name, *ran, quota);
}

static void tell_counts(const GlowIsa *isa, const Counts *c) {
  const GlowTile *tiles = glow_tiles[isa - glow_isa];
  for (int k = 0; glow_kernels[k].name; k++)
    printf("%s: %s: %u shapes\n", isa->name, glow_kernels[k].name, c->kernels[k]);
  for (int t = 0; tiles[t].name; t++)
    for (uint32_t form = 0; form <= count_forms(isa, tiles[t].kind); form++)
      printf("%s: %s %s: %u pieces\n", isa->name, tiles[t].name,
             form ? glow_tile_desc[tiles[t].kind].fixed[form - 1].name : "",
             c->tiles[glow_tile_number(isa, &tiles[t], form)]);
  for (uint32_t l = 1; l < glow_lane_count; l++)
    printf("%s: %s: %u calls\n", isa->name, glow_lane_names[l], c->lanes[l]);
}

static unsigned count_used(const unsigned *counts, int n) {
  unsigned used = 0;
  for (int i = 0; i < n; i++)
    used += counts[i] > 0;
  return used;
}

/* Every tile has run with any params, and every form of it with some sizes. */
static void check_tiles(const GlowIsa *isa, const Counts *c) {
  const GlowTile *tiles = glow_tiles[isa - glow_isa];
  for (const GlowTile *t = tiles; t->name; t++)
    EXPECT(c->tiles[t - tiles], "no shape ran the tile %s of %s", t->name, isa->name);
  for (const GlowTile *t = tiles; t->name; t++) {
    for (uint32_t form = 1; form <= count_forms(isa, t->kind); form++) {
      unsigned ran = 0;
      for (const GlowTile *u = tiles; u->name; u++)
        ran += u->kind == t->kind ? c->tiles[glow_tile_number(isa, u, form)] : 0;
      EXPECT(ran, "no shape ran a %s %s of %s", glow_tile_desc[t->kind].name,
             glow_tile_desc[t->kind].fixed[form - 1].name, isa->name);
    }
  }
}

static void check_kernels(const GlowIsa *isa, const Options *o) {
  static Shapes s;
  s = (Shapes){.failures = 0};
  unsigned least = UINT32_MAX;
  for (int k = 0; glow_kernels[k].name && s.failures < MOST_FAILURES; k++) {
    if (o->kernel && strncmp(glow_kernels[k].name, o->kernel, strlen(o->kernel)))
      continue;
    check_kernel(isa, o, k, &s);
    least = s.counts.kernels[k] < least ? s.counts.kernels[k] : least;
  }
  if (o->counts)
    tell_counts(isa, &s.counts);
  bool whole = o->slices == 1 && o->shapes >= 1000 && !o->kernel;
  unsigned lanes = count_used(s.counts.lanes + 1, MOST_LANES - 1);
  if (whole) {
    check_tiles(isa, &s.counts);
    EXPECT(o->nwithout || lanes * 10 > glow_lane_count * 9, "only %u functions of lanes ran", lanes);
  }
  printf("%s: each kernel on %u random shapes at least; %u tiles and %u functions of lanes ran\n",
         isa->name, least, count_used(s.counts.tiles, MOST_TILES), lanes);
}

/* ---- Command line ---------------------------------------------------------------------------- */

static bool read_options(int argc, char **argv, Options *o) {
  *o = (Options){.slices = 1, .shapes = 1000};
  for (int i = 1; i < argc; i++) {
    bool more = i + 1 < argc;
    if (!strcmp(argv[i], "--slice") && more) {
      if (sscanf(argv[++i], "%d/%d", &o->slice, &o->slices) != 2)
        return false;
    } else if (!strcmp(argv[i], "--shapes") && more) {
      o->shapes = atoi(argv[++i]);
    } else if (!strcmp(argv[i], "--kernel") && more) {
      o->kernel = argv[++i];
    } else if (!strcmp(argv[i], "--without") && more && o->nwithout < MOST_WITHOUT) {
      o->without[o->nwithout++] = argv[++i];
    } else if (!strcmp(argv[i], "--counts")) {
      o->counts = true;
    } else {
      return false;
    }
  }
  return true;
}

int main(int argc, char **argv) {
  Options o;
  if (!read_options(argc, argv, &o)) {
    fprintf(stderr,
            "usage: library_test [--slice K/N] [--shapes COUNT] [--kernel NAME] [--without NAME] "
            "[--counts]\n");
    return 2;
  }
  int rows = 0;
  for (size_t k = 0; k < GLOW_ISA_COUNT; k++) {
    const GlowIsa *isa = &glow_isa[k];
    const GlowLibrary *library = glow_library(isa->name);
    if (!library || !glow_isa_runs_here(isa))
      continue;
    rows++;
    check_tables(isa, library);
    tell_size(isa);
    check_kernels(isa, &o);
  }
  CHECK(rows > 0);
  return unit_finish();
}
