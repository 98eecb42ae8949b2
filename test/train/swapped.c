/* glow-train-swapped MODEL.gir IMAGES LABELS STEPS SEED OUT: trains a program, while before each
 * instruction every piece gets its library function or that which was made for it, at random. */
#include <stdio.h>
#include <stdlib.h>

#include "backend/backends.h"
#include "test/swaps.h"
#include "train/training.h"

typedef struct Case {
  GlowTrainingSetup how;
  uint64_t seed;
  GlowStatus status;
} Case;

static void train(GlowContext *ctx, void *arg) {
  Case *c = arg;
  GlowTraining t = {.ctx = ctx, .log = {.ctx = ctx}};
  GlowDefer close;
  glow_defer_push(ctx, &close, glow_training_close_fn, &t);
  const GlowBackend *cpu = glow_backend_find(ctx, &glow_backends, "cpu");
  c->status = cpu ? glow_training_open(&t, &c->how) : GLOW_BAD_USAGE;
  if (c->status == GLOW_OK)
    c->status = glow_training_compile(&t, cpu, &(GlowRunOptions){.tier = GLOW_TIER_COMPILED});
  if (c->status == GLOW_OK) {
    glow_swap_begin(t.step->execution, c->seed);
    c->status = glow_train(&t);
  }
  glow_defer_pop(ctx, &close, true);
}

int main(int argc, char **argv) {
  if (argc != 7)
    return 2;
  char image[4096], label[4096];
  snprintf(image, sizeof image, "image=%s", argv[2]);
  snprintf(label, sizeof label, "label=%s", argv[3]);
  const char *data[] = {image, label};
  const GlowImageOptions sixteenth = {.std = {16, 16, 16}};
  Case c = {.how = {.path = argv[1],
                    .data = {data, 2},
                    .image = &sixteenth,
                    .checkpoint = argv[6],
                    .steps = strtol(argv[4], NULL, 10),
                    .epochs = -1,
                    .shuffle = -1,
                    .keep = 1},
            .seed = strtoull(argv[5], NULL, 10)};
  GlowContext *ctx = glow_context_create();
  if (!ctx || glow_protect(ctx, train, &c) != GLOW_OK || c.status != GLOW_OK)
    return 1;
  glow_context_destroy(ctx);
  printf("%llu pieces of compiled code, %llu of the library\n",
         (unsigned long long)glow_swaps.better, (unsigned long long)glow_swaps.library);
  return glow_swaps.better < 100 || glow_swaps.library < 100;
}
