/* The library of a machine (lib/kernels/library.h): a file that is compiled once for each row of
 * isa.def, with its kernels: GLOW_ROW, whose base is GLOW_BASE; GLOW_IS_BASE: its own;
 * GLOW_HAS_name: the code of that kernel is not the base's. Adapters turn the addresses of a piece
 * into a call of its kernel; where the code is the base's, so is the adapter. Tables have adapters
 * and tiles in the order of gen/target/cpu/rows.c. blocks.inc: the table of functions on blocks of
 * lanes, in the order of glow_lane_names. */
#include "tblgen.h"

/* ---- Tiles ----------------------------------------------------------------------------------- */

/* How often tiles are there: any, then each of the most that a row has with fixed params. */
static uint32_t tile_forms(const OpFile *file) {
  uint32_t most = 0;
  for (uint32_t i = 0; i < file->tiles.count; i++)
    most = file->tiles.data[i]->fixed.count > most ? file->tiles.data[i]->fixed.count : most;
  return 1 + most;
}

/* The tiles of a row in one form. */
static void write_form(const OpFile *file, const TileDecl *t, uint32_t form, GlowText *out) {
  if (t->sizes.count && form > t->fixed.count)
    glow_text_printf(out, "    EACH_%s(NONE%u)\n", t->upper, t->sizes.count);
  else if (t->sizes.count)
    glow_text_printf(out, "    EACH_%s(%s%s%s)\n", t->upper, t->upper, form ? "_" : "",
                     form ? t->fixed.data[form - 1].name.text : "");
  Members members = family_members(file, t->name, &t->family);
  for (uint32_t k = 0; k < members.count && !t->sizes.count; k++)
    if (form)
      glow_text_puts(out, "    (Code *)0,\n");
    else
      glow_text_printf(out, "    (Code *)glow_%s,\n", members.data[k].name.text);
}

/* In the order of glow_tiles, in one form after the other. Rows of a base share its table: a
 * source that a row has of its own finds its tiles itself. */
static void write_tiles(const OpFile *file, GlowText *out) {
  glow_text_puts(out, "/* By number; each is called by its own type. */\n"
                      "typedef void Code(void);\n"
                      "#define TILES_(base) glow_tiles_##base\n#define TILES(base) TILES_(base)\n"
                      "extern Code *const TILES(GLOW_BASE)[];\n"
                      "#if GLOW_IS_BASE\n"
                      "Code *const TILES(GLOW_BASE)[] = {\n");
  for (uint32_t form = 0; form < tile_forms(file); form++)
    for (uint32_t i = 0; i < file->tiles.count; i++)
      write_form(file, file->tiles.data[i], form, out);
  glow_text_puts(out, "    (Code *)0};\n#endif\n\n");
}

/* M of EACH_<TILE>(M); `fixed`: NULL, or the name of such a form. */
static void write_tile_macro(const TileDecl *t, GlowStr fixed, GlowText *out) {
  const char *between = fixed ? "_" : "", *name = fixed ? fixed : "";
  glow_text_printf(out, "#define %s%s%s(", t->upper, between, name);
  for (uint32_t k = 0; k < t->sizes.count; k++)
    glow_text_printf(out, "%s%c", k ? ", " : "", (char)('a' + k));
  glow_text_printf(out, ") (Code *)glow_%s%s%s_", t->name.text, between, name);
  for (uint32_t k = 0; k < t->sizes.count; k++)
    glow_text_printf(out, "%s##%c", k ? "##x" : "", (char)('a' + k));
  glow_text_puts(out, ",\n");
}

static void write_tile_macros(const OpFile *file, GlowText *out) {
  glow_text_puts(out, "#define NONE1(a) (Code *)0,\n#define NONE2(a, b) (Code *)0,\n"
                      "#define NONE3(a, b, c) (Code *)0,\n#define NONE4(a, b, c, d) (Code *)0,\n");
  for (uint32_t i = 0; i < file->tiles.count; i++) {
    const TileDecl *t = file->tiles.data[i];
    if (t->sizes.count)
      write_tile_macro(t, NULL, out);
    if (!t->fixed.count)
      continue;
    glow_text_puts(out, "#if GLOW_HAS_FMA\n");
    for (uint32_t k = 0; k < t->fixed.count; k++)
      write_tile_macro(t, t->fixed.data[k].name.text, out);
    glow_text_puts(out, "#else\n");
    for (uint32_t k = 0; k < t->fixed.count; k++)
      glow_text_printf(out, "#define %s_%s NONE%u\n", t->upper, t->fixed.data[k].name.text,
                       t->sizes.count);
    glow_text_puts(out, "#endif\n");
  }
}

/* ---- Adapters -------------------------------------------------------------------------------- */

/* The base's adapter, where a row has no code of its own for the kernel. */
static void write_borrowed(GlowStr name, GlowText *out) {
  glow_text_printf(out,
                   "#else\n#define OWNER_%s GLOW_BASE\nextern GlowPieceFn PIECE(%s);\n#endif\n",
                   name, name);
}

static void write_adapter(const OpFile *file, const KernelDecl *k, GlowStr name, GlowText *out) {
  const CallbackDecl *callback = kernel_callback(k);
  uint32_t tile = 0;
  glow_text_printf(out,
                   "#if GLOW_IS_BASE || defined(GLOW_HAS_%s)\n"
                   "#define OWNER_%s GLOW_ROW\n"
                   "extern GlowPieceFn PIECE(%s);\n"
                   "void PIECE(%s)(void *const *ptrs, int64_t begin, int64_t end, "
                   "int64_t worker) {\n  const GlowPieceHead *head = ptrs[0];\n",
                   name, name, name, name);
  if (k->steps.count) { /* a loop around a body */
    glow_text_printf(out,
                     "  (void)worker;\n"
                     "  glow_%s_blocks((const Glow%s *)(head + 1), ptrs + 1, begin, end);\n}\n",
                     name, k->params_decl->name.text);
    write_borrowed(name, out);
    return;
  }
  glow_text_printf(out, "  glow_%s((const Glow%s *)(head + 1)", name, k->params_decl->name.text);
  for (uint32_t i = 0; i < k->roles.count; i++) {
    const RolesDecl *r = &k->roles.data[i];
    for (uint32_t j = 0; j < r->names.count; j++)
      glow_text_printf(out, ",\n      (Glow%sFn *)tile_of(head, %u)", r->tiles.data[0]->camel,
                       tile++);
  }
  if (callback)
    glow_text_printf(out, ",\n      glow_body_%s", name_snake(file->ctx, callback->name.text));
  glow_text_puts(out, ",\n      ptrs + 1, begin, end, scratch_of(head, ptrs, worker));\n}\n");
  write_borrowed(name, out);
}

void gen_library(const OpFile *file, GlowText *out) {
  gen_head(out, "The kernels of a machine as pieces of programs, and their tables.");
  glow_text_puts(out, "#include \"kernels/library.h\"\n#include \"kernels/body.h\"\n"
                      "#include \"kernels/cpu/body.h\"\n#include \"kernels/kernels.h\"\n\n");
  write_tile_macros(file, out);
  write_tiles(file, out);
  glow_text_puts(out,
                 "static inline Code *tile_of(const GlowPieceHead *head, int which) {\n"
                 "  const int64_t tile = head->tiles[which];\n"
                 "  return tile < 0 ? (Code *)0 : TILES(GLOW_BASE)[tile];\n}\n"
                 "static inline char *scratch_of(const GlowPieceHead *head, void *const *ptrs, "
                 "int64_t worker) {\n"
                 "  if (head->scratch_at < 0)\n    return (char *)0;\n"
                 "  return (char *)ptrs[head->scratch_at] + worker * head->scratch;\n}\n\n"
                 "#define PIECE__(row, name) glow_piece_##row##_##name\n"
                 "#define PIECE_(row, name) PIECE__(row, name)\n"
                 "#define PIECE(name) PIECE_(OWNER_##name, name)\n");
  for (int pass = 0; pass < 2; pass++) {
    if (pass)
      glow_text_puts(out, "\nstatic GlowPieceFn *const kernels[] = {\n");
    for (uint32_t i = 0; i < file->kernels.count; i++) {
      const KernelDecl *k = file->kernels.data[i];
      Members members = family_members(file, k->name, &k->family);
      for (uint32_t m = 0; m < members.count; m++) {
        if (pass)
          glow_text_printf(out, "    PIECE(%s),\n", members.data[m].name.text);
        else
          write_adapter(file, k, members.data[m].name.text, out);
      }
    }
  }
  glow_text_printf(out,
                   "};\n\n#define NAME_(row) glow_library_##row\n#define NAME(row) NAME_(row)\n"
                   "#define TEXT_(row) #row\n#define TEXT(row) TEXT_(row)\n"
                   "extern const GlowLibrary NAME(GLOW_ROW);\n"
                   "const GlowLibrary NAME(GLOW_ROW) = {.row = GLOW_ROW_NAME,\n"
                   "    .table = UINT64_C(0x%016llx),\n"
                   "    .kernels = kernels,\n    .lanes = glow_lane_blocks};\n",
                   (unsigned long long)table_hash(file));
}

/* ---- Lanes ----------------------------------------------------------------------------------- */

/* glow_lanes_add_float: glow_block_add_float. */
void gen_blocks(const OpFile *file, GlowText *out) {
  const LaneNames all = lane_names(file);
  const size_t prefix = strlen("glow_lanes_");
  gen_head(out, "Functions on blocks of lanes, by number.");
  for (uint32_t i = 1; i < all.count; i++)
    glow_text_printf(out, "GlowBlockFn glow_block_%s;\n", all.data[i] + prefix);
  glow_text_puts(out, "GlowBlockFn *const glow_lane_blocks[] = {\n    (GlowBlockFn *)0,\n");
  for (uint32_t i = 1; i < all.count; i++)
    glow_text_printf(out, "    glow_block_%s,\n", all.data[i] + prefix);
  glow_text_puts(out, "};\n");
}
