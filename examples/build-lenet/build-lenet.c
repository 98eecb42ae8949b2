/* Builds the LeNet program of the Glow paper's Figure 3 with the C API and prints its text.
 *
 *   cc build-lenet.c $(pkg-config --cflags --libs glow) && ./a.out | glow-opt -
 *
 * A batch of 8 pictures goes through two convolutions with pooling, a product and a softmax. Every
 * operand of an instruction is a buffer: alloc begins its life, dealloc ends it. */
#include <glow/build.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define INS(...) (GlowValue *[]){__VA_ARGS__}, COUNT(((GlowValue *[]){__VA_ARGS__}))

/* Storage: what the caller binds, and what is learned. */
typedef struct Storage {
  GlowValue *input, *filter, *bias, *filter2, *bias2, *weights, *bias3, *axis, *result;
} Storage;

static Storage declare(GlowModule *m) {
  Storage s;
  s.input = glow_add_placeholder(m, "input", "float<8 x 28 x 28 x 1>");
  s.filter = glow_add_variable(m, "filter", "float<16 x 5 x 5 x 1>",
                               "random {kind = xavier, fan = 25.0, seed = 1}");
  s.bias = glow_add_variable(m, "bias", "float<16>", "splat(0.1)");
  s.filter2 = glow_add_variable(m, "filter2", "float<16 x 5 x 5 x 16>",
                                "random {kind = xavier, fan = 400.0, seed = 2}");
  s.bias2 = glow_add_variable(m, "bias2", "float<16>", "splat(0.1)");
  s.weights = glow_add_variable(m, "weights", "float<10 x 144>",
                                "random {kind = xavier, fan = 144.0, seed = 3}");
  s.bias3 = glow_add_variable(m, "bias3", "float<10>", "splat(0.1)");
  s.axis = glow_add_constant(m, "axis", "i64<1>", "[1]");
  glow_add_placeholder(m, "selected", "i64<8 x 1>");
  s.result = glow_add_placeholder(m, "result", "float<8 x 10>");
  return s;
}

static GlowValue *convolve(GlowBlock *b, const char *name, const char *type, GlowValue *x,
                           GlowValue *filter, GlowValue *bias) {
  GlowValue *y = glow_add_alloc(b, name, type);
  glow_add_instruction(b, "convolution", "layout = NHWC, strides = [1, 1], pads = [2, 2, 2, 2]",
                       INS(y), INS(x, filter, bias));
  return y;
}

static GlowValue *relu(GlowBlock *b, const char *name, const char *type, GlowValue *x) {
  GlowValue *y = glow_add_alloc(b, name, type);
  glow_add_instruction(b, "relu", NULL, INS(y), INS(x));
  return y;
}

/* e^(x - most) in place: a stack is a loop over a scalar body. */
static void exponentials(GlowBlock *b, GlowValue *logits, GlowValue *most) {
  GlowBlock *body = glow_add_scalar_body(b, "body");
  GlowValue *x = glow_add_param(body, "x", "float<>");
  GlowValue *top = glow_add_param(body, "most", "float<>");
  GlowValue *difference = glow_add_op(body, NULL, "Sub", NULL, INS(x, top));
  GlowValue *power = glow_add_op(body, NULL, "Exp", NULL, INS(difference));
  glow_add_yield(body, INS(power));
  GlowValue *outs[] = {logits}, *ins[] = {logits, most};
  GlowNodeArgs stack = {.op = "stack",
                        .ins = ins,
                        .nins = COUNT(ins),
                        .outs = outs,
                        .nouts = COUNT(outs),
                        .regions = &body,
                        .nregions = 1};
  glow_add_node(b, &stack, NULL, 0);
}

static void build(GlowModule *m) {
  const char *pooling = "layout = NHWC, kernels = [3, 3], strides = [3, 3]";
  Storage s = declare(m);
  GlowBlock *b = glow_add_program(m, "main");

  GlowValue *conv = convolve(b, "allo", "float<8 x 28 x 28 x 16>", s.input, s.filter, s.bias);
  GlowValue *act = relu(b, "allo0", "float<8 x 28 x 28 x 16>", conv);
  GlowValue *where = glow_add_alloc(b, "allo1", "i64<8 x 9 x 9 x 16>");
  GlowValue *pool = glow_add_alloc(b, "allo2", "float<8 x 9 x 9 x 16>");
  glow_add_instruction(b, "max_pool", pooling, INS(pool, where), INS(act));

  GlowValue *conv2 = convolve(b, "allo3", "float<8 x 9 x 9 x 16>", pool, s.filter2, s.bias2);
  GlowValue *act2 = relu(b, "allo4", "float<8 x 9 x 9 x 16>", conv2);
  GlowValue *pool2 = glow_add_alloc(b, "allo5", "float<8 x 3 x 3 x 16>");
  glow_add_instruction(b, "max_pool", pooling, INS(pool2, NULL), INS(act2));

  GlowValue *flat = glow_add_view(b, "flat", pool2, NULL, "float<8 x 144>");
  GlowValue *turned = glow_add_alloc(b, "allo6", "float<144 x 10>");
  glow_add_instruction(b, "transpose", "perm = [1, 0]", INS(turned), INS(s.weights));
  GlowValue *product = glow_add_alloc(b, "allo7", "float<8 x 10>");
  glow_add_instruction(b, "mat_mul", NULL, INS(product), INS(flat, turned));
  GlowValue *logits = glow_add_alloc(b, "allo8", "float<8 x 10>");
  glow_add_instruction(b, "add", NULL, INS(logits), INS(product, s.bias3));

  GlowValue *most = glow_add_alloc(b, "allo9", "float<8 x 1>");
  glow_add_instruction(b, "reduce_max", NULL, INS(most), INS(logits, s.axis));
  exponentials(b, logits, most);
  GlowValue *sum = glow_add_alloc(b, "allo10", "float<8 x 1>");
  glow_add_instruction(b, "reduce_sum", NULL, INS(sum), INS(logits, s.axis));
  glow_add_instruction(b, "div", NULL, INS(s.result), INS(logits, sum));

  GlowValue *buffers[] = {conv,  act,    where,   pool,   conv2, act2,
                          pool2, turned, product, logits, most,  sum};
  for (size_t i = 0; i < COUNT(buffers); i++)
    glow_add_dealloc(b, buffers[i]);
}

int main(void) {
  GlowContext *ctx = glow_context_create();
  GlowModule *m = ctx ? glow_module_new(ctx, NULL) : NULL;
  char *text = NULL;
  size_t size;
  if (m)
    build(m);
  bool ok = m && glow_module_check(m) == GLOW_OK &&
            glow_module_to_text(m, &text, &size) == GLOW_OK &&
            fwrite(text, 1, size, stdout) == size;
  free(text);
  glow_context_destroy(ctx);
  return ok ? 0 : 1;
}
