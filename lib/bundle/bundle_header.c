/* The header of a bundle: what callers must give, with all sizes, in C99 that C++ can include. */
#include <ctype.h>
#include <string.h>

#include "bundle/bundle.h"
#include "glow/context.h"
#include "tensor/blob.h"

/* include/glow/rt.h, embedded. */
extern const char glow_rt_header[], glow_rt_header_end[];
__asm__(".pushsection .rodata\n.hidden glow_rt_header\n.hidden glow_rt_header_end\n"
        ".global glow_rt_header\n.global glow_rt_header_end\n"
        "glow_rt_header:\n.incbin \"" GLOW_RT_HEADER "\"\nglow_rt_header_end:\n.popsection\n");

/* What C calls an element; elements of less than a byte, and complex ones, are bytes. */
static const char *c_type(GlowKind kind) {
  switch (kind) {
  case GLOW_KIND_FLOAT:
    return "float";
  case GLOW_KIND_DOUBLE:
    return "double";
  case GLOW_KIND_I8:
    return "int8_t";
  case GLOW_KIND_I16:
    return "int16_t";
  case GLOW_KIND_I32:
    return "int32_t";
  case GLOW_KIND_I64:
    return "int64_t";
  case GLOW_KIND_FLOAT16:
  case GLOW_KIND_BFLOAT16:
  case GLOW_KIND_U16:
    return "uint16_t";
  case GLOW_KIND_U32:
    return "uint32_t";
  case GLOW_KIND_U64:
    return "uint64_t";
  default:
    return "uint8_t";
  }
}

/* Names of models hold anything: nothing that ends a comment comes through. */
static void comment_text(GlowText *out, const char *text) {
  for (; *text; text++)
    glow_text_putc(out, (unsigned char)*text < ' ' || *text == '*' ? '?' : *text);
}

static void upper(GlowText *out, const char *text) {
  for (; *text; text++)
    glow_text_putc(out, (char)toupper((unsigned char)*text));
}

/* MODEL_PROGRAM_FIELD_SIZE, in bytes, and _COUNT, in elements. */
static void buffer_macros(const GlowBundleEntry *e, const GlowBundleBuffer *x, GlowText *out) {
  const GlowType *t = x->value->type;
  const char *names[] = {"SIZE", "COUNT"};
  int64_t values[] = {glow_type_bytes(t), glow_type_elements(t)};
  for (int i = 0; i < 2; i++) {
    glow_text_puts(out, "#define ");
    upper(out, e->symbol);
    glow_text_putc(out, '_');
    upper(out, x->field);
    glow_text_printf(out, "_%s %lld\n", names[i], (long long)values[i]);
  }
}

static void entry_macros(const GlowBundleEntry *e, GlowText *out) {
  glow_text_puts(out, "/* Bytes of the arena for so many workers (1 without GlowParallel). */\n");
  glow_text_puts(out, "#define ");
  upper(out, e->symbol);
  int64_t least = e->params.arena ? e->params.arena : GLOW_BUNDLE_ALIGN;
  glow_text_printf(out, "_ARENA_SIZE(workers) (%lld + %lld * (workers))\n", (long long)least,
                   (long long)e->params.worker);
  glow_text_puts(out, "#define ");
  upper(out, e->symbol);
  glow_text_printf(out, "_ARENA_ALIGN %lld\n", (long long)e->params.align);
  for (uint32_t i = 0; i < e->buffers.count; i++)
    buffer_macros(e, &e->buffers.data[i], out);
}

/* What GlowFault.detail counts when a buffer is refused: the members of the struct. */
static void entry_members(const GlowBundleEntry *e, GlowText *out) {
  glow_text_puts(out, "#define ");
  upper(out, e->symbol);
  glow_text_puts(out, "_MEMBERS \\\n  {\"arena\", \"arena_size\", \"weights\", \"weights_size\", "
                      "\"variables\"");
  for (uint32_t i = 0; i < e->buffers.count; i++)
    glow_text_printf(out, ", \"%s\"", e->buffers.data[i].field);
  glow_text_puts(out, "}\n");
}

static void entry_struct(const GlowBundle *b, const GlowBundleEntry *e, GlowText *out) {
  bool file = b->weights && !b->options->link_weights;
  glow_text_printf(out, "typedef struct %s_buffers {\n", e->symbol);
  glow_text_puts(out, "  void *arena; /* of one run at a time; its contents do not matter */\n"
                      "  int64_t arena_size;\n");
  glow_text_printf(out, "  const void *weights; /* %s */\n  int64_t weights_size;\n",
                   file ? "the contents of the file of weights" : "not used");
  glow_text_printf(out, "  void *variables; /* %s */\n",
                   b->header.variables_size ? "kept from run to run" : "not used");
  for (uint32_t i = 0; i < e->buffers.count; i++) {
    const GlowBundleBuffer *x = &e->buffers.data[i];
    const GlowType *t = x->value->type;
    glow_text_printf(out, "  %s%s *%s; /* %s%s %c", x->out ? "" : "const ", c_type(t->kind),
                     x->field, x->in ? "in" : "", x->out ? x->in ? " and out" : "out" : "",
                     x->value->kind == GLOW_VALUE_STORAGE ? '@' : '%');
    comment_text(out, x->value->name);
    glow_text_puts(out, ": ");
    comment_text(out, glow_type_str(b->module->ctx, t));
    glow_text_puts(out, " */\n");
  }
  glow_text_printf(out, "} %s_buffers;\n", e->symbol);
}

static void write_entry(const GlowBundle *b, const GlowBundleEntry *e, GlowText *out) {
  glow_text_puts(out, "\n/* Program @");
  comment_text(out, e->function->name);
  glow_text_puts(out, ". */\n");
  entry_macros(e, out);
  entry_struct(b, e, out);
  glow_text_puts(out, "/* Their names, for messages about a fault: they begin an array. */\n");
  entry_members(e, out);
  glow_text_printf(
      out,
      "/* Runs it. Returns 0, or an error that *fault (may be NULL) describes. Nothing "
      "is run if a\n * buffer, the arena or the weights do not fit. The rounding mode "
      "must be to nearest. */\n"
      "int64_t %s(const %s_buffers *buffers, const GlowParallel *parallel, "
      "GlowFault *fault);\n",
      e->symbol, e->symbol);
}

/* An error in words. */
static void write_errors(const GlowBundle *b, GlowText *out) {
  static const char *const words[] = {
      [GLOW_FAULT_NONE] = "no error",
      [GLOW_FAULT_INDEX] = "an index is out of range",
      [GLOW_FAULT_SHAPE] = "a result does not fit its shape",
      [GLOW_FAULT_TRIP] = "a loop ran past its bound",
      [GLOW_FAULT_VALUE] = "the value of an operand is not allowed",
      [GLOW_FAULT_UNSUPPORTED] = "there is no kernel for these element kinds",
      [GLOW_FAULT_FAIL] = "a branch was taken that has no types for these shapes",
      [GLOW_FAULT_BUFFER] = "a buffer is missing or not aligned",
      [GLOW_FAULT_ARENA] = "the arena is too small",
      [GLOW_FAULT_WEIGHTS] = "the weights are not those of this code"};
  enum { COUNT = sizeof words / sizeof *words };
  glow_text_printf(out,
                   "/* What an error is, in words. */\n"
                   "static inline const char *%s_error_text(int64_t error) {\n"
                   "  static const char *const words[] = {",
                   b->name);
  for (int i = 0; i < COUNT; i++)
    glow_text_printf(out, "%s\n      \"%s\"", i ? "," : "", words[i]);
  glow_text_printf(
      out, "};\n  return error >= 0 && error < %d ? words[error] : \"unknown error\";\n}\n", COUNT);
}

/* A string literal. Octal escapes end after three digits, whatever follows. */
static void c_string(GlowText *out, const char *text) {
  glow_text_putc(out, '"');
  for (; *text; text++) {
    unsigned char c = (unsigned char)*text;
    bool plain = c >= ' ' && c < 127 && c != '"' && c != '\\' && c != '?';
    glow_text_printf(out, plain ? "%c" : "\\%03o", c);
  }
  glow_text_putc(out, '"');
}

static void write_variables(const GlowBundle *b, GlowText *out) {
  GlowContext *ctx = b->module->ctx;
  glow_text_printf(out,
                   "/* A variable: its name, kind and extents as safetensors spells them, and its\n"
                   " * place in the memory of variables, in bytes. */\n"
                   "typedef struct %s_variable {\n  const char *name, *kind, *extents;\n"
                   "  int64_t offset, size;\n} %s_variable;\n"
                   "/* All of them, in order: they begin an array. */\n#define %s_VARIABLES \\\n  {",
                   b->name, b->name, b->macro);
  for (uint32_t i = 0; i < b->variables.count; i++) {
    const GlowBundleVariable *v = &b->variables.data[i];
    const GlowType *t = glow_type_in_file(ctx, v->value->type);
    glow_text_puts(out, i ? ", \\\n   {" : "{");
    c_string(out, v->value->name);
    glow_text_printf(out, ", \"%s\", \"", glow_kind_info[t->kind].safetensors);
    for (uint32_t a = 0; a < t->rank; a++)
      glow_text_printf(out, a ? ",%lld" : "%lld", (long long)t->dims[a].size);
    glow_text_printf(out, "\", %lld, %lld}", (long long)v->offset,
                     (long long)glow_type_bytes(v->value->type));
  }
  glow_text_puts(out, "}\n");
}

static void write_weights(const GlowBundle *b, GlowText *out) {
  bool file = b->weights && !b->options->link_weights;
  if (file)
    glow_text_printf(out, "/* The file %s.weights. */\n#define %s_WEIGHTS_SIZE %lld\n",
                     b->options->name, b->macro, (long long)b->header.size);
  if (!b->header.variables_size)
    return;
  glow_text_printf(out,
                   "/* Memory of variables, for all programs. */\n#define %s_VARIABLES_SIZE "
                   "%lld\n",
                   b->macro, (long long)b->header.variables_size);
  glow_text_printf(out,
                   "/* Gives variables their first values%s. Returns 0 or an error. */\n"
                   "int64_t %s_reset_variables(void *variables, const void *weights, int64_t "
                   "weights_size);\n",
                   file ? "" : "; the weights are not used", b->name);
  write_variables(b, out);
}

void glow_bundle_header(const GlowBundle *b, GlowText *out) {
  glow_text_puts(out, "/* ");
  comment_text(out, b->options->name);
  glow_text_printf(out,
                   ", compiled by Glow " GLOW_VERSION_STRING " for %s.\n *\n"
                   " * Buffers, variables and weights are aligned to %s_ALIGN bytes. */\n",
                   b->options->code.isa->name, b->macro);
  glow_text_printf(out, "#ifndef GLOW_BUNDLE_%s_H\n#define GLOW_BUNDLE_%s_H\n\n", b->macro,
                   b->macro);
  glow_text_bytes(out, glow_rt_header, (size_t)(glow_rt_header_end - glow_rt_header));
  glow_text_printf(out, "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n#define %s_ALIGN %d\n",
                   b->macro, GLOW_BUNDLE_ALIGN);
  write_errors(b, out);
  write_weights(b, out);
  for (uint32_t i = 0; i < b->nentries; i++)
    write_entry(b, &b->entries[i], out);
  glow_text_puts(out, "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
}
