/* Command lines from one table per tool: parsing, --help, --version, "did you mean", completion.
 *
 * Any option takes one dash or two. `--name=value` and `--name value` are the same for options
 * with a value. `@file` reads arguments from a file, quoted as for a shell. `--` ends options. A
 * lone "-" is a positional argument. Options may be given in any order. An option of kind REPEAT
 * collects its values; of any other option the last value counts. Every tool has --help (-h),
 * --help-hidden, --version, --color, --time-limit and --print-completion. */
#ifndef GLOW_SUPPORT_CMDLINE_H
#define GLOW_SUPPORT_CMDLINE_H

#include "support/context.h"
#include "support/text.h"

typedef enum GlowOptKind {
  GLOW_OPT_FLAG,     /* bool * */
  GLOW_OPT_STRING,   /* const char ** */
  GLOW_OPT_INT,      /* int64_t *, range-checked with min and max unless both are 0 */
  GLOW_OPT_DOUBLE,   /* double * */
  GLOW_OPT_SIZE,     /* int64_t *: bytes, as glow_parse_size takes them */
  GLOW_OPT_TIME,     /* double *: seconds, as glow_parse_time takes them */
  GLOW_OPT_REPEAT,   /* GlowStrList *: every value in order */
  GLOW_OPT_OPTIONAL, /* const char **: "" if given without =value; never takes the next argument */
  GLOW_OPT_ONE_OF,   /* int *: set to `min`; excludes the other options of the same target */
  GLOW_OPT_HEADING,  /* no option: `name` is the title of the options below */
  GLOW_OPT_CALL      /* runs `call`, in order; no value; false: not allowed here */
} GlowOptKind;

typedef GLOW_VEC(const char *) GlowStrList;

typedef struct GlowOption {
  const char *name;  /* without dashes */
  const char *value; /* placeholder for help such as "FILE", or choices "a|b"; NULL for flags */
  const char *help;  /* one line */
  GlowOptKind kind;
  void *target;
  int64_t min, max;                           /* GLOW_OPT_INT, _ONE_OF */
  bool (*call)(void *user, const char *name); /* GLOW_OPT_CALL */
  void (*list)(GlowText *out); /* prints all possible values, for the value `help`; or NULL */
  bool two_dashes;             /* help and the man page write --name, else -name */
  bool hidden;                 /* only --help-hidden lists it */
} GlowOption;

/* A row of the table: the heading of a group of options. */
#define GLOW_OPTION_HEADING(title)                                                                 \
  { .name = (title), .kind = GLOW_OPT_HEADING }

/* Options -O0 to -O3, which set the int `level`; -O3 means -O2. o0, o1, o2: their help texts. */
#define GLOW_LEVEL_OPTIONS(level, o0, o1, o2)                                                      \
  {.name = "O0", .help = (o0), .kind = GLOW_OPT_ONE_OF, .target = &(level), .min = 0},             \
      {.name = "O1", .help = (o1), .kind = GLOW_OPT_ONE_OF, .target = &(level), .min = 1},         \
      {.name = "O2", .help = (o2), .kind = GLOW_OPT_ONE_OF, .target = &(level), .min = 2}, {       \
    .name = "O3", .help = "-O2", .kind = GLOW_OPT_ONE_OF, .target = &(level), .min = 2             \
  }

typedef struct GlowCommand {
  const char *name;     /* glow-opt */
  const char *overview; /* one line */
  const char *usage;    /* "[options] [FILE]" */
  const GlowOption *options;
  size_t noptions;
  /* Called for an option that the table does not have (passes are options of glow-opt). Returns
   * true if the option is known. False without a diagnostic gives "unknown option". May be NULL. */
  bool (*unknown)(void *user, const char *name, const char *value);
  const char *const *unknown_names; /* names that `unknown` knows, for "did you mean" */
  size_t nunknown_names;
  void *user;
  size_t min_positional, max_positional;
  /* For --version, each may be NULL: says the version of LLVM, or NULL after a diagnostic; a
   * description of the processor; the targets of generated code. */
  const char *(*llvm)(GlowContext *ctx);
  const char *host, *targets;
} GlowCommand;

/* Gives the target of an option the value. Returns NULL, or what is wrong, to follow the option's
 * name: " needs an integer, not 'x'". */
const char *glow_option_set(GlowContext *ctx, const GlowOption *option, const char *value);

/* Parses argv. Returns GLOW_OK with *exit_now false, GLOW_OK with *exit_now true after --help,
 * --version and the like were printed to stdout, or GLOW_BAD_USAGE after a diagnostic. `positional`
 * receives the rest. */
GlowStatus glow_cmdline_parse(GlowContext *ctx, const GlowCommand *cmd, int argc, char **argv,
                              GlowStrList *positional, bool *exit_now);

/* Prints to stdout what `print` writes: for options that list something and leave. */
GlowStatus glow_tool_show(GlowContext *ctx, void (*print)(GlowText *out));

/* Runs a tool's main: creates a context, protects body, maps the status. Flushes stdout and turns
 * a write error into exit status 1. */
int glow_tool_main(const char *tool, int argc, char **argv,
                   GlowStatus (*body)(GlowContext *ctx, int argc, char **argv));

#endif
