/* glow-import: turns an ONNX model into the text of a module. Weights stay in the model's file; the
 * text refers to them by name. */
#include <string.h>
#include <unistd.h>

#include "import/onnx/onnx.h"
#include "support/cmdline.h"
#include "support/file.h"
#include "tools/glow-import/preflight.h"

typedef struct Options {
  const char *output;
  const char *preflight; /* NULL: import; else text, json or "" */
  GlowStrList binds, bind_inputs;
  int64_t error_limit;
  bool training, quiet;
} Options;

/* Options that are malformed whatever the model is are errors of the command line. */
static bool check_options(GlowContext *ctx, const Options *o) {
  GlowLoc loc = glow_loc_file(ctx, "glow-import");
  bool ok = true;
  for (uint32_t i = 0; i < o->binds.count; i++)
    if (!glow_onnx_bind_valid(ctx, o->binds.data[i])) {
      glow_error(ctx, loc,
                 "-bind='%s': expected NAME=EXTENT, NAME=..EXTENT, NAME=LEAST..MOST step STEP "
                 "or NAME=SYMBOL",
                 o->binds.data[i]);
      ok = false;
    }
  for (uint32_t i = 0; i < o->bind_inputs.count; i++)
    if (!glow_onnx_bind_input_valid(o->bind_inputs.data[i])) {
      glow_error(ctx, loc, "-bind-input='%s': expected NAME=1x3x224x224", o->bind_inputs.data[i]);
      ok = false;
    }
  if (o->preflight && *o->preflight && strcmp(o->preflight, "text") != 0 &&
      strcmp(o->preflight, "json") != 0) {
    glow_error(ctx, loc, "--preflight=%s: expected text or json", o->preflight);
    ok = false;
  }
  return ok;
}

static GlowStatus write_text(GlowContext *ctx, const GlowModule *m, const Options *o) {
  bool to_stdout = !o->output || strcmp(o->output, "-") == 0;
  if (to_stdout && glow_module_has_payload(m) && isatty(STDOUT_FILENO)) {
    glow_error(ctx, glow_loc_file(ctx, "glow-import"),
               "the text carries weights as bytes, which a terminal cannot show; use -o");
    return GLOW_BAD_USAGE;
  }
  GlowPrintOptions options = {.relative_to = to_stdout ? NULL : glow_path_dir(ctx, o->output)};
  GlowText out;
  GlowDefer release;
  glow_text_init(&out, ctx);
  glow_defer_push(ctx, &release, glow_text_release_fn, &out);
  glow_module_print(m, &out, &options);
  GlowBytes bytes = {out.data, out.size};
  bool ok = glow_output_write(ctx, o->output, &bytes, 1);
  glow_defer_pop(ctx, &release, true);
  return ok ? GLOW_OK : GLOW_IO;
}

static void close_input(void *in) { glow_input_close(in); }

static GlowStatus import_file(GlowContext *ctx, const char *path, const Options *o) {
  GlowInput in;
  GlowDefer close;
  if (!glow_input_open(ctx, path, false, GLOW_NOWHERE, &in))
    return GLOW_IO;
  glow_defer_push(ctx, &close, close_input, &in);
  GlowOnnxOptions options = {.binds = o->binds.data,
                             .nbinds = o->binds.count,
                             .bind_inputs = o->bind_inputs.data,
                             .nbind_inputs = o->bind_inputs.count,
                             .training = o->training,
                             .quiet = o->quiet};
  GlowStatus status = GLOW_BAD_INPUT;
  GlowModule *m = NULL;
  if (o->preflight)
    status =
        glow_import_preflight(ctx, &in, &options, o->output, strcmp(o->preflight, "json") == 0);
  else
    m = glow_onnx_import(ctx, &in, &options);
  if (m && glow_module_verify(m))
    status = write_text(ctx, m, o);
  else if (!m && !glow_onnx_is_model(in.data, in.size) && glow_text_is_module(in.data, in.size))
    glow_note(ctx, glow_loc_file(ctx, in.name), "this looks like a text; glow-opt reads texts");
  glow_defer_pop(ctx, &close, true);
  return status;
}

static GlowStatus run(GlowContext *ctx, int argc, char **argv) {
  Options o = {.error_limit = 20};
  const GlowOption options[] = {
      {.name = "o",
       .value = "FILE",
       .help = "write the text to FILE (default: stdout)",
       .kind = GLOW_OPT_STRING,
       .target = &o.output},
      {.name = "bind",
       .value = "NAME=EXTENT",
       .help = "bind an open dimension: N=8, N=..8 for at most 8, or N=1..8 (step 2) to keep it "
               "open in this range, N=M for two that are one; several by ; or repeated",
       .kind = GLOW_OPT_REPEAT,
       .target = &o.binds},
      {.name = "bind-input",
       .value = "NAME=SHAPE",
       .help = "bind the open dimensions of an input: image=1x3x224x224; may be repeated",
       .kind = GLOW_OPT_REPEAT,
       .target = &o.bind_inputs},
      {.name = "error-limit",
       .value = "N",
       .help = "stop after N errors; 0: never (default: 20)",
       .kind = GLOW_OPT_INT,
       .target = &o.error_limit,
       .min = 0,
       .max = INT32_MAX},
      {.name = "preflight",
       .value = "text|json",
       .help = "instead of a module, write a report: operators and how they are supported, open "
               "dimensions, element types, parameters, cost",
       .kind = GLOW_OPT_OPTIONAL,
       .target = &o.preflight,
       .two_dashes = true},
      {.name = "training",
       .help =
           "read dropout and batch normalization as for training, or the training step that the "
           "model has",
       .kind = GLOW_OPT_FLAG,
       .target = &o.training},
      {.name = "quiet",
       .help = "leave out notes",
       .kind = GLOW_OPT_FLAG,
       .target = &o.quiet,
       .two_dashes = true},
  };
  GlowCommand command = {.name = "glow-import",
                         .overview = "turns an ONNX model into the text of a module",
                         .usage = "[options] MODEL.onnx",
                         .options = options,
                         .noptions = sizeof options / sizeof *options,
                         .min_positional = 1,
                         .max_positional = 1};
  GlowStrList files;
  bool exit_now;
  GlowStatus status = glow_cmdline_parse(ctx, &command, argc, argv, &files, &exit_now);
  if (status != GLOW_OK || exit_now)
    return status;
  if (!check_options(ctx, &o))
    return GLOW_BAD_USAGE;
  ctx->error_limit = (unsigned)o.error_limit;
  return import_file(ctx, files.data[0], &o);
}

int main(int argc, char **argv) { return glow_tool_main("glow-import", argc, argv, run); }
