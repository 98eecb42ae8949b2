/* Says which digit a picture shows. See README.md for how digits.h and the rest are made. */
#include <stdio.h>

#include "digits.h"

static _Alignas(DIGITS_ALIGN) unsigned char arena[DIGITS_MAIN_ARENA_SIZE(1)],
    weights[DIGITS_WEIGHTS_SIZE];
static _Alignas(DIGITS_ALIGN) float image[DIGITS_MAIN_IMAGE_COUNT],
    logits[DIGITS_MAIN_LOGITS_COUNT];

int main(int argc, char **argv) {
  FILE *w = argc == 3 ? fopen(argv[1], "rb") : NULL, *pgm = argc == 3 ? fopen(argv[2], "r") : NULL;
  if (!w || !pgm || fread(weights, sizeof weights, 1, w) != 1 || fscanf(pgm, "P2 8 8 16") != 0)
    return fprintf(stderr, "usage: %s digits.weights picture.pgm\n", argv[0]), 2;
  for (int i = 0; i < DIGITS_MAIN_IMAGE_COUNT && fscanf(pgm, "%f", &image[i]) == 1; i++)
    image[i] /= 16;
  digits_main_buffers buffers = {arena,          sizeof arena,   weights,
                                 sizeof weights, .image = image, .logits = logits};
  GlowFault fault;
  if (digits_main(&buffers, NULL, &fault))
    return fprintf(stderr, "%s: %d\n", digits_error_text(fault.error), (int)fault.detail), 1;
  int best = 0;
  for (int i = 1; i < DIGITS_MAIN_LOGITS_COUNT; i++)
    best = logits[i] > logits[best] ? i : best;
  printf("%d\n", best);
}
