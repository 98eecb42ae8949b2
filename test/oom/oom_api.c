/* The same for the shared library: fails each allocation in turn while a program loads bytes,
 * applies options, reads what the module has, and saves; compiles, opens the model's file, and runs
 * both. Every failure must end in a status, or in a whole answer, and must leave no memory behind
 * once the context is destroyed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "glow/executable.h"
#include "glow/inspect.h"
#include "test/oom/failing.h"

typedef struct Bytes {
  const char *name;
  char *data;
  size_t size;
} Bytes;

static void silent(void *user, const GlowDiagnostic *d) {
  (void)user;
  (void)d;
}

/* Reads everything; the first status that is not OK. Counts what was read. */
static GlowStatus read_block(const GlowBlock *b, unsigned *count) {
  char *text;
  GlowStatus status = GLOW_OK;
  for (GlowNode *n = glow_get_first_node(b); n && status == GLOW_OK; n = glow_get_next_node(n)) {
    for (size_t i = 0; i < glow_count_outs(n) && status == GLOW_OK; i++) {
      status = glow_get_type(glow_get_out(n, i), &text);
      *count += status == GLOW_OK && text && *text;
      free(text);
    }
    if (status == GLOW_OK && strcmp(glow_get_op(n), "max_pool") == 0) {
      status = glow_get_member(n, "kernels", &text);
      *count += status == GLOW_OK && strcmp(text, "[2, 2]") == 0;
      free(text);
    }
    for (size_t i = 0; i < glow_count_regions(n) && status == GLOW_OK; i++)
      status = read_block(glow_get_region(n, i), count);
  }
  return status;
}

/* Runs once on zeros, with a pool and a copy of a state. */
static GlowStatus run(GlowExecutable *e, unsigned *count) {
  static _Alignas(64) char zeros[1 << 16];
  GlowExecutionOptions o = {.size = sizeof o, .outputs = true, .profile = true};
  GlowState *s = NULL, *copy = NULL;
  GlowExecution *x = NULL;
  GlowBuffer buffers[16] = {{0}};
  GlowPort port = {.size = sizeof port};
  size_t n = 0;
  for (; n < 16 && glow_executable_port(e, NULL, n, &port); n++)
    if (port.read && !port.written)
      buffers[n] = (GlowBuffer){zeros, port.bytes, NULL};
  GlowStatus status = glow_pool_create(2, &o.pool);
  if (status == GLOW_OK)
    status = glow_state_create(e, &s);
  if (status == GLOW_OK)
    status = glow_state_copy(s, &copy);
  if (status == GLOW_OK)
    status = glow_execution_create(e, &o, &x);
  if (status == GLOW_OK)
    status = glow_execution_run(x, copy, buffers, n);
  if (status == GLOW_OK)
    status = glow_state_reset(copy);
  for (size_t i = 0; i < n; i++)
    *count += glow_execution_output(x, i) != NULL;
  glow_execution_destroy(x);
  glow_state_destroy(copy);
  glow_state_destroy(s);
  glow_pool_destroy(o.pool);
  return status;
}

/* Compiles the module for machine code, writes the executable and opens the file, opens the model
 * for the interpreter, and runs all. */
static GlowStatus execute(GlowContext *ctx, GlowModule *m, const char *path, const char *written,
                          unsigned *count) {
  GlowExecutable *e = NULL;
  GlowCompileOptions how = {.size = sizeof how, .options = "--no-cache"};
  GlowStatus status = glow_store_create(&how.store);
  if (status == GLOW_OK)
    status = glow_compile(m, &how, &e);
  glow_store_destroy(how.store);
  if (status == GLOW_OK)
    status = run(e, count);
  if (status == GLOW_OK)
    status = glow_executable_write(e, written);
  glow_executable_release(e);
  e = NULL;
  if (status == GLOW_OK)
    status = glow_executable_open(ctx, written, NULL, &e);
  if (status == GLOW_OK)
    status = run(e, count);
  glow_executable_release(e);
  e = NULL;
  how = (GlowCompileOptions){.size = sizeof how, .options = "--backend=interp"};
  if (status == GLOW_OK)
    status = glow_executable_open(ctx, path, &how, &e);
  if (status == GLOW_OK)
    status = run(e, count);
  glow_executable_release(e);
  return status;
}

static GlowStatus work(GlowContext *ctx, const Bytes *model, const char *output, unsigned *count) {
  GlowModule *m;
  char written[1100];
  snprintf(written, sizeof written, "%s.exe", output);
  GlowStatus status = glow_module_load_bytes(ctx, model->name, model->data, model->size, NULL, &m);
  if (status == GLOW_OK)
    status = glow_module_apply(m, "-target=x86-64-v3 -O1 -irgen '-O1'");
  if (status == GLOW_OK)
    status = read_block(glow_get_function(m, 0, NULL), count);
  if (status == GLOW_OK)
    status = execute(ctx, m, model->name, written, count);
  if (status == GLOW_OK)
    status = glow_module_save(m, output);
  return status;
}

static GlowStatus attempt(const Bytes *model, const char *output, long fail_at, unsigned *count) {
  fired = false;
  countdown = fail_at;
  GlowContext *ctx = glow_context_create();
  GlowStatus status = GLOW_NO_MEMORY;
  *count = 0;
  if (ctx) {
    glow_context_set_diagnostic_fn(ctx, silent, NULL);
    status = work(ctx, model, output, count);
    countdown = -1;
    glow_context_destroy(ctx);
  }
  countdown = -1;
  return status;
}

static bool sweep(const Bytes *model, const char *output) {
  unsigned all, count;
  if (attempt(model, output, -1, &all) != GLOW_OK || all < 5 || access(output, F_OK) != 0) {
    printf("%s: fails without a failing allocation; %u read\n", model->name, all);
    return false;
  }
  for (long n = 0;; n++) {
    long before = live;
    unlink(output);
    GlowStatus status = attempt(model, output, n, &count);
    bool written = access(output, F_OK) == 0;
    if (live != before || written != (status == GLOW_OK) || (status == GLOW_OK && count != all) ||
        status == GLOW_INTERNAL || status == GLOW_BAD_USAGE) {
      printf("%s: allocation %ld failed: %ld blocks left behind, status %d, %swritten, %u read\n",
             model->name, n, live - before, (int)status, written ? "" : "not ", count);
      return false;
    }
    if (!fired) {
      printf("%s: %ld allocations, each failed once; then status %d\n", model->name, n,
             (int)status);
      return status == GLOW_OK && n > 20;
    }
  }
}

/* OUTPUT FILE...: each file goes through all of it. OUTPUT is written, and removed in the end. */
int main(int argc, char **argv) {
  setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
  printf("allocation failures in turn\n"); /* stdio's own buffer is allocated here */
  int failed = argc < 3;
  for (int i = 2; i < argc; i++) {
    static char data[1 << 20];
    Bytes model = {argv[i], data, 0};
    FILE *f = fopen(argv[i], "rb");
    if (f) {
      model.size = fread(data, 1, sizeof data, f);
      fclose(f);
    }
    failed += !sweep(&model, argv[1]);
  }
  unlink(argv[1]);
  printf("%d passed, %d failed\n", argc - 2 - failed, failed);
  return failed != 0;
}
