/* Command lines. One pass over the arguments; a response file is the same pass over its words, so
 * the value of an option stands in the same file as the option. */
#include "support/cmdline_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/deadline.h"
#include "support/diag.h"
#include "support/file.h"
#include "support/sizes.h"

enum { MAX_RESPONSE_DEPTH = 4 };

typedef struct Parser {
  GlowContext *ctx;
  const GlowCommand *cmd;
  GlowOptionTables options;
  GlowStrList *positional;
  GLOW_VEC(const GlowOption *) chosen; /* options of kind ONE_OF so far */
  bool only_positional;                /* `--` was read */
  void (*list)(GlowText *out);         /* the option's, if one has the value `help` */
  bool help, help_hidden, version, completion;
  const char *color;
  double time_limit;
} Parser;

/* The arguments that are left to read: argv, or the words of a response file. */
typedef struct Args {
  const char *const *next, *const *end;
  int depth;
  const struct Args *outer; /* the arguments that named this response file; NULL for argv */
  uint64_t device, inode;   /* of the response file */
} Args;

static bool usage_error(Parser *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool usage_error(Parser *p, const char *format, ...) {
  va_list args;
  va_start(args, format);
  GlowText t;
  GlowDefer d;
  glow_text_init(&t, p->ctx);
  glow_defer_push(p->ctx, &d, glow_text_release_fn, &t);
  glow_text_vprintf(&t, format, args);
  va_end(args);
  glow_error(p->ctx, glow_loc_file(p->ctx, p->cmd->name), "%s", glow_text_cstr(&t));
  glow_defer_pop(p->ctx, &d, true);
  return false;
}

static bool has_name(const char *name, const char *arg, size_t length) {
  return strlen(name) == length && memcmp(name, arg, length) == 0;
}

static const GlowOption *find_option(const Parser *p, const char *name, size_t length) {
  for (int t = 0; t < 2; t++)
    for (size_t i = 0; i < p->options.table[t].count; i++) {
      const GlowOption *o = &p->options.table[t].rows[i];
      if (o->kind != GLOW_OPT_HEADING && has_name(o->name, name, length))
        return o;
    }
  return NULL;
}

/* "unknown option '--x'", with the nearest name that exists. */
static bool report_unknown(Parser *p, const char *arg, const char *name) {
  const GlowCommand *cmd = p->cmd;
  const GlowOptionTable *table = p->options.table;
  size_t count = 0;
  const char **names = GLOW_NEW_ARRAY(p->ctx->arena, const char *,
                                      table[0].count + table[1].count + cmd->nunknown_names);
  for (int t = 0; t < 2; t++)
    for (size_t i = 0; i < table[t].count; i++)
      if (table[t].rows[i].kind != GLOW_OPT_HEADING)
        names[count++] = table[t].rows[i].name;
  for (size_t i = 0; i < cmd->nunknown_names; i++)
    names[count++] = cmd->unknown_names[i];

  int shown = (int)strcspn(arg, "=");
  const char *near = glow_nearest(name, names, count);
  if (!near)
    return usage_error(p, "unknown option '%.*s'", shown, arg);
  const GlowOption *o = find_option(p, near, strlen(near));
  return usage_error(p, "unknown option '%.*s'; did you mean '%s%s'?", shown, arg,
                     o ? glow_option_dashes(o) : "-", near);
}

/* These return what is wrong with a value, to follow the option's name; or NULL. */
static const char *set_int(GlowContext *ctx, const GlowOption *o, const char *value) {
  const char *digits = value + (*value == '-' || *value == '+');
  bool hex = digits[0] == '0' && (digits[1] | 0x20) == 'x';
  bool number = digits[0] >= '0' && digits[0] <= '9';
  char *end = NULL;
  errno = 0;
  long long v = number ? strtoll(value, &end, hex ? 16 : 10) : 0;
  if (!number || *end || end == value)
    return glow_str_printf(ctx, " needs an integer, not '%s'", value);
  bool limited = o->min != 0 || o->max != 0;
  if (errno == ERANGE || (limited && (v < o->min || v > o->max))) {
    if (!limited)
      return glow_str_printf(ctx, ": %s is out of range", value);
    return glow_str_printf(ctx, ": %s is not between %lld and %lld", value, (long long)o->min,
                           (long long)o->max);
  }
  *(int64_t *)o->target = v;
  return NULL;
}

static const char *set_double(GlowContext *ctx, const GlowOption *o, const char *value) {
  char *end;
  double v = glow_parse_double(value, &end);
  if (end == value || *end)
    return glow_str_printf(ctx, " needs a number, not '%s'", value);
  *(double *)o->target = v;
  return NULL;
}

const char *glow_option_set(GlowContext *ctx, const GlowOption *o, const char *value) {
  switch (o->kind) {
  case GLOW_OPT_STRING:
  case GLOW_OPT_OPTIONAL:
    *(const char **)o->target = value;
    return NULL;
  case GLOW_OPT_REPEAT:
    glow_vec_push(ctx->arena, (GlowStrList *)o->target, value);
    return NULL;
  case GLOW_OPT_INT:
    return set_int(ctx, o, value);
  case GLOW_OPT_DOUBLE:
    return set_double(ctx, o, value);
  case GLOW_OPT_SIZE:
    if (glow_parse_size(value, o->target))
      return NULL;
    return glow_str_printf(ctx, " needs a size such as 512K, 64M or 2G, not '%s'", value);
  case GLOW_OPT_TIME:
    if (glow_parse_time(value, o->target))
      return NULL;
    return glow_str_printf(ctx, " needs a time such as 500ms, 10s or 2min, not '%s'", value);
  default:
    return " takes no value";
  }
}

static bool choose(Parser *p, const GlowOption *o) {
  for (uint32_t i = 0; i < p->chosen.count; i++) {
    const GlowOption *other = p->chosen.data[i];
    if (other->target == o->target && other != o)
      return usage_error(p, "options '%s%s' and '%s%s' exclude each other",
                         glow_option_dashes(other), other->name, glow_option_dashes(o), o->name);
  }
  glow_vec_push(p->ctx->arena, &p->chosen, o);
  *(int *)o->target = (int)o->min;
  return true;
}

static bool call(Parser *p, const GlowOption *o) {
  unsigned errors = p->ctx->errors;
  if (o->call(p->cmd->user, o->name))
    return true;
  if (p->ctx->errors > errors) /* `call` has reported the reason */
    return false;
  return usage_error(p, "option '%s%s' cannot be used here", glow_option_dashes(o), o->name);
}

static bool apply(Parser *p, const GlowOption *o, const char *value, Args *args) {
  GlowArity n = glow_option_arity(o);
  if (value && n == GLOW_NO_VALUE)
    return usage_error(p, "option '%s%s' takes no value", glow_option_dashes(o), o->name);
  if (!value && n == GLOW_ONE_VALUE) {
    if (args->next == args->end)
      return usage_error(p, "option '%s%s' needs a value: %s", glow_option_dashes(o), o->name,
                         o->value ? o->value : "VALUE");
    value = *args->next++;
  }
  if (o->list && strcmp(value, "help") == 0) {
    p->list = o->list;
    return true;
  }
  switch (o->kind) {
  case GLOW_OPT_FLAG:
    *(bool *)o->target = true;
    return true;
  case GLOW_OPT_ONE_OF:
    return choose(p, o);
  case GLOW_OPT_CALL:
    return call(p, o);
  case GLOW_OPT_HEADING:
    return false;
  default:
    break;
  }
  const char *why = glow_option_set(p->ctx, o, value ? value : "");
  return !why || usage_error(p, "option '%s%s'%s", glow_option_dashes(o), o->name, why);
}

/* Sets the colour at once, so that later usage errors have it. */
static bool set_color(Parser *p) {
  static const char *const when[] = {"auto", "never", "always"}; /* ctx->color is -1, 0, 1 */
  const char *value = *p->color ? p->color : "always";
  for (int i = 0; i < 3; i++)
    if (strcmp(value, when[i]) == 0) {
      p->ctx->color = i - 1;
      return true;
    }
  return usage_error(p, "option '--color' takes auto, always or never, not '%s'", value);
}

static bool parse_option(Parser *p, const char *arg, Args *args) {
  const char *name = arg + 1 + (arg[1] == '-');
  size_t length = strcspn(name, "=");
  const char *value = name[length] == '=' ? name + length + 1 : NULL;
  const GlowOption *o = find_option(p, name, length);
  if (o)
    return apply(p, o, value, args) && (o->target != &p->color || set_color(p));
  const char *bare = glow_str_n(p->ctx, name, length);
  unsigned errors = p->ctx->errors;
  if (p->cmd->unknown && p->cmd->unknown(p->cmd->user, bare, value))
    return true;
  return p->ctx->errors > errors ? false : report_unknown(p, arg, bare);
}

static bool parse_args(Parser *p, Args args);

/* Reads the arguments in the file of `@path`; `outer` are those that name the file. */
static bool parse_response_file(Parser *p, const char *path, const Args *outer) {
  if (outer->depth == MAX_RESPONSE_DEPTH)
    return usage_error(p, "'@%s': response files are nested too deep (more than %d)", path,
                       MAX_RESPONSE_DEPTH);
  GlowInput in;
  if (!glow_input_open(p->ctx, path, false, glow_loc_file(p->ctx, p->cmd->name), &in))
    return false;
  Args args = {.depth = outer->depth + 1, outer, in.device, in.inode};
  bool again = false;
  for (const Args *a = outer; a; a = a->outer)
    again |= in.inode && a->device == in.device && a->inode == in.inode;
  GlowStrList words = {0};
  bool ok = again ? usage_error(p, "'@%s': the response file names itself", path)
                  : glow_response_split(p->ctx, in.name, in.data, in.size, &words);
  glow_input_close(&in);
  if (!ok || words.count == 0)
    return ok;
  args.next = words.data;
  args.end = words.data + words.count;
  return parse_args(p, args);
}

static bool parse_args(Parser *p, Args args) {
  while (args.next < args.end) {
    const char *arg = *args.next++;
    bool ok = true;
    if (!p->only_positional && strcmp(arg, "--") == 0)
      p->only_positional = true;
    else if (!p->only_positional && arg[0] == '@' && arg[1])
      ok = parse_response_file(p, arg + 1, &args);
    else if (!p->only_positional && arg[0] == '-' && arg[1])
      ok = parse_option(p, arg, &args);
    else if (p->positional->count >= p->cmd->max_positional)
      ok = usage_error(p, "unexpected argument '%s'", arg);
    else
      glow_vec_push(p->ctx->arena, p->positional, arg);
    if (!ok)
      return false;
  }
  return true;
}

/* Answers a question about the tool itself, such as --help. Returns false if there was none. */
static bool answer(const Parser *p) {
  if (p->help || p->help_hidden)
    glow_cmdline_print_help(&p->options, p->help_hidden);
  else if (p->version)
    glow_cmdline_print_version(p->ctx, p->cmd);
  else if (p->completion)
    glow_cmdline_print_completion(&p->options);
  else if (p->list)
    glow_tool_show(p->ctx, p->list);
  else
    return false;
  return true;
}

GlowStatus glow_cmdline_parse(GlowContext *ctx, const GlowCommand *cmd, int argc, char **argv,
                              GlowStrList *positional, bool *exit_now) {
  Parser p = {.ctx = ctx, .cmd = cmd, .positional = positional};
  /* clang-format off */
  const GlowOption common[] = {
      GLOW_OPTION_HEADING("Every tool"),
      {.name = "help", .help = "Print this help", .target = &p.help, .two_dashes = true},
      {.name = "h", .help = "--help", .target = &p.help, .hidden = true},
      {.name = "help-hidden", .help = "Print all options", .target = &p.help_hidden,
       .two_dashes = true},
      {.name = "version", .help = "Print the version", .target = &p.version, .two_dashes = true},
      {.name = "color", .value = "[=auto|always|never]", .help = "Colour diagnostics",
       .kind = GLOW_OPT_OPTIONAL, .target = &p.color, .two_dashes = true},
      {.name = "time-limit", .value = "TIME",
       .help = "stop with an error after this time, such as 500ms, 10s or 2min",
       .kind = GLOW_OPT_TIME, .target = &p.time_limit, .two_dashes = true},
      {.name = "print-completion", .help = "Print how bash completes this command",
       .target = &p.completion, .two_dashes = true, .hidden = true},
  };
  /* clang-format on */
  p.options = (GlowOptionTables){
      cmd, {{cmd->options, cmd->noptions}, {common, sizeof common / sizeof *common}}};
  *positional = (GlowStrList){0};
  *exit_now = false;
  const char *const *first = (const char *const *)argv;
  if (argc > 0 && !parse_args(&p, (Args){.next = first + 1, .end = first + argc}))
    return GLOW_BAD_USAGE;
  *exit_now = answer(&p);
  if (*exit_now)
    return GLOW_OK;
  if (positional->count < cmd->min_positional) {
    usage_error(&p, "missing argument; usage: %s %s", cmd->name, cmd->usage);
    return GLOW_BAD_USAGE;
  }
  if (p.time_limit > 0)
    glow_deadline_begin(ctx, glow_str_printf(ctx, "%g s", p.time_limit), p.time_limit);
  return GLOW_OK;
}

/* The exit status of a tool: 0, 1, 2 or 3. Prints "out of memory" for NO_MEMORY. */
static int exit_status(const char *tool, GlowStatus status) {
  switch (status) {
  case GLOW_OK:
    return 0;
  case GLOW_NO_MEMORY:
    fprintf(stderr, "%s: error: out of memory\n", tool);
    return 1;
  case GLOW_BAD_INPUT:
  case GLOW_IO:
    return 1;
  case GLOW_BAD_USAGE:
    return 2;
  case GLOW_BUSY:
  case GLOW_CANCELLED:
  case GLOW_INTERNAL:
    break;
  }
  return 3;
}

GlowStatus glow_tool_show(GlowContext *ctx, void (*print)(GlowText *out)) {
  GlowText t;
  GlowDefer release;
  glow_text_init(&t, ctx);
  glow_defer_push(ctx, &release, glow_text_release_fn, &t);
  print(&t);
  fwrite(t.data, 1, t.size, stdout);
  glow_defer_pop(ctx, &release, true);
  return GLOW_OK;
}

typedef struct ToolMain {
  int argc;
  char **argv;
  GlowStatus (*body)(GlowContext *ctx, int argc, char **argv);
  GlowStatus status;
} ToolMain;

static void run_body(GlowContext *ctx, void *arg) {
  ToolMain *m = arg;
  m->status = m->body(ctx, m->argc, m->argv);
}

/* Opens replacements for standard streams that the caller closed: else the next file to be opened
 * would get their descriptor. Reading from or writing to a replacement fails, as it would have. */
static void fill_standard_streams(void) {
  for (int fd = 0; fd < 3; fd++)
    if (fcntl(fd, F_GETFD) == -1 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd)
      _Exit(1);
}

int glow_tool_main(const char *tool, int argc, char **argv,
                   GlowStatus (*body)(GlowContext *ctx, int argc, char **argv)) {
  fill_standard_streams();
  signal(SIGPIPE, SIG_IGN); /* a closed pipe becomes an ordinary write error, */
  signal(SIGXFSZ, SIG_IGN); /* and so does a file that grows past its limit */
  GlowContext *ctx = glow_context_create();
  if (!ctx)
    return exit_status(tool, GLOW_NO_MEMORY);
  ToolMain m = {argc, argv, body, GLOW_OK};
  GlowStatus status = glow_protect(ctx, run_body, &m);
  if (status == GLOW_OK)
    status = m.status;
  if (ctx->late)
    status = GLOW_BAD_INPUT;
  glow_context_destroy(ctx);

  bool unwritten = ferror(stdout) != 0;
  if (fflush(stdout) != 0 || unwritten) {
    char buf[128];
    int code = errno;
    if (!glow_stdout_is_closed())
      fprintf(stderr, "%s: error: cannot write to stdout: %s\n", tool,
              strerror_r(code, buf, sizeof buf));
    if (status == GLOW_OK)
      status = GLOW_IO;
  }
  return exit_status(tool, status);
}
