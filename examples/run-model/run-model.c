/* Runs a model with the C API and prints what it computes.
 *
 *   cc run-model.c $(pkg-config --cflags --libs glow) && ./a.out model.onnx input.npy...
 *
 * There is a file for each input, in order: .npy, or the bytes of its elements. Of an output of
 * floats the three largest elements are printed, with their numbers: the classes of a classifier.
 * $GLOW_OPTIONS are options of glow-run, such as "-bind=N=1 --tier=compiled". */
#include <glow/executable.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PORTS = 64 };

/* The elements in a file; NULL if it cannot be read. */
static void *read_file(const char *path, size_t *bytes) {
  FILE *f = fopen(path, "rb");
  long size = f && !fseek(f, 0, SEEK_END) ? ftell(f) : -1;
  unsigned char *data = size < 0 ? NULL : aligned_alloc(64, ((size_t)size / 64 + 1) * 64);
  rewind(f ? f : stdin);
  *bytes = data ? fread(data, 1, (size_t)size, f) : 0;
  if (*bytes > 10 && !memcmp(data, "\x93NUMPY", 6)) {
    size_t head = 10 + (data[8] | (size_t)data[9] << 8);
    *bytes = *bytes > head ? *bytes - head : 0;
    memmove(data, data + head, *bytes);
  }
  if (f)
    fclose(f);
  return data;
}

static void print_output(const GlowPort *port, const GlowBuffer *b) {
  printf("%s: %s\n", port->name, port->type);
  const float *x = b->data;
  size_t n = strcmp(port->kind, "float") ? 0 : b->bytes / sizeof *x, best[3] = {0};
  for (size_t k = 0; k < 3 && k < n; k++) {
    best[k] = SIZE_MAX;
    for (size_t i = 0; i < n; i++)
      if ((k < 1 || i != best[0]) && (k < 2 || i != best[1]) &&
          (best[k] == SIZE_MAX || x[i] > x[best[k]]))
        best[k] = i;
    printf("%10zu  %g\n", best[k], x[best[k]]);
  }
}

int main(int argc, char **argv) {
  GlowContext *ctx = glow_context_create();
  GlowCompileOptions how = {.size = sizeof how, .options = getenv("GLOW_OPTIONS")};
  GlowExecutionOptions outputs = {.size = sizeof outputs, .outputs = true};
  GlowExecutable *model = NULL;
  GlowExecution *x = NULL;
  GlowState *state = NULL;
  GlowPort port = {.size = sizeof port};
  GlowBuffer buffers[MOST_PORTS] = {{0}};
  size_t count = 0;
  if (argc < 2 || glow_executable_open(ctx, argv[1], &how, &model) != GLOW_OK ||
      glow_execution_create(model, &outputs, &x) != GLOW_OK ||
      glow_state_create(model, &state) != GLOW_OK) {
    fprintf(stderr, "usage: run-model MODEL INPUT...\n");
    return 2;
  }
  glow_context_destroy(ctx); /* the executable does not need it */
  for (int file = 2; count < MOST_PORTS && glow_executable_port(model, NULL, count, &port); count++)
    if (port.read && !port.written && file < argc)
      buffers[count].data = read_file(argv[file++], &buffers[count].bytes);
  GlowStatus status = glow_execution_run(x, state, buffers, count);
  GlowFaultInfo fault = {.size = sizeof fault};
  glow_execution_fault(x, &fault);
  if (status != GLOW_OK)
    fprintf(stderr, "run-model: %s\n", fault.text);
  for (size_t i = 0; i < count && status == GLOW_OK; i++)
    if (glow_execution_output(x, i) && glow_executable_port(model, NULL, i, &port))
      print_output(&port, glow_execution_output(x, i));
  for (size_t i = 0; i < count; i++)
    free(buffers[i].data);
  glow_execution_destroy(x);
  glow_state_destroy(state);
  glow_executable_release(model);
  return status != GLOW_OK;
}
