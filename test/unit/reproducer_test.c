/* Tests of reproducers: passes with faults of their own, which no pass of the table has, run
 * through the driver of glow-opt; what it leaves in TMPDIR is read back. The loop of a child
 * process is left by each kind of end: a module that does not verify, an internal error, and
 * signals. */
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver.h"
#include "reproducer.h"
#include "support/diag.h"
#include "support/file.h"
#include "test/unit/unit.h"

static const char module_text[] =
    "declare {\n  placeholder @x : float<2>\n  placeholder @y : float<2>\n"
    "}\nfunc @main {\n  %a = Relu(@x) : float<2>\n  Save(%a, @y)\n}\n";
static char folder[] = "/tmp/glow-reproducer-test-XXXXXX";

static bool break_module(GlowPassRun *run) {
  glow_use_set(&run->function->body->first->operands[0], NULL);
  return true;
}

/* Throws past the driver to whoever protects it. */
static bool throw_internal(GlowPassRun *run) {
  GLOW_CHECK(run->ctx, run->function == NULL, "the planted fault");
  return true;
}

static bool die(GlowPassRun *run) {
  (void)run;
  raise(SIGSEGV);
  return true;
}

static bool give_up(GlowPassRun *run) {
  (void)run;
  abort();
}

static bool fail(GlowPassRun *run) {
  glow_error(run->ctx, GLOW_NOWHERE, "bad input, no fault of ours");
  return false;
}

static GlowStatus driver_status;

static void run_driver(GlowContext *ctx, void *driver) {
  (void)ctx;
  GlowDriver *d = driver;
  driver_status = glow_driver_run(d, d->argv[2]);
}

/* Runs the pass over the module in a child; its wait status. */
static int run_in_child(bool (*run)(GlowPassRun *)) {
  static const GlowPassOption no_options[] = {{0}};
  GlowPass pass = {.name = "cse", .level = GLOW_PASS_GRAPH, .run = run, .options = no_options};
  char path[64];
  snprintf(path, sizeof path, "%s/m.gg", folder);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    freopen("/dev/null", "w", stderr);
    GlowContext *ctx = glow_context_create();
    char *argv[] = {(char *)"glow-opt", (char *)"-cse", path, NULL};
    GlowDriver d = glow_driver_create(ctx, "glow-opt", 3, argv);
    d.output = "/dev/null";
    glow_pipeline_add(d.pipeline, &pass, NULL);
    GlowStatus status = glow_protect(ctx, run_driver, &d);
    _exit((int)(status == GLOW_OK ? driver_status : status));
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

/* The only reproducer in the folder, or "" if there is none, or more than one. */
static GlowStr find_reproducer(GlowContext *ctx) {
  GlowStr found = "";
  DIR *dir = opendir(folder);
  for (struct dirent *e; dir && (e = readdir(dir));)
    if (strncmp(e->d_name, "glow-opt-reproducer-", 20) == 0)
      found = *found ? "" : glow_path_join(ctx, folder, e->d_name);
  if (dir)
    closedir(dir);
  return found;
}

/* It holds the module, its name and the pipeline; then it is removed. */
static bool reproduces(GlowContext *ctx) {
  GlowStr path = find_reproducer(ctx);
  GlowInput in;
  GlowReproduced r;
  if (!*path || !glow_input_open(ctx, path, true, GLOW_NOWHERE, &in))
    return false;
  bool ok = glow_reproducer_read(ctx, path, in.data, in.size, &r) &&
            strcmp(in.data + r.head_size, module_text) == 0 && r.math == GLOW_MATH_BOUNDED && !r.bisect_limit &&
            strcmp(glow_path_base(r.name), "m.gg") == 0;
  GlowText pipeline;
  glow_text_init(&pipeline, ctx);
  if (ok)
    glow_pipeline_print(r.pipeline, &pipeline);
  ok = ok && strcmp(glow_text_cstr(&pipeline), "cse") == 0;
  glow_text_release(&pipeline);
  glow_input_close(&in);
  unlink(path);
  return ok;
}

static bool died_by(int status, int number) {
  return WIFSIGNALED(status) && WTERMSIG(status) == number;
}

int main(void) {
  GlowContext *ctx = glow_context_create();
  CHECK(mkdtemp(folder) != NULL && setenv("TMPDIR", folder, 1) == 0);
  GlowStr module = glow_str_printf(ctx, "%s/m.gg", folder);
  GlowBytes bytes = {module_text, sizeof module_text - 1};
  CHECK(glow_output_write(ctx, module, &bytes, 1));

  CHECK(WEXITSTATUS(run_in_child(break_module)) == GLOW_INTERNAL);
  CHECK(reproduces(ctx));
  CHECK(WEXITSTATUS(run_in_child(throw_internal)) == GLOW_INTERNAL);
  CHECK(reproduces(ctx));
  CHECK(died_by(run_in_child(die), SIGSEGV));
  CHECK(reproduces(ctx));
  CHECK(died_by(run_in_child(give_up), SIGABRT));
  CHECK(reproduces(ctx));
  /* Bad input is no fault of ours. */
  CHECK(WEXITSTATUS(run_in_child(fail)) == GLOW_BAD_INPUT);
  CHECK(!*find_reproducer(ctx));
  /* A folder that is not there: the fault is still what is reported. */
  setenv("TMPDIR", "/nowhere", 1);
  CHECK(WEXITSTATUS(run_in_child(break_module)) == GLOW_INTERNAL);
  unlink(module);
  CHECK(rmdir(folder) == 0);
  glow_context_destroy(ctx);
  return unit_finish();
}
