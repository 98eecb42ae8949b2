/* The libraries of this build, one for each row of this machine's family. */
#include "kernels/library.h"

#include <stddef.h>
#include <string.h>

#define ROW(id) extern const GlowLibrary glow_library_##id;
#include "kernels/library.inc"
#undef ROW

static const GlowLibrary *const libraries[] = {
#define ROW(id) &glow_library_##id,
#include "kernels/library.inc"
#undef ROW
    NULL};

const GlowLibrary *glow_library(const char *row) {
  for (const GlowLibrary *const *l = libraries; *l; l++)
    if (!strcmp((*l)->row, row))
      return *l;
  return NULL;
}
