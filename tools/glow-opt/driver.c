/* The loop of glow-opt and glow-irgen: parse, verify, run, verify the round trip, print. With
 * --split-input-file, for each part of the input; line numbers stay those of the file, because a
 * part is parsed with as many newlines before it as the file has. */
#include "driver.h"

#include <unistd.h>

#include "driver/passes.h"
#include "import/onnx/onnx.h"
#include "reproducer.h"
#include "support/file.h"
#include "view/view.h"

static const char separator[] = "; -----";

/* One part of the input as a text of its own; text[size] is NUL. */
typedef struct Part {
  const char *text;
  size_t size;
} Part;
typedef GLOW_VEC(Part) PartVec;

GlowDriver glow_driver_create(GlowContext *ctx, const char *tool, int argc, char **argv) {
  GlowDriver d = {.tool = tool, .ctx = ctx, .argc = argc, .argv = argv, .error_limit = 20};
  d.pipeline = glow_pipeline_create(ctx, &glow_passes);
  d.runner.verify_each = true;
  return d;
}

/* ---- Splitting ------------------------------------------------------------------------------- */

static bool is_separator(const char *line, size_t length) {
  while (length && (line[length - 1] == '\r' || line[length - 1] == ' '))
    length--;
  return length == sizeof separator - 1 && memcmp(line, separator, length) == 0;
}

static void add_part(GlowContext *ctx, PartVec *parts, size_t lines_before, const char *from,
                     const char *to) {
  size_t size = lines_before + (size_t)(to - from);
  char *text = glow_arena_alloc(ctx->arena, size + 1);
  memset(text, '\n', lines_before);
  memcpy(text + lines_before, from, (size_t)(to - from));
  glow_vec_push(ctx->arena, parts, ((Part){text, size}));
}

static void split(GlowContext *ctx, const GlowInput *in, PartVec *parts) {
  const char *start = in->data, *end = in->data + in->size;
  size_t line = 0, start_line = 0;
  for (const char *s = start; s < end; line++) {
    const char *newline = memchr(s, '\n', (size_t)(end - s));
    const char *stop = newline ? newline : end;
    if (is_separator(s, (size_t)(stop - s))) {
      add_part(ctx, parts, start_line, start, s);
      start = newline ? newline + 1 : end;
      start_line = line + 1;
    }
    s = newline ? newline + 1 : end;
  }
  add_part(ctx, parts, start_line, start, end);
}

/* ---- One module ------------------------------------------------------------------------------ */

static GlowStatus print(GlowDriver *d, const GlowModule *m, GlowText *out) {
  bool to_stdout = !d->output || strcmp(d->output, "-") == 0;
  if (to_stdout && !d->elide_constants && glow_module_has_payload(m) && isatty(STDOUT_FILENO)) {
    glow_error(d->ctx, glow_loc_file(d->ctx, d->tool),
               "the module carries binary data, which a terminal cannot show; use -o, or "
               "-elide-constants to read it");
    return GLOW_BAD_USAGE;
  }
  GlowPrintOptions options = {.elide_constants = d->elide_constants};
  if (!to_stdout)
    options.relative_to = glow_path_dir(d->ctx, d->output);
  glow_module_print(m, out, &options);
  return GLOW_OK;
}

/* A picture takes the place of the text unless -o asks for that too. */
static bool is_written(const GlowDriver *d) { return !d->view || d->output; }

static GlowStatus transform(GlowDriver *d, GlowModule *m, GlowText *out) {
  if (!glow_module_verify(m))
    return GLOW_BAD_INPUT;
  GlowStatus status = glow_pipeline_run(m, d->pipeline, &d->runner);
  if (status == GLOW_OK && d->verify_roundtrip && !glow_module_verify_roundtrip(m))
    status = GLOW_INTERNAL;
  if (status == GLOW_OK && d->view)
    status = glow_view_write(m, d->view);
  return status == GLOW_OK && is_written(d) ? print(d, m, out) : status;
}

static void destroy_module(void *m) { glow_module_destroy(m); }

static GlowStatus process(GlowDriver *d, const char *name, Part part, GlowText *out) {
  GlowModule *m = glow_module_parse(d->ctx, name, part.text, part.size);
  if (!m)
    return GLOW_BAD_INPUT;
  GlowReproducer r;
  GlowDefer destroy, end;
  glow_defer_push(d->ctx, &destroy, destroy_module, m);
  glow_reproducer_begin(&r, d->ctx, d->tool, d->argc, d->argv, name, part.text, part.size,
                        d->pipeline, &d->runner);
  glow_defer_push(d->ctx, &end, glow_reproducer_end_thrown, &r);
  GlowStatus status = transform(d, m, out);
  glow_defer_pop(d->ctx, &end, false);
  glow_reproducer_end(&r, status);
  glow_defer_pop(d->ctx, &destroy, true);
  return status;
}

/* The same, checking what is reported against the comments of the part. */
static GlowStatus process_part(GlowDriver *d, const char *name, Part part, GlowText *out) {
  if (!d->verify_diagnostics)
    return process(d, name, part, out);
  const GlowSource *source = glow_source_add(d->ctx, name, part.text, part.size);
  GlowExpectations *expected = glow_expect_begin(d->ctx, source);
  GlowStatus status = process(d, name, part, out);
  bool as_expected = glow_expect_end(expected);
  d->ctx->errors = 0;
  d->ctx->too_many_errors = false;
  return !as_expected ? GLOW_BAD_INPUT : status == GLOW_BAD_INPUT ? GLOW_OK : status;
}

/* The module and the pipeline of a reproducer, as if they had been given. */
static GlowStatus process_reproducer(GlowDriver *d, const GlowInput *in, GlowText *out) {
  GlowReproduced r = {0};
  if (!glow_reproducer_read(d->ctx, in->name, in->data, in->size, &r))
    return GLOW_BAD_INPUT;
  if (!glow_pipeline_check_math(r.pipeline, r.math, glow_loc_file(d->ctx, in->name)))
    return GLOW_BAD_INPUT;
  d->pipeline = r.pipeline;
  d->runner.math = r.math;
  d->runner.bisect_limit = r.bisect_limit;
  return process(d, r.name, (Part){in->data + r.head_size, in->size - r.head_size}, out);
}

static GlowStatus process_parts(GlowDriver *d, const GlowInput *in, GlowText *out) {
  PartVec parts = {0};
  if (!glow_onnx_expect_text(d->ctx, in))
    return GLOW_BAD_INPUT;
  if (d->split_input)
    split(d->ctx, in, &parts);
  else
    glow_vec_push(d->ctx->arena, &parts, ((Part){in->data, in->size}));
  GlowStatus worst = GLOW_OK;
  for (uint32_t i = 0; i < parts.count; i++) {
    if (i)
      glow_text_printf(out, "%s\n", separator);
    GlowStatus status = process_part(d, in->name, parts.data[i], out);
    worst = worst == GLOW_OK ? status : worst;
  }
  return worst;
}

static GlowStatus process_input(GlowDriver *d, const GlowInput *in, GlowText *out) {
  GlowStatus status =
      d->run_reproducer ? process_reproducer(d, in, out) : process_parts(d, in, out);
  if (status != GLOW_OK || !is_written(d))
    return status;
  GlowBytes bytes = {out->data, out->size};
  return glow_output_write(d->ctx, d->output, &bytes, 1) ? GLOW_OK : GLOW_IO;
}

static void close_input(void *in) { glow_input_close(in); }

/* -target comes first, whatever the order of options. */
static GlowStatus retarget(GlowDriver *d) {
  GlowLoc tool = glow_loc_file(d->ctx, d->tool);
  if (!d->target)
    return GLOW_OK;
  if (d->run_reproducer) {
    glow_error(d->ctx, tool, "a reproducer has its own target: none can be given");
    return GLOW_BAD_USAGE;
  }
  if (!glow_target_named(d->ctx, tool, d->target))
    return GLOW_BAD_USAGE;
  GlowPipeline *p = glow_pipeline_create(d->ctx, &glow_passes);
  glow_pipeline_add(p, glow_pass_find(&glow_passes, "retarget"),
                    glow_arena_printf(d->ctx->arena, "to=%s", d->target));
  glow_pipeline_append(p, d->pipeline);
  d->pipeline = p;
  return GLOW_OK;
}

static GlowStatus read_and_process(GlowDriver *d, const char *path) {
  GlowInput in;
  GlowText out;
  GlowDefer close, release;
  GlowStatus retargeted = retarget(d);
  if (retargeted != GLOW_OK)
    return retargeted;
  if (d->view && d->split_input) {
    glow_error(d->ctx, glow_loc_file(d->ctx, d->tool),
               "-view draws one module: it cannot be used with --split-input-file");
    return GLOW_BAD_USAGE;
  }
  if (d->verify_each)
    d->runner.verify_each = strcmp(d->verify_each, "0") != 0;
  d->ctx->error_limit = (unsigned)d->error_limit;
  glow_onnx_register(d->ctx);
  if (!glow_input_open(d->ctx,
                       d->run_reproducer ? d->run_reproducer
                       : path            ? path
                                         : "-",
                       false, GLOW_NOWHERE, &in))
    return GLOW_IO;
  glow_defer_push(d->ctx, &close, close_input, &in);
  glow_text_init(&out, d->ctx);
  glow_defer_push(d->ctx, &release, glow_text_release_fn, &out);
  GlowStatus status = process_input(d, &in, &out);
  glow_defer_pop(d->ctx, &release, true);
  glow_defer_pop(d->ctx, &close, true);
  return status;
}

GlowStatus glow_driver_run(GlowDriver *d, const char *path) {
  if (!glow_remarks_begin(d->ctx, &d->remarks))
    return GLOW_BAD_USAGE;
  return glow_remarks_end(d->ctx, read_and_process(d, path));
}
