/* glow-run: runs a model from any stage on inputs from files, by the interpreter or the JIT. */
#include "tools/glow-run/glow_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "backend/backend.h"

/* "a" or "a,b,c" into three doubles. */
static bool parse_triple(GlowContext *ctx, const char *option, const char *text, double *v) {
  const char *p = text;
  for (int i = 0; i < 3; i++) {
    char *end;
    v[i] = glow_parse_double(p, &end);
    if (end == p || (*end && *end != ','))
      break;
    if (!*end) {
      if (i == 0)
        v[1] = v[2] = v[0];
      if (i == 0 || i == 2)
        return true;
      break;
    }
    p = end + 1;
  }
  glow_error(ctx, GLOW_NOWHERE, "--%s: '%s' is not a number or three numbers with commas", option,
             text);
  return false;
}

static bool choose(GlowContext *ctx, const char *option, const char *text, const char *no,
                   const char *yes, bool *value) {
  *value = text && !strcmp(text, yes);
  if (!text || *value || !strcmp(text, no))
    return true;
  glow_error(ctx, GLOW_NOWHERE, "--%s: '%s' is neither %s nor %s", option, text, no, yes);
  return false;
}

static bool parse_image_options(GlowContext *ctx, GlowRunCommand *c) {
  GlowImageOptions *o = &c->image;
  *o = (GlowImageOptions){.std = {1, 1, 1}, .crop = c->crop};
  if (c->image_size) {
    unsigned w = 0, h = 0;
    char rest;
    if (sscanf(c->image_size, "%5ux%5u%c", &w, &h, &rest) != 2 || !w || !h) {
      glow_error(ctx, GLOW_NOWHERE, "--image-size: '%s' is not WIDTHxHEIGHT", c->image_size);
      return false;
    }
    o->width = w;
    o->height = h;
  }
  if (c->mean && !parse_triple(ctx, "mean", c->mean, o->mean))
    return false;
  if (c->std && !parse_triple(ctx, "std", c->std, o->std))
    return false;
  for (int i = 0; i < 3; i++)
    if (!(o->std[i] > 0)) {
      glow_error(ctx, GLOW_NOWHERE, "--std: must be above 0");
      return false;
    }
  if (!(c->crop >= 0 && c->crop <= 1)) {
    glow_error(ctx, GLOW_NOWHERE, "--crop: must be between 0 and 1");
    return false;
  }
  return choose(ctx, "image-layout", c->image_layout, "nchw", "nhwc", &o->nhwc) &&
         choose(ctx, "channel-order", c->channel_order, "rgb", "bgr", &o->bgr);
}

/* A line on a terminal for runs over two seconds. */
typedef struct Progress {
  double start;
  bool shown;
} Progress;

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void show_progress(void *user, uint64_t done, uint64_t total) {
  Progress *p = user;
  if (!total || seconds() - p->start < 2)
    return;
  fprintf(stderr, "\rrunning: %3llu %%", (unsigned long long)(done * 100 / total));
  p->shown = true;
}

static GlowStatus run(GlowSession *s, const GlowRunCommand *c) {
  const GlowBackend *backend = glow_backend_find(s->ctx, c->backend);
  if (!backend)
    return GLOW_BAD_USAGE;
  int level = c->level < 0 && s->entry->kind == GLOW_FUNC ? backend->level : c->level;
  bool primitives = c->primitives || backend->primitives;
  GlowStatus status = primitives ? glow_session_lower_all(s) : GLOW_OK;
  if (status == GLOW_OK)
    status = glow_session_optimize(s, level, c->exact);
  if (status != GLOW_OK)
    return status;
  Progress progress = {.start = seconds()};
  GlowRunOptions options = {.primitives = primitives};
  if (isatty(2)) {
    options.progress = show_progress;
    options.progress_user = &progress;
  }
  status = glow_session_run(s, backend->run, &options);
  if (progress.shown)
    fprintf(stderr, "\r               \r");
  return status;
}

static GlowStatus use_outputs(GlowSession *s, const GlowRunCommand *c) {
  GlowStatus status = GLOW_OK, expected = GLOW_OK;
  if (c->output_dir)
    status = glow_session_write_outputs(s, c->output_dir);
  if (c->expects.count)
    expected = glow_run_expect(s, c);
  if (c->test_data && expected == GLOW_OK)
    expected = glow_run_check_test_outputs(s, c);
  bool classes = c->softmax || c->labels || c->top_k;
  if (status == GLOW_OK && classes)
    status = glow_run_classes(s, c);
  if (status == GLOW_OK && !c->output_dir && !c->expects.count && !c->test_data && !classes)
    status = glow_run_print(s);
  return status == GLOW_OK ? expected : status;
}

static GlowStatus run_model(GlowContext *ctx, const GlowRunCommand *c, const char *path) {
  GlowLoadOptions load = {.entry = c->entry, .binds = c->binds.data, .nbinds = c->binds.count};
  GlowSession s;
  GlowStatus status = glow_session_load(&s, ctx, path, &load);
  for (uint32_t i = 0; i < c->inputs.count && status == GLOW_OK; i++)
    status = glow_session_add_input(&s, c->inputs.data[i], &c->image);
  if (status == GLOW_OK && c->test_data)
    status = glow_run_add_test_inputs(&s, c->test_data);
  if (status == GLOW_OK)
    status = glow_session_bind(&s);
  if (status == GLOW_OK)
    status = run(&s, c);
  if (status == GLOW_OK)
    status = use_outputs(&s, c);
  if (s.ctx)
    glow_session_close(&s);
  return status;
}

static bool set_level(void *user, const char *name, const char *value) {
  (void)value;
  ((GlowRunCommand *)user)->level = name[1] - '0';
  return true;
}

static GlowStatus body(GlowContext *ctx, int argc, char **argv) {
  GlowRunCommand c = {
      .rtol = 1e-3, .atol = 1e-7, .level = -1, .backend = "interp", .error_limit = 20};
  const GlowOption options[] = {
#define STR GLOW_OPT_STRING
      {"input", "[NAME=]SOURCE",
       "an input: .npy, .pb, PNG, JPEG, PNM or raw bytes; splat:V; random:SEED", GLOW_OPT_REPEAT,
       &c.inputs, 0, 0, NULL, true},
      {"expect", "[NAME=]FILE", "compare an output with a reference; exit status 1 if it differs",
       GLOW_OPT_REPEAT, &c.expects, 0, 0, NULL, true},
      {"rtol", "X", "relative tolerance of --expect and --test-data (0.001)", GLOW_OPT_DOUBLE,
       &c.rtol, 0, 0, NULL, true},
      {"atol", "X", "absolute tolerance of --expect and --test-data (1e-7)", GLOW_OPT_DOUBLE,
       &c.atol, 0, 0, NULL, true},
      {"output-dir", "DIR", "write each output to DIR/NAME.npy, or .pb for what .npy cannot hold",
       STR, &c.output_dir, 0, 0, NULL, true},
      {"test-data", "DIR", "take inputs from DIR/input_N.pb and compare with DIR/output_N.pb", STR,
       &c.test_data, 0, 0, NULL, true},
      {"softmax", NULL, "turn the first output into probabilities before --top-k", GLOW_OPT_FLAG,
       &c.softmax, 0, 0, NULL, true},
      {"labels", "FILE", "names of the classes, one per line", STR, &c.labels, 0, 0, NULL, true},
      {"top-k", "N", "print the N best classes of the first output", GLOW_OPT_INT, &c.top_k, 1,
       1000000, NULL, true},
      {"backend", "NAME", "interp (default) or cpu: machine code, implies -O2", STR, &c.backend, 0,
       0, NULL, true},
      {"O0", NULL, "lower and generate instructions, then run the program", GLOW_OPT_CALL, NULL, 0,
       0, set_level, false},
      {"O1", NULL, "the same with cheap optimizations", GLOW_OPT_CALL, NULL, 0, 0, set_level,
       false},
      {"O2", NULL, "the same with all optimizations", GLOW_OPT_CALL, NULL, 0, 0, set_level, false},
      {"exact", NULL, "leave out optimizations that may change rounding", GLOW_OPT_FLAG, &c.exact,
       0, 0, NULL, false},
      {"primitives", NULL, "first lower to primitives (-lower=all), and run nothing else",
       GLOW_OPT_FLAG, &c.primitives, 0, 0, NULL, true},
      {"bind", "N=8", "give an open dimension a size, or a bound with N=..8", GLOW_OPT_REPEAT,
       &c.binds, 0, 0, NULL, false},
      {"entry", "NAME", "the function or program to run, if there are several", STR, &c.entry, 0, 0,
       NULL, true},
      {"image-size", "WxH", "resize pictures (default: as the input's type says)", STR,
       &c.image_size, 0, 0, NULL, true},
      {"crop", "F", "first take the centre square of F times the short side", GLOW_OPT_DOUBLE,
       &c.crop, 0, 0, NULL, true},
      {"mean", "M[,M,M]", "subtract from each channel, in units of 0 to 255 (0)", STR, &c.mean, 0,
       0, NULL, true},
      {"std", "S[,S,S]", "then divide each channel by this (1)", STR, &c.std, 0, 0, NULL, true},
      {"image-layout", "LAYOUT", "nchw (default) or nhwc", STR, &c.image_layout, 0, 0, NULL, true},
      {"channel-order", "ORDER", "rgb (default) or bgr", STR, &c.channel_order, 0, 0, NULL, true},
      {"error-limit", "N", "stop after N errors (20; 0: never)", GLOW_OPT_INT, &c.error_limit, 0,
       1000000, NULL, false},
#undef STR
  };
  GlowCommand command = {.name = "glow-run",
                         .overview = "run a model from any stage: .onnx, .gg or .gir",
                         .usage = "[options] MODEL",
                         .options = options,
                         .noptions = sizeof options / sizeof *options,
                         .user = &c,
                         .min_positional = 1,
                         .max_positional = 1};
  GlowStrList positional = {0};
  bool exit_now;
  GlowStatus status = glow_cmdline_parse(ctx, &command, argc, argv, &positional, &exit_now);
  if (status != GLOW_OK || exit_now)
    return status;
  ctx->error_limit = (unsigned)c.error_limit;
  if (!(c.rtol >= 0 && c.atol >= 0)) {
    glow_error(ctx, GLOW_NOWHERE, "--rtol and --atol must not be negative");
    return GLOW_BAD_USAGE;
  }
  if (!parse_image_options(ctx, &c))
    return GLOW_BAD_USAGE;
  return run_model(ctx, &c, positional.data[0]);
}

int main(int argc, char **argv) { return glow_tool_main("glow-run", argc, argv, body); }
