/* Runs the bundle of fail.gir: the branch that has no types, then the other one. */
#include <stdio.h>

#include "fail.h"

static _Alignas(64) unsigned char arena[FAIL_MAIN_ARENA_SIZE(1) + 64];
static _Alignas(64) unsigned char flag[64];
static _Alignas(64) float x[16], y[16];

int main(void) {
  fail_main_buffers b = {.arena = arena, .arena_size = sizeof arena, .c = flag, .x = x, .y = y};
  GlowFault fault;
  x[0] = 3;
  x[1] = 4;
  for (int taken = 1; taken >= 0; taken--) {
    flag[0] = (unsigned char)taken;
    int64_t error = fail_main(&b, NULL, &fault);
    printf("%s at %d\n", fail_error_text(error), (int)fault.instruction);
  }
  printf("%g %g\n", (double)y[0], (double)y[1]);
  return 0;
}
