/* glow-tblgen: compiles operator descriptions (the .ops files of lib/ops) and the kernel table
 * (those of lib/kernels) into C, documentation and keyword lists. Links glow_support only, since
 * everything else is made from its output. */
#include <stdio.h>

#include "support/cmdline.h"
#include "support/file.h"
#include "tblgen.h"

static const struct {
  const char *name;
  Generator *generate;
} generators[] = {
    {"header", gen_header},
    {"table", gen_table},
    {"infer", gen_infer},
    {"infer-header", gen_infer_header},
    {"lower", gen_lower},
    {"lower-header", gen_lower_header},
    {"grad", gen_grad},
    {"grad-header", gen_grad_header},
    {"gradients", gen_gradients},
    {"irgen", gen_irgen},
    {"irgen-header", gen_irgen_header},
    {"fold", gen_fold},
    {"fold-header", gen_fold_header},
    {"kernels", gen_kernels},
    {"kernels-header", gen_kernels_header},
    {"values-header", gen_values_header},
    {"scalar", gen_scalar},
    {"elementwise", gen_elementwise},
    {"vector", gen_vector},
    {"casts", gen_casts},
    {"blocks", gen_blocks},
    {"docs", gen_docs},
    {"keywords", gen_keywords},
    {"vim", gen_vim},
    {"primitives", gen_primitives},
    {"onnx", gen_onnx},
    {"onnx-header", gen_onnx_header},
    {"onnx-docs", gen_onnx_docs},
    {"params", gen_params},
    {"prototypes", gen_prototypes},
    {"rows-header", gen_rows_header},
    {"setups-header", gen_setups_header},
    {"rows", gen_rows},
    {"work-header", gen_work_header},
    {"work", gen_work},
    {"library", gen_library},
};
enum { NGENERATORS = sizeof generators / sizeof *generators };

typedef struct Options {
  GlowContext *ctx;
  const char *gen, *output;
} Options;

static Generator *find_generator(GlowContext *ctx, const char *name) {
  const char *names[NGENERATORS];
  for (size_t i = 0; i < NGENERATORS; i++) {
    names[i] = generators[i].name;
    if (name && strcmp(name, names[i]) == 0)
      return generators[i].generate;
  }
  if (name)
    glow_error(ctx, GLOW_NOWHERE, "unknown generator '%s'%s", name,
               did_you_mean(ctx, name, names, NGENERATORS));
  else
    glow_error(ctx, GLOW_NOWHERE, "option -gen is missing");
  return NULL;
}

/* The text is copied: diagnostics quote it until the context goes. */
static bool read_file(OpFile *file, const char *path) {
  GlowInput in;
  if (!glow_input_open(file->ctx, path, false, GLOW_NOWHERE, &in))
    return false;
  char *text = glow_arena_copy(file->ctx->arena, in.data, in.size + 1);
  size_t n = strlen(path);
  bool map = n > 4 && strcmp(path + n - 4, ".map") == 0;
  if (n > 2 && strcmp(path + n - 2, ".h") == 0)
    functions_add(file, text);
  else
    ops_parse(file, glow_source_add(file->ctx, in.name, text, in.size), map);
  glow_input_close(&in);
  return true;
}

/* Whether the file has this text already. Such a file is left as it is, so that the build makes
 * nothing anew that depends on it. */
static bool is_written(const char *path, const GlowText *text) {
  FILE *file = path && strcmp(path, "-") ? fopen(path, "rb") : NULL;
  if (!file)
    return false;
  char part[4096];
  size_t at = 0, n;
  while ((n = fread(part, 1, sizeof part, file)) > 0 && at + n <= text->size &&
         memcmp(part, text->data + at, n) == 0)
    at += n;
  bool same = n == 0 && !ferror(file) && at == text->size;
  fclose(file);
  return same;
}

static GlowStatus generate(const OpFile *file, Generator *generator, const char *path) {
  GlowText out;
  glow_text_init(&out, file->ctx);
  GlowDefer defer;
  glow_defer_push(file->ctx, &defer, glow_text_release_fn, &out);
  generator(file, &out);
  GlowBytes bytes = {out.data, out.size};
  bool ok = is_written(path, &out) || glow_output_write(file->ctx, path, &bytes, 1);
  glow_defer_pop(file->ctx, &defer, true);
  return ok ? GLOW_OK : GLOW_IO;
}

static GlowStatus run(GlowContext *ctx, int argc, char **argv) {
  Options o = {.ctx = ctx};
  const GlowOption options[] = {
      {.name = "gen",
       .value = "WHAT",
       .help = "what to generate",
       .kind = GLOW_OPT_STRING,
       .target = &o.gen},
      {.name = "o",
       .value = "FILE",
       .help = "where to write it (default: standard output)",
       .kind = GLOW_OPT_STRING,
       .target = &o.output},
  };
  const GlowCommand cmd = {.name = "glow-tblgen",
                           .overview = "Compiles operator descriptions and the kernel table",
                           .usage = "-gen=WHAT [-o FILE] FILE.ops... [onnx.map] [math.h...]",
                           .options = options,
                           .noptions = sizeof options / sizeof *options,
                           .min_positional = 1,
                           .max_positional = SIZE_MAX};
  GlowStrList paths = {0};
  bool exit_now = false;
  GlowStatus status = glow_cmdline_parse(ctx, &cmd, argc, argv, &paths, &exit_now);
  if (status != GLOW_OK || exit_now)
    return status;
  Generator *generator = find_generator(ctx, o.gen);
  if (!generator)
    return GLOW_BAD_USAGE;
  OpFile file = {.ctx = ctx, .arena = ctx->arena};
  for (uint32_t i = 0; i < paths.count; i++)
    if (!read_file(&file, paths.data[i]))
      return GLOW_IO;
  if (!ctx->errors)
    ops_check(&file);
  if (!ctx->errors)
    onnx_check(&file);
  if (!ctx->errors)
    kernels_check(&file);
  if (ctx->errors)
    return GLOW_BAD_INPUT;
  for (uint32_t i = 0; i < file.ops.count; i++) {
    OpDecl *op = file.ops.data[i];
    op->expanded = expand_rule(&file, op, NULL);
    if (op->lower.text && strcmp(op->lower.text, "body") == 0 && !op->expanded)
      glow_error(ctx, op->lower.loc, "the body of '%s' cannot be made into nodes", op->name.text);
  }
  if (!ctx->errors)
    slopes_check(&file);
  if (!ctx->errors)
    rules_check(&file);
  if (!ctx->errors && (generator == gen_grad || generator == gen_gradients))
    statuses_check(&file);
  if (ctx->errors)
    return GLOW_BAD_INPUT;
  return generate(&file, generator, o.output);
}

int main(int argc, char **argv) { return glow_tool_main("glow-tblgen", argc, argv, run); }
