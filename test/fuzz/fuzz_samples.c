/* Samples: the first byte chooses what is selected of a file, and of which type samples are; the
 * others are the file. All samples are read, or the first ones of many. */
#include "driver/samples.h"
#include "test/fuzz/fuzz.h"

enum { MOST_SAMPLES = 100 };

static const char *const selections[] = {NULL,       "x",       "0-5",           "a,b,2,d-e,d,e",
                                         "window=6", "0,5,1-4", "window=6,next", "5,4,3,2,1,0"};
static const GlowKind kinds[] = {GLOW_KIND_FLOAT, GLOW_KIND_I64, GLOW_KIND_U8, GLOW_KIND_FLOAT16};

static void body(GlowContext *ctx, void *arg) {
  const GlowFuzzInput *in = arg;
  if (!in->size)
    return;
  const GlowType *type = glow_type_exact(ctx, kinds[in->data[0] >> 3 & 3], 2, (int64_t[]){2, 3});
  char *copy =
      glow_malloc(ctx, in->size - 1); /* exactly: no reader of samples needs a NUL behind it */
  if (in->size > 1)
    memcpy(copy, in->data + 1, in->size - 1);
  GlowInput file = {.name = "fuzz", .data = copy, .size = in->size - 1, .heap = copy};
  GlowSamples *s = glow_samples_take(ctx, &file, selections[in->data[0] & 7], type, NULL);
  if (!s)
    return;
  GlowTensor *t = glow_tensor_create(ctx, type);
  for (int64_t i = 0; i < s->count && i < MOST_SAMPLES; i++)
    glow_samples_read(s, i, t->data);
  if (s->count)
    glow_samples_read(s, s->count - 1, t->data);
  glow_tensor_free(t);
}

GLOW_FUZZ_TARGET(false, body)
