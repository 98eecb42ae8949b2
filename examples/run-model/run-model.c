/* Runs a model with the C API and prints what it computes.
 *
 *   cc run-model.c $(pkg-config --cflags --libs glow) -o run-model
 *   ./run-model model.onnx input.npy...
 *
 * There is a file for each input, in order: .npy, or the bytes of its elements. Of an output of
 * floats the three largest elements are printed with their numbers, which are the classes of a
 * classifier. $GLOW_OPTIONS has options of glow-run, such as "-bind=N=1 --tier=compiled". */
#include <glow/executable.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PORTS = 64 };

/* The elements in a file, behind the head of an .npy; data NULL: it cannot be read. */
static GlowBuffer read_file(const char *path) {
  GlowBuffer b = {NULL, 0, NULL};
  FILE *f = fopen(path, "rb");
  long size = f && !fseek(f, 0, SEEK_END) ? ftell(f) : -1;
  if (size >= 0 && (b.data = malloc((size_t)size + 1)) && !fseek(f, 0, SEEK_SET))
    b.bytes = fread(b.data, 1, (size_t)size, f);
  const unsigned char *at = b.data;
  if (b.bytes > 10 && !memcmp(at, "\x93NUMPY\1", 7)) {
    size_t head = 10 + (at[8] | (size_t)at[9] << 8);
    b.bytes = b.bytes > head ? b.bytes - head : 0;
    memmove(b.data, at + head, b.bytes);
  }
  if (f)
    fclose(f);
  return b;
}

static void print_output(const GlowPort *port, const GlowBuffer *b) {
  const float *x = b->data;
  size_t count = strcmp(port->kind, "float") ? 0 : b->bytes / sizeof *x, shown[3];
  printf("%s : %s\n", port->name, port->type);
  for (size_t k = 0; k < 3 && k < count; k++) {
    size_t best = count;
    for (size_t i = 0; i < count; i++) {
      int known = (k > 0 && i == shown[0]) || (k > 1 && i == shown[1]);
      if (!known && (best == count || x[i] > x[best]))
        best = i;
    }
    shown[k] = best;
    printf("%8zu  %g\n", best, x[best]);
  }
}

static GlowStatus run(const GlowExecutable *model, GlowExecution *x, GlowState *state,
                      char **files) {
  GlowBuffer buffers[MOST_PORTS] = {{NULL, 0, NULL}};
  GlowPort port = {.size = sizeof port};
  size_t count = 0;
  for (; count < MOST_PORTS && glow_executable_port(model, NULL, count, &port); count++)
    if (port.read && !port.written && *files)
      buffers[count] = read_file(*files++);
  GlowStatus status = glow_execution_run(x, state, buffers, count);
  GlowFaultInfo fault = {.size = sizeof fault};
  glow_execution_fault(x, &fault);
  if (status != GLOW_OK)
    fprintf(stderr, "run-model: %s\n", fault.text);
  for (size_t i = 0; i < count; i++) {
    if (glow_execution_output(x, i) && glow_executable_port(model, NULL, i, &port))
      print_output(&port, glow_execution_output(x, i));
    free(buffers[i].data);
  }
  return status;
}

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: run-model MODEL INPUT...\n");
    return 2;
  }
  GlowCompileOptions how = {.size = sizeof how, .options = getenv("GLOW_OPTIONS")};
  GlowExecutionOptions outputs = {.size = sizeof outputs, .outputs = true};
  GlowExecutable *model = NULL;
  GlowExecution *x = NULL;
  GlowState *state = NULL;
  GlowContext *ctx = glow_context_create(); /* messages about the model go to stderr */
  GlowStatus status = glow_executable_open(ctx, argv[1], &how, &model);
  glow_context_destroy(ctx);
  if (status == GLOW_OK)
    status = glow_execution_create(model, &outputs, &x);
  if (status == GLOW_OK)
    status = glow_state_create(model, &state);
  if (status == GLOW_OK)
    status = run(model, x, state, argv + 2);
  glow_execution_destroy(x);
  glow_state_destroy(state);
  glow_executable_release(model);
  if (status != GLOW_OK)
    fprintf(stderr, "run-model: %s\n", glow_status_text(status));
  return status != GLOW_OK;
}
