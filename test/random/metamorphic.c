/* Metamorphic tests of the pass table.
 *
 *   glow-metamorphic [--seeds N] [--seed S] [--slice K/N] [--pass NAME] [--verbose] [TEST_FOLDER]
 *
 * Each seed makes a module: every other one at random, the others from the texts below TEST_FOLDER,
 * which hold what passes look for, with random changes. Every row of the table that is exact or
 * bounded rewrites a copy, after what it needs; the copy must verify, print to a text that reads
 * back, and compute what the module did: the same bits, or within the bound that the row states. A
 * part of its rewrites must do so, too: another copy gets as many as -bisect-limit would allow.
 * So must lower<all>, winograd<all>, reduce-mean-pool<all>, and the named pipelines down to
 * programs.
 *
 * Programs run as machine code, too, for any row of isa.def that runs here and on one thread or
 * several: all by library code, which is there at once, one in 16 compiled, since LLVM takes fifty
 * times as long over a program as everything else here. With --pass 'compiled code', each.
 *
 * A pass that never rewrote anything fails the run, because nothing was tested then; but not with
 * fewer seeds than are usual, nor in one slice of them, every Nth from K on. */
#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "backend/backends.h"
#include "driver/passes.h"
#include "exec/pool.h"
#include "test/random/trial.h"

enum {
  ALL_SEEDS = 3000,       /* as many reach every pass */
  SECONDS_PER_SEED = 120, /* of a clock on the wall: the machine may be busy */
  THREADS = 3
};

static const GlowSubject pipelines[] = {
    {.name = "-O0", .level = "O0"},
    {.name = "-O1 -exact", .level = "O1"},
    {.name = "-O2 -exact", .level = "O2"},
};
enum { NPIPELINES = sizeof pipelines / sizeof *pipelines };

static GlowTester tester;

/* A crash or an endless loop says where it was. */
static void on_signal(int number) {
  char text[256];
  int n = snprintf(text, sizeof text, "FAILED seed %llu (%s), %s: signal %d\n",
                   (unsigned long long)tester.seed, tester.source ? tester.source : "",
                   tester.stage ? tester.stage : "", number);
  if (n > 0 && write(1, text, (size_t)n) < 0)
    _exit(3);
  _exit(1);
}

static void add_subject(GlowSubject s) {
  tester.subjects = realloc(tester.subjects, (tester.nsubjects + 1) * sizeof s);
  if (!tester.subjects)
    exit(1);
  tester.subjects[tester.nsubjects++] = s;
}

static void add_subjects(void) {
  for (uint32_t i = 0; i < glow_passes.count; i++) {
    const GlowPass *p = &glow_passes.passes[i];
    if (p->cls == GLOW_PASS_EXACT || p->cls == GLOW_PASS_BOUNDED)
      add_subject((GlowSubject){.name = p->name, .pass = p});
    if (p->run == glow_pass_lower)
      add_subject((GlowSubject){.name = "lower<all>", .pass = p, .options = "lower<all>"});
    if (p->run == glow_pass_reduce_mean_pool)
      add_subject((GlowSubject){
          .name = "reduce-mean-pool<all>", .pass = p, .options = "reduce-mean-pool<all>"});
    if (p->run == glow_pass_winograd)
      add_subject((GlowSubject){.name = "winograd<all>", .pass = p, .options = "winograd<all>"});
  }
  for (int i = 0; i < NPIPELINES; i++)
    add_subject(pipelines[i]);
  for (uint32_t i = 0; i < glow_backends.count; i++) {
    const GlowBackend *b = &glow_backends.backends[i];
    if (!b->compile) /* no machine code */
      continue;
    add_subject(
        (GlowSubject){.name = "library code", .backend = b, .tier = GLOW_TIER_LIBRARY, .every = 1});
    add_subject((GlowSubject){
        .name = "compiled code", .backend = b, .tier = GLOW_TIER_COMPILED, .every = 16});
  }
}

/* ---- Patterns -------------------------------------------------------------------------------- */

static int is_file(const struct dirent *d) { return d->d_name[0] != '.'; }

/* The tests of passes come first and again, so that they are half of all. */
static void add_patterns(const char *folder, const char *below) {
  char path[1024];
  struct dirent **entries;
  snprintf(path, sizeof path, "%s/%s", folder, below);
  int n = scandir(path, &entries, is_file, alphasort);
  for (int i = 0; i < n; i++) {
    const char *dot = strrchr(entries[i]->d_name, '.');
    if (dot && (!strcmp(dot, ".gg") || !strcmp(dot, ".gir"))) {
      snprintf(path, sizeof path, "%s/%s/%s", folder, below, entries[i]->d_name);
      tester.patterns = realloc(tester.patterns, (tester.npatterns + 1) * sizeof *tester.patterns);
      if (!tester.patterns)
        exit(1);
      tester.patterns[tester.npatterns++] = strdup(path);
    }
    free(entries[i]);
  }
  if (n >= 0)
    free(entries);
}

/* ---- The report ------------------------------------------------------------------------------ */

/* The seed that took longest, and its seconds of processor time. */
typedef struct Slowest {
  uint64_t seed;
  double seconds;
} Slowest;

static unsigned report(bool whole, const Slowest *slowest) {
  unsigned idle = 0;
  printf("%-28s %8s %8s %9s %8s %8s\n", "pass", "modules", "limited", "rewrites", "judged",
         "skipped");
  for (uint32_t i = 0; i < tester.nsubjects; i++) {
    const GlowSubject *s = &tester.subjects[i];
    bool bounded = s->pass && s->pass->cls == GLOW_PASS_BOUNDED;
    bool never = !tester.only && whole && (bounded ? !s->judged : !s->modules);
    printf("%-28s %8u %8u %9llu %8u %8u%s\n", s->name, s->modules, s->limited,
           (unsigned long long)s->rewrites, s->judged, s->skipped,
           never ? "  FAILED: nothing to test it on" : "");
    idle += never;
  }
  printf("%u modules (%u do not run), %u seeds without one\n", tester.modules, tester.unrunnable,
         tester.refused);
  printf("slowest: seed %llu, %.1f s\n", (unsigned long long)slowest->seed, slowest->seconds);
  printf("%u passes tested, %u failures, %u passes without a rewrite\n", tester.nsubjects,
         tester.failed, idle);
  return tester.failed + idle;
}

static int usage(void) {
  fprintf(stderr, "usage: glow-metamorphic [--seeds N] [--seed S] [--slice K/N] [--pass NAME] "
                  "[--verbose] [TEST_FOLDER]\n");
  return 2;
}

int main(int argc, char **argv) {
  const char *folder = NULL;
  uint64_t seeds = ALL_SEEDS, first = 0, step = 1;
  bool whole = true;
  Slowest slowest = {0};
  for (int i = 1; i < argc; i++) {
    bool more = i + 1 < argc;
    if (!strcmp(argv[i], "--seeds") && more) {
      seeds = strtoull(argv[++i], NULL, 10);
      whole &= seeds >= ALL_SEEDS;
    } else if (!strcmp(argv[i], "--seed") && more) {
      first = strtoull(argv[++i], NULL, 10);
      seeds = 1;
      whole = false;
    } else if (!strcmp(argv[i], "--slice") && more) {
      char end;
      if (sscanf(argv[++i], "%" SCNu64 "/%" SCNu64 "%c", &first, &step, &end) != 2 || first >= step)
        return usage();
      whole &= step == 1;
    } else if (!strcmp(argv[i], "--pass") && more) {
      tester.only = argv[++i];
    } else if (!strcmp(argv[i], "--verbose")) {
      tester.verbose = true;
    } else if (argv[i][0] == '-' || folder) {
      return usage();
    } else {
      folder = argv[i];
    }
  }
  static const char *const below[] = {"transforms", "ops", "transforms", "lower", "irgen"};
  for (size_t i = 0; folder && i < sizeof below / sizeof *below; i++)
    add_patterns(folder, below[i]);
  add_subjects();
  GlowContext *ctx = glow_context_create();
  if (!ctx)
    return 1;
  GlowPool *pool = glow_pool_make(ctx, THREADS);
  tester.parallel = glow_pool_parallel(pool);
  uint64_t end = step > 1 ? seeds : first + seeds;
  signal(SIGSEGV, on_signal);
  signal(SIGFPE, on_signal);
  signal(SIGABRT, on_signal);
  signal(SIGALRM, on_signal);
  for (tester.seed = first; tester.seed < end; tester.seed += step) {
    alarm(SECONDS_PER_SEED);
    clock_t start = clock();
    glow_trial(&tester);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    if (seconds > slowest.seconds)
      slowest = (Slowest){tester.seed, seconds};
  }
  glow_pool_destroy(pool);
  glow_context_destroy(ctx);
  return report(whole, &slowest) != 0;
}
