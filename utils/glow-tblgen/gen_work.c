/* What selection sees of the kernel table: rows.h and rows.c, which kernels there are, and which
 * tiles each machine has; work.h and work.c, a constructor for each kernel whose parameters, tiles
 * and operands have names and types. */
#include "tblgen.h"

#include <string.h>

/* ---- Families -------------------------------------------------------------------------------- */

/* What says which function of a family: its type, or nothing. */
static const char *member_parameters(const OpFile *file, GlowStr camel, const Family *f) {
  return glow_str_printf(
      file->ctx, "%s%s",
      f->variants.count ? glow_str_printf(file->ctx, "Glow%sVariant variant", camel) : "",
      !f->vars.count       ? ""
      : !f->variants.count ? "GlowKind kind"
                           : ", GlowKind kind");
}

static const char *member_arguments(const Family *f) {
  return !f->vars.count ? "variant" : f->variants.count ? "variant, kind" : "kind";
}

static bool is_family(const Family *f) { return f->variants.count || f->vars.count; }

/* GLOW_REDUCE_SUM, GLOW_KIND_FLOAT with `between` between them. */
static const char *member_values(const OpFile *file, GlowStr upper, const Member *m,
                                 const char *between) {
  const char *variant = "", *kind = "";
  if (m->variant)
    variant = glow_str_printf(file->ctx, "GLOW_%s_%s", upper, name_upper(file->ctx, m->variant));
  if (m->kind != GLOW_KIND_COUNT)
    kind = glow_str_printf(file->ctx, "GLOW_KIND_%s", kind_enums[m->kind]);
  return glow_str_printf(file->ctx, "%s%s%s", variant, *variant && *kind ? between : "", kind);
}

static void write_variants(const OpFile *file, GlowStr camel, GlowStr upper, const Family *f,
                           GlowText *out) {
  if (!f->variants.count)
    return;
  glow_text_puts(out, "typedef enum {");
  for (uint32_t i = 0; i < f->variants.count; i++)
    glow_text_printf(out, "%sGLOW_%s_%s", i ? ", " : " ", upper,
                     name_upper(file->ctx, f->variants.data[i].text));
  glow_text_printf(out, " } Glow%sVariant;\n", camel);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void write_finder(const OpFile *file, const TileDecl *t, GlowText *out) {
  bool family = is_family(&t->family);
  write_variants(file, t->camel, t->upper, &t->family, out);
  glow_text_printf(out, "/* %s */\nstatic inline const GlowTile *glow_find_%s(const GlowIsa *isa",
                   t->doc, t->name.text);
  for (uint32_t i = 0; i < t->sizes.count; i++)
    glow_text_printf(out, ", int64_t %s", t->sizes.data[i].text);
  if (family)
    glow_text_printf(out, ", %s", member_parameters(file, t->camel, &t->family));
  glow_text_printf(out, ") {\n  return glow_tile_find(isa, GLOW_%s, (const int64_t[]){", t->upper);
  for (uint32_t i = 0; i < t->sizes.count; i++)
    glow_text_printf(out, "%s%s", i ? ", " : "", t->sizes.data[i].text);
  glow_text_printf(out, "%s});\n}\n", family ? member_arguments(&t->family) : "");
}

/* The kernel, which is number `first` of all or follows it. */
static void write_kernel_finder(const OpFile *file, const KernelDecl *k, uint32_t first,
                                GlowText *out) {
  write_variants(file, k->camel, k->upper, &k->family, out);
  if (is_family(&k->family))
    glow_text_printf(out, "/* %s */\nconst GlowKernel *glow_find_%s(%s);\n", k->doc, k->name.text,
                     member_parameters(file, k->camel, &k->family));
  else
    glow_text_printf(out,
                     "/* %s */\nstatic inline const GlowKernel *glow_find_%s(void) {\n"
                     "  return &glow_kernels[%u];\n}\n",
                     k->doc, k->name.text, first);
}

void gen_rows_header(const OpFile *file, GlowText *out) {
  gen_head(out, "The tile of a machine with given sizes, and the kernel of a variant and a kind, "
                "or NULL.");
  glow_text_puts(out, "#ifndef GLOW_KERNELS_ROWS_H\n#define GLOW_KERNELS_ROWS_H\n\n"
                      "#include \"target/cpu/setups.h\"\n#include \"target/cpu/table.h\"\n"
                      "#include \"ops/kind.h\"\n\n");
  for (uint32_t i = 0; i < file->tiles.count; i++)
    write_finder(file, file->tiles.data[i], out);
  glow_text_putc(out, '\n');
  for (uint32_t i = 0, first = 0; i < file->kernels.count; i++) {
    const KernelDecl *k = file->kernels.data[i];
    write_kernel_finder(file, k, first, out);
    first += family_members(file, k->name, &k->family).count;
  }
  glow_text_puts(out, "\n#endif\n");
}

static void write_instances(const OpFile *file, const TileDecl *t, const Machine *m,
                            GlowText *out) {
  Sizes found = tile_instances(file, t, m);
  for (uint32_t i = 0; i < found.count; i += t->sizes.count) {
    const char *name = t->name.text, *sizes = "";
    for (uint32_t k = 0; k < t->sizes.count; k++) {
      name =
          glow_str_printf(file->ctx, k ? "%sx%lld" : "%s_%lld", name, (long long)found.data[i + k]);
      sizes = glow_str_printf(file->ctx, k ? "%s, %lld" : "%s%lld", sizes,
                              (long long)found.data[i + k]);
    }
    glow_text_printf(out, "    {\"%s\", \"glow_%s\", GLOW_%s, {%s}},\n", name, name, t->upper,
                     sizes);
  }
  if (t->sizes.count)
    return;
  Members members = family_members(file, t->name, &t->family);
  for (uint32_t i = 0; i < members.count; i++) {
    const char *name = members.data[i].name.text;
    glow_text_printf(out, "    {\"%s\", \"glow_%s\", GLOW_%s, {%s}},\n", name, name, t->upper,
                     member_values(file, t->upper, &members.data[i], ", "));
  }
}

/* Which kernel a variant and a kind is: 1 more than its number, or 0. */
static void write_kernel_index(const OpFile *file, const KernelDecl *k, uint32_t first,
                               GlowText *out) {
  const Family *f = &k->family;
  Members members = family_members(file, k->name, f);
  glow_text_printf(out, "const GlowKernel *glow_find_%s(%s) {\n  static const uint16_t at",
                   k->name.text, member_parameters(file, k->camel, f));
  if (f->variants.count)
    glow_text_printf(out, "[%u]", f->variants.count);
  glow_text_puts(out, f->vars.count ? "[GLOW_KIND_COUNT] = {\n" : " = {\n");
  for (uint32_t i = 0; i < members.count; i++)
    glow_text_printf(out, "      [%s] = %u,\n",
                     member_values(file, k->upper, &members.data[i], "]["), first + i + 1);
  glow_text_puts(out, "  };\n");
  if (f->variants.count)
    glow_text_printf(out, "  if ((unsigned)variant >= %u)\n    return NULL;\n", f->variants.count);
  if (f->vars.count)
    glow_text_puts(out, "  if ((unsigned)kind >= GLOW_KIND_COUNT)\n    return NULL;\n");
  const char *place =
      f->variants.count ? f->vars.count ? "[variant][kind]" : "[variant]" : "[kind]";
  glow_text_printf(out, "  return at%s ? &glow_kernels[at%s - 1] : NULL;\n}\n\n", place, place);
}

/* The layouts of operands, by kernel. */
static void write_layouts(const OpFile *file, GlowText *out) {
  for (uint32_t i = 0; i < file->kernels.count; i++) {
    const KernelDecl *k = file->kernels.data[i];
    if (!k->layouts.count)
      continue;
    glow_text_printf(out, "static const GlowKernelLayout layouts_%s[] = {\n", k->name.text);
    for (uint32_t j = 0; j < k->layouts.count; j++) {
      const LayoutDecl *l = &k->layouts.data[j];
      glow_text_printf(out, "    {.operand = \"%s\", .texts = {", l->operand.text);
      for (uint32_t t = 0; t < l->texts.count; t++)
        glow_text_printf(out, "%s\"%s\"", t ? ", " : "", l->texts.data[t].text);
      glow_text_puts(out, "}},\n");
    }
    glow_text_puts(out, "    {0}};\n\n");
  }
}

static void write_kernel(const KernelDecl *k, GlowStr name, GlowText *out) {
  glow_text_printf(out, "    {.name = \"%s\", .function = \"glow_%s\", .words = %lld, .share = %s",
                   name, name, (long long)k->params_decl->words,
                   k->share.text ? k->share.text : "GLOW_USUAL_SHARE");
  if (k->layouts.count)
    glow_text_printf(out, ", .layouts = layouts_%s", k->name.text);
  if (has_setup(k))
    glow_text_printf(out,
                     ", .setup = setup_%s, .derived = derived_%s, .nderived = sizeof derived_%s / "
                     "sizeof *derived_%s",
                     k->name.text, k->name.text, k->name.text, k->name.text);
  glow_text_puts(out, "},\n");
}

static void write_kernels(const OpFile *file, GlowText *out) {
  write_layouts(file, out);
  write_setups(file, out);
  glow_text_puts(out, "const GlowKernel glow_kernels[] = {\n");
  for (uint32_t i = 0; i < file->kernels.count; i++) {
    const KernelDecl *k = file->kernels.data[i];
    Members members = family_members(file, k->name, &k->family);
    for (uint32_t j = 0; j < members.count; j++)
      write_kernel(k, members.data[j].name.text, out);
  }
  glow_text_puts(out, "    {0}};\n\n");
  for (uint32_t i = 0, first = 0; i < file->kernels.count; i++) {
    const KernelDecl *k = file->kernels.data[i];
    if (is_family(&k->family))
      write_kernel_index(file, k, first, out);
    first += family_members(file, k->name, &k->family).count;
  }
}

/* The tiles of a row with fixed params. */
static void write_fixed(const OpFile *file, const TileDecl *t, GlowText *out) {
  for (uint32_t i = 0; i < t->fixed.count; i++) {
    const FixedDecl *d = &t->fixed.data[i];
    glow_text_printf(out, "static const GlowLimit limits_%s_%s[] = {", t->name.text, d->name.text);
    for (uint32_t k = 0; k < d->limits.count; k++) {
      const Limit *l = &d->limits.data[k];
      const char *form = l->width                             ? "WIDTH"
                         : l->zero.text                       ? "MULTIPLE"
                         : strcmp(l->relation.text, "=") == 0 ? "EQUAL"
                                                              : "MOST";
      glow_text_printf(out, "%s{%lld, GLOW_LIMIT_%s, %lld}", k ? ", " : "", (long long)l->word,
                       form, l->width ? 0 : (long long)number_value(file, l->value));
    }
    glow_text_puts(out, "};\n");
  }
  if (t->fixed.count)
    glow_text_printf(out, "static const GlowFixed fixed_%s[] = {\n", t->name.text);
  for (uint32_t i = 0; i < t->fixed.count; i++) {
    GlowStr name = t->fixed.data[i].name.text;
    glow_text_printf(out, "    {\"%s\", limits_%s_%s, %u},\n", name, t->name.text, name,
                     t->fixed.data[i].limits.count);
  }
  if (t->fixed.count)
    glow_text_puts(out, "    {0}};\n\n");
}

/* The machine at the end of the chain of bases, each of which stands before its rows: it has the
 * same tiles. */
static const Machine *base_of(const Machine *m) {
  for (size_t k = nmachines; k-- > 0;)
    if (strcmp(machines[k].id, m->base) == 0)
      m = &machines[k];
  return m;
}

void gen_rows(const OpFile *file, GlowText *out) {
  gen_head(out, "The kernel table as data.");
  glow_text_puts(out, "#include \"target/cpu/rows.h\"\n\n");
  glow_text_printf(out, "const uint64_t glow_table_hash = UINT64_C(0x%016llx);\n\n",
                   (unsigned long long)table_hash(file));
  for (uint32_t i = 0; i < file->tiles.count; i++)
    write_fixed(file, file->tiles.data[i], out);
  glow_text_puts(out, "const GlowTileDesc glow_tile_desc[] = {\n");
  for (uint32_t i = 0; i < file->tiles.count; i++) {
    const TileDecl *t = file->tiles.data[i];
    bool callback = t->callback_decl != NULL;
    glow_text_printf(out, "    [GLOW_%s] = {\"%s\", %u, %u, %u, %d, %s%s},\n", t->upper,
                     t->name.text,
                     t->sizes.count + (t->family.variants.count > 0) + t->family.vars.count,
                     t->out.count + t->in.count + callback + t->temp.count, t->ints.count, callback,
                     t->fixed.count ? "fixed_" : "NULL", t->fixed.count ? t->name.text : "");
  }
  glow_text_puts(out, "};\n\n");
  write_kernels(file, out);
  for (size_t k = 0; k < nmachines; k++) {
    if (base_of(&machines[k]) != &machines[k])
      continue;
    glow_text_printf(out, "static const GlowTile tiles_%s[] = {\n", machines[k].id);
    for (uint32_t i = 0; i < file->tiles.count; i++)
      write_instances(file, file->tiles.data[i], &machines[k], out);
    glow_text_puts(out, "    {0}};\n\n");
  }
  glow_text_puts(out, "const GlowTile *const glow_tiles[GLOW_ISA_COUNT] = {\n");
  for (size_t k = 0; k < nmachines; k++)
    glow_text_printf(out, "    [GLOW_ISA_%s] = tiles_%s,\n", machines[k].id,
                     base_of(&machines[k])->id);
  glow_text_puts(out, "};\n");
}

/* ---- work ------------------------------------------------------------------------------------ */

/* Everything but the final `;` or body. */
static void write_signature(const OpFile *file, const KernelDecl *k, GlowText *out) {
  glow_text_printf(out, "GlowWork *glow_work_%s(GlowSelect *s, const GlowNode *n, ", k->name.text);
  if (is_family(&k->family))
    glow_text_printf(out, "%s, ", member_parameters(file, k->camel, &k->family));
  glow_text_printf(out, "const Glow%s *params", k->params_decl->name.text);
  if (k->params_decl->table)
    glow_text_printf(out, ", const int64_t *%s, uint32_t count", k->params_decl->table);
  if (has_setup(k))
    glow_text_puts(out, ", const GlowSetup *setup");
  else if (k->roles.count)
    glow_text_printf(out, ", const Glow%sTiles *tiles", k->camel);
  if (k->out.count + k->in.count)
    glow_text_printf(out, ", const Glow%sPlaces *at", k->camel);
  glow_text_puts(out, has_setup(k) ? ")" : ", const GlowWorkSpec *more)");
}

static void write_places(const KernelDecl *k, GlowText *out) {
  if (!(k->out.count + k->in.count))
    return;
  glow_text_printf(out, "typedef struct Glow%sPlaces {\n  GlowPlace", k->camel);
  for (uint32_t i = 0; i < k->out.count; i++)
    glow_text_printf(out, "%s %s", i ? "," : "", k->out.data[i].name.text);
  for (uint32_t i = 0; i < k->in.count; i++)
    glow_text_printf(out, "%s %s", i + k->out.count ? "," : "", k->in.data[i].name.text);
  glow_text_printf(out, ";\n} Glow%sPlaces;\n", k->camel);
}

static void write_roles(const KernelDecl *k, GlowText *out) {
  glow_text_printf(out, "typedef struct Glow%sTiles {\n", k->camel);
  for (uint32_t i = 0; i < k->roles.count; i++) {
    const RolesDecl *r = &k->roles.data[i];
    for (uint32_t j = 0; j < r->names.count; j++)
      glow_text_printf(out, "%s*%s", j ? ", " : "  const GlowTile ", r->names.data[j].text);
    glow_text_puts(out, "; /* ");
    for (uint32_t j = 0; j < r->kinds.count; j++)
      glow_text_printf(out, "%s%s", j ? " or " : "", r->kinds.data[j].text);
    glow_text_puts(out, " */\n");
  }
  glow_text_printf(out, "} Glow%sTiles;\n", k->camel);
}

void gen_work_header(const OpFile *file, GlowText *out) {
  gen_head(out, "Work by each kernel of the table.");
  glow_text_puts(
      out, "#ifndef GLOW_CPU_WORK_H\n#define GLOW_CPU_WORK_H\n\n"
           "#include \"backend/cpu/select.h\"\n#include \"kernels/params.h\"\n"
           "#include \"target/cpu/rows.h\"\n\n"
           "/* Appends work on n. Params are copied, and the `count` integers of the array at "
           "their end; tiles\n * that are not needed are NULL; `setup` is what the kernel's setup "
           "said, `more` what there is besides:\n * units, grain, cost, fault. */\n\n");
  for (uint32_t i = 0; i < file->kernels.count; i++) {
    const KernelDecl *k = file->kernels.data[i];
    glow_text_printf(out, "/* %s */\n", k->doc);
    write_places(k, out);
    if (k->roles.count && !has_setup(k))
      write_roles(k, out);
    write_signature(file, k, out);
    glow_text_puts(out, ";\n\n");
  }
  glow_text_puts(out, "#endif\n");
}

/* Gives the work its tiles: arrays of these, and of the kinds that each may have, one bit each. */
static void write_given(const KernelDecl *k, GlowText *out) {
  glow_text_puts(out, "  const GlowTile *const given[] = {");
  for (uint32_t i = 0, n = 0; i < k->roles.count; i++)
    for (uint32_t j = 0; j < k->roles.data[i].names.count; j++, n++)
      if (has_setup(k))
        glow_text_printf(out, "%sglow_select_sized(s, &setup->tiles[%u])", n ? ", " : "", n);
      else
        glow_text_printf(out, "%stiles->%s", n ? ", " : "", k->roles.data[i].names.data[j].text);
  glow_text_puts(out, "};\n  static const uint64_t kinds[] = {");
  for (uint32_t i = 0; i < k->roles.count; i++)
    for (uint32_t j = 0; j < k->roles.data[i].names.count; j++) {
      const RolesDecl *r = &k->roles.data[i];
      glow_text_puts(out, i + j ? ", " : "");
      for (uint32_t l = 0; l < r->tiles.count; l++)
        glow_text_printf(out, "%sUINT64_C(1) << GLOW_%s", l ? " | " : "", r->tiles.data[l]->upper);
    }
  glow_text_puts(out,
                 "};\n  glow_select_tiles(s, w, given, kinds, sizeof given / sizeof *given);\n");
}

static void write_constructor(const OpFile *file, const KernelDecl *k, GlowText *out) {
  uint32_t places = k->out.count + k->in.count;
  bool family = is_family(&k->family);
  write_signature(file, k, out);
  glow_text_printf(out,
                   " {\n  const GlowWorkParts parts = {.kernel = glow_find_%s(%s),\n"
                   "    .params = params, .params_size = sizeof *params,",
                   k->name.text, family ? member_arguments(&k->family) : "");
  if (k->params_decl->table)
    glow_text_printf(out, " .table = %s, .count = count,", k->params_decl->table);
  if (places)
    glow_text_puts(out, "\n    .places = (const GlowPlace *)at,");
  glow_text_printf(out, " .nplaces = %u, .nwritten = %u};\n", places, k->out.count);
  glow_text_printf(out, "  GlowWork *w = glow_select_work(s, n, &parts, %s);\n",
                   has_setup(k) ? "&(GlowWorkSpec){.units = setup->units, .grain = setup->grain}"
                                : "more");
  if (k->roles.count)
    write_given(k, out);
  if (has_setup(k))
    glow_text_puts(out, "  w->scratch = setup->scratch;\n");
  glow_text_puts(out, "  return w;\n}\n\n");
}

void gen_work(const OpFile *file, GlowText *out) {
  gen_head(out, "Work by each kernel of the table.");
  glow_text_puts(out, "#include \"cpu/work.h\"\n\n");
  for (uint32_t i = 0; i < file->kernels.count; i++) {
    const KernelDecl *k = file->kernels.data[i];
    if (k->out.count + k->in.count)
      glow_text_printf(out,
                       "_Static_assert(sizeof(Glow%sPlaces) == %u * sizeof(GlowPlace), \"as in the "
                       "table\");\n",
                       k->camel, k->out.count + k->in.count);
    write_constructor(file, k, out);
  }
}
