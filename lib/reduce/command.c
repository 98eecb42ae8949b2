/* Tests that are commands: a candidate becomes a file in a folder of our own, one for each slot,
 * and the command looks at it. Exit status 0 is interesting; any other, a signal and a run that
 * takes too long are not. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reduce/reduce.h"
#include "support/file.h"
#include "support/process.h"

typedef struct Slot {
  GlowStr folder, path;
  const char **argv;
  GlowProcess process;
} Slot;

struct GlowCommandRunner {
  GlowContext *ctx;
  GlowCommandTest test;
  GlowStr folder;
  Slot *slots;
  GlowCommandEnd end;
};

/* ---- Command lines --------------------------------------------------------------------------- */

static bool needs_shell(const char *command) {
  return strpbrk(command, " \t\n|&;<>()$`\\\"'*?[]#~") != NULL;
}

/* For sh: the path as one word. */
static GlowStr quoted(GlowContext *ctx, const char *path) {
  GlowText t;
  GlowDefer release;
  glow_text_init(&t, ctx);
  glow_defer_push(ctx, &release, glow_text_release_fn, &t);
  glow_text_putc(&t, '\'');
  for (const char *p = path; *p; p++)
    glow_text_puts(&t, *p == '\'' ? "'\\''" : (char[]){*p, '\0'});
  glow_text_putc(&t, '\'');
  GlowStr s = glow_str(ctx, glow_text_cstr(&t));
  glow_defer_pop(ctx, &release, true);
  return s;
}

/* `text` with `word` in place of each %s; sets *found if there is one. */
static GlowStr substituted(GlowContext *ctx, const char *text, const char *word, bool *found) {
  GlowText t;
  GlowDefer release;
  glow_text_init(&t, ctx);
  glow_defer_push(ctx, &release, glow_text_release_fn, &t);
  for (const char *at; (at = strstr(text, "%s")); text = at + 2) {
    *found = true;
    glow_text_bytes(&t, text, (size_t)(at - text));
    glow_text_puts(&t, word);
  }
  glow_text_puts(&t, text);
  GlowStr s = glow_str(ctx, glow_text_cstr(&t));
  glow_defer_pop(ctx, &release, true);
  return s;
}

/* COMMAND ARGS [PATH], or sh -c 'COMMAND "$@"' sh ARGS [PATH]. */
static const char **command_line(GlowCommandRunner *r, const char *path) {
  GlowContext *ctx = r->ctx;
  const char **argv = GLOW_NEW_ARRAY(ctx->arena, const char *, r->test.nargs + 6u);
  bool found = false, shell = needs_shell(r->test.command);
  uint32_t n = 0;
  GlowStr command = substituted(ctx, r->test.command, shell ? quoted(ctx, path) : path, &found);
  bool in_command = found;
  if (shell) {
    argv[n++] = "sh";
    argv[n++] = "-c";
    n++; /* below */
    argv[n++] = "sh";
  } else {
    argv[n++] = command;
  }
  for (uint32_t i = 0; i < r->test.nargs; i++)
    argv[n++] = substituted(ctx, r->test.args[i], path, &found);
  if (!found)
    argv[n++] = path;
  if (shell)
    argv[2] = in_command && !r->test.nargs ? command : glow_str_printf(ctx, "%s \"$@\"", command);
  return argv;
}

/* ---- One run --------------------------------------------------------------------------------- */

static bool write_candidate(GlowCommandRunner *r, const char *path, const GlowCandidate *c) {
  FILE *f = fopen(path, "wb");
  bool ok = f && fwrite(c->text, 1, c->size, f) == c->size;
  int code = errno;
  if (f && fclose(f) != 0) {
    ok = false;
    code = errno;
  }
  char buf[128];
  if (!ok)
    glow_error(r->ctx, glow_loc_file(r->ctx, path), "cannot write: %s",
               strerror_r(code, buf, sizeof buf));
  return ok;
}

static bool start(void *user, uint32_t slot, const GlowCandidate *c) {
  GlowCommandRunner *r = user;
  Slot *s = &r->slots[slot];
  if ((r->test.stop && r->test.stop(r->test.user)) || !write_candidate(r, s->path, c))
    return false;
  int output = r->test.show ? STDERR_FILENO : -1;
  int code = glow_process_start(&s->process, s->argv, output, r->test.timeout);
  char buf[128];
  if (code != 0)
    glow_error(r->ctx, glow_loc_file(r->ctx, r->test.command), "cannot run the test: %s",
               strerror_r(code, buf, sizeof buf));
  return code == 0;
}

static GlowVerdict wait_for(void *user, uint32_t slot) {
  GlowCommandRunner *r = user;
  r->end.how = glow_process_wait(&r->slots[slot].process, r->test.stop, r->test.user, &r->end.code);
  if (r->end.how == GLOW_PROCESS_STOPPED)
    return GLOW_NO_VERDICT;
  return r->end.how == GLOW_PROCESS_EXITED && r->end.code == 0 ? GLOW_INTERESTING
                                                               : GLOW_NOT_INTERESTING;
}

static void cancel(void *user, uint32_t slot) {
  glow_process_kill(&((GlowCommandRunner *)user)->slots[slot].process);
}

/* ---- The runner ------------------------------------------------------------------------------ */

static GlowStr make_folder(GlowContext *ctx) {
  const char *parent = getenv("TMPDIR");
  parent = parent && *parent ? parent : "/tmp";
  GlowStr pattern = glow_path_absolute(ctx, glow_path_join(ctx, parent, "glow-reduce-XXXXXX"));
  char *name = glow_arena_copy(ctx->arena, pattern, strlen(pattern) + 1);
  char buf[128];
  if (mkdtemp(name))
    return glow_str(ctx, name);
  glow_error(ctx, glow_loc_file(ctx, parent), "cannot make a folder for candidates: %s",
             strerror_r(errno, buf, sizeof buf));
  return NULL;
}

GlowCommandRunner *glow_command_runner_create(GlowContext *ctx, const GlowCommandTest *test) {
  GlowCommandRunner *r = GLOW_NEW(ctx->arena, GlowCommandRunner);
  r->ctx = ctx;
  r->test = *test;
  r->folder = make_folder(ctx);
  if (!r->folder)
    return NULL;
  r->slots = GLOW_NEW_ARRAY(ctx->arena, Slot, test->jobs);
  for (uint32_t i = 0; i < test->jobs; i++) {
    Slot *s = &r->slots[i];
    s->folder = glow_str_printf(ctx, "%s/%u", r->folder, i);
    s->path = glow_path_join(ctx, s->folder, test->name);
    s->argv = command_line(r, s->path);
    (void)!mkdir(s->folder, 0700); /* a failure shows when the candidate is written */
  }
  return r;
}

GlowReduceTest glow_command_runner_test(GlowCommandRunner *r) {
  return (GlowReduceTest){r->test.jobs, start, wait_for, cancel, r};
}

GlowCommandEnd glow_command_runner_end(const GlowCommandRunner *r) { return r->end; }

/* Removes a folder with the files in it: a candidate, and what a test left beside it. Folders
 * inside stay. */
static void remove_folder(const char *folder) {
  char path[4096];
  DIR *dir = opendir(folder);
  for (struct dirent *e; dir && (e = readdir(dir));)
    if (snprintf(path, sizeof path, "%s/%s", folder, e->d_name) < (int)sizeof path)
      unlink(path);
  if (dir)
    closedir(dir);
  rmdir(folder);
}

void glow_command_runner_destroy(void *runner) {
  GlowCommandRunner *r = runner;
  for (uint32_t i = 0; i < r->test.jobs; i++) {
    glow_process_kill(&r->slots[i].process);
    remove_folder(r->slots[i].folder);
  }
  rmdir(r->folder);
}
