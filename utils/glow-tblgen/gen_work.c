/* What selection sees of the kernel table: rows.h and rows.c, which tiles each machine has; work.h
 * and work.c, a constructor for each kernel whose parameters, tiles and operands have names and
 * types. */
#include "tblgen.h"

/* ---- rows ------------------------------------------------------------------------------------ */

static void write_finder(const TileDecl *t, GlowText *out) {
  glow_text_printf(out, "/* %s */\nstatic inline const GlowTile *glow_find_%s(const GlowIsa *isa",
                   t->doc, t->name.text);
  for (uint32_t i = 0; i < t->sizes.count; i++)
    glow_text_printf(out, ", int64_t %s", t->sizes.data[i].text);
  glow_text_printf(out, ") {\n  return glow_tile_find(isa, GLOW_%s, (const int64_t[]){", t->upper);
  for (uint32_t i = 0; i < t->sizes.count; i++)
    glow_text_printf(out, "%s%s", i ? ", " : "", t->sizes.data[i].text);
  glow_text_puts(out, "});\n}\n");
}

void gen_rows_header(const OpFile *file, GlowText *out) {
  gen_head(out, "The kinds of tiles, and the tile of a machine with given sizes, or NULL.");
  glow_text_puts(out, "#ifndef GLOW_KERNELS_ROWS_H\n#define GLOW_KERNELS_ROWS_H\n\n"
                      "#include \"target/cpu/table.h\"\n\ntypedef enum GlowTileKind {\n");
  for (uint32_t i = 0; i < file->tiles.count; i++)
    glow_text_printf(out, "  GLOW_%s,\n", file->tiles.data[i]->upper);
  glow_text_puts(out, "  GLOW_TILE_COUNT\n} GlowTileKind;\n\n");
  for (uint32_t i = 0; i < file->tiles.count; i++)
    write_finder(file->tiles.data[i], out);
  glow_text_puts(out, "\n#endif\n");
}

static void write_instances(const OpFile *file, const TileDecl *t, const Machine *m,
                            GlowText *out) {
  Sizes found = tile_instances(file, t, m);
  for (uint32_t i = 0; i < found.count; i += t->sizes.count) {
    glow_text_printf(out, "    {\"%s_", t->name.text);
    for (uint32_t k = 0; k < t->sizes.count; k++)
      glow_text_printf(out, k ? "x%lld" : "%lld", (long long)found.data[i + k]);
    glow_text_printf(out, "\", GLOW_%s, {", t->upper);
    for (uint32_t k = 0; k < t->sizes.count; k++)
      glow_text_printf(out, k ? ", %lld" : "%lld", (long long)found.data[i + k]);
    glow_text_puts(out, "}},\n");
  }
}

void gen_rows(const OpFile *file, GlowText *out) {
  gen_head(out, "The kernel table as data.");
  glow_text_puts(out, "#include \"target/cpu/rows.h\"\n\n");
  glow_text_printf(out, "const uint64_t glow_table_hash = UINT64_C(0x%016llx);\n\n",
                   (unsigned long long)table_hash(file));
  glow_text_puts(out, "const GlowTileDesc glow_tile_desc[] = {\n");
  for (uint32_t i = 0; i < file->tiles.count; i++) {
    const TileDecl *t = file->tiles.data[i];
    bool callback = t->callback_decl != NULL;
    glow_text_printf(out, "    [GLOW_%s] = {\"%s\", %u, %u, %u, %d},\n", t->upper, t->name.text,
                     t->sizes.count, t->out.count + t->in.count + callback + t->temp.count,
                     t->ints.count, callback);
  }
  glow_text_puts(out, "};\n\nconst char *const glow_table_kernels[] = {\n");
  for (uint32_t i = 0; i < file->kernels.count; i++) {
    Names names = kernel_names(file, file->kernels.data[i]);
    for (uint32_t k = 0; k < names.count; k++)
      glow_text_printf(out, "    \"%s\",\n", names.data[k].text);
  }
  glow_text_puts(out, "    NULL};\n\n");
  for (size_t k = 0; k < nmachines; k++) {
    glow_text_printf(out, "static const GlowTile tiles_%s[] = {\n", machines[k].id);
    for (uint32_t i = 0; i < file->tiles.count; i++)
      write_instances(file, file->tiles.data[i], &machines[k], out);
    glow_text_puts(out, "    {0}};\n\n");
  }
  glow_text_puts(out, "const GlowTile *const glow_tiles[GLOW_ISA_COUNT] = {\n");
  for (size_t k = 0; k < nmachines; k++)
    glow_text_printf(out, "    [GLOW_ISA_%s] = tiles_%s,\n", machines[k].id, machines[k].id);
  glow_text_puts(out, "};\n");
}

/* ---- work ------------------------------------------------------------------------------------ */

/* Everything but the final `;` or body. */
static void write_signature(const KernelDecl *k, GlowText *out) {
  glow_text_printf(out, "GlowWork *glow_work_%s(GlowSelect *s, const GlowNode *n, ", k->name.text);
  glow_text_printf(out,
                   k->vars.count ? "GlowKind kind, const Glow%s *params" : "const Glow%s *params",
                   k->params_decl->name.text);
  if (k->roles.count)
    glow_text_printf(out, ", const Glow%sTiles *tiles", k->camel);
  glow_text_printf(out, ", const Glow%sPlaces *at, const GlowWorkSpec *more)", k->camel);
}

static void write_places(const KernelDecl *k, GlowText *out) {
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
  glow_text_puts(out,
                 "#ifndef GLOW_CPU_WORK_H\n#define GLOW_CPU_WORK_H\n\n"
                 "#include \"backend/cpu/select.h\"\n#include \"kernels/params.h\"\n"
                 "#include \"target/cpu/rows.h\"\n\n"
                 "/* Appends work on n. Params are copied; tiles that are not needed are NULL; "
                 "`more` says what\n * there is besides: units, grain, cost, fault. */\n\n");
  for (uint32_t i = 0; i < file->kernels.count; i++) {
    const KernelDecl *k = file->kernels.data[i];
    glow_text_printf(out, "/* %s */\n", k->doc);
    write_places(k, out);
    if (k->roles.count)
      write_roles(k, out);
    write_signature(k, out);
    glow_text_puts(out, ";\n\n");
  }
  glow_text_puts(out, "#endif\n");
}

/* Arrays of the tiles, and of the kinds that each may have, one bit each. */
static void write_given(const KernelDecl *k, GlowText *out) {
  glow_text_puts(out, "  const GlowTile *const given[] = {");
  for (uint32_t i = 0; i < k->roles.count; i++)
    for (uint32_t j = 0; j < k->roles.data[i].names.count; j++)
      glow_text_printf(out, "%stiles->%s", i + j ? ", " : "", k->roles.data[i].names.data[j].text);
  glow_text_puts(out, "};\n  static const uint64_t kinds[] = {");
  for (uint32_t i = 0; i < k->roles.count; i++)
    for (uint32_t j = 0; j < k->roles.data[i].names.count; j++) {
      const RolesDecl *r = &k->roles.data[i];
      glow_text_puts(out, i + j ? ", " : "");
      for (uint32_t l = 0; l < r->tiles.count; l++)
        glow_text_printf(out, "%sUINT64_C(1) << GLOW_%s", l ? " | " : "", r->tiles.data[l]->upper);
    }
  glow_text_puts(out, "};\n");
}

/* Sets spec.kernel. */
static void write_name(const KernelDecl *k, GlowText *out) {
  if (!k->vars.count) {
    glow_text_printf(out, "  spec.kernel = \"%s\";\n", k->name.text);
    return;
  }
  glow_text_puts(out, "  static const char *const names[GLOW_KIND_COUNT] = {\n");
  for (int i = 0; i < GLOW_KIND_COUNT; i++)
    if (k->vars.data[0].set & GLOW_KIND_BIT(i))
      glow_text_printf(out, "      [GLOW_KIND_%s] = \"%s_%s\",\n", kind_enums[i], k->name.text,
                       kind_names[i]);
  glow_text_puts(out, "  };\n  GLOW_CHECK(s->ctx, kind < GLOW_KIND_COUNT && names[kind], "
                      "\"the kernel has the kind\");\n  spec.kernel = names[kind];\n");
}

static void write_constructor(const KernelDecl *k, GlowText *out) {
  uint32_t places = k->out.count + k->in.count;
  write_signature(k, out);
  glow_text_puts(out, " {\n  GlowWorkSpec spec = *more;\n");
  write_name(k, out);
  glow_text_printf(out,
                   "  spec.params = params;\n  spec.params_size = sizeof *params;\n"
                   "  memcpy(spec.places, at, %u * sizeof *spec.places);\n"
                   "  spec.nplaces = %u;\n  spec.nwritten = %u;\n",
                   places, places, k->out.count);
  if (!k->roles.count) {
    glow_text_puts(out, "  return glow_select_work(s, n, &spec);\n}\n\n");
    return;
  }
  write_given(k, out);
  glow_text_puts(out, "  GlowWork *w = glow_select_work(s, n, &spec);\n"
                      "  glow_select_tiles(s, w, given, kinds, sizeof given / sizeof *given);\n"
                      "  return w;\n}\n\n");
}

void gen_work(const OpFile *file, GlowText *out) {
  gen_head(out, "Work by each kernel of the table.");
  glow_text_puts(out, "#include \"cpu/work.h\"\n\n#include <string.h>\n\n");
  for (uint32_t i = 0; i < file->kernels.count; i++) {
    const KernelDecl *k = file->kernels.data[i];
    glow_text_printf(out,
                     "_Static_assert(sizeof(Glow%sPlaces) == %u * sizeof(GlowPlace), \"as in the "
                     "table\");\n",
                     k->camel, k->out.count + k->in.count);
    write_constructor(k, out);
  }
}
