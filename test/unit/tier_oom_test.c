/* Every allocation of the work that compiles a program in the background fails once: runs go on
 * with the same bits, and what could not be made stays library code. */
#include <string.h>

#include "backend/backends.h"
#include "driver/session.h"
#include "exec/execution.h"
#include "test/unit/failing_malloc.h"
#include "test/unit/unit.h"

static const char text[] =
    "declare {\n"
    "  placeholder @x : float<16 x 64>\n"
    "  placeholder @y : float<16 x 64>\n"
    "  constant @w : float<64 x 64> = random {kind = uniform, low = -0.1, high = 0.1, seed = 1}\n"
    "}\n"
    "program @main {\n"
    "  %p = alloc float<16 x 64>\n"
    "  mat_mul @out %p, @in @x, @in @w\n"
    "  stack @out @y, @in %p ^body(%v : float<>) = { %0 = Sigmoid(%v) : float<>  yield %0 }\n"
    "  dealloc %p\n"
    "}\n";

static uint32_t port(const GlowExecutable *e, const char *name) {
  uint32_t i = 0;
  while (strcmp(e->entries->values[i].name, name) != 0)
    i++;
  return i;
}

/* Compiles in the background while allocation n fails (-1: none). Whether one did; *better: how
 * many pieces are compiled code then. */
static bool attempt(const GlowBackend *cpu, GlowFunction *f, long n, uint32_t *better) {
  static unsigned char want[16 * 64 * 4];
  GlowExecutable *e = glow_backend_compile(cpu, &f, 1, &(GlowRunOptions){.tier = GLOW_TIER_AUTO});
  GlowExecution *x = glow_execution_make(e->entries, &(GlowExecutionSetup){0});
  GlowTensor *t = glow_tensor_create(f->module->ctx, e->entries->values[port(e, "x")].type);
  const GlowTensor *inputs[8] = {0};
  for (size_t i = 0; i < t->bytes / sizeof(float); i++)
    ((float *)t->data)[i] = (float)(i % 17) - 8;
  inputs[port(e, "x")] = t;
  CHECK(glow_execution_call(x, NULL, inputs) == GLOW_OK);
  const GlowTensor *y = glow_execution_tensor(x, port(e, "y"));
  memcpy(want, y->data, sizeof want);
  refused = 0;
  allowance = n;
  GlowStatus status = glow_executable_compile(e, 300);
  allowance = -1;
  bool hit = refused > 0;
  uint32_t all;
  glow_executable_count_pieces(e, &all, better);
  EXPECT(status == (hit ? GLOW_BAD_INPUT : GLOW_OK), "allocation %ld: status %d", n, status);
  CHECK(glow_execution_call(x, NULL, inputs) == GLOW_OK && !memcmp(want, y->data, sizeof want));
  glow_tensor_free(t);
  glow_execution_destroy(x);
  glow_executable_release(e);
  return hit;
}

int main(void) {
  GlowContext *ctx = glow_context_create();
  GlowModule *m = glow_module_parse(ctx, "test", text, strlen(text));
  CHECK(m && glow_module_verify(m));
  GlowFunction *f = glow_module_entry(m, NULL);
  const GlowBackend *cpu = glow_backend_find(ctx, &glow_backends, "cpu");
  uint32_t whole, better;
  CHECK(!attempt(cpu, f, -1, &whole) && whole > 1);
  long n = 0;
  while (n < 2000 && attempt(cpu, f, n, &better))
    n++;
  CHECK(n > 5 && n < 2000 && better == whole);
  glow_context_destroy(ctx);
  return unit_finish();
}
