/* Runs both programs of several.gir, forgets the sum, and goes on. */
#include <stdio.h>

#include "counter.h"

static _Alignas(
    64) unsigned char arena[COUNTER_ADD_ARENA_SIZE(1) + COUNTER_OTHER_ONE_ARENA_SIZE(1)];
static _Alignas(64) unsigned char variables[COUNTER_VARIABLES_SIZE], weights[COUNTER_WEIGHTS_SIZE];
static _Alignas(64) float x[] = {1, 2, 3}, half[] = {0.5f, 0.5f, 0.5f};
static _Alignas(64) float y[COUNTER_ADD_Y_COUNT];

static int show(int64_t error) {
  if (!error)
    printf("%g %g %g\n", y[0], y[1], y[2]);
  return error != 0;
}

/* The table of variables leads to the sum. */
static int show_table(void) {
  static const counter_variable table[] = COUNTER_VARIABLES;
  for (unsigned i = 0; i < sizeof table / sizeof *table; i++)
    printf("%s|%s|%s|%d|%g\n", table[i].name, table[i].kind, table[i].extents, (int)table[i].size,
           *(float *)(variables + table[i].offset));
  return 0;
}

int main(int argc, char **argv) {
  FILE *f = argc == 2 ? fopen(argv[1], "rb") : NULL;
  if (!f || fread(weights, sizeof weights, 1, f) != 1)
    return 2;
  counter_add_buffers add = {arena, sizeof arena, weights, sizeof weights, variables, x, y};
  counter_other_one_buffers other = {arena, sizeof arena, weights, sizeof weights, NULL, y,
                                     x,     half};
  int64_t error = counter_reset_variables(variables, weights, sizeof weights);
  add.variables = NULL;
  error = error || counter_add(&add, NULL, NULL) != GLOW_FAULT_BUFFER;
  add.variables = variables;
  int failed = error || show(counter_add(&add, NULL, NULL)) || show(counter_add(&add, NULL, NULL));
  /* A program that reads no variable needs no memory for them. */
  failed = failed || show(counter_other_one(&other, NULL, NULL));
  failed = failed || counter_reset_variables(variables, weights, sizeof weights);
  return failed || show(counter_add(&add, NULL, NULL)) || show_table();
}
