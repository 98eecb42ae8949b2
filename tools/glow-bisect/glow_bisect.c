/* glow-bisect: which pass, and which rewrite of it, makes a command fail; or, of a model with
 * inputs, which one makes it compute something else; or which node costs accuracy on 8 bits. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/backends.h"
#include "bisect/command.h"
#include "bisect/numeric.h"
#include "bisect/rank.h"
#include "driver/options.h"
#include "driver/passes.h"
#include "driver/pictures.h"
#include "support/cmdline.h"
#include "support/file.h"

typedef struct Bisect {
  GlowContext *ctx;
  double timeout, rtol, atol, reduce_time;
  bool show_output, quiet, rank;
  GlowMath math;
  const char *passes, *backends, *tier, *entry, *output;
  const char *keep_until;
  int level; /* -O, or -1 */
  GlowStrList inputs, references, binds, each;
  GlowImageFlags pictures;
} Bisect;

static GlowLoc here(GlowContext *ctx) { return glow_loc_file(ctx, "glow-bisect"); }

static GlowStatus usage(GlowContext *ctx, const char *message) {
  glow_error(ctx, here(ctx), "%s", message);
  return GLOW_BAD_USAGE;
}

/* ---- A command ------------------------------------------------------------------------------- */

static GlowStatus run_command(const Bisect *b, char **argv) {
  if (!argv[0])
    return usage(b->ctx, "the command behind '--' is missing");
  if (b->passes || b->level >= 0 || b->backends || b->inputs.count || b->references.count ||
      b->output || b->each.count || b->rank || b->keep_until)
    return usage(b->ctx, "options of a model and '-- COMMAND' do not go together");
  GlowBisectCommand command = {.argv = (const char *const *)argv,
                               .timeout = b->timeout,
                               .show = b->show_output,
                               .quiet = b->quiet};
  return glow_bisect_command(b->ctx, &command);
}

/* ---- A model --------------------------------------------------------------------------------- */

/* -passes, or -O: for a graph with irgen and what programs get. */
static GlowPipeline *pipeline(const Bisect *b, const GlowSession *s) {
  if (b->passes)
    return glow_pipeline_parse(b->ctx, &glow_passes, b->passes);
  GlowPipeline *p = glow_pipeline_create(b->ctx, &glow_passes);
  if (b->level < 0)
    return p;
  if (glow_module_has_level(s->module, GLOW_LEVEL_GRAPH))
    glow_pipeline_append(p, glow_pipeline_to_programs(s->module, b->level, b->math));
  glow_pipeline_append(p, glow_pipeline_default(b->ctx, &glow_passes, s->module->target,
                                                GLOW_LEVEL_PROGRAM, b->level, b->math));
  return p;
}

/* "interp,cpu". */
static bool parse_backends(const Bisect *b, const GlowBackend **backends) {
  const char *comma = strchr(b->backends, ',');
  if (!comma || strchr(comma + 1, ',')) {
    usage(b->ctx, "--backends needs two names: interp,cpu");
    return false;
  }
  backends[0] = glow_backend_find(b->ctx, &glow_backends,
                                  glow_str_n(b->ctx, b->backends, (size_t)(comma - b->backends)));
  backends[1] = backends[0] ? glow_backend_find(b->ctx, &glow_backends, comma + 1) : NULL;
  return backends[1] != NULL;
}

/* The tier is that of the backends that run machine code. */
static bool parse_tier(const Bisect *b, GlowNumericBisect *n) {
  for (int i = 0; i < 2; i++)
    if (n->backends[i] && n->backends[i]->compile)
      return glow_tier_find(b->ctx, n->backends[i], b->tier, &n->tier);
  if (b->tier)
    usage(b->ctx, "--tier needs --backends, of which one runs machine code");
  return !b->tier;
}

/* The type of the value inside of a graph that `spec` begins with, as NAME=; NULL if there is none.
 */
static const GlowType *value_inside(const GlowSession *s, const char *spec, GlowStr *name) {
  for (const GlowNode *n = s->entry->kind == GLOW_FUNC ? s->entry->body->first : NULL; n;
       n = n->next)
    for (uint32_t i = 0; i < n->nresults; i++) {
      *name = n->results[i].name;
      size_t size = *name ? strlen(*name) : 0;
      if (size && strncmp(spec, *name, size) == 0 && spec[size] == '=')
        return n->results[i].type;
    }
  return NULL;
}

/* [NAME=]FILE of an output, or of a value inside. */
static bool add_reference(const Bisect *b, GlowSession *s, const char *spec,
                          GlowNumericBisect *to) {
  GlowNameList names = {0};
  glow_session_names(s, true, &names);
  GlowStr name = names.count == 1 ? names.data[0] : NULL;
  const char *path = spec;
  for (uint32_t i = 0; i < names.count; i++) {
    size_t n = strlen(names.data[i]);
    if (strncmp(spec, names.data[i], n) == 0 && spec[n] == '=') {
      name = names.data[i];
      path = spec + n + 1;
    }
  }
  const GlowType *type = NULL;
  GlowBindings *all = &to->reference;
  GlowStr inside;
  if (path == spec && (type = value_inside(s, spec, &inside))) {
    name = inside;
    path = spec + strlen(name) + 1;
    all = &to->inside;
  }
  if (!name) {
    glow_error(b->ctx, here(b->ctx), "--reference: '%s' names no output or value of the model",
               spec);
    for (uint32_t i = 0; i < names.count && i < 16; i++)
      glow_note(b->ctx, GLOW_NOWHERE, "it has an output '%s'", names.data[i]);
    return false;
  }
  type = type ? type : glow_session_output_type(s, name);
  GlowTensor *t = glow_session_read(s, path, type, NULL);
  if (!t)
    return false;
  glow_vec_push(b->ctx->arena, all, ((GlowBinding){name, t}));
  if (!type || glow_type_fit(type, t->type) != GLOW_FIT_CONTRADICTS)
    return true;
  glow_error(b->ctx, glow_loc_file(b->ctx, path), "the reference is %s, but '%s' is %s",
             glow_type_str(b->ctx, t->type), name, glow_type_str(b->ctx, type));
  return false;
}

/* A search should not end at a folder that was never there. */
static bool can_write(const Bisect *b) {
  if (!b->output)
    return true;
  struct stat st;
  int code = access(glow_path_dir(b->ctx, b->output), W_OK | X_OK) == 0 ? 0 : errno;
  if (code == 0 && stat(b->output, &st) == 0 && S_ISDIR(st.st_mode))
    code = EISDIR;
  char buf[128];
  if (code != 0)
    glow_error(b->ctx, glow_loc_file(b->ctx, b->output), "cannot write: %s",
               strerror_r(code, buf, sizeof buf));
  return code == 0;
}

static GlowStatus bisect_model(const Bisect *b, GlowSession *s) {
  GlowNumericBisect n = {.session = s,
                         .tier = GLOW_TIER_COMPILED,
                         .math = b->math,
                         .rtol = b->rtol,
                         .atol = b->atol,
                         .reduced = b->output,
                         .reduce_time = b->reduce_time,
                         .verbose = !b->quiet};
  if ((b->backends && !parse_backends(b, n.backends)) || !parse_tier(b, &n))
    return GLOW_BAD_USAGE;
  n.pipeline = pipeline(b, s);
  if (!n.pipeline || !glow_pipeline_check_math(n.pipeline, b->math, here(b->ctx)))
    return GLOW_BAD_USAGE;
  if (!can_write(b))
    return GLOW_IO;
  for (uint32_t i = 0; i < b->references.count; i++)
    if (!add_reference(b, s, b->references.data[i], &n))
      return GLOW_BAD_INPUT;
  if (n.inside.count && !n.reference.count)
    return usage(b->ctx, "--reference of a value inside needs one of an output, too");
  bool found;
  GlowStatus status = glow_bisect_numeric(&n, &found);
  for (uint32_t i = 0; i < n.reference.count; i++)
    glow_tensor_free(n.reference.data[i].tensor);
  for (uint32_t i = 0; i < n.inside.count; i++)
    glow_tensor_free(n.inside.data[i].tensor);
  if (status != GLOW_OK)
    return status;
  if (!found)
    printf("no output leaves the tolerance\n");
  return found ? GLOW_BAD_INPUT : GLOW_OK;
}

static GlowStatus run_model(const Bisect *b, const char *path) {
  GlowLoadOptions load = {.entry = b->entry, .binds = b->binds.data, .nbinds = b->binds.count};
  GlowSession s;
  GlowDefer close;
  GlowStatus status = glow_session_load(&s, b->ctx, path, &load);
  glow_defer_push(b->ctx, &close, glow_session_close_fn, &s);
  for (uint32_t i = 0; i < b->inputs.count && status == GLOW_OK; i++)
    status = glow_session_add_input(&s, b->inputs.data[i], NULL);
  if (status == GLOW_OK)
    status = glow_session_bind(&s);
  if (status == GLOW_OK)
    status = bisect_model(b, &s);
  glow_defer_pop(b->ctx, &close, true);
  return status;
}

/* ---- Accuracy -------------------------------------------------------------------------------- */

static GlowStatus check_ranking(const Bisect *b, const char *path) {
  if (!strcmp(path, "-"))
    return usage(b->ctx, "--rank and --keep-until read the model several times: give its file");
  if (!b->each.count)
    return usage(b->ctx, "--rank and --keep-until need samples: --each=NAME=SOURCE");
  if (!b->passes)
    return usage(b->ctx, "--rank and --keep-until need -passes='quantize<ranges=FILE>'");
  if (b->backends || b->references.count || b->tier)
    return usage(b->ctx, "--rank and --keep-until compare with the model in float on this machine");
  if (b->keep_until ? !b->output : b->output != NULL)
    return usage(b->ctx, "--keep-until and -o belong together: the file of ranges that it writes");
  return GLOW_OK;
}

static GlowStatus rank_nodes(const Bisect *b, const char *path) {
  GlowContext *ctx = b->ctx;
  GlowModelFlags model = GLOW_MODEL_DEFAULTS(GLOW_DEFAULT_BACKEND, GLOW_TIER_LIBRARY);
  GlowBar bar;
  GlowImageOptions image;
  model.binds = b->binds;
  model.entry = b->entry;
  model.math = b->math;
  GlowRanking r = {.ctx = ctx,
                   .pipeline = glow_pipeline_parse(ctx, &glow_passes, b->passes),
                   .bar = b->keep_until ? &bar : NULL,
                   .output = b->output,
                   .verbose = !b->quiet};
  if (!r.pipeline || !glow_pipeline_check_math(r.pipeline, b->math, here(ctx)) ||
      (r.bar && !glow_bar_read(ctx, b->keep_until, &bar)) ||
      !glow_image_flags_read(ctx, &b->pictures, &image))
    return GLOW_BAD_USAGE;
  if (!can_write(b))
    return GLOW_IO;
  GlowPool *pool = glow_pool_make(ctx, 1);
  r.how = (GlowSampledSetup){.path = path,
                             .model = &model,
                             .backend = glow_model_backend(ctx, &glow_backends, &model),
                             .pool = pool,
                             .each = &b->each,
                             .inputs = &b->inputs,
                             .image = &image};
  GlowDefer close;
  glow_defer_push(ctx, &close, glow_pool_destroy_fn, pool);
  GlowStatus status = glow_bisect_rank(&r);
  glow_defer_pop(ctx, &close, true);
  return status;
}

/* ---- The command line ------------------------------------------------------------------------ */

/* path NULL: a command is bisected. */
static GlowStatus check(const Bisect *b, const char *path) {
  if (!(b->timeout >= 0))
    return usage(b->ctx, "--timeout needs a number of seconds, 0 or more");
  if (!(b->reduce_time >= 0))
    return usage(b->ctx, "--reduce-time needs a number of seconds, 0 or more");
  if (!(b->rtol >= 0 && b->atol >= 0))
    return usage(b->ctx, "--rtol and --atol must not be negative");
  if (!path)
    return GLOW_OK;
  if (b->passes && b->level >= 0)
    return usage(b->ctx, "passes are given by -passes or as -O, not both");
  if (b->rank || b->keep_until)
    return check_ranking(b, path);
  if (b->each.count)
    return usage(b->ctx, "--each needs --rank or --keep-until");
  if (!b->passes && b->level < 0 && !b->backends)
    return usage(b->ctx, "which passes? Give -passes or -O0 to -O2, or --backends");
  if (b->backends && b->references.count)
    return usage(b->ctx, "--reference and --backends do not go together");
  return GLOW_OK;
}

static GlowStatus run(GlowContext *ctx, int argc, char **argv) {
  Bisect b = {
      .ctx = ctx, .timeout = 300, .rtol = 1e-3, .atol = 1e-5, .reduce_time = 30, .level = -1};
  /* clang-format off */
  const GlowOption options[] = {
      {.name = "passes", .value = "PIPELINE", .help = "Run these and look at the outputs after each: 'lower,fold-bn'",
       .kind = GLOW_OPT_STRING, .target = &b.passes},
      GLOW_LEVEL_OPTIONS(b.level, "Lower a graph and generate instructions",
                         "The same with cheap optimizations", "The same with all optimizations"),
      GLOW_MATH_OPTIONS(b.math),
      {.name = "input", .value = "[NAME=]SOURCE", .help = "An input as glow-run takes it: x.npy, splat:V, random:SEED",
       .kind = GLOW_OPT_REPEAT, .target = &b.inputs, .two_dashes = true},
      {.name = "reference", .value = "[NAME=]FILE", .help = "What an output should be (without: what the model gives unchanged), or a value inside",
       .kind = GLOW_OPT_REPEAT, .target = &b.references, .two_dashes = true},
      {.name = "rtol", .value = "X", .help = "Relative tolerance of outputs (0.001)",
       .kind = GLOW_OPT_DOUBLE, .target = &b.rtol, .two_dashes = true},
      {.name = "atol", .value = "X", .help = "Absolute tolerance of outputs (1e-5)",
       .kind = GLOW_OPT_DOUBLE, .target = &b.atol, .two_dashes = true},
      {.name = "backends", .value = "A,B", .help = "Compare two backends on what the passes make: interp,cpu",
       .kind = GLOW_OPT_STRING, .target = &b.backends, .two_dashes = true},
      GLOW_TIER_OPTION(b.tier),
      {.name = "rank", .help = "Round each node of 'quantize<ranges=FILE>' alone, and print the worst first",
       .kind = GLOW_OPT_FLAG, .target = &b.rank, .two_dashes = true},
      {.name = "keep-until", .value = "BAR", .help = "Leave nodes in float until cosine>=X, agreement>=X or sqnr>=DB; -o gets the ranges with them",
       .kind = GLOW_OPT_STRING, .target = &b.keep_until, .two_dashes = true},
      {.name = "each", .value = "NAME=SOURCE", .help = "With these two: samples, as glow-run --each takes them",
       .kind = GLOW_OPT_REPEAT, .target = &b.each, .two_dashes = true},
      {.name = "o", .value = "FILE", .help = "Reduce the fault to a test, and its inputs to files beside it",
       .kind = GLOW_OPT_STRING, .target = &b.output},
      {.name = "reduce-time", .value = "SECONDS", .help = "With -o: look for a smaller test for so long, in time of the processor (30; 0: no limit)",
       .kind = GLOW_OPT_DOUBLE, .target = &b.reduce_time, .two_dashes = true},
      {.name = "bind", .value = "N=8", .help = "Give an open dimension a size, or a bound with N=..8",
       .kind = GLOW_OPT_REPEAT, .target = &b.binds},
      {.name = "entry", .value = "NAME", .help = "The function or program to run, if there are several",
       .kind = GLOW_OPT_STRING, .target = &b.entry, .two_dashes = true},
      {.name = "timeout", .value = "SECONDS", .help = "A run of COMMAND that takes longer is bad (300; 0: no limit)",
       .kind = GLOW_OPT_DOUBLE, .target = &b.timeout, .two_dashes = true},
      {.name = "show-output", .help = "Let what COMMAND prints reach stderr",
       .kind = GLOW_OPT_FLAG, .target = &b.show_output, .two_dashes = true},
      {.name = "quiet", .help = "Print no line for each step",
       .kind = GLOW_OPT_FLAG, .target = &b.quiet, .two_dashes = true},
      GLOW_OPTION_HEADING("Pictures as samples"),
      GLOW_IMAGE_OPTIONS(b.pictures),
  };
  /* clang-format on */
  int own = 1;
  while (own < argc && strcmp(argv[own], "--") != 0)
    own++;
  bool commands = own < argc;
  GlowCommand command = {.name = "glow-bisect",
                         .overview = "finds the pass and the rewrite that break a command or a "
                                     "model, or the nodes that cost accuracy",
                         .usage = "[options] MODEL | [options] -- COMMAND [ARG]...",
                         .options = options,
                         .noptions = sizeof options / sizeof *options,
                         .user = &b,
                         .max_positional = commands ? 0 : 1};
  GlowStrList files;
  bool exit_now;
  GlowStatus status = glow_cmdline_parse(ctx, &command, own, argv, &files, &exit_now);
  if (status != GLOW_OK || exit_now)
    return status;
  if (!commands && files.count == 0)
    return usage(ctx, "there is nothing to do: give a model, or a command behind '--'");
  status = check(&b, commands ? NULL : files.data[0]);
  if (status != GLOW_OK)
    return status;
  if (commands)
    return run_command(&b, argv + own + 1);
  return b.rank || b.keep_until ? rank_nodes(&b, files.data[0]) : run_model(&b, files.data[0]);
}

int main(int argc, char **argv) { return glow_tool_main("glow-bisect", argc, argv, run); }
