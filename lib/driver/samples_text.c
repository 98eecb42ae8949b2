/* Samples of a text: its bytes in pieces of N, and for models of language the bytes one further
 * on. */
#include <string.h>

#include "driver/samples_internal.h"
#include "tensor/element.h"

typedef struct Text {
  const unsigned char *data; /* of the first piece */
  int64_t window;
} Text;

static bool read_text(const GlowSamples *s, int64_t i, GlowTensor *sample) {
  const Text *t = s->source;
  GlowLoc at = glow_loc_file(s->ctx, s->name);
  for (int64_t e = 0; e < t->window; e++) {
    GlowScalar byte = glow_scalar_int(t->data[i * t->window + e]);
    if (!glow_samples_put(s, i, at, sample, e, glow_samples_number(s, e, byte)))
      return false;
  }
  return true;
}

bool glow_samples_text(GlowSamples *s, const GlowInput *in, const char *options) {
  GlowLoc at = glow_loc_file(s->ctx, s->name);
  int64_t window = 0, elements = glow_type_elements(s->type);
  const char *p = options;
  for (; *p >= '0' && *p <= '9' && window < INT32_MAX; p++)
    window = 10 * window + (*p - '0');
  bool next = !strcmp(p, ",next");
  if (!window || (*p && !next)) {
    glow_error(s->ctx, at, "':window=%s' is neither window=N nor window=N,next", options);
    return false;
  }
  if (window != elements) {
    glow_error(s->ctx, at, "%lld bytes are no %s", (long long)window,
               glow_type_str(s->ctx, s->type));
    return false;
  }
  Text *t = GLOW_NEW(s->ctx->arena, Text);
  *t = (Text){(const unsigned char *)in->data + next, window};
  s->count = in->size ? ((int64_t)in->size - 1) / window : 0; /* as many with `next` as without */
  s->source = t;
  s->read = read_text;
  return true;
}
