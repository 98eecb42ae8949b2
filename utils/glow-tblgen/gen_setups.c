/* What setups see of the kernel table: setups.h, the kinds of tiles, the tiles of each kernel by
 * number and a prototype of each setup; and for rows.c, the setups by kernel and the fields that
 * they fill in. */
#include <ctype.h>

#include "tblgen.h"

bool has_setup(const KernelDecl *k) { return k->params_decl->derived; }

static void write_roles(const OpFile *file, const KernelDecl *k, GlowText *out) {
  glow_text_puts(out, "enum {");
  for (uint32_t i = 0, n = 0; i < k->roles.count; i++)
    for (uint32_t j = 0; j < k->roles.data[i].names.count; j++)
      glow_text_printf(out, "%s GLOW_%s_TILE_%s", n++ ? "," : "", k->upper,
                       name_upper(file->ctx, k->roles.data[i].names.data[j].text));
  glow_text_puts(out, " };\n");
}

/* The tile of given sizes, for setups. */
static void write_size(const TileDecl *t, GlowText *out) {
  glow_text_printf(out, "static inline GlowTileSize glow_size_%s(", t->name.text);
  for (uint32_t i = 0; i < t->sizes.count; i++)
    glow_text_printf(out, "%sint64_t %s", i ? ", " : "", t->sizes.data[i].text);
  glow_text_printf(out, ") {\n  return (GlowTileSize){GLOW_%s, {", t->upper);
  for (uint32_t i = 0; i < t->sizes.count; i++)
    glow_text_printf(out, "%s%s", i ? ", " : "", t->sizes.data[i].text);
  glow_text_puts(out, "}};\n}\n");
}

void gen_setups_header(const OpFile *file, GlowText *out) {
  gen_head(out, "The kinds of tiles, and setups: functions that fill in the derived fields of "
                "params from the others.");
  glow_text_puts(out, "#ifndef GLOW_TARGET_CPU_SETUPS_H\n#define GLOW_TARGET_CPU_SETUPS_H\n\n"
                      "#include \"kernels/params.h\"\n#include \"target/cpu/setup/setup.h\"\n\n"
                      "typedef enum GlowTileKind {\n  GLOW_TILE_NONE,\n");
  for (uint32_t i = 0; i < file->tiles.count; i++)
    glow_text_printf(out, "  GLOW_%s,\n", file->tiles.data[i]->upper);
  glow_text_puts(out, "  GLOW_TILE_COUNT\n} GlowTileKind;\n\n");
  for (uint32_t i = 0; i < file->tiles.count; i++)
    if (file->tiles.data[i]->sizes.count)
      write_size(file->tiles.data[i], out);
  glow_text_putc(out, '\n');
  for (uint32_t i = 0; i < file->kernels.count; i++) {
    const KernelDecl *k = file->kernels.data[i];
    if (!has_setup(k))
      continue;
    glow_text_printf(out, "/* %s */\n", k->doc);
    if (k->roles.count)
      write_roles(file, k, out);
    glow_text_printf(out,
                     "void glow_setup_%s(const GlowCpuNumbers *cpu, Glow%s *params, "
                     "GlowSetup *setup);\n\n",
                     k->name.text, k->params_decl->name.text);
  }
  glow_text_puts(out, "#endif\n");
}

/* The numbers of derived words, the first of which is number `word`; how many words there are. */
static int64_t write_derived(const OpFile *file, const ParamsDecl *p, int64_t word, GlowText *out) {
  int64_t first = word;
  for (uint32_t i = 0; i < p->fields.count; i++) {
    const FieldsDecl *f = &p->fields.data[i];
    if (f->count.text && !*f->count.text)
      continue;
    int64_t count = f->names.count * (f->count.text ? number_value(file, f->count) : 1);
    for (int64_t k = 0; k < count; k++) {
      if (f->params)
        word += write_derived(file, f->params, word, out);
      else if (f->derived)
        glow_text_printf(out, "%lld, ", (long long)word++);
      else
        word++;
    }
  }
  return word - first;
}

void write_setups(const OpFile *file, GlowText *out) {
  for (uint32_t i = 0; i < file->kernels.count; i++) {
    const KernelDecl *k = file->kernels.data[i];
    if (!has_setup(k))
      continue;
    glow_text_printf(out, "static const uint16_t derived_%s[] = {", k->name.text);
    write_derived(file, k->params_decl, 0, out);
    glow_text_printf(out,
                     "};\nstatic void setup_%s(const GlowCpuNumbers *cpu, void *params, "
                     "GlowSetup *setup) {\n  glow_setup_%s(cpu, params, setup);\n}\n\n",
                     k->name.text, k->name.text);
  }
}
