/* Runs cases of the ONNX conformance corpus through the code of glow-run, in one process.
 *
 *   glow-onnx-corpus [--data DIR] [--all] [--verbose] [--level N] [--primitives] LIST
 *
 * LIST names a case per line, as FOLDER/CASE; `shape` behind it means that its outputs are random
 * and judged by type and shape. --all runs every case of the corpus and reports those that pass
 * without being listed. --primitives lowers each graph to primitives and runs nothing else. Exit status 0 if exactly the listed cases pass, 77 without a corpus. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/session.h"

static const char *const folders[] = {"node", "pytorch-converted", "pytorch-operator", "simple"};

typedef struct Listed {
  char name[128];
  bool shape_only, seen;
} Listed;

typedef struct Runner {
  const char *data;
  Listed *listed;
  size_t nlisted;
  bool verbose, primitives;
  int level;
  char first_error[512]; /* of the case that runs */
  unsigned passed, failed, unsupported;
  unsigned unlisted_passed, listed_failed;
} Runner;

typedef enum Verdict { PASSED, FAILED, UNSUPPORTED } Verdict;

typedef struct CaseRun {
  Runner *runner;
  const char *dir;
  bool shape_only;
  Verdict verdict;
} CaseRun;

static void remember_error(void *user, const GlowDiagnostic *d) {
  Runner *r = user;
  if (d->severity == GLOW_ERROR && !r->first_error[0])
    snprintf(r->first_error, sizeof r->first_error, "%s", d->message);
}

/* The corpus was made with a cast to bfloat16 that truncates, where its definition rounds: one
 * unit, which for 8 bits is more than the usual tolerance. */
static double tolerance(const GlowTensor *want) {
  bool coarse = glow_type_is_tensor(want->type) && want->type->kind == GLOW_KIND_BFLOAT16;
  return coarse ? 0x1p-7 : 1e-3;
}

static bool read_outputs(GlowContext *ctx, GlowSession *s, const CaseRun *run) {
  GlowNameList names = {0};
  glow_session_names(s, true, &names);
  bool ok = names.count > 0;
  for (uint32_t i = 0; i < names.count; i++) {
    const char *path =
        glow_arena_printf(ctx->arena, "%s/test_data_set_0/output_%u.pb", run->dir, i);
    const GlowTensor *got = glow_bindings_find(&s->outputs, names.data[i]);
    GlowTensor *want = glow_session_read(s, path, glow_session_output_type(s, names.data[i]), NULL);
    if (!got || !want)
      return false;
    GlowCompare c = glow_tensor_compare(ctx, got, want, tolerance(want), 1e-7);
    bool good = c.ok || (run->shape_only && got->type == want->type);
    if (!good && !run->runner->first_error[0])
      snprintf(run->runner->first_error, sizeof run->runner->first_error, "output %s differs: %s",
               names.data[i], c.mismatch ? c.mismatch : "values");
    ok &= good;
    glow_tensor_free(want);
  }
  return ok;
}

static GlowStatus add_inputs(GlowContext *ctx, GlowSession *s, const CaseRun *run) {
  GlowNameList names = {0};
  glow_session_names(s, false, &names);
  for (uint32_t i = 0; i < names.count; i++) {
    const char *path = glow_arena_printf(ctx->arena, "%s/test_data_set_0/input_%u.pb", run->dir, i);
    struct stat st;
    if (stat(path, &st)) /* the remaining ones are variables or have an initializer */
      break;
    const char *spec = glow_arena_printf(ctx->arena, "%s=%s", names.data[i], path);
    GlowStatus status = glow_session_add_input(s, spec, NULL);
    if (status != GLOW_OK)
      return status;
  }
  return GLOW_OK;
}

static void run_case(GlowContext *ctx, void *arg) {
  CaseRun *run = arg;
  run->verdict = UNSUPPORTED;
  GlowSession s;
  GlowLoadOptions load = {0};
  const char *model = glow_arena_printf(ctx->arena, "%s/model.onnx", run->dir);
  if (glow_session_load(&s, ctx, model, &load) != GLOW_OK) {
    run->verdict = strstr(run->runner->first_error, "unsupported") ? UNSUPPORTED : FAILED;
    return;
  }
  GlowRunOptions options = {.primitives = run->runner->primitives};
  GlowDefer defer;
  glow_defer_push(ctx, &defer, glow_session_close_fn, &s);
  run->verdict = FAILED;
  if (add_inputs(ctx, &s, run) == GLOW_OK && glow_session_bind(&s) == GLOW_OK &&
      (!run->runner->primitives || glow_session_lower_all(&s) == GLOW_OK) &&
      glow_session_optimize(&s, run->runner->level, false) == GLOW_OK &&
      glow_session_run(&s, NULL, &options) == GLOW_OK && read_outputs(ctx, &s, run))
    run->verdict = PASSED;
  glow_defer_pop(ctx, &defer, true);
}

static Listed *find_listed(const Runner *r, const char *name) {
  for (size_t i = 0; i < r->nlisted; i++)
    if (!strcmp(r->listed[i].name, name))
      return &r->listed[i];
  return NULL;
}

static void judge(Runner *r, const char *name, bool all) {
  Listed *listed = find_listed(r, name);
  if (!listed && !all)
    return;
  char dir[1100];
  snprintf(dir, sizeof dir, "%s/%s", r->data, name);
  r->first_error[0] = 0;
  CaseRun run = {.runner = r, .dir = dir, .shape_only = listed && listed->shape_only};
  GlowContext *ctx = glow_context_create();
  if (!ctx)
    exit(1);
  glow_context_set_diagnostic_fn(ctx, remember_error, r);
  if (glow_protect(ctx, run_case, &run) != GLOW_OK)
    run.verdict = FAILED;
  glow_context_destroy(ctx);
  if (listed)
    listed->seen = true;
  r->passed += run.verdict == PASSED;
  r->failed += run.verdict == FAILED;
  r->unsupported += run.verdict == UNSUPPORTED;
  r->unlisted_passed += run.verdict == PASSED && !listed;
  r->listed_failed += run.verdict != PASSED && listed;
  if (run.verdict != PASSED && (listed || r->verbose))
    printf("%s %s: %s\n", run.verdict == FAILED ? "FAILED" : "unsupported", name, r->first_error);
  else if (r->verbose || (run.verdict == PASSED && !listed))
    printf("passed %s\n", name);
}

static int is_case(const struct dirent *d) { return d->d_name[0] != '.'; }

static void judge_folder(Runner *r, const char *folder, bool all) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", r->data, folder);
  struct dirent **entries;
  int n = scandir(path, &entries, is_case, alphasort);
  Runner before = *r;
  for (int i = 0; i < n; i++) {
    char name[320];
    snprintf(name, sizeof name, "%s/%s", folder, entries[i]->d_name);
    judge(r, name, all);
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
    Listed *l = &r->listed[r->nlisted++];
    *l = (Listed){.shape_only = !strcmp(mode, "shape")};
    memcpy(l->name, name, sizeof name);
  }
  fclose(f);
  return r->nlisted > 0;
}

int main(int argc, char **argv) {
  Runner r = {.data = "/usr/share/libonnx-testdata/data", .level = -1};
  bool all = false;
  const char *list = NULL;
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "--data") && i + 1 < argc)
      r.data = argv[++i];
    else if (!strcmp(argv[i], "--level") && i + 1 < argc)
      r.level = atoi(argv[++i]);
    else if (!strcmp(argv[i], "--primitives"))
      r.primitives = true;
    else if (!strcmp(argv[i], "--all"))
      all = true;
    else if (!strcmp(argv[i], "--verbose"))
      r.verbose = true;
    else
      list = argv[i];
  }
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
    judge_folder(&r, folders[i], all);
  for (size_t i = 0; i < r.nlisted; i++)
    if (!r.listed[i].seen) {
      printf("FAILED %s: no such case\n", r.listed[i].name);
      r.listed_failed++;
    }
  printf("%u passed, %u failed\n", r.passed, r.failed + r.unsupported);
  if (r.unlisted_passed)
    printf("%u cases pass that are not listed\n", r.unlisted_passed);
  free(r.listed);
  return r.listed_failed || (all && r.unlisted_passed);
}
