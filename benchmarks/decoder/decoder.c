/* glow-bench-decoder MODEL OPTIONS WORDS PROMPT TOKENS FOLDER [TOKEN...]: runs a decoder on a
 * prompt and then token by token, and prints milliseconds: until the executable is there, of the
 * prompt, and of each token. The options are those of glow_executable_open, such as
 * "-carry=past.*=present.*
 * --tier=library". Token i is i * 7919 % WORDS. The last row of the logits of run TOKEN, 1 for that
 * behind the prompt, is written to FOLDER/TOKEN.f32. */
#include <glow/executable.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_PORTS = 16, ALIGN = 64, MOST = 4096 };

typedef struct Run {
  GlowExecutable *model;
  GlowExecution *x;
  GlowState *state;
  int64_t *ids, *positions, *mask;
  long long words;
  int64_t past;
  size_t logits; /* the port */
} Run;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + 1e-6 * (double)t.tv_nsec;
}

static GlowStatus step(Run *r, int64_t count) {
  const int64_t given[] = {1, count}, all[] = {1, r->past + count};
  int64_t end = r->past + count;
  GlowBuffer buffers[MOST_PORTS] = {{NULL, 0, NULL}};
  GlowPort port = {.size = sizeof port};
  size_t ports = 0;
  for (; ports < MOST_PORTS && glow_executable_port(r->model, NULL, ports, &port); ports++) {
    if (!strcmp(port.name, "input_ids"))
      buffers[ports] = (GlowBuffer){r->ids, MOST * sizeof *r->ids, given};
    else if (!strcmp(port.name, "position_ids"))
      buffers[ports] = (GlowBuffer){r->positions, MOST * sizeof *r->positions, given};
    else if (!strcmp(port.name, "attention_mask"))
      buffers[ports] = (GlowBuffer){r->mask, MOST * sizeof *r->mask, all};
    else if (!strcmp(port.name, "write_indices"))
      buffers[ports] = (GlowBuffer){r->positions, sizeof *r->positions, NULL};
    else if (!strcmp(port.name, "nonpad_kv_seqlen"))
      buffers[ports] = (GlowBuffer){&end, sizeof end, NULL};
    else
      r->logits = ports;
  }
  for (int64_t i = 0; i < count; i++) {
    r->positions[i] = r->past + i;
    r->ids[i] = r->positions[i] * 7919 % r->words;
  }
  GlowStatus status = glow_execution_run(r->x, r->state, buffers, ports);
  r->past += count;
  return status;
}

/* Writes the logits of the last token, if somebody asks for those of this run. */
static GlowStatus keep(const Run *r, const char *folder, int token, char **wanted) {
  char path[4096];
  const GlowBuffer *y = glow_execution_output(r->x, r->logits);
  for (; *wanted && atoi(*wanted) != token; wanted++)
    ;
  if (!*wanted)
    return GLOW_OK;
  snprintf(path, sizeof path, "%s/%d.f32", folder, token);
  FILE *f = fopen(path, "wb");
  size_t words = (size_t)y->extents[2];
  const float *row = (const float *)y->data + (size_t)(y->extents[1] - 1) * words;
  bool ok = f && fwrite(row, sizeof *row, words, f) == words;
  return f && !fclose(f) && ok ? GLOW_OK : GLOW_IO;
}

static GlowStatus run(Run *r, int prompt, int tokens, const char *folder, char **wanted) {
  GlowStatus status = GLOW_OK;
  for (int i = 0; i <= tokens && status == GLOW_OK; i++) {
    double start = now();
    status = step(r, i ? 1 : prompt);
    printf("%.4f\n", now() - start);
    if (status == GLOW_OK)
      status = keep(r, folder, i, wanted);
  }
  return status;
}

static int64_t *integers(int64_t value) {
  int64_t *list = aligned_alloc(ALIGN, MOST * sizeof *list);
  for (int i = 0; list && i < MOST; i++)
    list[i] = value;
  return list;
}

int main(int argc, char **argv) {
  if (argc < 7) {
    fprintf(stderr,
            "usage: glow-bench-decoder MODEL OPTIONS WORDS PROMPT TOKENS FOLDER [TOKEN...]\n");
    return 2;
  }
  Run r = {
      .words = atoll(argv[3]), .ids = integers(0), .positions = integers(0), .mask = integers(1)};
  GlowCompileOptions how = {.size = sizeof how, .options = argv[2]};
  GlowExecutionOptions outputs = {.size = sizeof outputs, .outputs = true};
  double start = now();
  GlowContext *ctx = glow_context_create();
  GlowStatus status = glow_executable_open(ctx, argv[1], &how, &r.model);
  glow_context_destroy(ctx);
  printf("%.4f\n", now() - start);
  if (status == GLOW_OK)
    status = glow_execution_create(r.model, &outputs, &r.x);
  if (status == GLOW_OK)
    status = glow_state_create(r.model, &r.state);
  if (status == GLOW_OK)
    status = run(&r, atoi(argv[4]), atoi(argv[5]), argv[6], argv + 7);
  if (status != GLOW_OK && r.x) {
    GlowFaultInfo fault = {.size = sizeof fault};
    glow_execution_fault(r.x, &fault);
    fprintf(stderr, "glow-bench-decoder: %s\n", fault.text);
  }
  glow_execution_destroy(r.x);
  glow_state_destroy(r.state);
  glow_executable_release(r.model);
  free(r.ids);
  free(r.positions);
  free(r.mask);
  return status != GLOW_OK;
}
