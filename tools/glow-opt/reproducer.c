/* Writing and reading reproducers. The head is made before passes run, so that a signal handler
 * only has to write what is there already. */
#include "reproducer.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "driver/passes.h"
#include "support/diag.h"
#include "support/file.h"

static const char first_line[] = "; glow-opt reproducer\n";

/* ---- Writing --------------------------------------------------------------------------------- */

static GlowReproducer *volatile current; /* for the signal handler */

/* Only calls that a signal handler may make. */
static bool write_bytes(int fd, const char *data, size_t size) {
  while (size) {
    ssize_t n = write(fd, data, size);
    if (n <= 0)
      return false;
    data += n;
    size -= (size_t)n;
  }
  return true;
}

static bool write_file(const GlowReproducer *r) {
  int fd = open(r->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0)
    return false;
  bool ok = write_bytes(fd, r->head.data, r->head.size) && write_bytes(fd, r->text, r->size);
  ok = close(fd) == 0 && ok;
  if (!ok)
    unlink(r->path);
  return ok;
}

static void say(const char *s) { (void)!write(STDERR_FILENO, s, strlen(s)); }

static void say_where(const GlowReproducer *r) {
  if (!write_file(r)) {
    say("note: a reproducer could not be written to ");
    say(r->path);
    say("\n");
    return;
  }
  say("note: a reproducer stands in ");
  say(r->path);
  say("; run it by glow-opt -run-reproducer ");
  say(r->path);
  say("\n");
}

static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
enum { FATAL = sizeof fatal / sizeof *fatal };

static void on_signal(int number) {
  GlowReproducer *r = current;
  current = NULL;
  if (r) {
    say(r->tool);
    say(": error: a fault of this program's own\n");
    say_where(r);
  }
  signal(number, SIG_DFL);
  raise(number);
}

/* Handlers run on a stack of their own, since the one in use may have run out. */
static void catch_signals(void) {
  static _Alignas(16) char stack[64 * 1024];
  stack_t s = {.ss_sp = stack, .ss_size = sizeof stack};
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK | SA_NODEFER};
  sigaltstack(&s, NULL);
  for (int i = 0; i < FATAL; i++)
    sigaction(fatal[i], &action, NULL);
}

static void put_line(GlowText *out, const char *key, const char *value) {
  glow_text_printf(out, "; %s: ", key);
  for (; *value; value++)
    glow_text_putc(out, *value == '\n' || *value == '\r' ? ' ' : *value);
  glow_text_putc(out, '\n');
}

static void put_head(GlowReproducer *r, int argc, char *const *argv, const char *name,
                     const GlowPipeline *pipeline, const GlowRunnerOptions *o) {
  GlowText *out = &r->head;
  GlowText line;
  GlowDefer release;
  glow_text_init(&line, r->ctx);
  glow_defer_push(r->ctx, &release, glow_text_release_fn, &line);
  glow_text_puts(out, first_line);
  put_line(out, "version", GLOW_VERSION_STRING);
  for (int i = 0; i < argc; i++)
    glow_text_printf(&line, "%s%s", i ? " " : "", argv[i]);
  put_line(out, "command", glow_text_cstr(&line));
  put_line(out, "name", glow_path_absolute(r->ctx, name));
  line.size = 0;
  glow_pipeline_print(pipeline, &line);
  put_line(out, "pipeline", glow_text_cstr(&line));
  glow_text_printf(out, "; math, bisect-limit: %s %s\n", glow_math_names[o->math],
                   o->bisect_limit ? o->bisect_limit : "-");
  glow_defer_pop(r->ctx, &release, true);
}

void glow_reproducer_begin(GlowReproducer *r, GlowContext *ctx, const char *tool, int argc,
                           char *const *argv, const char *name, const char *text, size_t size,
                           const GlowPipeline *pipeline, const GlowRunnerOptions *options) {
  *r = (GlowReproducer){.ctx = ctx, .tool = tool, .text = text, .size = size};
  const char *folder = getenv("TMPDIR");
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  r->path = glow_str_printf(ctx, "%s/%s-reproducer-%ld-%lx.gg", folder && *folder ? folder : "/tmp",
                            tool, (long)getpid(), now.tv_sec * 1000 + now.tv_nsec / 1000000);
  glow_text_init(&r->head, ctx);
  put_head(r, argc, argv, name, pipeline, options);
  current = r;
  catch_signals();
}

static void release(GlowReproducer *r) {
  current = NULL;
  for (int i = 0; i < FATAL; i++)
    signal(fatal[i], SIG_DFL);
  glow_text_release(&r->head);
}

void glow_reproducer_end(GlowReproducer *r, GlowStatus status) {
  if (status == GLOW_INTERNAL)
    say_where(r);
  release(r);
}

void glow_reproducer_end_thrown(void *reproducer) {
  GlowReproducer *r = reproducer;
  glow_reproducer_end(r, r->ctx->thrown);
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* The rest of the line at *at if it begins with "; key: "; moves *at to the next line. NULL if not.
 */
static GlowStr take_line(GlowContext *ctx, const char *key, const char **at, const char *end) {
  size_t length = strlen(key);
  const char *newline = memchr(*at, '\n', (size_t)(end - *at));
  if (!newline || (size_t)(newline - *at) < length + 4 || memcmp(*at, "; ", 2) != 0 ||
      memcmp(*at + 2, key, length) != 0 || memcmp(*at + 2 + length, ": ", 2) != 0)
    return NULL;
  const char *value = *at + length + 4;
  *at = newline + 1;
  return glow_str_n(ctx, value, (size_t)(newline - value));
}

/* The name that `options` begins with; what follows it after a space, NULL if it is none. */
static const char *take_math(const char *options, GlowMath *math) {
  const char *space = strchr(options, ' ');
  for (int i = 0; i <= GLOW_MATH_FAST && space; i++)
    if (strlen(glow_math_names[i]) == (size_t)(space - options) &&
        memcmp(glow_math_names[i], options, (size_t)(space - options)) == 0) {
      *math = (GlowMath)i;
      return space + 1;
    }
  return NULL;
}

bool glow_reproducer_read(GlowContext *ctx, const char *file, const char *text, size_t size,
                          GlowReproduced *out) {
  const char *at = text + sizeof first_line - 1, *end = text + size;
  GlowStr version = NULL, pipeline = NULL, options = NULL;
  const char *limit = NULL;
  bool is_one = size >= sizeof first_line && memcmp(text, first_line, sizeof first_line - 1) == 0;
  is_one = is_one && (version = take_line(ctx, "version", &at, end)) &&
           take_line(ctx, "command", &at, end) && (out->name = take_line(ctx, "name", &at, end)) &&
           (pipeline = take_line(ctx, "pipeline", &at, end)) &&
           (options = take_line(ctx, "math, bisect-limit", &at, end)) &&
           (limit = take_math(options, &out->math));
  if (!is_one) {
    glow_error(ctx, glow_loc_file(ctx, file), "this is no reproducer");
    return false;
  }
  if (strcmp(version, GLOW_VERSION_STRING) != 0)
    glow_warning(ctx, glow_loc_file(ctx, file), "the reproducer was written by version %s",
                 version);
  out->bisect_limit = strcmp(limit, "-") == 0 ? NULL : limit;
  out->head_size = (size_t)(at - text);
  out->pipeline = glow_pipeline_parse(ctx, &glow_passes, pipeline);
  return out->pipeline != NULL;
}
