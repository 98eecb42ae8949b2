/* glow-reduce: a text that a command finds interesting becomes a small one that it still finds
 * interesting. The best so far is written as soon as it is found, so that an interruption loses
 * nothing. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "import/onnx/onnx.h"
#include "reduce/reduce.h"
#include "support/cmdline.h"
#include "support/deadline.h"
#include "support/file.h"
#include "support/process.h"

typedef struct Reduce {
  GlowContext *ctx;
  const char *test, *output, *strategies;
  GlowStrList test_args;
  int64_t jobs, rounds;
  double timeout, started;
  bool quiet, show_output, print_strategies;
  bool failed; /* to write what was found */
} Reduce;

static volatile sig_atomic_t interrupted;

static void on_signal(int number) { interrupted = number; }

static bool is_interrupted(void *user) {
  return interrupted != 0 || glow_deadline_over(((Reduce *)user)->ctx);
}

static void catch_signals(void) {
  struct sigaction action = {.sa_handler = on_signal};
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGHUP, &action, NULL);
}

static bool to_stdout(const Reduce *r) { return !r->output || strcmp(r->output, "-") == 0; }

/* ---- Writing --------------------------------------------------------------------------------- */

static bool write_module(Reduce *r, const GlowModule *m) {
  GlowPrintOptions options = {0};
  GlowText t;
  GlowDefer release;
  if (!to_stdout(r))
    options.relative_to = glow_path_dir(r->ctx, r->output);
  glow_text_init(&t, r->ctx);
  glow_defer_push(r->ctx, &release, glow_text_release_fn, &t);
  glow_module_print(m, &t, &options);
  GlowBytes bytes = {t.data, t.size};
  bool ok = glow_output_write(r->ctx, r->output, &bytes, 1);
  glow_defer_pop(r->ctx, &release, true);
  return ok;
}

/* Hours of tests should not end at a folder that was never there. */
static bool can_write(const Reduce *r) {
  struct stat st;
  if (to_stdout(r) || (stat(r->output, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
    return true;
  int code = access(glow_path_dir(r->ctx, r->output), W_OK | X_OK) == 0 ? 0 : errno;
  if (code == 0 && stat(r->output, &st) == 0 && S_ISDIR(st.st_mode))
    code = EISDIR;
  char buf[128];
  if (code != 0)
    glow_error(r->ctx, glow_loc_file(r->ctx, r->output), "cannot write: %s",
               strerror_r(code, buf, sizeof buf));
  return code == 0;
}

/* ---- Progress -------------------------------------------------------------------------------- */

static void print_size(const Reduce *r, const char *what, GlowModuleSize size) {
  if (!r->quiet)
    fprintf(stderr, "glow-reduce: %6.1f s  %-24s %u functions, %u nodes, %u storage, %zu bytes\n",
            glow_clock() - r->started, what, size.functions, size.nodes, size.storage, size.bytes);
}

static void progress(void *user, const GlowReduceStep *step) {
  Reduce *r = user;
  char what[64];
  snprintf(what, sizeof what, "%s (%u)", step->strategy, step->chunk);
  print_size(r, what, step->size);
  if (!to_stdout(r) && !r->failed)
    r->failed = !write_module(r, step->module);
}

static GlowLoc here(const Reduce *r) { return glow_loc_file(r->ctx, "glow-reduce"); }

/* Why the whole input does not interest the test. */
static GlowStatus not_interesting(const Reduce *r, GlowCommandEnd end) {
  const char *how = NULL;
  if (end.how == GLOW_PROCESS_TIMED_OUT)
    how = glow_str_printf(r->ctx, "did not end within %g s", r->timeout);
  else if (end.how == GLOW_PROCESS_SIGNALED)
    how = glow_str_printf(r->ctx, "was killed by signal %d (%s)", end.code, strsignal(end.code));
  else
    how = glow_str_printf(r->ctx, "exited with status %d", end.code);
  glow_warning(r->ctx, here(r), "the whole input is not interesting: the test %s", how);
  if (end.how == GLOW_PROCESS_EXITED && (end.code == 126 || end.code == 127))
    glow_note(r->ctx, here(r), "with this status a shell says that it cannot run a command");
  glow_note(r->ctx, here(r), "interesting is exit status 0; nothing was written");
  return GLOW_BAD_INPUT;
}

static GlowStatus finish(Reduce *r, const GlowModule *m, GlowReduceEnd end) {
  bool late = glow_deadline_over(r->ctx);
  r->ctx->deadline = 0; /* for what is left to do */
  if (end == GLOW_REDUCE_STOPPED && !interrupted && !late)
    return GLOW_IO; /* reported */
  if (r->failed || !write_module(r, m))
    return GLOW_IO;
  if (!interrupted && !late)
    return GLOW_OK;
  glow_error(r->ctx, here(r), "%s; the best so far was written",
             interrupted ? "interrupted" : "the time is over");
  return GLOW_BAD_INPUT;
}

static void destroy_module(void *m) { glow_module_destroy(*(GlowModule **)m); }

static GlowStatus reduce_with(Reduce *r, GlowModule **m, GlowCommandRunner *runner, size_t bytes) {
  GlowReduceOptions options = {
      .strategies = r->strategies, .rounds = (uint32_t)r->rounds, .progress = progress, .user = r};
  GlowReduceTest test = glow_command_runner_test(runner);
  GlowModuleSize size = glow_module_size(*m);
  size.bytes = bytes;
  print_size(r, "(input)", size);
  GlowReduceEnd end = glow_reduce_tests(m, &test, &options);
  if (end == GLOW_REDUCE_NOT_INTERESTING)
    return not_interesting(r, glow_command_runner_end(runner));
  return finish(r, *m, end);
}

static GlowStatus reduce_module(Reduce *r, GlowModule **m, const char *path, size_t bytes) {
  if (!glow_module_verify(*m))
    return GLOW_BAD_INPUT;
  const char *name = strcmp(path, "-") == 0 ? "input.gg" : glow_path_base(path);
  GlowCommandTest test = {.command = r->test,
                          .args = r->test_args.data,
                          .nargs = r->test_args.count,
                          .jobs = (uint32_t)r->jobs,
                          .timeout = r->timeout,
                          .name = name,
                          .show = r->show_output,
                          .stop = is_interrupted,
                          .user = r};
  GlowCommandRunner *runner = glow_command_runner_create(r->ctx, &test);
  if (!runner)
    return GLOW_IO;
  GlowDefer destroy;
  glow_defer_push(r->ctx, &destroy, glow_command_runner_destroy, runner);
  catch_signals();
  GlowStatus status = reduce_with(r, m, runner, bytes);
  glow_defer_pop(r->ctx, &destroy, true);
  return status;
}

static GlowStatus reduce_input(Reduce *r, const GlowInput *in, const char *path) {
  if (!glow_onnx_expect_text(r->ctx, in))
    return GLOW_BAD_INPUT;
  GlowModule *m = glow_module_parse(r->ctx, in->name, in->data, in->size);
  if (!m)
    return GLOW_BAD_INPUT;
  GlowDefer destroy;
  glow_defer_push(r->ctx, &destroy, destroy_module, &m);
  GlowStatus status = reduce_module(r, &m, path, in->size);
  glow_defer_pop(r->ctx, &destroy, true);
  return status;
}

static void close_input(void *in) { glow_input_close(in); }

static GlowStatus reduce_file(Reduce *r, const char *path) {
  GlowInput in;
  GlowDefer close;
  glow_onnx_register(r->ctx);
  if (!glow_input_open(r->ctx, path, false, GLOW_NOWHERE, &in))
    return GLOW_IO;
  glow_defer_push(r->ctx, &close, close_input, &in);
  GlowStatus status = reduce_input(r, &in, path);
  glow_defer_pop(r->ctx, &close, true);
  return status;
}

static GlowStatus run(GlowContext *ctx, int argc, char **argv) {
  Reduce r = {.ctx = ctx, .jobs = 1, .timeout = 300, .started = glow_clock()};
  /* clang-format off */
  const GlowOption options[] = {
      {.name = "test", .value = "COMMAND", .help = "Run this; exit status 0 means that a candidate is interesting",
       .kind = GLOW_OPT_STRING, .target = &r.test, .two_dashes = true},
      {.name = "test-arg", .value = "ARG", .help = "An argument of COMMAND; %s is the candidate's path, else it comes last",
       .kind = GLOW_OPT_REPEAT, .target = &r.test_args, .two_dashes = true},
      {.name = "o", .value = "FILE", .help = "Write to FILE instead of stdout",
       .kind = GLOW_OPT_STRING, .target = &r.output},
      {.name = "j", .value = "N", .help = "Test N candidates at once (1); the result is the same",
       .kind = GLOW_OPT_INT, .target = &r.jobs, .min = 1, .max = 256},
      {.name = "timeout", .value = "SECONDS", .help = "A test that takes longer is not interesting (300; 0: no limit)",
       .kind = GLOW_OPT_DOUBLE, .target = &r.timeout, .two_dashes = true},
      {.name = "strategies", .value = "NAMES", .help = "Use these only: 'results-to-one,unused'",
       .kind = GLOW_OPT_STRING, .target = &r.strategies, .two_dashes = true},
      {.name = "rounds", .value = "N", .help = "Go through the strategies N times at most (0: until nothing changes)",
       .kind = GLOW_OPT_INT, .target = &r.rounds, .min = 0, .max = INT32_MAX, .two_dashes = true},
      {.name = "quiet", .help = "Print no line for each step",
       .kind = GLOW_OPT_FLAG, .target = &r.quiet, .two_dashes = true},
      {.name = "show-output", .help = "Let what COMMAND prints reach stderr",
       .kind = GLOW_OPT_FLAG, .target = &r.show_output, .two_dashes = true},
      {.name = "print-strategies", .help = "List the strategies and exit",
       .kind = GLOW_OPT_FLAG, .target = &r.print_strategies, .two_dashes = true},
  };
  /* clang-format on */
  GlowCommand command = {.name = "glow-reduce",
                         .overview =
                             "makes a text small for as long as a test finds it interesting",
                         .usage = "--test=COMMAND [options] [FILE]",
                         .options = options,
                         .noptions = sizeof options / sizeof *options,
                         .max_positional = 1};
  GlowStrList files;
  bool exit_now;
  GlowStatus status = glow_cmdline_parse(ctx, &command, argc, argv, &files, &exit_now);
  if (status != GLOW_OK || exit_now)
    return status;
  if (r.print_strategies)
    return glow_tool_show(ctx, glow_reduce_strategies_print);
  if (!r.test || !*r.test) {
    glow_error(ctx, here(&r), "--test=COMMAND is missing: what makes an input interesting?");
    return GLOW_BAD_USAGE;
  }
  if (!(r.timeout >= 0)) {
    glow_error(ctx, here(&r), "--timeout needs a number of seconds, 0 or more");
    return GLOW_BAD_USAGE;
  }
  if (r.strategies && !glow_reduce_strategies_known(ctx, here(&r), r.strategies))
    return GLOW_BAD_USAGE;
  if (!can_write(&r))
    return GLOW_IO;
  return reduce_file(&r, files.count ? files.data[0] : "-");
}

int main(int argc, char **argv) { return glow_tool_main("glow-reduce", argc, argv, run); }
