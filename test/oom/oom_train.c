/* The same for training: fails each allocation in turn while two functions and their samples are
 * opened, steps run, a log and checkpoints are written, and training is resumed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/interp/interp.h"
#include "test/oom/sweep.h"
#include "train/training.h"

static const GlowBackend interp = {.name = "interp", .run = glow_interp_run, .level = -1};

typedef struct Case {
  GlowTrainingSetup how;
  GlowStatus status;
} Case;

static void whole_way(GlowContext *ctx, void *arg) {
  Case *c = arg;
  GlowTraining t = {.ctx = ctx, .log = {.ctx = ctx}};
  GlowDefer close;
  glow_defer_push(ctx, &close, glow_training_close_fn, &t);
  c->status = glow_training_open(&t, &c->how);
  if (c->status == GLOW_OK)
    c->status = glow_training_compile(&t, &interp, &(GlowRunOptions){0});
  if (c->status == GLOW_OK)
    c->status = glow_train(&t);
  if (!glow_log_close(&t.log) && c->status == GLOW_OK)
    c->status = GLOW_IO;
  if (c->status == GLOW_OK && !glow_train_holds(&t))
    c->status = GLOW_BAD_INPUT;
  glow_defer_pop(ctx, &close, true);
}

/* oom_train MODEL FOLDER: the folder has train.csv, and gets a checkpoint and a log. */
int main(int argc, char **argv) {
  if (argc != 3 || chdir(argv[2]))
    return 2;
  setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
  printf("allocation failures in turn\n"); /* stdio's own buffer is allocated here */
  const char *data[] = {"x=train.csv:a,1-2", "y=train.csv:3"}, *required[] = {"loss<=1e9"};
  const GlowImageOptions image = {.std = {1, 1, 1}};
  Case c = {.how = {.path = argv[1],
                    .data = {data, 2},
                    .eval = {data, 2},
                    .required = {required, 1},
                    .image = &image,
                    .checkpoint = "a.st",
                    .log = "log.jsonl",
                    .steps = 2,
                    .epochs = -1,
                    .shuffle = 7,
                    .keep = 2,
                    .every = 1,
                    .stop_on_nan = true}};
  long total = 0;
  bool ok = sweep(&(Sweep){"training", whole_way, &c, &c.status}, &total);
  c.how.resume = "a.st";
  c.how.steps = 3;
  ok = ok && sweep(&(Sweep){"training that is resumed", whole_way, &c, &c.status}, &total);
  printf("%d passed, %d failed\n", ok, !ok);
  return !ok;
}
