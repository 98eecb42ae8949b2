/* Trains on pictures with the functions of a bundle, and keeps what was learned as a checkpoint of
 * glow-train. README.md says how digits.h and the rest are made. */
#include <stdio.h>
#include <stdlib.h>

#include "digits.h"

enum { BATCH = DIGITS_TRAIN_LABEL_COUNT, PIXELS = DIGITS_TRAIN_IMAGE_COUNT / BATCH };

static _Alignas(DIGITS_ALIGN) unsigned char arena[DIGITS_TRAIN_ARENA_SIZE(1)],
    weights[DIGITS_WEIGHTS_SIZE], variables[DIGITS_VARIABLES_SIZE];
static _Alignas(DIGITS_ALIGN) float image[BATCH * PIXELS];
static _Alignas(DIGITS_ALIGN) int64_t label[BATCH], right;
static _Alignas(DIGITS_ALIGN) float loss;
static _Alignas(DIGITS_ALIGN) double rate;

/* Reads the next batch of two files in MNIST's format. 0: there is none. */
static int next_batch(FILE *images, FILE *labels) {
  for (int i = 0; i < BATCH; i++) {
    label[i] = getc(labels);
    for (int p = 0; p < PIXELS; p++)
      image[i * PIXELS + p] = (float)getc(images) / 16;
  }
  return !feof(labels);
}

/* How many samples the file of labels has; both files are at their first sample then. */
static long first_batch(FILE *images, FILE *labels) {
  fseek(labels, 0, SEEK_END);
  long samples = ftell(labels) - 8;
  fseek(labels, 8, SEEK_SET);
  fseek(images, 16, SEEK_SET);
  return samples;
}

/* Writes all variables in safetensors format: a length of 64 bits, a header, the data. */
static int write_checkpoint(const char *path, long step, long samples) {
  static const digits_variable table[] = DIGITS_VARIABLES;
  enum { COUNT = sizeof table / sizeof *table };
  static char text[256 * (COUNT + 2)];
  long end = 0;
  int n = sprintf(text, "{\"__metadata__\":{\"step\":\"%ld\",\"seed\":\"none\",", step);
  n += sprintf(text + n, "\"samples\":\"%ld\",\"batch\":\"%d\"}", samples, BATCH);
  for (int i = 0; i < COUNT; i++, end += (long)table[i - 1].size)
    n += sprintf(text + n, ",\"%s\":{\"dtype\":\"%s\",\"shape\":[%s],\"data_offsets\":[%ld,%ld]}",
                 table[i].name, table[i].kind, table[i].extents, end, end + (long)table[i].size);
  text[n++] = '}';
  FILE *f = fopen(path, "wb");
  for (int i = 0; f && i < 8; i++)
    putc(i < 4 ? n >> 8 * i & 255 : 0, f);
  int ok = f && fwrite(text, (size_t)n, 1, f) == 1;
  for (int i = 0; ok && i < COUNT; i++)
    ok = fwrite(variables + table[i].offset, (size_t)table[i].size, 1, f) == 1;
  return f && !fclose(f) && ok;
}

int main(int argc, char **argv) {
  FILE *file[5] = {0};
  for (int i = 0; i < 5 && argc == 8; i++)
    file[i] = fopen(argv[i + 1], "rb");
  if (!file[0] || !file[1] || !file[2] || !file[3] || !file[4])
    return fprintf(stderr, "usage: %s weights images labels test-images test-labels steps out\n",
                   argv[0]),
           2;
  if (fread(weights, sizeof weights, 1, file[0]) != 1 ||
      digits_reset_variables(variables, weights, sizeof weights))
    return fprintf(stderr, "these are not the weights\n"), 1;
  digits_train_buffers train = {.arena = arena,
                                .arena_size = sizeof arena,
                                .weights = weights,
                                .weights_size = sizeof weights,
                                .variables = variables,
                                .image = image,
                                .label = label,
                                .rate = &rate,
                                .loss = &loss,
                                .right = &right};
  digits_eval_buffers eval = {.arena = arena,
                              .arena_size = sizeof arena,
                              .weights = weights,
                              .weights_size = sizeof weights,
                              .variables = variables,
                              .image = image,
                              .label = label,
                              .loss = &loss,
                              .right = &right};
  GlowFault fault = {0};
  long steps = strtol(argv[6], NULL, 10), samples = first_batch(file[1], file[2]), good = 0,
       all = 0;
  for (long i = 0; i < steps && !fault.error; i++) {
    if (!next_batch(file[1], file[2])) { /* another epoch */
      first_batch(file[1], file[2]);
      next_batch(file[1], file[2]);
    }
    digits_train(&train, NULL, &fault);
  }
  for (first_batch(file[3], file[4]); next_batch(file[3], file[4]) && !fault.error; all += BATCH) {
    digits_eval(&eval, NULL, &fault);
    good += (long)right;
  }
  if (fault.error || !write_checkpoint(argv[7], steps, samples))
    return fprintf(stderr, "%s\n", digits_error_text(fault.error)), 1;
  printf("%ld of %ld are right\n", good, all);
}
