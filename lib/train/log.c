/* See log.h. */
#include "train/log.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/json.h"
#include "support/process.h"

static bool fail(GlowLog *log) {
  char reason[128];
  glow_error(log->ctx, glow_loc_file(log->ctx, log->path), "cannot write: %s",
             strerror_r(errno, reason, sizeof reason));
  return false;
}

/* ---- The file -------------------------------------------------------------------------------- */

/* Cuts the file off behind the last whole line of a step up to `step`. */
static bool cut(FILE *file, int64_t step) {
  char *line = NULL;
  size_t room = 0;
  off_t end = 0;
  long long found;
  for (ssize_t n; (n = getline(&line, &room, file)) > 0 && line[n - 1] == '\n'; end += n)
    if (sscanf(line, "{\"step\":%lld", &found) != 1 || found > step)
      break;
  free(line);
  return ftruncate(fileno(file), end) == 0 && fseeko(file, end, SEEK_SET) == 0;
}

bool glow_log_open(GlowLog *log, int64_t step) {
  if (!log->path)
    return true;
  log->file = step ? fopen(log->path, "r+e") : NULL;
  if (!log->file)
    log->file = fopen(log->path, "we");
  return (log->file && (!step || cut(log->file, step))) || fail(log);
}

static void put_number(GlowText *out, double v) {
  char digits[48];
  if (isfinite(v))
    glow_text_bytes(out, digits, glow_format_double(digits, v));
  else
    glow_text_puts(out, "null");
}

static void put_scores(GlowText *out, const GlowScores *scores) {
  for (uint32_t i = 0; i < scores->count; i++) {
    const GlowScore *s = &scores->data[i];
    if (i)
      glow_text_putc(out, ',');
    glow_json_string(out, s->name, strlen(s->name));
    glow_text_putc(out, ':');
    put_number(out, s->value);
  }
}

static bool write_line(GlowLog *log, int64_t step, int64_t epoch, const GlowScores *scores,
                       bool evaluation, double seconds) {
  if (!log->file)
    return true;
  GlowText line;
  GlowDefer defer;
  glow_text_init(&line, log->ctx);
  glow_defer_push(log->ctx, &defer, glow_text_release_fn, &line);
  glow_text_printf(&line, "{\"step\":%lld,\"epoch\":%lld,%s", (long long)step, (long long)epoch,
                   evaluation ? "\"eval\":{" : "");
  put_scores(&line, scores);
  glow_text_puts(&line, evaluation ? "}," : scores->count ? "," : "");
  glow_text_puts(&line, "\"seconds\":");
  put_number(&line, seconds);
  glow_text_puts(&line, "}\n");
  bool ok = fwrite(line.data, 1, line.size, log->file) == line.size && fflush(log->file) == 0;
  glow_defer_pop(log->ctx, &defer, true);
  return ok || fail(log);
}

bool glow_log_step(GlowLog *log, int64_t step, int64_t epoch, const GlowScores *scores,
                   double seconds) {
  return write_line(log, step, epoch, scores, false, seconds);
}

bool glow_log_evaluation(GlowLog *log, int64_t step, int64_t epoch, const GlowScores *scores,
                         double seconds) {
  return write_line(log, step, epoch, scores, true, seconds);
}

bool glow_log_close(GlowLog *log) {
  glow_log_end_line(log);
  bool ok = !log->file || fclose(log->file) == 0;
  log->file = NULL;
  return ok || fail(log);
}

/* ---- The terminal ---------------------------------------------------------------------------- */

void glow_log_put(GlowText *out, const GlowScores *step, const GlowScores *evaluation) {
  for (uint32_t i = 0; i < step->count; i++)
    glow_text_printf(out, "  %s %.4g", step->data[i].name, step->data[i].value);
  for (uint32_t i = 0; i < evaluation->count; i++) {
    const GlowScore *s = &evaluation->data[i];
    glow_text_printf(out, "  %s%s %.4g", glow_scores_find(step, s->name) ? "eval " : "", s->name,
                     s->value);
  }
}

void glow_log_show(GlowLog *log, const GlowText *line, bool now) {
  double time = glow_clock();
  if (!log->terminal || (!now && time - log->shown < 0.1))
    return;
  fprintf(stderr, "\r%.*s", (int)line->size, line->data);
  for (int i = (int)line->size; i < log->width; i++)
    fputc(' ', stderr);
  log->width = (int)line->size;
  log->shown = time;
}

void glow_log_end_line(GlowLog *log) {
  if (log->width)
    fputc('\n', stderr);
  log->width = 0;
}
