/* Bisection of a compile: which run of a pass, and which of its rewrites, makes a command fail.
 *
 * The command compiles with -bisect-limit and judges the result. The first passes up to a limit do
 * the same work whatever the limit is, so a search by halving finds the first limit that is bad. */
#ifndef GLOW_BISECT_COMMAND_H
#define GLOW_BISECT_COMMAND_H

#include "support/context.h"

typedef struct GlowBisectCommand {
  /* Ends with NULL. `%limit` in an argument and the variable GLOW_BISECT in the environment are the
   * limit. Exit status 0 is good, 125 is no verdict, 126 and 127 say that a shell cannot run the
   * command; any other status and signals are bad. */
  const char *const *argv;
  double timeout; /* seconds; a run that takes longer is bad. 0: no limit */
  bool show;      /* let what the command prints reach stderr too */
  bool quiet;     /* print no line for each run */
} GlowBisectCommand;

/* Prints what was found to stdout. BAD_INPUT or IO after a diagnostic if nothing can be found. */
GlowStatus glow_bisect_command(GlowContext *ctx, const GlowBisectCommand *command);

#endif
