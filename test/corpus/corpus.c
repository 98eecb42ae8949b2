/* Runs cases of the ONNX conformance corpus through the code of glow-run, in one process.
 *
 *   glow-onnx-corpus [--data DIR] [--all] [--verbose] [--level N] [--primitives] [--passes]
 *                    [--processes] [--crash CASE] LIST
 *
 * LIST names a case per line, as FOLDER/CASE; `shape` behind it means that its outputs are random
 * and judged by type and shape. --all runs every case of the corpus and fails for those that pass
 * without being listed. --primitives lowers each graph to primitives and runs nothing else.
 * --passes also runs each listed case after every pass alone and every pass left out of -O2.
 * --processes runs each case in a process of its own, so that a crash fails that case alone and
 * names it; --crash CASE makes that case crash, to test this. Exit status 0 if exactly the listed
 * cases pass, 77 without a corpus. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/corpus/corpus.h"

static const char *const folders[] = {"node", "pytorch-converted", "pytorch-operator", "simple"};

typedef struct Listed {
  char name[128];
  bool shape_only, seen;
} Listed;

typedef struct Runner {
  const char *data, *crash;
  Listed *listed;
  size_t nlisted;
  bool all, verbose, primitives, passes, processes;
  int level;
  unsigned passed, failed, unsupported, pipelines;
  unsigned unlisted_passed, listed_failed;
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
} Answer;

static _Noreturn void answer(GlowCase *c, int to, bool crash) {
  if (crash)
    raise(SIGKILL);
  Answer a = {.verdict = glow_case_run(c), .pipelines = c->pipelines};
  memcpy(a.error, c->error, sizeof a.error);
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
  c->pipelines = a.pipelines;
  return a.verdict;
}

static void judge(Runner *r, const char *name) {
  Listed *listed = find_listed(r, name);
  if (!listed && !r->all)
    return;
  char dir[1100];
  snprintf(dir, sizeof dir, "%s/%s", r->data, name);
  GlowCase c = {.dir = dir,
                .name = name,
                .shape_only = listed && listed->shape_only,
                .primitives = r->primitives,
                .passes = r->passes && listed,
                .level = r->level};
  GlowVerdict verdict = r->processes ? run_process(r, &c) : glow_case_run(&c);
  if (listed)
    listed->seen = true;
  r->passed += verdict == GLOW_PASSED;
  r->failed += verdict == GLOW_FAILED;
  r->unsupported += verdict == GLOW_UNSUPPORTED;
  r->pipelines += c.pipelines;
  r->unlisted_passed += verdict == GLOW_PASSED && !listed;
  r->listed_failed += verdict != GLOW_PASSED && listed;
  if (verdict != GLOW_PASSED && (listed || r->verbose))
    printf("%s %s: %s\n", verdict == GLOW_FAILED ? "FAILED" : "unsupported", name, c.error);
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

/* The list, or NULL. */
static const char *read_options(Runner *r, int argc, char **argv) {
  struct {
    const char *name;
    bool *set;
  } flags[] = {{"--all", &r->all},
               {"--verbose", &r->verbose},
               {"--primitives", &r->primitives},
               {"--passes", &r->passes},
               {"--processes", &r->processes}};
  const char *list = NULL;
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
    else
      list = argv[i];
  }
  return list;
}

int main(int argc, char **argv) {
  Runner r = {.data = "/usr/share/libonnx-testdata/data", .level = -1};
  const char *list = read_options(&r, argc, argv);
  struct stat st;
  if (stat(r.data, &st)) {
    printf("skipped: %s is not there (package libonnx-testdata)\n", r.data);
    return 77;
  }
  if (!list || !read_list(&r, list)) {
    fprintf(stderr, "glow-onnx-corpus: cannot read the list of cases\n");
    return 2;
  }
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
    judge_folder(&r, folders[i]);
  for (size_t i = 0; i < r.nlisted; i++)
    if (!r.listed[i].seen) {
      printf("FAILED %s: no such case\n", r.listed[i].name);
      r.listed_failed++;
    }
  if (r.passes)
    printf("%u pipelines that changed something\n", r.pipelines);
  printf("%u passed, %u failed\n", r.passed, r.failed + r.unsupported);
  if (r.unlisted_passed)
    printf("%u cases pass that are not listed\n", r.unlisted_passed);
  free(r.listed);
  return r.listed_failed || (r.all && r.unlisted_passed);
}
