/* A user's program: built against the installed headers and library alone. */
#include <glow/executable.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char text[] = "declare {\n"
                           "  placeholder @x : float<2>\n"
                           "  placeholder @y : float<2>\n"
                           "}\n"
                           "func @main {\n"
                           "  %unused = Exp(@x) : float<2>\n"
                           "  %r = Relu(@x) : float<2>\n"
                           "  Save(%r, @y)\n"
                           "}\n";

static unsigned messages;

static void count(void *user, const GlowDiagnostic *d) {
  (void)user;
  messages += d->severity == GLOW_ERROR && d->loc.line == 1;
}

/* Runs the module when it is gone. The status of the first thing that fails. */
static GlowStatus run(GlowModule *m) {
  float x[] = {-1, 2}, y[] = {7, 7};
  GlowBuffer buffers[2] = {{x, sizeof x, NULL}, {y, sizeof y, NULL}};
  GlowExecutionOptions outputs;
  GlowExecutable *e = NULL;
  GlowExecution *execution = NULL;
  memset(&outputs, 0, sizeof outputs);
  outputs.size = sizeof outputs;
  outputs.outputs = true;
  GlowStatus status = glow_compile(m, NULL, &e);
  glow_module_release(m);
  if (status == GLOW_OK)
    status = glow_execution_create(e, &outputs, &execution);
  if (status == GLOW_OK)
    status = glow_execution_run(execution, NULL, buffers, 2);
  if (status == GLOW_OK && (y[0] != 0 || y[1] != 2))
    status = GLOW_INTERNAL;
  glow_execution_destroy(execution);
  glow_executable_release(e);
  return status;
}

int main(void) {
  GlowContext *ctx = glow_context_create();
  GlowModule *m = NULL, *bad = NULL;
  char *out = NULL;
  size_t size = 0;
  if (!ctx || glow_module_load_text(ctx, "inline.gg", text, strlen(text), &m) != GLOW_OK ||
      glow_module_run_passes(m, "dce") != GLOW_OK || glow_module_check(m) != GLOW_OK ||
      glow_module_to_text(m, &out, &size) != GLOW_OK)
    return 1;
  if (strstr(out, "Exp") || !strstr(out, "%r = Relu(@x) : float<2>") || strlen(out) != size)
    return 2;
  glow_context_set_diagnostic_fn(ctx, count, NULL);
  if (glow_module_load_text(ctx, "bad.gg", "func {", 6, &bad) != GLOW_BAD_INPUT || bad || !messages)
    return 3;
  free(out);
  if (run(m) != GLOW_OK)
    return 4;
  glow_context_destroy(ctx);
  puts("consumer: ok");
  return 0;
}
