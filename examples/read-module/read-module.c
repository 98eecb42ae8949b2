/* Reads a model or a text with the C API, binds open extents, and prints what is in it.
 *
 *   cc read-module.c $(pkg-config --cflags --libs glow) && ./a.out model.onnx [options]
 *
 * `options` are those of glow-opt in one word, such as "-bind=N=1 -O1". */
#include <glow/inspect.h>
#include <stdio.h>
#include <stdlib.h>

static void print_value(const char *before, const GlowValue *v) {
  char *type;
  if (v && glow_get_type(v, &type) == GLOW_OK) {
    const char *name = glow_get_name(v);
    printf("%s%s : %s", before, name ? name : "_", type);
    free(type);
  } else {
    printf("%snone", before);
  }
}

static void print_block(const GlowBlock *block, int depth) {
  for (GlowNode *n = glow_get_first_node(block); n; n = glow_get_next_node(n)) {
    printf("%*s%s", 2 * depth, "", glow_get_op(n));
    for (size_t i = 0; i < glow_count_outs(n); i++)
      print_value(i ? ", " : " gives ", glow_get_out(n, i));
    printf("\n");
    for (size_t i = 0; i < glow_count_regions(n); i++)
      print_block(glow_get_region(n, i), depth + 1);
  }
}

static void print_module(const GlowModule *m) {
  for (size_t i = 0; i < glow_count_storage(m); i++) {
    const GlowValue *v = glow_get_storage(m, i);
    printf("%s", glow_get_value_kind(v));
    print_value(" ", v);
    printf("\n");
  }
  for (size_t i = 0; i < glow_count_functions(m); i++) {
    const char *name;
    GlowBlock *body = glow_get_function(m, i, &name);
    printf("%s %s\n", glow_get_function_kind(m, i), name);
    for (size_t j = 0; j < glow_count_params(body); j++) {
      print_value("  parameter ", glow_get_param(body, j));
      printf("\n");
    }
    print_block(body, 1);
  }
}

int main(int argc, char **argv) {
  GlowContext *ctx = glow_context_create();
  GlowModule *m = NULL;
  GlowStatus status = GLOW_BAD_USAGE;
  if (!ctx || argc < 2)
    fprintf(stderr, "usage: read-module FILE [OPTIONS]\n");
  else
    status = glow_module_load(ctx, argv[1], &m);
  if (status == GLOW_OK && argc > 2)
    status = glow_module_apply(m, argv[2]);
  if (status == GLOW_OK)
    print_module(m);
  else
    fprintf(stderr, "read-module: %s\n", glow_status_text(status));
  glow_context_destroy(ctx);
  return status != GLOW_OK;
}
