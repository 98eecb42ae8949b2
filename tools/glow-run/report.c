/* What glow-run says about outputs: comparisons, best classes, values. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "import/onnx/onnx.h"
#include "tools/glow-run/glow_run.h"

static void flush(GlowText *text) {
  fwrite(text->data, 1, text->size, stdout);
  glow_text_release(text);
}

/* Compares one output; reports to stdout. */
static bool check(GlowSession *s, GlowStr name, const GlowTensor *want, const GlowRunCommand *c) {
  const GlowTensor *got = glow_bindings_find(&s->outputs, name);
  if (!got) {
    glow_error(s->ctx, GLOW_NOWHERE, "the model has no output '%s'", name);
    return false;
  }
  GlowCompare result = glow_tensor_compare(s->ctx, got, want, c->rtol, c->atol);
  GlowText text;
  glow_text_init(&text, s->ctx);
  glow_compare_print(&text, name, want, &result);
  flush(&text);
  return result.ok;
}

/* Splits [NAME=]FILE by the outputs' names. */
static const char *split_expect(GlowSession *s, const char *spec, GlowStr *name) {
  for (const char *eq = strchr(spec, '='); eq; eq = strchr(eq + 1, '=')) {
    *name = glow_str_n(s->ctx, spec, (size_t)(eq - spec));
    if (glow_bindings_find(&s->outputs, *name))
      return eq + 1;
  }
  if (s->outputs.count == 1 && !strchr(spec, '=')) {
    *name = s->outputs.data[0].name;
    return spec;
  }
  glow_error(s->ctx, GLOW_NOWHERE, "--expect: '%s' names no output of the model", spec);
  for (uint32_t i = 0; i < s->outputs.count && i < 16; i++)
    glow_note(s->ctx, GLOW_NOWHERE, "output '%s' is %s", s->outputs.data[i].name,
              glow_type_str(s->ctx, s->outputs.data[i].tensor->type));
  return NULL;
}

GlowStatus glow_run_expect(GlowSession *s, const GlowRunCommand *c) {
  bool ok = true;
  for (uint32_t i = 0; i < c->expects.count; i++) {
    GlowStr name;
    const char *path = split_expect(s, c->expects.data[i], &name);
    GlowTensor *want =
        path ? glow_session_read(s, path, glow_session_output_type(s, name), NULL) : NULL;
    ok &= want && check(s, name, want, c);
    glow_tensor_free(want);
  }
  return ok ? GLOW_OK : GLOW_BAD_INPUT;
}

static char *numbered(GlowContext *ctx, const char *dir, const char *what, uint32_t i) {
  return glow_arena_printf(ctx->arena, "%s/%s_%u.pb", dir, what, i);
}

GlowStatus glow_run_add_test_inputs(GlowSession *s, const char *dir) {
  GlowNameList names = {0};
  glow_session_names(s, false, &names);
  for (uint32_t i = 0; i < names.count; i++) {
    struct stat st;
    const char *path = numbered(s->ctx, dir, "input", i);
    if (stat(path, &st) && i) /* inputs without a file: those with an initializer */
      break;
    GlowTensor *t = glow_session_read(s, path, glow_session_input_type(s, names.data[i]), NULL);
    if (!t)
      return GLOW_BAD_INPUT;
    glow_vec_push(s->ctx->arena, &s->inputs, ((GlowBinding){names.data[i], t}));
  }
  return GLOW_OK;
}

GlowStatus glow_run_check_test_outputs(GlowSession *s, const GlowRunCommand *c) {
  bool ok = true;
  GlowNameList names = {0};
  glow_session_names(s, true, &names);
  for (uint32_t i = 0; i < names.count; i++) {
    GlowTensor *want = glow_session_read(s, numbered(s->ctx, c->test_data, "output", i),
                                         glow_session_output_type(s, names.data[i]), NULL);
    ok &= want && check(s, names.data[i], want, c);
    glow_tensor_free(want);
  }
  return ok ? GLOW_OK : GLOW_BAD_INPUT;
}

typedef struct Class {
  double value;
  int64_t index;
} Class;

static int by_value(const void *pa, const void *pb) {
  const Class *a = pa, *b = pb;
  return a->value != b->value ? (a->value < b->value ? 1 : -1)
                              : (a->index > b->index) - (a->index < b->index);
}

static void softmax(Class *classes, int64_t n) {
  double max = -INFINITY, sum = 0;
  for (int64_t i = 0; i < n; i++)
    max = fmax(max, classes[i].value);
  for (int64_t i = 0; i < n; i++)
    sum += classes[i].value = exp(classes[i].value - max);
  for (int64_t i = 0; i < n; i++)
    classes[i].value /= sum;
}

/* The label of a class: line `index` of the file. */
static void print_label(const GlowInput *labels, int64_t index) {
  const char *p = labels->data, *end = labels->data + labels->size;
  for (int64_t i = 0; i < index && p; i++) {
    p = memchr(p, '\n', (size_t)(end - p));
    p = p ? p + 1 : NULL;
  }
  if (!p || p >= end)
    return;
  const char *stop = memchr(p, '\n', (size_t)(end - p));
  int length = (int)((stop ? stop : end) - p);
  printf("  %.*s", length && p[length - 1] == '\r' ? length - 1 : length, p);
}

/* One row of the output: its best classes, a line each. */
static void print_row(Class *classes, int64_t n, const GlowRunCommand *c, const GlowInput *labels) {
  if (c->softmax)
    softmax(classes, n);
  qsort(classes, (size_t)n, sizeof *classes, by_value);
  int64_t k = c->top_k ? c->top_k : 5;
  for (int64_t i = 0; i < k && i < n; i++) {
    printf("%8.4f  %5lld", classes[i].value, (long long)classes[i].index);
    if (labels->data)
      print_label(labels, classes[i].index);
    printf("\n");
  }
}

GlowStatus glow_run_classes(GlowSession *s, const GlowRunCommand *c) {
  const GlowTensor *t = s->outputs.count ? s->outputs.data[0].tensor : NULL;
  if (!t || t->type->cls != GLOW_TYPE_TENSOR || !t->type->rank ||
      t->type->kind == GLOW_KIND_STRING) {
    glow_error(s->ctx, GLOW_NOWHERE, "--top-k needs a first output that is a tensor of numbers");
    return GLOW_BAD_INPUT;
  }
  GlowInput labels = {0};
  if (c->labels && !glow_input_open(s->ctx, c->labels, false, GLOW_NOWHERE, &labels))
    return GLOW_IO;
  int64_t n = t->type->dims[t->type->rank - 1].size, rows = n ? glow_tensor_elements(t) / n : 0;
  Class *classes = GLOW_NEW_ARRAY(s->ctx->arena, Class, (size_t)n);
  for (int64_t r = 0; r < rows; r++) {
    for (int64_t i = 0; i < n; i++)
      classes[i] = (Class){glow_tensor_get_double(t, r * n + i), i};
    if (rows > 1)
      printf("row %lld\n", (long long)r);
    print_row(classes, n, c, &labels);
  }
  if (labels.data)
    glow_input_close(&labels);
  return GLOW_OK;
}

/* Shape, range and mean of a tensor too large to print. */
static void print_summary(GlowText *text, const GlowTensor *t) {
  int64_t n = glow_tensor_elements(t);
  double min = INFINITY, max = -INFINITY, sum = 0;
  for (int64_t i = 0; i < n; i++) {
    double v = glow_tensor_get_double(t, i);
    min = fmin(min, v);
    max = fmax(max, v);
    sum += v;
  }
  glow_text_printf(text, "%lld elements, min %g, max %g, mean %g (--output-dir writes them)",
                   (long long)n, min, max, sum / (double)n);
}

GlowStatus glow_run_print(GlowSession *s) {
  for (uint32_t i = 0; i < s->outputs.count; i++) {
    const GlowTensor *t = s->outputs.data[i].tensor;
    GlowText text;
    glow_text_init(&text, s->ctx);
    glow_text_printf(&text, "%s : ", s->outputs.data[i].name);
    glow_type_print(&text, t->type);
    glow_text_puts(&text, " = ");
    bool large = t->type->cls == GLOW_TYPE_TENSOR && t->type->kind != GLOW_KIND_STRING &&
                 glow_tensor_elements(t) > 4096;
    if (large)
      print_summary(&text, t);
    else
      glow_tensor_print(&text, t);
    glow_text_putc(&text, '\n');
    flush(&text);
  }
  return GLOW_OK;
}
