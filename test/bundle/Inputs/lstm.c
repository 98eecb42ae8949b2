/* Runs the bundle of lstm.py: WEIGHTS X Y, files of raw numbers. */
#include <stdio.h>

#include "lstm.h"

static _Alignas(64) unsigned char arena[LSTM_MAIN_ARENA_SIZE(1)], weights[LSTM_WEIGHTS_SIZE];
static _Alignas(64) float x[LSTM_MAIN_X_COUNT], y[LSTM_MAIN_Y_COUNT];

static int read_file(const char *name, void *data, size_t bytes) {
  FILE *f = fopen(name, "rb");
  int ok = f && fread(data, bytes, 1, f) == 1;
  return (!f || fclose(f) == 0) && ok;
}

int main(int argc, char **argv) {
  if (argc != 4 || !read_file(argv[1], weights, sizeof weights) || !read_file(argv[2], x, sizeof x))
    return 2;
  lstm_main_buffers b = {.arena = arena,
                         .arena_size = sizeof arena,
                         .weights = weights,
                         .weights_size = sizeof weights,
                         .x = x,
                         .y = y};
  if (lstm_main(&b, NULL, NULL))
    return 1;
  FILE *f = fopen(argv[3], "wb");
  return !f || fwrite(y, sizeof y, 1, f) != 1 || fclose(f) != 0;
}
