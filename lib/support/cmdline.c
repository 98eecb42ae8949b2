/* Command lines. One pass over the arguments; a response file is the same pass over its lines, so
 * the value of an option stands in the same file as the option. */
#include "support/cmdline.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/diag.h"
#include "support/file.h"
#include "support/text.h"

enum { MAX_RESPONSE_DEPTH = 4, HELP_COLUMN = 30 };

typedef struct Parser {
  GlowContext *ctx;
  const GlowCommand *cmd;
  GlowStrList *positional;
  bool only_positional; /* after -- */
  bool help, version;
} Parser;

/* The arguments that are left to read: argv, or the lines of a response file. */
typedef struct Args {
  const char *const *next, *const *end;
  int depth;
} Args;

static const GlowOption help_option = {
    .name = "help", .help = "Print this help", .two_dashes = true};
static const GlowOption version_option = {
    .name = "version", .help = "Print the version", .two_dashes = true};

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

static const char *dashes(const GlowOption *o) { return o->two_dashes ? "--" : "-"; }

static bool has_name(const char *name, const char *arg, size_t length) {
  return strlen(name) == length && memcmp(name, arg, length) == 0;
}

static const GlowOption *find_option(const GlowCommand *cmd, const char *name, size_t length) {
  for (size_t i = 0; i < cmd->noptions; ++i)
    if (has_name(cmd->options[i].name, name, length))
      return &cmd->options[i];
  return NULL;
}

/* "unknown option '--x'", with the nearest name that exists. */
static bool report_unknown(Parser *p, const char *arg, const char *name) {
  const GlowCommand *cmd = p->cmd;
  size_t count = 0;
  const char **names =
      GLOW_NEW_ARRAY(p->ctx->arena, const char *, cmd->noptions + cmd->nunknown_names + 2);
  for (size_t i = 0; i < cmd->noptions; ++i)
    names[count++] = cmd->options[i].name;
  for (size_t i = 0; i < cmd->nunknown_names; ++i)
    names[count++] = cmd->unknown_names[i];
  names[count++] = help_option.name;
  names[count++] = version_option.name;

  int shown = (int)strcspn(arg, "=");
  const char *near = glow_nearest(name, names, count);
  if (!near)
    return usage_error(p, "unknown option '%.*s'", shown, arg);
  const GlowOption *o = find_option(cmd, near, strlen(near));
  bool two = o ? o->two_dashes : near == help_option.name || near == version_option.name;
  return usage_error(p, "unknown option '%.*s'; did you mean '%s%s'?", shown, arg, two ? "--" : "-",
                     near);
}

static bool set_int(Parser *p, const GlowOption *o, const char *value) {
  const char *digits = value + (*value == '-' || *value == '+');
  bool hex = digits[0] == '0' && (digits[1] | 0x20) == 'x';
  bool number = digits[0] >= '0' && digits[0] <= '9';
  char *end = NULL;
  errno = 0;
  long long v = number ? strtoll(value, &end, hex ? 16 : 10) : 0;
  if (!number || *end || end == value)
    return usage_error(p, "option '%s%s' needs an integer, not '%s'", dashes(o), o->name, value);
  bool limited = o->min != 0 || o->max != 0;
  if (errno == ERANGE || (limited && (v < o->min || v > o->max))) {
    if (!limited)
      return usage_error(p, "option '%s%s': %s is out of range", dashes(o), o->name, value);
    return usage_error(p, "option '%s%s': %s is not between %lld and %lld", dashes(o), o->name,
                       value, (long long)o->min, (long long)o->max);
  }
  *(int64_t *)o->target = v;
  return true;
}

static bool set_double(Parser *p, const GlowOption *o, const char *value) {
  char *end;
  double v = glow_parse_double(value, &end);
  if (end == value || *end)
    return usage_error(p, "option '%s%s' needs a number, not '%s'", dashes(o), o->name, value);
  *(double *)o->target = v;
  return true;
}

static bool call(Parser *p, const GlowOption *o, const char *value) {
  unsigned errors = p->ctx->errors;
  if (o->call(p->cmd->user, o->name, value))
    return true;
  if (p->ctx->errors > errors) /* it has said why */
    return false;
  if (!value)
    return usage_error(p, "option '%s%s' cannot be used here", dashes(o), o->name);
  return usage_error(p, "option '%s%s': bad value '%s'", dashes(o), o->name, value);
}

/* Whether the option takes a value: never, only as =value, or always. */
typedef enum Arity { NO_VALUE, OPTIONAL_VALUE, ONE_VALUE } Arity;

static Arity arity(const GlowOption *o) {
  if (o->kind == GLOW_OPT_FLAG || (o->kind == GLOW_OPT_CALL && !o->value))
    return NO_VALUE;
  if (o->kind == GLOW_OPT_OPTIONAL || (o->kind == GLOW_OPT_CALL && o->value[0] == '['))
    return OPTIONAL_VALUE;
  return ONE_VALUE;
}

static bool apply(Parser *p, const GlowOption *o, const char *value, Args *args) {
  Arity n = arity(o);
  if (value && n == NO_VALUE)
    return usage_error(p, "option '%s%s' takes no value", dashes(o), o->name);
  if (!value && n == ONE_VALUE) {
    if (args->next == args->end)
      return usage_error(p, "option '%s%s' needs a value: %s", dashes(o), o->name,
                         o->value ? o->value : "VALUE");
    value = *args->next++;
  }
  switch (o->kind) {
  case GLOW_OPT_FLAG:
    *(bool *)o->target = true;
    return true;
  case GLOW_OPT_STRING:
    *(const char **)o->target = value;
    return true;
  case GLOW_OPT_OPTIONAL:
    *(const char **)o->target = value ? value : "";
    return true;
  case GLOW_OPT_REPEAT:
    glow_vec_push(p->ctx->arena, (GlowStrList *)o->target, value);
    return true;
  case GLOW_OPT_INT:
    return set_int(p, o, value);
  case GLOW_OPT_DOUBLE:
    return set_double(p, o, value);
  case GLOW_OPT_CALL:
    return call(p, o, value);
  }
  return false;
}

static bool parse_option(Parser *p, const char *arg, Args *args) {
  const char *name = arg + 1 + (arg[1] == '-');
  size_t length = strcspn(name, "=");
  const char *value = name[length] == '=' ? name + length + 1 : NULL;
  const GlowOption *o = find_option(p->cmd, name, length);
  if (o)
    return apply(p, o, value, args);
  bool help = has_name("help", name, length), version = has_name("version", name, length);
  if (help || version) {
    if (value)
      return usage_error(p, "option '--%.*s' takes no value", (int)length, name);
    p->help |= help;
    p->version |= version;
    return true;
  }
  const char *bare = glow_str_n(p->ctx, name, length);
  unsigned errors = p->ctx->errors;
  if (p->cmd->unknown && p->cmd->unknown(p->cmd->user, bare, value))
    return true;
  return p->ctx->errors > errors ? false : report_unknown(p, arg, bare);
}

static bool parse_args(Parser *p, Args args);

/* Reads `@path`: one argument per line, empty lines skipped. */
static bool parse_response_file(Parser *p, const char *path, int depth) {
  if (depth > MAX_RESPONSE_DEPTH)
    return usage_error(p, "'@%s': response files are nested too deep", path);
  GlowInput in;
  if (!glow_input_open(p->ctx, path, false, glow_loc_file(p->ctx, p->cmd->name), &in))
    return false;
  GlowStrList lines = {0};
  for (const char *s = in.data, *end = s + in.size; s < end;) {
    const char *newline = memchr(s, '\n', (size_t)(end - s));
    size_t n = (size_t)((newline ? newline : end) - s);
    size_t kept = n && s[n - 1] == '\r' ? n - 1 : n;
    if (kept)
      glow_vec_push(p->ctx->arena, &lines, glow_str_n(p->ctx, s, kept));
    s += n + 1;
  }
  glow_input_close(&in);
  if (lines.count == 0)
    return true;
  return parse_args(p, (Args){lines.data, lines.data + lines.count, depth});
}

static bool parse_args(Parser *p, Args args) {
  while (args.next < args.end) {
    const char *arg = *args.next++;
    bool ok = true;
    if (!p->only_positional && strcmp(arg, "--") == 0)
      p->only_positional = true;
    else if (!p->only_positional && arg[0] == '@' && arg[1])
      ok = parse_response_file(p, arg + 1, args.depth + 1);
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

static void print_option(const GlowOption *o) {
  bool optional = o->value && arity(o) == OPTIONAL_VALUE;
  const char *separator = !o->value ? "" : !optional ? (o->two_dashes ? "=" : " ") : "";
  const char *open = optional && o->value[0] != '[' ? "[=" : "", *close = *open ? "]" : "";
  int width = printf("  %s%s%s%s%s%s", dashes(o), o->name, separator, open,
                     o->value ? o->value : "", close);
  if (width > HELP_COLUMN - 2) {
    printf("\n");
    width = 0;
  }
  printf("%*s%s\n", HELP_COLUMN - width, "", o->help ? o->help : "");
}

static void print_help(const GlowCommand *cmd) {
  printf("OVERVIEW: %s\n\nUSAGE: %s %s\n\nOPTIONS:\n", cmd->overview, cmd->name, cmd->usage);
  for (size_t i = 0; i < cmd->noptions; ++i)
    print_option(&cmd->options[i]);
  print_option(&help_option);
  print_option(&version_option);
}

GlowStatus glow_cmdline_parse(GlowContext *ctx, const GlowCommand *cmd, int argc, char **argv,
                              GlowStrList *positional, bool *exit_now) {
  Parser p = {.ctx = ctx, .cmd = cmd, .positional = positional};
  *positional = (GlowStrList){0};
  *exit_now = false;
  const char *const *first = (const char *const *)argv;
  if (argc > 0 && !parse_args(&p, (Args){first + 1, first + argc, 0}))
    return GLOW_BAD_USAGE;
  if (p.help || p.version) {
    if (p.help)
      print_help(cmd);
    else
      printf("glow " GLOW_VERSION_STRING "\n");
    *exit_now = true;
    return GLOW_OK;
  }
  if (positional->count < cmd->min_positional) {
    usage_error(&p, "missing argument; usage: %s %s", cmd->name, cmd->usage);
    return GLOW_BAD_USAGE;
  }
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
  case GLOW_INTERNAL:
    break;
  }
  return 3;
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

/* A standard stream that the caller closed must not become the descriptor of some file. Reading
 * from or writing to the replacement fails, as it would have. */
static void fill_standard_streams(void) {
  for (int fd = 0; fd < 3; ++fd)
    if (fcntl(fd, F_GETFD) == -1 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd)
      _Exit(1);
}

int glow_tool_main(const char *tool, int argc, char **argv,
                   GlowStatus (*body)(GlowContext *ctx, int argc, char **argv)) {
  fill_standard_streams();
  signal(SIGPIPE, SIG_IGN); /* a closed pipe is a write error like others, */
  signal(SIGXFSZ, SIG_IGN); /* and so is the limit on the size of a file */
  GlowContext *ctx = glow_context_create();
  if (!ctx)
    return exit_status(tool, GLOW_NO_MEMORY);
  ToolMain m = {argc, argv, body, GLOW_OK};
  GlowStatus status = glow_protect(ctx, run_body, &m);
  if (status == GLOW_OK)
    status = m.status;
  glow_context_destroy(ctx);

  bool unwritten = ferror(stdout) != 0;
  if (fflush(stdout) != 0 || unwritten) {
    char buf[128];
    fprintf(stderr, "%s: error: cannot write to stdout: %s\n", tool,
            strerror_r(errno, buf, sizeof buf));
    if (status == GLOW_OK)
      status = GLOW_IO;
  }
  return exit_status(tool, status);
}
