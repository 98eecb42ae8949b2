/* Fail: the run ends. */
#include "kernels/ref/ref.h"

GlowRunError glow_kernel_fail(GlowCall *call) {
  (void)call;
  return GLOW_RUN_FAIL;
}
