/* glow-llc: turns the programs of a module into machine code: an object, assembly, or a bundle. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/cpu/cpu.h"
#include "bundle/bundle.h"
#include "driver/session.h"
#include "import/onnx/onnx.h"
#include "ir/remarks.h"
#include "support/cmdline.h"
#include "support/file.h"
#include "support/signals.h"
#include "target/cpu/cpu.h"

typedef struct Command {
  GlowContext *ctx;
  bool executable; /* -filetype=exe or code */
  bool code_only;  /* -filetype=code */
  const char *output, *filetype, *bundle, *name, *constants;
  GlowRemarkFlags remarks;
  int64_t error_limit, max_memory;
  GlowMachine machine; /* as far as it is given */
  GlowCodeForm form;
} Command;

typedef GLOW_VEC(GlowFunction *) FunctionList;

/* Which of `names` an option's value is; false after a diagnostic. */
static bool choose(GlowContext *ctx, const char *option, const char *text, const char *const *names,
                   size_t count, size_t *index) {
  const char *known = "";
  for (size_t i = 0; i < count; i++) {
    if (strcmp(text, names[i]) == 0) {
      *index = i;
      return true;
    }
    known = glow_str_printf(ctx, "%s%s%s", known, i ? ", " : "", names[i]);
  }
  glow_error(ctx, GLOW_NOWHERE, "-%s: '%s' is none of %s", option, text, known);
  return false;
}

static bool check_usage(GlowContext *ctx, Command *c, GlowBundleOptions *o) {
  static const char *const forms[] = {"obj", "asm", "ll", "bc", "exe", "code"};
  static const char *const places[] = {"file", "linked"};
  size_t form = 0, place = 0;
  if (c->filetype && !choose(ctx, "filetype", c->filetype, forms, 6, &form))
    return false;
  if (c->constants && !choose(ctx, "constants", c->constants, places, 2, &place))
    return false;
  if (c->bundle && (c->output || c->filetype)) {
    glow_error(ctx, GLOW_NOWHERE,
               "-bundle writes an object into its folder; -o and -filetype do "
               "not go with it");
    return false;
  }
  c->code_only = form == 5;
  c->executable = form == 4 || c->code_only;
  if (c->executable && (c->machine.triple || c->machine.cpu || c->machine.attrs)) {
    glow_error(ctx, GLOW_NOWHERE,
               "-filetype=exe and code are for this machine and the module's target; -mtriple, -mcpu and "
               "-mattr do not go with it");
    return false;
  }
  c->form = (GlowCodeForm)form;
  o->link_weights = place == 1;
  return true;
}

/* What the model is called: -name, or the file without folder and suffix, or the module. */
static const char *model_name(GlowContext *ctx, const Command *c, const GlowSession *s,
                              const char *path) {
  if (c->name)
    return c->name;
  if (strcmp(path, "-") == 0)
    return s->module->name ? s->module->name : "model";
  const char *base = glow_path_base(path), *dot = strrchr(base, '.');
  return dot && dot != base ? glow_str_n(ctx, base, (size_t)(dot - base)) : base;
}

/* Names of files, symbols and macros begin with it, so it is a word that C does not reserve. */
static bool check_name(GlowContext *ctx, const Command *c, const char *name) {
  bool good = isalpha((unsigned char)*name);
  for (const char *s = name; *s; s++)
    good &= isalnum((unsigned char)*s) || strchr("_-.", *s);
  if (good)
    return true;
  glow_error(ctx, GLOW_NOWHERE,
             "%s: '%s' cannot begin the names of files and symbols: those are a letter, then "
             "letters, digits, '_', '-' and '.'%s",
             c->name ? "-name" : "the model's name", name, c->name ? "" : "; -name gives another");
  return false;
}

/* *made: it was not there before. */
static bool make_folder(GlowContext *ctx, const char *path, bool *made) {
  struct stat st;
  *made = mkdir(path, 0777) == 0;
  if (*made || (errno == EEXIST && stat(path, &st) == 0 && S_ISDIR(st.st_mode)))
    return true;
  glow_error(ctx, glow_loc_file(ctx, path), "cannot make this folder: %s", strerror(errno));
  return false;
}

static const char *part_path(GlowContext *ctx, const Command *c, const char *name,
                             const char *suffix) {
  return glow_path_join(ctx, c->bundle, glow_str_printf(ctx, "%s.%s", name, suffix));
}

/* All files or none, and no folder that was not there. */
static bool write_files(GlowContext *ctx, const char *folder, const GlowOutput *files,
                        size_t count) {
  GlowSignals held;
  bool made;
  glow_signals_hold(&held);
  bool ok = make_folder(ctx, folder, &made) && glow_outputs_write(ctx, files, count);
  if (!ok && made)
    rmdir(folder);
  glow_signals_release(&held);
  return ok;
}

static GlowStatus write_bundle(const Command *c, const GlowBundle *b, GlowText *object) {
  GlowContext *ctx = b->module->ctx;
  const char *name = b->options->name;
  if (!glow_bundle_code(b, GLOW_CODE_OBJECT, object))
    return GLOW_INTERNAL;
  GlowText header;
  GlowDefer release;
  glow_text_init(&header, ctx);
  glow_defer_push(ctx, &release, glow_text_release_fn, &header);
  glow_bundle_header(b, &header);
  const GlowOutput files[] = {
      {part_path(ctx, c, name, "o"), {object->data, object->size}},
      {part_path(ctx, c, name, "h"), {header.data, header.size}},
      {part_path(ctx, c, name, "weights"), {b->weights, (size_t)b->header.size}}};
  bool has_weights = b->weights && !b->options->link_weights;
  bool ok = write_files(ctx, c->bundle, files, has_weights ? 3 : 2);
  glow_defer_pop(ctx, &release, true);
  return ok ? GLOW_OK : GLOW_IO;
}

static GlowStatus write_code(const Command *c, const GlowBundle *b, GlowText *text) {
  if (!glow_bundle_code(b, c->form, text))
    return GLOW_INTERNAL;
  GlowBytes bytes = {text->data, text->size};
  return glow_output_write(b->module->ctx, c->output, &bytes, 1) ? GLOW_OK : GLOW_IO;
}

static GlowStatus compile(const Command *c, GlowModule *m, const GlowBundleOptions *options) {
  GlowContext *ctx = m->ctx;
  GlowBundle *b = glow_bundle_create(m, options);
  if (!b)
    return GLOW_BAD_INPUT;
  GlowText text;
  GlowDefer destroy, release;
  glow_defer_push(ctx, &destroy, glow_bundle_destroy_fn, b);
  glow_text_init(&text, ctx);
  glow_defer_push(ctx, &release, glow_text_release_fn, &text);
  GlowStatus status = c->bundle ? write_bundle(c, b, &text) : write_code(c, b, &text);
  glow_defer_pop(ctx, &release, true);
  glow_defer_pop(ctx, &destroy, true);
  return status;
}

/* The programs of a module. False after a diagnostic. */
static bool list_programs(GlowModule *m, FunctionList *programs) {
  for (GlowFunction *f = m->first_function; f; f = f->next) {
    if (f->kind == GLOW_PROGRAM) {
      glow_vec_push(m->ctx->arena, programs, f);
      continue;
    }
    glow_error(m->ctx, f->src,
               "@%s is a graph; glow-irgen turns graphs into programs, which can be compiled",
               f->name);
    return false;
  }
  if (!programs->count)
    glow_error(m->ctx, GLOW_NOWHERE, "the module has no program");
  return programs->count > 0;
}

/* -filetype=exe: what glow-run takes; =code: the same without values, for who compiles in a process
 * of its own. */
static GlowStatus write_executable(const Command *c, GlowModule *m) {
  FunctionList programs = {0};
  if (!list_programs(m, &programs))
    return GLOW_BAD_INPUT;
  const GlowRunOptions how = {
      .tier = GLOW_TIER_COMPILED, .code_only = c->code_only, .max_memory = c->max_memory};
  GlowExecutable *e = glow_cpu_compile(programs.data, programs.count, &how);
  if (!e)
    return GLOW_BAD_INPUT;
  GlowDefer release;
  glow_defer_push(c->ctx, &release, glow_executable_release_fn, e);
  GlowStatus status = glow_executable_write(e, c->output ? c->output : "-");
  glow_defer_pop(c->ctx, &release, true);
  return status;
}

/* The module's target and what the command line says. */
static GlowStatus choose_machine(GlowContext *ctx, const GlowSession *s, GlowMachine *machine) {
  const GlowIsa *isa = NULL;
  GlowLoc loc = s->module->src;
  const char *name = s->module->target;
  const GlowTarget *target = name ? glow_target_named(ctx, loc, name) : NULL;
  if (name && !target)
    return GLOW_BAD_INPUT;
  if (target && !(isa = glow_cpu_isa(target))) {
    glow_error(ctx, loc, "there is no machine code for target %s", name);
    return GLOW_BAD_INPUT;
  }
  return glow_machine_choose(ctx, isa, machine) ? GLOW_OK : GLOW_BAD_USAGE;
}

static GlowStatus compile_file(GlowContext *ctx, const Command *c, GlowBundleOptions *options,
                               const char *path) {
  GlowSession s;
  GlowLoadOptions load = {0};
  GlowStatus status = glow_session_open(&s, ctx, path, &load);
  GlowDefer defer;
  glow_defer_push(ctx, &defer, glow_session_close_fn, &s);
  if (status == GLOW_OK && c->executable) {
    status = write_executable(c, s.module);
  } else if (status == GLOW_OK) {
    options->name = model_name(ctx, c, &s, path);
    GlowMachine machine = c->machine;
    status = check_name(ctx, c, options->name) ? choose_machine(ctx, &s, &machine) : GLOW_BAD_USAGE;
    options->code = (GlowCodegenOptions){.isa = machine.isa,
                                         .machine = &machine,
                                         .debug = true,
                                         .program = glow_loc_file(ctx, s.file.name)};
    if (status == GLOW_OK)
      status = compile(c, s.module, options);
  }
  glow_defer_pop(ctx, &defer, true);
  return status;
}

static GlowStatus show_attrs(GlowContext *ctx, const GlowMachine *machine) {
  GlowText text;
  GlowDefer release;
  glow_text_init(&text, ctx);
  glow_defer_push(ctx, &release, glow_text_release_fn, &text);
  bool ok = glow_machine_print_attrs(ctx, machine, &text);
  fwrite(text.data, 1, text.size, stdout);
  glow_defer_pop(ctx, &release, true);
  return ok ? GLOW_OK : GLOW_BAD_USAGE;
}

/* Levels are for passes. */
static bool refuse_level(void *user, const char *name) {
  const Command *c = user;
  glow_error(c->ctx, glow_loc_file(c->ctx, "glow-llc"),
             "-%s: machine code has one level, -O2; passes have others, with glow-opt", name);
  return false;
}
static bool take_level(void *user, const char *name) {
  (void)user, (void)name;
  return true;
}

static GlowStatus body(GlowContext *ctx, int argc, char **argv) {
  Command c = {.ctx = ctx, .error_limit = 20};
  /* clang-format off */
  const GlowOption options[] = {
      {.name = "o", .value = "FILE", .help = "write to FILE instead of stdout",
       .kind = GLOW_OPT_STRING, .target = &c.output},
      {.name = "filetype", .value = "obj|asm|ll|bc|exe|code",
       .help = "an object (default), assembly, LLVM's text or bitcode; what glow-run takes, or its code",
       .kind = GLOW_OPT_STRING, .target = &c.filetype},
      {.name = "O0", .help = "refused: machine code has one level", .kind = GLOW_OPT_CALL,
       .call = refuse_level},
      {.name = "O1", .help = "refused, too", .kind = GLOW_OPT_CALL, .call = refuse_level},
      {.name = "O2", .help = "that level", .kind = GLOW_OPT_CALL, .call = take_level},
      {.name = "O3", .help = "-O2", .kind = GLOW_OPT_CALL, .call = take_level},
      GLOW_OPTION_HEADING("The machine"),
      {.name = "mtriple", .value = "TRIPLE",
       .help = "compile for this system (default: Linux on the module's target)",
       .kind = GLOW_OPT_STRING, .target = &c.machine.triple},
      {.name = "mcpu", .value = "CPU",
       .help = "compile for this CPU, native, or a target of isa.def; help lists them",
       .kind = GLOW_OPT_STRING, .target = &c.machine.cpu, .list = glow_machine_print_cpus},
      {.name = "mattr", .value = "+A,-B",
       .help = "use or leave out features of the CPU; help lists them", .kind = GLOW_OPT_STRING,
       .target = &c.machine.attrs},
      {.name = "max-memory", .value = "SIZE",
       .help = "refuse programs that need more memory to run, such as 64K or 2M",
       .kind = GLOW_OPT_SIZE, .target = &c.max_memory, .two_dashes = true},
      GLOW_OPTION_HEADING("Diagnostics"),
      {.name = "remarks", .value = "[=REGEX]", .help = "show what became of instructions",
       .kind = GLOW_OPT_OPTIONAL, .target = &c.remarks.speakers},
      {.name = "remarks-output", .value = "FILE", .help = "write remarks as lines of JSON",
       .kind = GLOW_OPT_STRING, .target = &c.remarks.output},
      {.name = "error-limit", .value = "N", .help = "stop after N errors (20; 0: never)",
       .kind = GLOW_OPT_INT, .target = &c.error_limit, .max = 1000000},
      GLOW_OPTION_HEADING("Bundles"),
      {.name = "bundle", .value = "DIR",
       .help = "write an object, a header and a file of weights into DIR",
       .kind = GLOW_OPT_STRING, .target = &c.bundle},
      {.name = "name", .value = "NAME",
       .help = "call the model so in symbols and files: letters, digits, _ - . (default: as the file)",
       .kind = GLOW_OPT_STRING, .target = &c.name},
      {.name = "constants", .value = "file|linked",
       .help = "constants go into the file of weights (default) or into the object",
       .kind = GLOW_OPT_STRING, .target = &c.constants},
  };
  /* clang-format on */
  GlowCommand command = {.name = "glow-llc",
                         .overview = "turn the programs of a module into machine code",
                         .usage = "[options] [FILE]",
                         .options = options,
                         .noptions = sizeof options / sizeof *options,
                         .user = &c,
                         .max_positional = 1,
                         .llvm = glow_codegen_llvm_version};
  GlowStrList positional = {0};
  bool exit_now;
  GlowStatus status = glow_cmdline_parse(ctx, &command, argc, argv, &positional, &exit_now);
  if (status != GLOW_OK || exit_now)
    return status;
  ctx->error_limit = (unsigned)c.error_limit;
  if (c.machine.attrs && strcmp(c.machine.attrs, "help") == 0)
    return show_attrs(ctx, &c.machine);
  GlowBundleOptions bundle = {.max_memory = c.max_memory};
  if (!check_usage(ctx, &c, &bundle))
    return GLOW_BAD_USAGE;
  if (!glow_remarks_begin(ctx, &c.remarks))
    return GLOW_BAD_USAGE;
  const char *path = positional.count ? positional.data[0] : "-";
  return glow_remarks_end(ctx, compile_file(ctx, &c, &bundle, path));
}

int main(int argc, char **argv) { return glow_tool_main("glow-llc", argc, argv, body); }
