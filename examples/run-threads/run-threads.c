/* Runs a model on several threads at the same time with the C API: one executable, whose constants
 * and code all threads use, and an execution for each thread.
 *
 *   cc run-threads.c $(pkg-config --cflags --libs glow) -o run-threads
 *   ./run-threads model.onnx 4 20
 *
 * Each of 4 threads runs the model 20 times on inputs of zeros. Then the numbers of runs in a
 * second and the bytes of memory are printed; the exit status is 1 if two runs gave different bits.
 * $GLOW_OPTIONS has options of glow-run. */
#include <glow/executable.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_PORTS = 64, MOST_THREADS = 64 };

typedef struct Thread {
  pthread_t thread;
  GlowExecutable *model;
  int runs;
  GlowStatus status;
  unsigned long long sum; /* over the bytes of all outputs of all runs */
} Thread;

/* FNV-1a. */
static unsigned long long add(unsigned long long sum, const GlowBuffer *b) {
  const unsigned char *bytes = b ? b->data : NULL;
  for (size_t i = 0; bytes && i < b->bytes; i++)
    sum = (sum ^ bytes[i]) * 1099511628211u;
  return sum;
}

static void *work(void *arg) {
  Thread *t = arg;
  GlowExecutionOptions outputs = {.size = sizeof outputs, .outputs = true};
  GlowExecution *x = NULL;
  GlowState *state = NULL;
  GlowBuffer buffers[MOST_PORTS] = {{NULL, 0, NULL}};
  GlowPort port = {.size = sizeof port};
  size_t count = 0;
  for (; count < MOST_PORTS && glow_executable_port(t->model, NULL, count, &port); count++)
    if (port.read && !port.written)
      buffers[count] = (GlowBuffer){calloc(1, port.bytes + 1), port.bytes, NULL};
  t->status = glow_execution_create(t->model, &outputs, &x);
  if (t->status == GLOW_OK)
    t->status = glow_state_create(t->model, &state);
  for (int i = 0; i < t->runs && t->status == GLOW_OK; i++) {
    t->status = glow_execution_run(x, state, buffers, count);
    for (size_t p = 0; p < count; p++)
      t->sum = add(t->sum, glow_execution_output(x, p));
  }
  for (size_t p = 0; p < count; p++)
    free(buffers[p].data);
  glow_execution_destroy(x);
  glow_state_destroy(state);
  return NULL;
}

static double now(void) {
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv) {
  int count = argc == 4 ? atoi(argv[2]) : 0, runs = argc == 4 ? atoi(argv[3]) : 0, same = 1;
  if (count < 1 || count > MOST_THREADS || runs < 1) {
    fprintf(stderr, "usage: run-threads MODEL THREADS RUNS; at most %d threads\n", MOST_THREADS);
    return 2;
  }
  GlowCompileOptions how = {.size = sizeof how, .options = getenv("GLOW_OPTIONS")};
  GlowMemory memory = {.size = sizeof memory};
  GlowExecutable *model = NULL;
  GlowContext *ctx = glow_context_create();
  GlowStatus status = glow_executable_open(ctx, argv[1], &how, &model);
  glow_context_destroy(ctx);
  if (status == GLOW_OK)
    status = glow_executable_memory(model, NULL, 1, &memory);
  Thread threads[MOST_THREADS];
  double began = now();
  int started = 0;
  for (; started < count && status == GLOW_OK; started++) {
    threads[started] = (Thread){.model = model, .runs = runs};
    if (pthread_create(&threads[started].thread, NULL, work, &threads[started]))
      break;
  }
  for (int i = 0; i < started; i++) {
    pthread_join(threads[i].thread, NULL);
    status = status == GLOW_OK ? threads[i].status : status;
    same &= threads[i].sum == threads[0].sum;
  }
  glow_executable_release(model);
  if (status != GLOW_OK || started < count || !same) {
    fprintf(stderr, "run-threads: %s\n", same ? glow_status_text(status) : "two runs differ");
    return 1;
  }
  printf("%d runs, %.1f in a second\n", started * runs, started * runs / (now() - began));
  printf("%zu bytes of constants, %zu of each thread\n", memory.constants + memory.shared,
         memory.execution + memory.outputs + memory.state);
  return 0;
}
