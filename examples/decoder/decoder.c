/* Generates tokens with a decoder that keeps its cache in a state.
 *
 *   cc decoder.c $(pkg-config --cflags --libs glow) -o decoder
 *   ./decoder model.onnx COUNT ID...
 *
 * The model has the inputs that exporters give a decoder: input_ids, position_ids if it wants them,
 * attention_mask, and a past for each present. -carry makes variables of past and present, so runs
 * are given nothing but the new tokens: first the prompt, the IDs, then each token that the model
 * has chosen, COUNT in all. One executable runs prompts and tokens. */
#include <glow/executable.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PORTS = 8, MOST = 512 };
static const char options[] = "'-bind=past_sequence_length=0..512;sequence_length=1..128' "
                              "'-carry=past_key_values.*=present.*'";

typedef struct Decoder {
  GlowExecutable *model;
  GlowExecution *x;
  GlowState *state; /* the cache */
  int64_t ids[MOST], positions[MOST], mask[MOST];
  int64_t past; /* tokens in the cache */
} Decoder;

/* The number of the largest element in the last row of an output of [1, rows, words]. */
static int64_t best_word(const GlowBuffer *logits) {
  int64_t words = logits->extents[2], best = 0;
  const float *row = (const float *)logits->data + (logits->extents[1] - 1) * words;
  for (int64_t i = 1; i < words; i++)
    if (row[i] > row[best])
      best = i;
  return best;
}

/* Runs on `count` new tokens, which the cache has afterwards; returns the next one, or -1. */
static int64_t step(Decoder *d, const int64_t *ids, int64_t count) {
  const int64_t given[] = {1, count}, all[] = {1, d->past + count};
  GlowBuffer buffers[MOST_PORTS] = {{NULL, 0, NULL}};
  GlowPort port = {.size = sizeof port};
  size_t ports = 0, logits = 0;
  for (; ports < MOST_PORTS && glow_executable_port(d->model, NULL, ports, &port); ports++) {
    if (!strcmp(port.name, "input_ids"))
      buffers[ports] = (GlowBuffer){d->ids, sizeof d->ids, given};
    else if (!strcmp(port.name, "position_ids"))
      buffers[ports] = (GlowBuffer){d->positions, sizeof d->positions, given};
    else if (!strcmp(port.name, "attention_mask"))
      buffers[ports] = (GlowBuffer){d->mask, sizeof d->mask, all};
    else
      logits = ports;
  }
  for (int64_t i = 0; i < count; i++) {
    d->ids[i] = ids[i];
    d->positions[i] = d->past + i;
  }
  if (glow_execution_run(d->x, d->state, buffers, ports) != GLOW_OK)
    return -1;
  d->past += count;
  return best_word(glow_execution_output(d->x, logits));
}

static int generate(Decoder *d, int count, char **prompt, int length) {
  int64_t ids[MOST], next;
  for (int i = 0; i < length; i++)
    ids[i] = atoll(prompt[i]);
  for (int i = 0; i < MOST; i++)
    d->mask[i] = 1;
  next = step(d, ids, length);
  for (int i = 0; next >= 0 && i < count; i++) {
    printf("%lld\n", (long long)next);
    next = i + 1 < count ? step(d, &next, 1) : next;
  }
  GlowFaultInfo fault = {.size = sizeof fault};
  glow_execution_fault(d->x, &fault);
  if (next < 0)
    fprintf(stderr, "decoder: %s\n", fault.text);
  return next < 0;
}

int main(int argc, char **argv) {
  if (argc < 4 || argc - 3 > MOST) {
    fprintf(stderr, "usage: decoder MODEL COUNT ID...\n");
    return 2;
  }
  Decoder d = {.past = 0};
  GlowCompileOptions how = {.size = sizeof how, .options = options};
  GlowExecutionOptions outputs = {.size = sizeof outputs, .outputs = true};
  GlowContext *ctx = glow_context_create(); /* messages about the model go to stderr */
  GlowStatus status = glow_executable_open(ctx, argv[1], &how, &d.model);
  glow_context_destroy(ctx);
  if (status == GLOW_OK)
    status = glow_execution_create(d.model, &outputs, &d.x);
  if (status == GLOW_OK)
    status = glow_state_create(d.model, &d.state);
  if (status == GLOW_OK && generate(&d, atoi(argv[2]), argv + 3, argc - 3))
    status = GLOW_BAD_INPUT;
  glow_execution_destroy(d.x);
  glow_state_destroy(d.state);
  glow_executable_release(d.model);
  return status != GLOW_OK;
}
