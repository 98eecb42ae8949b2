/* A program for test/tools/gdb.test: a breakpoint in `look` has one of everything in reach. */
#include "ir/ir.h"

static const char source[] = "declare {\n"
                             "  placeholder @x : float<1 x ..8 x ?>\n"
                             "  constant @w : i8[S:0.5 O:3]<4> = splat(1)\n"
                             "}\n"
                             "func @main(%p : seq<i64<2>, 3>) -> (float<1 x ..8 x ?>) {\n"
                             "  %m = Max(@x, @x) loc(\"m.onnx\":\"layer/max\")\n"
                             "  return %m\n"
                             "}\n";

/* The table, so that the debugger knows its type. */
const GlowOpDesc *volatile table = glow_op_desc;

static __attribute__((noinline)) int look(const GlowFunction *function, const GlowStorage *storage,
                                          const GlowNode *node, const GlowValue *value,
                                          const GlowValue *param, const GlowText *text) {
  GlowDim dim = value->type->dims[1];
  GlowLoc nowhere = {0};
  const GlowValue *none = NULL;
  __asm__ volatile("" ::"r"(&dim), "r"(&nowhere), "r"(&none), "r"(text), "r"(storage));
  return function && node && param ? 0 : 1;
}

int main(void) {
  GlowContext *ctx = glow_context_create();
  GlowModule *m = ctx ? glow_module_parse(ctx, "example.gg", source, sizeof source - 1) : NULL;
  if (!m)
    return 1;
  const GlowFunction *f = m->first_function;
  const GlowNode *n = f->body->first;
  char bytes[] = "some text";
  GlowText text = {ctx, bytes, 4, sizeof bytes};
  int status = look(f, m->last_storage, n, &n->results[0], f->body->params[0], &text);
  glow_context_destroy(ctx);
  return status;
}
