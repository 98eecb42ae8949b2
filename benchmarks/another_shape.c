/* glow-bench-shape MODEL OPTIONS OPTIONS [NAME=VALUE...]: runs a model at one shape and then, in
 * the same process, at another one, and prints the seconds that each took: from the model's file to
 * the result. The options are those of glow_executable_open, such as "-bind=N=2 --tier=library".
 * Inputs are random numbers of variance 1, integers 0; of input NAME all elements are VALUE. */
#include <glow/executable.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_PORTS = 64, ALIGN = 64 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The value that arguments `NAME=VALUE` give to a port; NULL: none. */
static const char *value_of(char **values, const char *name) {
  size_t length = strlen(name);
  for (; *values; values++)
    if (!strncmp(*values, name, length) && (*values)[length] == '=')
      return *values + length + 1;
  return NULL;
}

static void fill(const GlowPort *port, const char *value, GlowBuffer *b) {
  unsigned state = 1;
  for (size_t i = 0; !strcmp(port->kind, "float") && i < b->bytes / sizeof(float); i++) {
    state = state * 1664525u + 1013904223u;
    ((float *)b->data)[i] =
        value ? strtof(value, NULL) : (float)(state >> 8) * 0x1p-23f * 1.7320508f - 1.7320508f;
  }
  for (size_t i = 0; value && !strcmp(port->kind, "i64") && i < b->bytes / sizeof(int64_t); i++)
    ((int64_t *)b->data)[i] = strtoll(value, NULL, 10);
}

/* A buffer for each port; how many. -1: a port has no bound. */
static int make_buffers(const GlowExecutable *model, char **values, GlowBuffer *buffers) {
  GlowPort port = {.size = sizeof port};
  int count = 0;
  for (; count < MOST_PORTS && glow_executable_port(model, NULL, (size_t)count, &port); count++) {
    if (!port.bytes) {
      fprintf(stderr, "glow-bench-shape: '%s' has no bound: %s\n", port.name, port.type);
      return -1;
    }
    buffers[count].bytes = port.bytes;
    buffers[count].data = aligned_alloc(ALIGN, (port.bytes + ALIGN - 1) / ALIGN * ALIGN);
    if (!buffers[count].data)
      return -1;
    memset(buffers[count].data, 0, port.bytes);
    if (port.read)
      fill(&port, value_of(values, port.name), &buffers[count]);
  }
  return count;
}

/* Seconds without those that the inputs take; -1 after a message. */
static double first_result(const char *path, const char *options, char **values) {
  GlowCompileOptions how = {.size = sizeof how, .options = options};
  GlowExecutable *model = NULL;
  GlowExecution *x = NULL;
  GlowState *state = NULL;
  GlowBuffer buffers[MOST_PORTS] = {{NULL, 0, NULL}};
  double start = now();
  GlowContext *ctx = glow_context_create();
  GlowStatus status = ctx ? glow_executable_open(ctx, path, &how, &model) : GLOW_NO_MEMORY;
  glow_context_destroy(ctx);
  double seconds = now() - start;
  int count = status == GLOW_OK ? make_buffers(model, values, buffers) : -1;
  if (count >= 0) {
    start = now();
    status = glow_execution_create(model, NULL, &x);
    if (status == GLOW_OK)
      status = glow_state_create(model, &state);
    if (status == GLOW_OK)
      status = glow_execution_run(x, state, buffers, (size_t)count);
    seconds += now() - start;
  }
  GlowFaultInfo fault = {.size = sizeof fault, .text = ""};
  if (x)
    glow_execution_fault(x, &fault);
  if (status != GLOW_OK)
    fprintf(stderr, "glow-bench-shape: %s: %s\n", glow_status_text(status), fault.text);
  for (int i = 0; i < MOST_PORTS; i++)
    free(buffers[i].data);
  glow_execution_destroy(x);
  glow_state_destroy(state);
  glow_executable_release(model);
  return status == GLOW_OK && count >= 0 ? seconds : -1;
}

int main(int argc, char **argv) {
  if (argc < 4) {
    fprintf(stderr, "usage: glow-bench-shape MODEL OPTIONS OPTIONS [NAME=VALUE...]\n");
    return 2;
  }
  for (int i = 2; i < 4; i++) {
    double seconds = first_result(argv[1], argv[i], argv + 4);
    if (seconds < 0)
      return 1;
    printf("%.6f\n", seconds);
  }
  return 0;
}
