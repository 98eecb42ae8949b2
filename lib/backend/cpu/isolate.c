/* See isolate.h. The other process is glow-llc -filetype=code: it reads the text from its standard
 * input and writes to its standard output, both files in memory. */
#include "backend/cpu/isolate.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "backend/cpu/plugin.h"
#include "exec/written.h"

enum { POLL = 2000000 }; /* nanoseconds between looks at the other process */

/* Selection reads no values but those that are known to inference, which are short. */
static void shorten_initializer(GlowStorage *s) {
  const GlowTensor *known = glow_value_known(&s->value);
  if (!known)
    glow_storage_drop_initializer(s);
  else if (s->init.kind != GLOW_INIT_SPLAT)
    s->init = (GlowInit){.kind = GLOW_INIT_LIST, .tensor = known};
}

GlowBytes glow_isolate_text(const GlowFunction *program, GlowArena *arena) {
  GlowContext *ctx = program->module->ctx;
  GlowText text;
  GlowDefer defer;
  GlowModule *copy = glow_module_clone(program->module);
  for (GlowFunction *f = copy->first_function, *next; f; f = next) {
    next = f->next;
    if (f->name != program->name)
      glow_function_remove(f);
  }
  for (GlowStorage *s = copy->first_storage; s; s = s->next)
    if (s->cls != GLOW_PLACEHOLDER && s->value.type->kind != GLOW_KIND_STRING)
      shorten_initializer(s);
  glow_text_init(&text, ctx);
  glow_defer_push(ctx, &defer, glow_text_release_fn, &text);
  glow_module_print(copy, &text, &(GlowPrintOptions){0});
  GlowBytes bytes = {glow_arena_copy(arena, glow_text_cstr(&text), text.size + 1), text.size};
  glow_defer_pop(ctx, &defer, true);
  glow_module_destroy(copy);
  return bytes;
}

/* ---- The other process ----------------------------------------------------------------------- */

/* What it reads, writes and says. -1: there is no file. */
typedef struct Files {
  int in, out, said;
} Files;

static void close_files(void *files) {
  const Files *f = files;
  const int all[] = {f->in, f->out, f->said};
  for (int i = 0; i < 3; i++)
    if (all[i] >= 0)
      close(all[i]);
}

static bool put(int file, GlowBytes bytes) {
  const char *at = bytes.data;
  for (size_t left = bytes.size; left;) {
    ssize_t n = write(file, at, left);
    if (n < 0 && errno != EINTR)
      return false;
    at += n > 0 ? n : 0;
    left -= n > 0 ? (size_t)n : 0;
  }
  return lseek(file, 0, SEEK_SET) == 0;
}

static bool open_files(Files *f, GlowBytes text) {
  f->in = memfd_create("glow-text", MFD_CLOEXEC);
  f->out = memfd_create("glow-code", MFD_CLOEXEC);
  f->said = memfd_create("glow-said", MFD_CLOEXEC);
  return f->in >= 0 && f->out >= 0 && f->said >= 0 && put(f->in, text);
}

/* Begins the process. 0, or an errno. */
static int spawn(const char *program, const Files *f, pid_t *pid) {
  extern char **environ;
  const char *const args[] = {"glow-llc", "-filetype=code", "-", NULL};
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, f->in, 0);
  posix_spawn_file_actions_adddup2(&actions, f->out, 1);
  posix_spawn_file_actions_adddup2(&actions, f->said, 2);
  posix_spawnattr_init(&attributes); /* threads of ours may hold signals back */
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  int error =
      posix_spawn(pid, program, &actions, &attributes, (char *const *)(uintptr_t)args, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

/* The status of the process as waitpid says it; -1: it was killed because the work has ended. */
static int await(pid_t pid, const GlowBackground *background) {
  const struct timespec pause = {.tv_nsec = POLL};
  int status = 0;
  for (;;) {
    pid_t done = waitpid(pid, &status, WNOHANG);
    if (done == pid || (done < 0 && errno != EINTR))
      return done == pid ? status : 0; /* the owner of this process collects its children */
    if (background && glow_background_ended(background)) {
      kill(pid, SIGKILL);
      waitpid(pid, &status, 0);
      return -1;
    }
    nanosleep(&pause, NULL);
  }
}

/* The first line of a file in memory. */
static const char *first_line(GlowContext *ctx, int file) {
  char line[512];
  ssize_t n = pread(file, line, sizeof line - 1, 0);
  line[n > 0 ? n : 0] = 0;
  line[strcspn(line, "\n")] = 0;
  return glow_str(ctx, line);
}

/* ---- Its code -------------------------------------------------------------------------------- */

static const char *take_code(GlowContext *ctx, int file, GlowCpuCode *code) {
  off_t size = lseek(file, 0, SEEK_END);
  void *map = size > 0 ? mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
  if (map == MAP_FAILED)
    return "the compiling process has written nothing";
  GlowSilence silence;
  glow_silence_begin(ctx, &silence);
  const GlowWritten *w = glow_written_read(ctx, (GlowBytes){map, (size_t)size}, GLOW_NOWHERE);
  bool found = w && glow_cpu_code_find(code, ctx, w);
  glow_silence_end(&silence);
  munmap(map, (size_t)size);
  return found ? NULL : "the compiling process has written no code that fits";
}

/* Why the process made no code; NULL: it did. */
static const char *judge(GlowContext *ctx, int status, const Files *f, GlowCpuCode *code) {
  if (status < 0)
    return "the compiling process was not needed any more";
  if (WIFSIGNALED(status))
    return glow_str_printf(ctx, "the compiling process was killed by signal %d", WTERMSIG(status));
  if (WEXITSTATUS(status))
    return glow_str_printf(ctx, "the compiling process failed: %s", first_line(ctx, f->said));
  return take_code(ctx, f->out, code);
}

const char *glow_isolate_compile(GlowContext *ctx, GlowBytes text, GlowCpuCode *code,
                                 const GlowBackground *background) {
  static const char *const places[] = {".", "../bin", NULL};
  const char *program = glow_find_beside(ctx, "glow-llc", places), *why = NULL;
  Files files = {-1, -1, -1};
  pid_t pid;
  GlowDefer defer;
  if (!program)
    return "glow-llc, which compiles in a process of its own, is not beside this program";
  glow_defer_push(ctx, &defer, close_files, &files);
  int error = open_files(&files, text) ? spawn(program, &files, &pid) : errno;
  if (error)
    why = glow_str_printf(ctx, "no process can compile: %s", strerror(error));
  else
    why = judge(ctx, await(pid, background), &files, code);
  glow_defer_pop(ctx, &defer, true);
  return why;
}
