/* What a training run says while it goes on: lines of JSON in a file, and a line on a terminal.
 *
 *   {"step":44,"epoch":0,"loss":0.25,"rate":0.05,"seconds":0.0012}
 *   {"step":44,"epoch":1,"eval":{"loss":0.31,"accuracy":0.91},"seconds":0.02}
 *
 * A step has its outputs of one element; "seconds" are what it took. Numbers that are not finite
 * are null. */
#ifndef GLOW_TRAIN_LOG_H
#define GLOW_TRAIN_LOG_H

#include <stdio.h>

#include "train/score.h"

typedef struct GlowLog {
  GlowContext *ctx;
  const char *path; /* NULL: no file */
  FILE *file;
  bool terminal; /* show progress on stderr */
  double shown;  /* when the line was written, on glow_clock */
  int width;     /* of the line on the terminal; 0: there is none */
} GlowLog;

/* Opens the file. Of a run that goes on after `step` steps, the lines up to that step stay. False
 * after a diagnostic. */
bool glow_log_open(GlowLog *log, int64_t step);
/* False after a diagnostic: the file cannot be written. */
bool glow_log_step(GlowLog *log, int64_t step, int64_t epoch, const GlowScores *scores,
                   double seconds);
bool glow_log_evaluation(GlowLog *log, int64_t step, int64_t epoch, const GlowScores *scores,
                         double seconds);
bool glow_log_close(GlowLog *log);

/* Appends "  loss 0.25  accuracy 0.91": the scores of a step, then those of an evaluation, which
 * are called "eval loss" if a step has one of that name. */
void glow_log_put(GlowText *out, const GlowScores *step, const GlowScores *evaluation);
/* Replaces the line on the terminal, at most ten times a second unless `now`. */
void glow_log_show(GlowLog *log, const GlowText *line, bool now);
/* Ends the line on the terminal, so that something else can be written. */
void glow_log_end_line(GlowLog *log);

#endif
