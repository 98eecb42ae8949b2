/* glow-diff: the structural difference of two texts. Its exit status follows diff(1): 0 the same, 1
 * different, 2 trouble. */
#include <stdio.h>

#include "diff/diff.h"
#include "import/onnx/onnx.h"
#include "support/cmdline.h"
#include "support/file.h"

typedef struct Diff {
  GlowContext *ctx;
  GlowDiffOptions options;
  bool brief;
  const char *paths[2];
} Diff;

static bool differ;

static void close_input(void *in) { glow_input_close(in); }

static GlowModule *read_module(GlowContext *ctx, const GlowInput *in) {
  if (!glow_onnx_expect_text(ctx, in))
    return NULL;
  GlowModule *m = glow_module_parse(ctx, in->name, in->data, in->size);
  return m && glow_module_verify(m) ? m : NULL;
}

static GlowStatus print(const Diff *d, const GlowText *text) {
  if (!differ)
    return GLOW_OK;
  if (d->brief)
    return printf("%s and %s differ\n", d->paths[0], d->paths[1]) < 0 ? GLOW_IO : GLOW_OK;
  const char *head = glow_str_printf(d->ctx, "--- %s\n+++ %s\n", d->paths[0], d->paths[1]);
  GlowBytes parts[] = {{head, strlen(head)}, {text->data, text->size}};
  return glow_output_write(d->ctx, NULL, parts, 2) ? GLOW_OK : GLOW_IO;
}

static GlowStatus compare(const Diff *d, GlowModule *a, GlowModule *b) {
  GlowText t;
  GlowDefer release;
  glow_text_init(&t, d->ctx);
  glow_defer_push(d->ctx, &release, glow_text_release_fn, &t);
  GlowStatus status = GLOW_BAD_INPUT;
  if (glow_module_diff(a, b, &d->options, &t, &differ))
    status = print(d, &t);
  glow_defer_pop(d->ctx, &release, true);
  return status;
}

/* Reads what is left to read, then compares: inputs stay open until the end. */
static GlowStatus with_input(const Diff *d, GlowModule **modules, uint32_t i) {
  if (i == 2)
    return compare(d, modules[0], modules[1]);
  GlowInput in;
  GlowDefer close;
  if (!glow_input_open(d->ctx, d->paths[i], false, GLOW_NOWHERE, &in))
    return GLOW_IO;
  glow_defer_push(d->ctx, &close, close_input, &in);
  modules[i] = read_module(d->ctx, &in);
  GlowStatus status = modules[i] ? with_input(d, modules, i + 1) : GLOW_BAD_INPUT;
  glow_defer_pop(d->ctx, &close, true);
  return status;
}

static GlowStatus run(GlowContext *ctx, int argc, char **argv) {
  Diff d = {.ctx = ctx};
  const GlowOption options[] = {
      {.name = "weights",
       .help = "Compare the values of constants and variables too",
       .kind = GLOW_OPT_FLAG,
       .target = &d.options.weights,
       .two_dashes = true},
      {.name = "brief",
       .help = "Only say whether they differ",
       .kind = GLOW_OPT_FLAG,
       .target = &d.brief,
       .two_dashes = true},
  };
  GlowCommand command = {.name = "glow-diff",
                         .overview = "prints what two texts of graphs or programs differ in",
                         .usage = "[options] A B",
                         .options = options,
                         .noptions = sizeof options / sizeof *options,
                         .min_positional = 2,
                         .max_positional = 2};
  GlowStrList files;
  bool exit_now;
  GlowStatus status = glow_cmdline_parse(ctx, &command, argc, argv, &files, &exit_now);
  if (status != GLOW_OK || exit_now)
    return status;
  d.paths[0] = files.data[0];
  d.paths[1] = files.data[1];
  glow_onnx_register(ctx);
  GlowModule *modules[2] = {NULL, NULL};
  return with_input(&d, modules, 0);
}

int main(int argc, char **argv) {
  int status = glow_tool_main("glow-diff", argc, argv, run);
  return status ? 2 : differ;
}
