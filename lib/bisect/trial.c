/* Running the command: its output goes to a file without a name, from which the lines of
 * -bisect-limit are read; a pipe would have to be emptied while the command runs. */
#include "bisect/trial.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/deadline.h"
#include "support/diag.h"
#include "support/file.h"
#include "support/process.h"
#include "support/text.h"

static const char line_start[] = "; bisect: ";

static GlowLoc here(GlowContext *ctx) { return glow_loc_file(ctx, "glow-bisect"); }

/* ---- The command line ------------------------------------------------------------------------ */

static const char *substituted(GlowContext *ctx, const char *text, const char *limit) {
  static const char word[] = "%limit";
  for (const char *at; (at = strstr(text, word));)
    text = glow_arena_printf(ctx->arena, "%.*s%s%s", (int)(at - text), text, limit,
                             at + sizeof word - 1);
  return text;
}

static const char **command_line(GlowContext *ctx, const GlowBisectCommand *c, const char *limit) {
  uint32_t n = 0;
  while (c->argv[n])
    n++;
  const char **argv = GLOW_NEW_ARRAY(ctx->arena, const char *, n + 1);
  for (uint32_t i = 0; i < n; i++)
    argv[i] = substituted(ctx, c->argv[i], limit);
  return argv;
}

/* ---- What it printed ------------------------------------------------------------------------- */

/* One line without its newline, behind "; bisect: ". */
static bool parse_line(GlowContext *ctx, const char *s, size_t size, GlowTrialRun *run) {
  const char *line = glow_str_n(ctx, s, size);
  char *end;
  *run = (GlowTrialRun){.number = strtoull(line, &end, 10)};
  if (end == line || *end != ' ')
    return false;
  const char *what = end + 1, *colon = strstr(what, ": ");
  if (!colon)
    return false;
  run->what = glow_str_n(ctx, what, (size_t)(colon - what));
  const char *result = colon + 2;
  run->ran = isdigit((unsigned char)*result);
  run->rewrites = strtoull(result, NULL, 10);
  const char *last = strstr(result, "; the last: ");
  run->last = last ? last + strlen("; the last: ") : NULL;
  return true;
}

static void parse_output(GlowContext *ctx, const char *text, size_t size, GlowTrial *t) {
  size_t start = sizeof line_start - 1;
  if (!size) /* then text may be NULL */
    return;
  for (const char *s = text, *end = text + size; s < end;) {
    const char *newline = memchr(s, '\n', (size_t)(end - s)), *stop = newline ? newline : end;
    GlowTrialRun run;
    if ((size_t)(stop - s) > start && memcmp(s, line_start, start) == 0 &&
        parse_line(ctx, s + start, (size_t)(stop - s) - start, &run)) {
      t->repeated |= glow_trial_find(t, run.number) != NULL;
      glow_vec_push(ctx->arena, &t->runs, run);
    }
    s = newline ? newline + 1 : end;
  }
}

const GlowTrialRun *glow_trial_find(const GlowTrial *t, uint64_t number) {
  uint32_t from = 0, to = t->runs.count; /* numbers grow, unless they are repeated */
  while (from < to) {
    uint32_t middle = from + (to - from) / 2;
    if (t->runs.data[middle].number == number)
      return &t->runs.data[middle];
    if (t->runs.data[middle].number < number)
      from = middle + 1;
    else
      to = middle;
  }
  return NULL;
}

static bool read_output(GlowContext *ctx, FILE *file, GlowText *out) {
  char block[4096];
  size_t n;
  rewind(file);
  while ((n = fread(block, 1, sizeof block, file)) > 0)
    glow_text_bytes(out, block, n);
  if (!ferror(file))
    return true;
  glow_error(ctx, here(ctx), "cannot read what the command printed");
  return false;
}

/* ---- One run --------------------------------------------------------------------------------- */

static GlowTrial judge(GlowContext *ctx, const GlowBisectCommand *c, GlowProcessEnd end, int code) {
  GlowTrial t = {.judgement = GLOW_BAD};
  if (end == GLOW_PROCESS_TIMED_OUT) {
    t.how = glow_str_printf(ctx, "no end within %g s", c->timeout);
    return t;
  }
  if (end == GLOW_PROCESS_SIGNALED) {
    t.how = glow_str_printf(ctx, "killed by signal %d (%s)", code, strsignal(code));
    return t;
  }
  t.how = glow_str_printf(ctx, "exit status %d", code);
  t.judgement = code == 0 ? GLOW_GOOD : code == 125 ? GLOW_UNJUDGED : GLOW_BAD;
  if (code == 126 || code == 127) {
    glow_error(ctx, here(ctx),
               "exit status %d: with this a shell says that it cannot run a command", code);
    t.judgement = GLOW_NO_TRIAL;
  }
  return t;
}

/* How long the command may run: until --timeout or --time-limit, whichever comes first. */
static double time_left(const GlowContext *ctx, const GlowBisectCommand *c) {
  double left = ctx->deadline > 0 ? fmax(ctx->deadline - glow_clock(), 1e-3) : 0;
  return left > 0 && !(c->timeout > 0 && c->timeout < left) ? left : c->timeout;
}

static GlowTrial run_into(GlowContext *ctx, const GlowBisectCommand *c, const char *limit,
                          FILE *file) {
  const char **argv = command_line(ctx, c, limit);
  GlowProcess process;
  int code = setenv("GLOW_BISECT", limit, 1) != 0 ? errno : 0;
  if (code == 0)
    code = glow_process_start(&process, argv, fileno(file), time_left(ctx, c));
  if (code != 0) {
    char buf[128];
    glow_error(ctx, glow_loc_file(ctx, argv[0]), "cannot run: %s",
               strerror_r(code, buf, sizeof buf));
    return (GlowTrial){.judgement = GLOW_NO_TRIAL};
  }
  GlowProcessEnd end = glow_process_wait(&process, NULL, NULL, &code);
  glow_deadline_check(ctx, glow_loc_file(ctx, argv[0]));
  GlowTrial t = judge(ctx, c, end, code);
  GlowText out;
  GlowDefer release;
  glow_text_init(&out, ctx);
  glow_defer_push(ctx, &release, glow_text_release_fn, &out);
  if (!read_output(ctx, file, &out))
    t.judgement = GLOW_NO_TRIAL;
  if (c->show)
    fwrite(out.data, 1, out.size, stderr);
  parse_output(ctx, out.data, out.size, &t);
  glow_defer_pop(ctx, &release, true);
  return t;
}

static void close_file(void *file) { fclose(file); }

GlowTrial glow_trial_run(GlowContext *ctx, const GlowBisectCommand *command, const char *limit) {
  FILE *file = tmpfile();
  if (!file) {
    char buf[128];
    glow_error(ctx, here(ctx), "cannot make a temporary file: %s",
               strerror_r(errno, buf, sizeof buf));
    return (GlowTrial){.judgement = GLOW_NO_TRIAL};
  }
  GlowDefer close;
  glow_defer_push(ctx, &close, close_file, file);
  GlowTrial t = run_into(ctx, command, limit, file);
  glow_defer_pop(ctx, &close, true);
  static const char *const words[] = {"good", "bad", "no verdict"};
  if (!command->quiet && t.judgement != GLOW_NO_TRIAL)
    fprintf(stderr, "glow-bisect: -bisect-limit=%s: %s (%s)\n", limit, words[t.judgement], t.how);
  return t;
}
