/* glow-irgen: turns every func of a text into a program. It is glow-opt with a pipeline that
 * inlines what is left of Calls, and irgen. */
#include "driver.h"
#include "driver/passes.h"

static GlowStatus run(GlowContext *ctx, int argc, char **argv) {
  GlowDriver d = glow_driver_create(ctx, "glow-irgen", argc, argv);
  const GlowOption options[] = {GLOW_DRIVER_OPTIONS(d)};
  GlowCommand command = {.name = "glow-irgen",
                         .overview = "turns the funcs of a text into programs: buffers and "
                                     "instructions",
                         .usage = "[options] [FILE]",
                         .options = options,
                         .noptions = sizeof options / sizeof *options,
                         .max_positional = 1};
  GlowStrList files;
  bool exit_now;
  GlowStatus status = glow_cmdline_parse(ctx, &command, argc, argv, &files, &exit_now);
  if (status != GLOW_OK || exit_now)
    return status;
  glow_pipeline_append(d.pipeline,
                       glow_pipeline_parse(ctx, &glow_passes, GLOW_INLINE_ALL ",irgen"));
  return glow_driver_run(&d, files.count ? files.data[0] : NULL);
}

int main(int argc, char **argv) { return glow_tool_main("glow-irgen", argc, argv, run); }
