/* What kernels see of the kernel table: params.h, the numbers and the structs of parameters, which
 * selection fills in; and kernels.h, the types of functions, the tiles of the machine and a
 * prototype of each tile and kernel, so that a definition that disagrees does not compile. */
#include <ctype.h>

#include "tblgen.h"

static void comment(GlowText *out, const char *doc) { glow_text_printf(out, "/* %s */\n", doc); }

static void section(GlowText *out, const char *title) {
  glow_text_printf(out, "/* ---- %s ", title);
  for (size_t i = strlen(title); i < 86; i++)
    glow_text_putc(out, '-');
  glow_text_puts(out, " */\n\n");
}

/* ---- params.h -------------------------------------------------------------------------------- */

static void write_number(const OpFile *file, const NumberDecl *d, GlowText *out) {
  glow_text_printf(out, "#define GLOW_%s %s /* %s */\n", name_upper(file->ctx, d->name.text),
                   d->value.text, d->doc);
}

static void write_params(const OpFile *file, const ParamsDecl *p, GlowText *out) {
  comment(out, p->doc);
  glow_text_printf(out, "typedef struct Glow%s {\n", p->name.text);
  for (uint32_t i = 0; i < p->fields.count; i++) {
    const FieldsDecl *f = &p->fields.data[i];
    if (f->params)
      glow_text_printf(out, "  Glow%s", f->params->name.text);
    else
      glow_text_puts(out, "  int64_t");
    for (uint32_t k = 0; k < f->names.count; k++) {
      glow_text_printf(out, "%s %s", k ? "," : "", name_field(file->ctx, f->names.data[k].text));
      if (f->count.text && !*f->count.text)
        glow_text_puts(out, "[]");
      else if (f->count.text)
        glow_text_printf(out, isdigit((unsigned char)*f->count.text) ? "[%s]" : "[GLOW_%s]",
                         name_upper(file->ctx, f->count.text));
    }
    glow_text_printf(out, *f->doc ? "; /* %s */\n" : ";%s\n", f->doc);
  }
  glow_text_printf(out, "} Glow%s;\n", p->name.text);
  glow_text_printf(out, "_Static_assert(sizeof(Glow%s) == %lld * 8, \"as in the table\");\n\n",
                   p->name.text, (long long)p->words);
}

static void write_enum(const OpFile *file, const EnumDecl *e, GlowText *out) {
  glow_text_puts(out, "typedef enum {");
  for (uint32_t i = 0; i < e->values.count; i++)
    glow_text_printf(out, "%s%s", i ? ", " : " ", enum_value(file, e, e->values.data[i].text));
  glow_text_printf(out, " } Glow%s;\n\n", e->name.text);
}

static void write_callback_size(const OpFile *file, const CallbackDecl *c, GlowText *out) {
  GlowStr upper = name_upper(file->ctx, name_snake(file->ctx, c->name.text));
  glow_text_printf(out, "#define GLOW_%s_INTS %u /* of Glow%sFn */\n", upper, c->ints.count,
                   c->name.text);
}

void gen_params(const OpFile *file, GlowText *out) {
  gen_head(out, "Numbers of the kernels, and their parameters: fields of 64 bits, as code "
                "generation makes constants of them.");
  glow_text_puts(out, "#ifndef GLOW_KERNELS_PARAMS_H\n#define GLOW_KERNELS_PARAMS_H\n\n"
                      "#include <stdint.h>\n\n");
  for (uint32_t i = 0; i < file->numbers.count; i++)
    write_number(file, file->numbers.data[i], out);
  for (uint32_t i = 0; i < file->callbacks.count; i++)
    write_callback_size(file, file->callbacks.data[i], out);
  glow_text_putc(out, '\n');
  for (uint32_t i = 0; i < file->enums.count; i++)
    write_enum(file, file->enums.data[i], out);
  for (uint32_t i = 0; i < file->params.count; i++)
    write_params(file, file->params.data[i], out);
  glow_text_puts(out, "#endif\n");
}

/* ---- kernels.h: callbacks and tiles ---------------------------------------------------------- */

static void write_ints(GlowText *out, const Names *ints) {
  for (uint32_t i = 0; i < ints->count; i++)
    glow_text_printf(out, ", int64_t %s", ints->data[i].text);
}

static void write_callback(const CallbackDecl *c, GlowText *out) {
  comment(out, c->doc);
  glow_text_printf(out,
                   c->step ? "typedef void Glow%sFn(void *const *env"
                           : "typedef GlowVec Glow%sFn(GlowVec acc, void *const *env",
                   c->name.text);
  write_ints(out, &c->ints);
  glow_text_puts(out, ");\n\n");
}

/* Two numbers of columns that tiles depend on. */
static bool same_machine(const Machine *a, const Machine *b) {
  return a->vl == b->vl && a->tile_pixels == b->tile_pixels && a->tile_vectors == b->tile_vectors;
}

/* EACH_<TILE>(M) for one machine. */
static void write_each(const OpFile *file, const TileDecl *t, const Machine *m, GlowText *out) {
  Sizes found = tile_instances(file, t, m);
  glow_text_printf(out, "#define EACH_%s(M)", t->upper);
  for (uint32_t i = 0; i < found.count; i++) {
    uint32_t at = i % t->sizes.count;
    if (i % (8 * t->sizes.count) == 0)
      glow_text_puts(out, " \\\n ");
    glow_text_printf(out, at ? ", %lld" : " M(%lld", (long long)found.data[i]);
    glow_text_puts(out, at + 1 == t->sizes.count ? ")" : "");
  }
  glow_text_putc(out, '\n');
}

/* EACH_<TILE>_FIXED(M) for one machine. */
static void write_each_fixed(const OpFile *file, const TileDecl *t, const Machine *m,
                             GlowText *out) {
  Sizes found = tile_instances(file, t, m);
  uint32_t n = t->sizes.count;
  glow_text_printf(out, "#define EACH_%s_FIXED(M)", t->upper);
  for (uint32_t i = 0; i < t->fixed.count * found.count; i += n) {
    glow_text_printf(out, "%s M(%s", i % (4 * n) ? "" : " \\\n ",
                     t->fixed.data[i / found.count].name.text);
    for (uint32_t k = 0; k < n; k++)
      glow_text_printf(out, ", %lld", (long long)found.data[i % found.count + k]);
    glow_text_putc(out, ')');
  }
  glow_text_putc(out, '\n');
}

static void write_all_each(const OpFile *file, GlowText *out) {
  comment(out, "EACH_<TILE>(M): M(sizes) for each tile that the machine has. EACH_<TILE>_FIXED(M): "
               "M(name, sizes) for each with fixed params.");
  glow_text_puts(out, "#if defined(GLOW_TEST_TILE) /* tests give the tiles that they plant */\n");
  for (uint32_t i = 0; i < file->tiles.count; i++)
    if (file->tiles.data[i]->sizes.count)
      glow_text_printf(out, "#ifndef EACH_%s\n#define EACH_%s(M)\n#endif\n",
                       file->tiles.data[i]->upper, file->tiles.data[i]->upper);
  for (uint32_t i = 0; i < file->tiles.count; i++)
    if (file->tiles.data[i]->fixed.count)
      glow_text_printf(out, "#define EACH_%s_FIXED(M)\n", file->tiles.data[i]->upper);
  for (size_t k = 0; k < nmachines; k++) {
    bool seen = false;
    for (size_t j = 0; j < k; j++)
      seen |= same_machine(&machines[j], &machines[k]);
    if (seen)
      continue;
    glow_text_printf(out,
                     "#elif GLOW_VL == %lld && GLOW_TILE_PIXELS == %lld && "
                     "GLOW_TILE_VECTORS == %lld /* %s */\n",
                     (long long)machines[k].vl, (long long)machines[k].tile_pixels,
                     (long long)machines[k].tile_vectors, machines[k].name);
    for (uint32_t i = 0; i < file->tiles.count; i++)
      if (file->tiles.data[i]->sizes.count)
        write_each(file, file->tiles.data[i], &machines[k], out);
    for (uint32_t i = 0; i < file->tiles.count; i++)
      if (file->tiles.data[i]->fixed.count)
        write_each_fixed(file, file->tiles.data[i], &machines[k], out);
  }
  glow_text_puts(out, "#else\n#error \"no row of isa.def has such registers\"\n#endif\n");
  glow_text_puts(out, "#if !GLOW_HAS_FMA /* what stands in for it takes all the time */\n");
  for (uint32_t i = 0; i < file->tiles.count; i++)
    if (file->tiles.data[i]->fixed.count)
      glow_text_printf(out, "#undef EACH_%s_FIXED\n#define EACH_%s_FIXED(M)\n",
                       file->tiles.data[i]->upper, file->tiles.data[i]->upper);
  glow_text_puts(out, "#endif\n\n");
}

static void write_ports(GlowText *out, const Ports *ports, const char *constant, const char *first,
                        const char *before) {
  for (uint32_t i = 0; i < ports->count; i++)
    glow_text_printf(out, "%s%s%s *%s", i ? before : first, constant, port_c_type(&ports->data[i]),
                     ports->data[i].name.text);
}

/* What a tile takes. With `typed` it is the type of what kernels call: tiles of compiled code have
 * parameters and callback as constants. */
static void write_tile_parameters(const TileDecl *t, bool typed, GlowText *out) {
  glow_text_puts(out, typed ? "(GLOW_IN_LIBRARY(" : "(");
  if (t->params_decl)
    glow_text_printf(out, "const Glow%s *params", t->params_decl->name.text);
  else
    glow_text_puts(out, "const void *params");
  if (t->callback_decl)
    glow_text_printf(out, ", Glow%sFn *callback", t->callback_decl->name.text);
  glow_text_puts(out, typed ? ") " : ", ");
  write_ports(out, &t->out, "", "", ", ");
  write_ports(out, &t->in, "const ", t->out.count ? ", " : "", ", ");
  if (t->callback_decl)
    glow_text_puts(out, ", void *const *env");
  write_ports(out, &t->temp, "", ", ", ", ");
  write_ints(out, &t->ints);
  glow_text_putc(out, ')');
}

/* The tiles of a row without sizes, which every machine has. */
static void write_members(const OpFile *file, const TileDecl *t, GlowText *out) {
  Members members = family_members(file, t->name, &t->family);
  for (uint32_t i = 0; i < members.count; i++) {
    glow_text_printf(out, "void glow_%s", members.data[i].name.text);
    write_tile_parameters(t, false, out);
    glow_text_puts(out, ";\n");
  }
  glow_text_putc(out, '\n');
}

/* The macro DECLARE(sizes), or DECLARE(fixed, sizes), of a prototype. */
static void write_declare(const TileDecl *t, bool fixed, GlowText *out) {
  glow_text_puts(out, fixed ? "#define DECLARE(fixed" : "#define DECLARE(");
  for (uint32_t i = 0; i < t->sizes.count; i++)
    glow_text_printf(out, "%s%s", i || fixed ? ", " : "", t->sizes.data[i].text);
  glow_text_printf(out, ") \\\n  void glow_%s_%s", t->name.text, fixed ? "##fixed##_" : "");
  for (uint32_t i = 0; i < t->sizes.count; i++)
    glow_text_printf(out, "%s##%s", i ? "##x" : "", t->sizes.data[i].text);
  write_tile_parameters(t, false, out);
  glow_text_printf(out, ";\nEACH_%s%s(DECLARE)\n#undef DECLARE\n", t->upper, fixed ? "_FIXED" : "");
}

/* The tiles with fixed params, and functions that give a copy of params their limits. */
static void write_fixed(const OpFile *file, const TileDecl *t, GlowText *out) {
  if (!t->fixed.count)
    return;
  glow_text_puts(out, "#ifdef GLOW_LIBRARY\n");
  write_declare(t, true, out);
  for (uint32_t i = 0; i < t->fixed.count; i++) {
    const FixedDecl *d = &t->fixed.data[i];
    glow_text_printf(out, "INLINE void glow_fix_%s_%s(Glow%s *p) {\n", t->name.text, d->name.text,
                     t->params_decl->name.text);
    for (uint32_t k = 0; k < d->limits.count; k++) {
      const Limit *l = &d->limits.data[k];
      long long value = l->width ? 0 : (long long)number_value(file, l->value);
      if (l->width)
        glow_text_printf(out, "  p->%s = GLOW_VL * GLOW_TILE_VECTORS;\n", l->path);
      else if (l->zero.text)
        glow_text_printf(out, "  p->%s &= -INT64_C(%lld);\n", l->path, value);
      else if (strcmp(l->relation.text, "=") == 0)
        glow_text_printf(out, "  p->%s = %lld;\n", l->path, value);
      else
        glow_text_printf(out, "  p->%s = p->%s < %lld ? p->%s : %lld;\n", l->path, l->path, value,
                         l->path, value);
    }
    glow_text_puts(out, "}\n");
  }
  glow_text_puts(out, "#endif\n");
}

static void write_tile(const OpFile *file, const TileDecl *t, GlowText *out) {
  comment(out, t->doc);
  if (t->as.text) {
    glow_text_printf(out, "typedef Glow%sFn Glow%sFn;\n", name_camel(file->ctx, t->as.text),
                     t->camel);
  } else {
    glow_text_printf(out, "typedef void Glow%sFn", t->camel);
    write_tile_parameters(t, true, out);
    glow_text_puts(out, ";\n");
  }
  if (!t->sizes.count) {
    write_members(file, t, out);
    return;
  }
  write_declare(t, false, out);
  write_fixed(file, t, out);
  glow_text_putc(out, '\n');
}

/* ---- kernels.h: kernels ---------------------------------------------------------------------- */

/* The addresses that a kernel gets, by name. */
static void write_operands(const OpFile *file, const KernelDecl *k, GlowText *out) {
  uint32_t count = k->out.count + k->in.count;
  if (!count)
    return;
  glow_text_printf(out, "typedef struct Glow%sPtrs {\n", k->camel);
  write_ports(out, &k->out, "", "  ", ";\n  ");
  write_ports(out, &k->in, "const ", k->out.count ? ";\n  " : "  ", ";\n  ");
  if (kernel_callback(k))
    glow_text_puts(out, ";\n  void *const *env; /* what callbacks read besides */\n");
  else
    glow_text_puts(out, ";\n");
  glow_text_printf(out, "} Glow%sPtrs;\n", k->camel);
  glow_text_printf(out, "#define GLOW_%s_PTRS(ptrs) ((Glow%sPtrs){",
                   name_upper(file->ctx, k->name.text), k->camel);
  for (uint32_t i = 0; i < count; i++)
    glow_text_printf(out, "%s(ptrs)[%u]", i ? ", " : "", i);
  glow_text_printf(out, kernel_callback(k) ? ", (ptrs) + %u})\n" : "})\n", count);
}

static void write_kernel(const OpFile *file, const KernelDecl *k, GlowText *out) {
  Members members = family_members(file, k->name, &k->family);
  comment(out, k->doc);
  write_operands(file, k, out);
  for (uint32_t n = 0; n < members.count; n++) {
    glow_text_printf(out, "void glow_%s(const Glow%s *params", members.data[n].name.text,
                     k->params_decl->name.text);
    for (uint32_t i = 0; i < k->roles.count; i++) {
      const RolesDecl *r = &k->roles.data[i];
      for (uint32_t j = 0; j < r->names.count; j++)
        glow_text_printf(out, ", Glow%sFn *%s", r->tiles.data[0]->camel, r->names.data[j].text);
    }
    if (kernel_callback(k))
      glow_text_printf(out, ", Glow%sFn *callback", kernel_callback(k)->name.text);
    for (uint32_t j = 0; j < k->steps.count; j++)
      glow_text_printf(out, ", Glow%sFn *%s", k->step_decl->name.text, k->steps.data[j].text);
    glow_text_puts(out, ", void *const *ptrs, int64_t begin, int64_t end, char *scratch);\n");
  }
  glow_text_putc(out, '\n');
}

/* All but the hash, which is of this and of params.h. */
static void write_prototypes(const OpFile *file, GlowText *out) {
  section(out, "Callbacks");
  for (uint32_t i = 0; i < file->callbacks.count; i++)
    write_callback(file->callbacks.data[i], out);
  section(out, "Tiles");
  glow_text_puts(out, "/* Arguments in library code alone. */\n"
                      "#ifdef GLOW_LIBRARY\n#define GLOW_IN_LIBRARY(...) __VA_ARGS__,\n"
                      "#else\n#define GLOW_IN_LIBRARY(...)\n#endif\n\n");
  write_all_each(file, out);
  for (uint32_t i = 0; i < file->tiles.count; i++)
    write_tile(file, file->tiles.data[i], out);
  section(out, "Kernels");
  for (uint32_t i = 0; i < file->kernels.count; i++)
    write_kernel(file, file->kernels.data[i], out);
}

uint64_t table_hash(const OpFile *file) {
  GlowText text;
  GlowDefer release;
  glow_text_init(&text, file->ctx);
  glow_defer_push(file->ctx, &release, glow_text_release_fn, &text);
  gen_params(file, &text);
  write_prototypes(file, &text);
  uint64_t hash = UINT64_C(14695981039346656037);
  for (size_t i = 0; i < text.size; i++)
    hash = (hash ^ (unsigned char)text.data[i]) * UINT64_C(1099511628211);
  glow_defer_pop(file->ctx, &release, true);
  return hash;
}

void gen_prototypes(const OpFile *file, GlowText *out) {
  gen_head(out, "The kernels of this machine, as the table describes them.");
  glow_text_puts(out, "#ifndef GLOW_KERNELS_KERNELS_H\n#define GLOW_KERNELS_KERNELS_H\n\n"
                      "#include \"kernels/cpu/vector.h\"\n#include \"kernels/params.h\"\n\n");
  glow_text_printf(out,
                   "#ifdef GLOW_BITCODE\n/* What the blob was built from: see glow_table_hash. */\n"
                   "const uint64_t glow_kernels_table = UINT64_C(0x%016llx);\n#endif\n\n",
                   (unsigned long long)table_hash(file));
  write_prototypes(file, out);
  glow_text_puts(out, "#endif\n");
}
