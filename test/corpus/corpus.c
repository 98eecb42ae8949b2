/* Runs cases of the ONNX conformance corpus through the code of glow-run, in one process.
 *
 *   glow-onnx-corpus [--data DIR] [--all] [--verbose] [--level N] [--primitives] [--passes]
 *                    [--processes] [--crash CASE] [--library] [--refused FILE]
 *                    [--backend NAME [--threads N] [--references NAMES] [--steps NAMES]]
 *                    [--bundles] [--open] [--operators NAMES] [--slice K/N] LIST
 *
 * LIST names a case per line, as FOLDER/CASE; `shape` behind it means that its outputs are random
 * and judged by type and shape. --all runs every case of the corpus and fails for those that pass
 * without being listed. --primitives lowers each graph to primitives and runs nothing else.
 * --passes also runs each listed case after every pass alone and every pass left out of -O2.
 * --processes runs each case in a process of its own, so that a crash fails that case alone and
 * names it; --crash CASE makes that case crash, to test this. --backend runs each case there as
 * well, on one thread and on N: its bits must be those of the interpreter. It prints the operators
 * that ran as reference kernels, and those that were steps of the interpreter, which must be
 * exactly the NAMES of --references and --steps (with commas between them). FILE names the cases
 * that it must refuse, at most 80, each with one of the permitted reasons behind its name. --open
 * makes symbols of extents of each case's inputs and compares the bits with those of the case as it
 * is; FILE then names the cases for which that is not possible, at most 150, with a part of the
 * diagnostic. --bundles makes a bundle of each case as well, for the same bits.
 * --operators leaves out cases that have none of these operators or instructions, --slice all but
 * one Nth of the cases; NAMES may then be more than those that ran. Exit status 0
 * if exactly the listed cases pass, 77 without a corpus. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exec/pool.h"
#include "test/corpus/corpus.h"

static const char *const folders[] = {"node", "pytorch-converted", "pytorch-operator", "simple"};

enum { MOST_REFUSED = 80, MOST_CLOSED = 150 };

typedef struct Listed {
  char name[128];
  char reason[96]; /* why it is refused */
  bool shape_only, refused, seen;
} Listed;

typedef struct Runner {
  const char *data, *crash, *backend, *refused, *references_only, *steps_only, *operators;
  bool wanted[GLOW_OP_COUNT]; /* those of `operators` */
  unsigned slice, slices;     /* only cases of this slice; 0 slices: all cases */
  Listed *listed;
  size_t nlisted;
  bool all, verbose, open, primitives, passes, processes, with_bundles;
  int level, threads;
  GlowTier tier;
  GlowBundles *bundles;
  const GlowParallel *parallel;
  unsigned references[GLOW_OP_COUNT]; /* cases in which the operator ran as its reference kernel */
  unsigned stepped[GLOW_OP_COUNT];    /* cases in which it was a step of the interpreter */
  unsigned passed, failed, refused_count, unsupported, pipelines, left_out;
  unsigned unlisted_passed, listed_failed, bundles_failed, hosted;
} Runner;

static Listed *find_listed(const Runner *r, const char *name) {
  for (size_t i = 0; i < r->nlisted; i++)
    if (!strcmp(r->listed[i].name, name))
      return &r->listed[i];
  return NULL;
}

/* What a process says of its case. */
typedef struct Answer {
  GlowVerdict verdict;
  unsigned pipelines;
  char error[512];
  uint16_t references[GLOW_OP_COUNT], stepped[GLOW_OP_COUNT];
} Answer;

static _Noreturn void answer(GlowCase *c, int to, bool crash) {
  if (crash)
    raise(SIGKILL);
  Answer a = {.verdict = glow_case_run(c), .pipelines = c->pipelines};
  memcpy(a.error, c->error, sizeof a.error);
  memcpy(a.references, c->references, sizeof a.references);
  memcpy(a.stepped, c->stepped, sizeof a.stepped);
  fflush(stdout);
  _exit(write(to, &a, sizeof a) != (ssize_t)sizeof a);
}

/* The case in a process of its own; one that dies without an answer has failed. */
static GlowVerdict run_process(const Runner *r, GlowCase *c) {
  int ends[2], status;
  fflush(stdout);
  if (pipe(ends)) {
    perror("glow-onnx-corpus: pipe");
    exit(1);
  }
  pid_t child = fork();
  if (child < 0) {
    perror("glow-onnx-corpus: fork");
    exit(1);
  }
  if (child == 0)
    answer(c, ends[1], r->crash && !strcmp(r->crash, c->name));
  close(ends[1]);
  Answer a;
  bool answered = read(ends[0], &a, sizeof a) == (ssize_t)sizeof a;
  close(ends[0]);
  waitpid(child, &status, 0);
  if (!answered) {
    snprintf(c->error, sizeof c->error, WIFSIGNALED(status) ? "signal %d" : "exit status %d",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    return GLOW_FAILED;
  }
  memcpy(c->error, a.error, sizeof a.error);
  memcpy(c->references, a.references, sizeof a.references);
  memcpy(c->stepped, a.stepped, sizeof a.stepped);
  c->pipelines = a.pipelines;
  return a.verdict;
}

static unsigned run_bundles(GlowBundles *b, bool now) {
#if GLOW_HAVE_CPU_BACKEND
  return b ? glow_bundles_run(b, now) : 0;
#else
  (void)b;
  (void)now;
  return 0;
#endif
}

/* Whether a case is in the slice: by its name, so that a new case moves no other one. */
static bool is_in_slice(const Runner *r, const char *name) {
  uint32_t hash = 2166136261u; /* FNV-1a */
  for (const char *p = name; *p; p++)
    hash = (hash ^ (unsigned char)*p) * 16777619u;
  return !r->slices || (hash >> 8) % r->slices == r->slice;
}

static void judge(Runner *r, const char *name) {
  Listed *listed = find_listed(r, name);
  if (!listed && !r->all)
    return;
  if (!is_in_slice(r, name)) {
    r->left_out++;
    if (listed)
      listed->seen = true;
    return;
  }
  char dir[1100];
  snprintf(dir, sizeof dir, "%s/%s", r->data, name);
  GlowCase c = {.dir = dir,
                .name = name,
                .shape_only = listed && listed->shape_only,
                .primitives = r->primitives,
                .open = r->open,
                .passes = r->passes && listed,
                .level = r->level,
                .wanted = r->operators ? r->wanted : NULL,
                .backend = r->backend,
                .tier = r->tier,
                .parallel = r->parallel,
                .bundles = r->bundles};
  GlowVerdict verdict = r->processes ? run_process(r, &c) : glow_case_run(&c);
  if (listed)
    listed->seen = true;
  r->bundles_failed += run_bundles(r->bundles, false);
  r->hosted += c.hosted;
  for (uint32_t op = 0; op < GLOW_OP_COUNT; op++) {
    r->references[op] += c.references[op] != 0;
    r->stepped[op] += c.stepped[op] != 0;
  }
  if (verdict == GLOW_LEFT_OUT) {
    r->left_out++;
    return;
  }
  bool other = r->open && listed && listed->refused && !strstr(c.error, listed->reason);
  if (verdict == GLOW_REFUSED && listed && listed->refused && !other) {
    r->refused_count++;
    if (r->verbose)
      printf("refused %s: %s\n", name, c.error);
    return;
  }
  if (verdict == GLOW_PASSED && listed && listed->refused) {
    verdict = GLOW_FAILED;
    snprintf(c.error, sizeof c.error, "it is not refused");
  }
  r->passed += verdict == GLOW_PASSED;
  r->failed += verdict == GLOW_FAILED || verdict == GLOW_REFUSED;
  r->unsupported += verdict == GLOW_UNSUPPORTED;
  r->pipelines += c.pipelines;
  r->unlisted_passed += verdict == GLOW_PASSED && !listed;
  r->listed_failed += verdict != GLOW_PASSED && listed;
  if (verdict != GLOW_PASSED && (listed || r->verbose))
    printf("%s %s: %s\n",
           verdict == GLOW_UNSUPPORTED ? "unsupported"
           : verdict == GLOW_REFUSED   ? "FAILED (refused)"
                                       : "FAILED",
           name, c.error);
  else if (r->verbose || (verdict == GLOW_PASSED && !listed))
    printf("passed %s\n", name);
}

static int is_case(const struct dirent *d) { return d->d_name[0] != '.'; }

static void judge_folder(Runner *r, const char *folder) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", r->data, folder);
  struct dirent **entries;
  int n = scandir(path, &entries, is_case, alphasort);
  Runner before = *r;
  for (int i = 0; i < n; i++) {
    char name[320];
    snprintf(name, sizeof name, "%s/%s", folder, entries[i]->d_name);
    judge(r, name);
    free(entries[i]);
  }
  if (n >= 0)
    free(entries);
  printf("%s: %u passed, %u failed, %u unsupported\n", folder, r->passed - before.passed,
         r->failed - before.failed, r->unsupported - before.unsupported);
}

static bool read_list(Runner *r, const char *path) {
  FILE *f = fopen(path, "r");
  char line[256];
  if (!f)
    return false;
  while (fgets(line, sizeof line, f)) {
    char name[128], mode[16] = "";
    if (line[0] == '#' || sscanf(line, "%127s %15s", name, mode) < 1)
      continue;
    r->listed = realloc(r->listed, (r->nlisted + 1) * sizeof *r->listed);
    if (!r->listed)
      exit(1);
    Listed *l = &r->listed[r->nlisted++];
    *l = (Listed){.shape_only = !strcmp(mode, "shape")};
    memcpy(l->name, name, sizeof name);
  }
  fclose(f);
  return r->nlisted > 0;
}

/* What a compiled program cannot have. */
static bool is_permitted(const char *reason) {
  static const char *const permitted[] = {"an extent without a bound", "sequences", "strings",
                                          "optionals"};
  for (size_t i = 0; i < sizeof permitted / sizeof *permitted; i++)
    if (!strcmp(reason, permitted[i]))
      return true;
  return false;
}

/* Cases of the list that the backend must refuse. */
static bool read_refused(Runner *r) {
  FILE *f = fopen(r->refused, "r");
  char line[256], name[128], reason[128];
  unsigned count = 0;
  if (!f)
    return false;
  while (fgets(line, sizeof line, f)) {
    reason[0] = 0;
    if (line[0] == '#' || sscanf(line, "%127s %127[^\n]", name, reason) < 1)
      continue;
    Listed *l = find_listed(r, name);
    bool permitted = r->open ? reason[0] : is_permitted(reason);
    unsigned most = r->open ? MOST_CLOSED : MOST_REFUSED;
    const char *wrong = !l               ? "refused, but not a listed case"
                        : !permitted     ? "refused for no permitted reason"
                        : ++count > most ? "too many cases are refused"
                                         : NULL;
    if (l) {
      l->refused = true;
      snprintf(l->reason, sizeof l->reason, "%.95s", reason);
    }
    if (wrong)
      printf("FAILED %s: %s\n", name, wrong);
    r->listed_failed += wrong != NULL;
  }
  fclose(f);
  return true;
}

/* Whether `name` is one of the names between commas. */
static bool is_listed(const char *names, const char *name) {
  size_t length = strlen(name);
  for (const char *p = names; *p; p += strcspn(p, ","), p += *p == ',')
    if (strcspn(p, ",") == length && !memcmp(p, name, length))
      return true;
  return false;
}

/* Prints the operators that ran so in some case, and in how many. */
static void print_operators(const char *what, const unsigned *cases) {
  int count = 0;
  for (uint32_t op = 0; op < GLOW_OP_COUNT; op++)
    if (cases[op])
      printf("%s%s (%u)", count++ ? ", " : "", glow_op_desc[op].instr, cases[op]);
  printf("%s%d operators ran as %s\n", count ? "\n" : "", count, what);
}

/* Whether these are the operators `only`, or nobody says which they are; of a part of the cases, no
 * others. */
static bool check_operators(const Runner *r, const unsigned *cases, const char *only,
                            const char *what) {
  bool expected = true, part = r->slices || r->operators;
  for (uint32_t op = 0; only && op < GLOW_OP_COUNT; op++) {
    const char *instr = glow_op_desc[op].instr; /* NULL: none */
    bool listed = instr && is_listed(only, instr);
    if (listed == (cases[op] > 0) || (listed && part))
      continue;
    printf("FAILED: '%s' %s as %s\n", instr, listed ? "no longer runs" : "runs", what);
    expected = false;
  }
  return expected;
}

/* Names of nodes or instructions, with commas between them. */
static bool read_operators(Runner *r) {
  for (const char *p = r->operators; *p; p += *p == ',') {
    size_t length = strcspn(p, ",");
    GlowOp node = glow_op_from_node_name(p, length), instr = glow_op_from_instr_name(p, length);
    GlowOp op = node != GLOW_OP_COUNT ? node : instr;
    if (op == GLOW_OP_COUNT) {
      fprintf(stderr, "glow-onnx-corpus: no operator '%.*s'\n", (int)length, p);
      return false;
    }
    r->wanted[op] = true;
    p += length;
  }
  return true;
}

/* K/N, with K from 0 to N - 1. */
static bool read_slice(Runner *r, const char *text) {
  char end;
  if (sscanf(text, "%u/%u%c", &r->slice, &r->slices, &end) == 2 && r->slice < r->slices)
    return true;
  fprintf(stderr, "glow-onnx-corpus: '%s' is no slice such as 0/8\n", text);
  return false;
}

/* Every folder, with what backends and bundles need meanwhile. */
static void judge_all(Runner *r) {
  GlowContext *ctx = glow_context_create();
  GlowPool *pool = ctx && r->threads > 1 ? glow_pool_make(ctx, r->threads) : NULL;
  r->parallel = pool ? glow_pool_parallel(pool) : NULL;
#if GLOW_HAVE_CPU_BACKEND
  if (r->with_bundles && !(r->bundles = glow_bundles_create()))
    exit(1);
#endif
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
    judge_folder(r, folders[i]);
  r->bundles_failed += run_bundles(r->bundles, true);
#if GLOW_HAVE_CPU_BACKEND
  glow_bundles_destroy(r->bundles);
#endif
  glow_pool_destroy(pool);
  glow_context_destroy(ctx);
}

/* False if an option is wrong. *list is NULL if there is none. */
static bool read_options(Runner *r, int argc, char **argv, const char **list) {
  struct {
    const char *name;
    bool *set;
  } flags[] = {{"--all", &r->all},
               {"--verbose", &r->verbose},
               {"--primitives", &r->primitives},
               {"--passes", &r->passes},
               {"--open", &r->open},
               {"--processes", &r->processes},
               {"--bundles", &r->with_bundles}};
  bool right = true;
  *list = NULL;
  for (int i = 1; i < argc; i++) {
    bool known = false;
    for (size_t k = 0; k < sizeof flags / sizeof *flags && !known; k++)
      if (!strcmp(argv[i], flags[k].name))
        known = *flags[k].set = true;
    if (known)
      continue;
    if (!strcmp(argv[i], "--data") && i + 1 < argc)
      r->data = argv[++i];
    else if (!strcmp(argv[i], "--crash") && i + 1 < argc)
      r->crash = argv[++i];
    else if (!strcmp(argv[i], "--level") && i + 1 < argc)
      r->level = atoi(argv[++i]);
    else if (!strcmp(argv[i], "--backend") && i + 1 < argc)
      r->backend = argv[++i];
    else if (!strcmp(argv[i], "--library"))
      r->tier = GLOW_TIER_LIBRARY;
    else if (!strcmp(argv[i], "--threads") && i + 1 < argc)
      r->threads = atoi(argv[++i]);
    else if (!strcmp(argv[i], "--refused") && i + 1 < argc)
      r->refused = argv[++i];
    else if (!strcmp(argv[i], "--references") && i + 1 < argc)
      r->references_only = argv[++i];
    else if (!strcmp(argv[i], "--steps") && i + 1 < argc)
      r->steps_only = argv[++i];
    else if (!strcmp(argv[i], "--operators") && i + 1 < argc)
      r->operators = argv[++i];
    else if (!strcmp(argv[i], "--slice") && i + 1 < argc)
      right &= read_slice(r, argv[++i]);
    else
      *list = argv[i];
  }
  return right && (!r->operators || read_operators(r));
}

int main(int argc, char **argv) {
  Runner r = {.data = "/usr/share/libonnx-testdata/data", .level = -1};
  const char *list;
  bool right = read_options(&r, argc, argv, &list);
  struct stat st;
  if (stat(r.data, &st)) {
    printf("skipped: %s is not there (package libonnx-testdata)\n", r.data);
    return 77;
  }
  if (!right || !list || !read_list(&r, list)) {
    if (right)
      fprintf(stderr, "glow-onnx-corpus: cannot read the list of cases\n");
    return 2;
  }
  if ((r.backend || r.with_bundles) && r.level < 0)
    r.level = 2;
  if (r.refused && !read_refused(&r)) {
    fprintf(stderr, "glow-onnx-corpus: cannot read the list of refused cases\n");
    return 2;
  }
  judge_all(&r);
  for (size_t i = 0; i < r.nlisted; i++)
    if (!r.listed[i].seen) {
      printf("FAILED %s: no such case\n", r.listed[i].name);
      r.listed_failed++;
    }
  if (r.passes)
    printf("%u pipelines that changed something\n", r.pipelines);
  if (r.backend) {
    print_operators("reference kernels", r.references);
    print_operators("steps of the interpreter", r.stepped);
    printf("%u cases are refused\n", r.refused_count);
  }
  bool expected = check_operators(&r, r.references, r.references_only, "a reference kernel");
  expected &= check_operators(&r, r.stepped, r.steps_only, "a step of the interpreter");
  if (r.with_bundles)
    printf(
        "%u cases are refused, %u have no bundle since extents are known only in runs, %u bundles "
        "failed\n",
        r.refused_count, r.hosted, r.bundles_failed);
  if (r.left_out)
    printf("%u cases were left out\n", r.left_out);
  printf("%u passed, %u failed\n", r.passed, r.failed + r.unsupported);
  if (r.unlisted_passed)
    printf("%u cases pass that are not listed\n", r.unlisted_passed);
  free(r.listed);
  return r.listed_failed || r.bundles_failed || !expected || (r.all && r.unlisted_passed);
}
