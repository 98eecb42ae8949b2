/* A user's program: built against the installed headers and library alone. */
#include <glow/context.h>
#include <glow/module.h>
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
  glow_module_release(m);
  glow_context_destroy(ctx);
  puts("consumer: ok");
  return 0;
}
