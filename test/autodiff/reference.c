/* Reads derivatives from a text: see reference.h. */
#include "test/autodiff/reference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/text.h"

bool reference_read(Reference *r, const char *path) {
  FILE *in = fopen(path, "rb");
  *r = (Reference){0};
  if (!in)
    return false;
  fseek(in, 0, SEEK_END);
  long size = ftell(in);
  rewind(in);
  r->text = size < 0 ? NULL : malloc((size_t)size + 1);
  bool ok = r->text && fread(r->text, 1, (size_t)size, in) == (size_t)size;
  if (ok)
    r->text[size] = 0;
  fclose(in);
  return ok;
}

const char *reference_find(const Reference *r, const char *line) {
  size_t n = strlen(line);
  for (const char *at = r->text; at; at = strchr(at, '\n')) {
    at += *at == '\n';
    if (strncmp(at, line, n) == 0 && at[n] == '\n')
      return at + n + 1;
  }
  return NULL;
}

int64_t reference_compare(const char **at, const GlowTensor *g) {
  int64_t n = glow_tensor_elements(g), wrong = -1;
  const char *start = *at;
  double largest = 0;
  char *end;
  for (int64_t i = 0; i < n; i++) {
    double want = glow_parse_double(*at, &end);
    if (end == *at)
      return n;
    largest = fmax(largest, fabs(want));
    *at = end + strspn(end, " ");
  }
  for (int64_t i = n; i-- > 0;) {
    double want = glow_parse_double(start, &end), got = ((const double *)g->data)[n - 1 - i];
    double size = fmax(fabs(want), 1e-3 * largest);
    if (wrong < 0 && !(fabs(got - want) <= 1e-10 * size))
      wrong = n - 1 - i;
    start = end + strspn(end, " ");
  }
  *at += **at == '\n';
  return wrong;
}
