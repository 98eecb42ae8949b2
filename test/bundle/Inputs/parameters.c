/* Runs both programs of parameters.gir. */
#include <stdio.h>

#include "pair.h"

static _Alignas(64) unsigned char arena[PAIR_CLAMP_ARENA_SIZE(1) + PAIR_SCALE_ARENA_SIZE(1)];
static _Alignas(64) unsigned char weights[PAIR_WEIGHTS_SIZE];
static _Alignas(64) float two[] = {-1, 2}, three[] = {1, 2, 3};
static _Alignas(64) float shared[PAIR_CLAMP_Y_COUNT], sum[PAIR_CLAMP_Y_2_COUNT];
static _Alignas(64) float half[PAIR_SCALE_Y_COUNT];

int main(int argc, char **argv) {
  FILE *f = argc == 2 ? fopen(argv[1], "rb") : NULL;
  if (!f || fread(weights, sizeof weights, 1, f) != 1)
    return 2;
  pair_clamp_buffers clamp = {.arena = arena,
                              .arena_size = sizeof arena,
                              .weights = weights,
                              .weights_size = sizeof weights,
                              .y = shared,
                              .x = two,
                              .y_2 = sum};
  pair_scale_buffers scale = {.arena = arena,
                              .arena_size = sizeof arena,
                              .weights = weights,
                              .weights_size = sizeof weights,
                              .x = three,
                              .y = half};
  if (pair_clamp(&clamp, NULL, NULL) || pair_scale(&scale, NULL, NULL))
    return 1;
  printf("%g %g\n", sum[0], sum[1]);
  printf("%g %g %g\n", three[0], three[1], three[2]);
  printf("%g %g %g\n", half[0], half[1], half[2]);
  return 0;
}
