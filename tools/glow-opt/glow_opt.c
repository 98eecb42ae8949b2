/* glow-opt: reads a text of either level, runs passes, prints it. Every pass is an option. */
#include <stdio.h>
#include <string.h>

#include "driver.h"
#include "driver/options.h"
#include "driver/passes.h"
#include "ops/help.h"

typedef struct Opt {
  GlowDriver driver;
  const char *passes;
  bool any_pass;     /* as an option of its own */
  const char *level; /* the -O that was given, since -irgen if that was given */
  bool bad;          /* an option of a pass was wrong; reported */
  bool print_passes, print_ops;
  const char *help_op;
} Opt;

/* -lower, -fold-bn='k=v;flag'. */
static bool take_pass(void *user, const char *name, const char *value) {
  Opt *o = user;
  const GlowPass *pass = glow_pass_find(&glow_passes, name);
  if (!pass)
    return false;
  o->any_pass = true;
  if (pass->run == glow_pass_irgen)
    o->level = NULL;
  o->bad |= !glow_pipeline_add(o->driver.pipeline, pass, value);
  return true;
}

/* -O0 to -O3 stand in the order of passes. */
static bool take_level(void *user, const char *name) {
  Opt *o = user;
  o->any_pass = true;
  if (o->level) {
    glow_error(o->driver.ctx, glow_loc_file(o->driver.ctx, "glow-opt"),
               "options '-%s' and '-%s': a level is given once, and once more behind -irgen",
               o->level, name);
    return false;
  }
  o->level = name;
  glow_pipeline_append(o->driver.pipeline, glow_pipeline_parse(o->driver.ctx, &glow_passes, name));
  return true;
}

static GlowStatus usage(const Opt *o, const char *message) {
  glow_error(o->driver.ctx, glow_loc_file(o->driver.ctx, "glow-opt"), "%s", message);
  return GLOW_BAD_USAGE;
}

/* -passes, and what cannot go together. */
static GlowStatus finish_pipeline(Opt *o) {
  GlowDriver *d = &o->driver;
  if (o->bad)
    return GLOW_BAD_USAGE;
  if (d->run_reproducer && (o->passes || o->any_pass))
    return usage(o, "a reproducer has its own passes: none can be given with -run-reproducer");
  if (o->passes && o->any_pass)
    return usage(o, "passes are given by -passes or as options, not both");
  if (o->passes) {
    d->pipeline = glow_pipeline_parse(d->ctx, &glow_passes, o->passes);
    if (!d->pipeline)
      return GLOW_BAD_USAGE;
  }
  return glow_pipeline_check_math(d->pipeline, d->runner.math, glow_loc_file(d->ctx, "glow-opt"))
             ? GLOW_OK
             : GLOW_BAD_USAGE;
}

static GlowStatus help_op(const Opt *o) {
  const char *name = o->help_op;
  GlowOp op = glow_op_from_node_name(name, strlen(name));
  if (op == GLOW_OP_COUNT)
    op = glow_op_from_instr_name(name, strlen(name));
  if (op == GLOW_OP_COUNT) {
    const char *near = glow_op_nearest(name, false);
    return usage(o, glow_str_printf(o->driver.ctx, "-help-op: unknown operator '%s'%s%s%s", name,
                                    near ? "; did you mean '" : "", near ? near : "",
                                    near ? "'?" : ""));
  }
  printf("%s", glow_op_help[op].text);
  return GLOW_OK;
}

static GlowStatus run(GlowContext *ctx, int argc, char **argv) {
  Opt o = {.driver = glow_driver_create(ctx, "glow-opt", argc, argv)};
  /* clang-format off */
  const GlowOption options[] = {
      GLOW_DRIVER_OPTIONS(o.driver),
      GLOW_OPTION_HEADING("Passes"),
      {.name = "passes", .value = "PIPELINE", .help = "Run these: 'lower,fixpoint(fold-bn,dce)'",
       .kind = GLOW_OPT_STRING, .target = &o.passes},
      {.name = "O0", .help = "What irgen needs, for graphs; a memory plan, for programs",
       .kind = GLOW_OPT_CALL, .call = take_level},
      {.name = "O1", .help = "Optimize once", .kind = GLOW_OPT_CALL, .call = take_level},
      {.name = "O2", .help = "Optimize until nothing changes", .kind = GLOW_OPT_CALL,
       .call = take_level},
      {.name = "O3", .help = "-O2", .kind = GLOW_OPT_CALL, .call = take_level},
      GLOW_MATH_OPTIONS(o.driver.runner.math),
      {.name = "print-pipeline", .help = "Print the passes that run, to stderr",
       .kind = GLOW_OPT_FLAG, .target = &o.driver.runner.print_pipeline},
      {.name = "run-reproducer", .value = "FILE",
       .help = "Run the passes of a reproducer on its module",
       .kind = GLOW_OPT_STRING, .target = &o.driver.run_reproducer},
      {.name = "print-passes", .help = "List the passes, each of which is an option, and exit",
       .kind = GLOW_OPT_FLAG, .target = &o.print_passes},
      GLOW_OPTION_HEADING("Operators"),
      {.name = "print-ops", .help = "List the operators and instructions, and exit",
       .kind = GLOW_OPT_FLAG, .target = &o.print_ops},
      {.name = "help-op", .value = "NAME", .help = "Print operands, members and traits of an operator: ReduceSum",
       .kind = GLOW_OPT_STRING, .target = &o.help_op},
  };
  /* clang-format on */
  const char **names = GLOW_NEW_ARRAY(ctx->arena, const char *, glow_passes.count);
  for (uint32_t i = 0; i < glow_passes.count; i++)
    names[i] = glow_passes.passes[i].name;
  GlowCommand command = {.name = "glow-opt",
                         .overview =
                             "reads a text of a graph or program, runs passes on it and prints it",
                         .usage = "[options] [-PASS[=OPTIONS]]... [FILE]",
                         .options = options,
                         .noptions = sizeof options / sizeof *options,
                         .unknown = take_pass,
                         .unknown_names = names,
                         .nunknown_names = glow_passes.count,
                         .user = &o,
                         .max_positional = 1};
  GlowStrList files;
  bool exit_now;
  GlowStatus status = glow_cmdline_parse(ctx, &command, argc, argv, &files, &exit_now);
  if (status != GLOW_OK || exit_now)
    return status;
  if (o.print_passes)
    return glow_tool_show(ctx, glow_passes_print);
  if (o.print_ops)
    return glow_tool_show(ctx, glow_ops_print);
  if (o.help_op)
    return help_op(&o);
  status = finish_pipeline(&o);
  return status == GLOW_OK ? glow_driver_run(&o.driver, files.count ? files.data[0] : NULL)
                           : status;
}

int main(int argc, char **argv) { return glow_tool_main("glow-opt", argc, argv, run); }
