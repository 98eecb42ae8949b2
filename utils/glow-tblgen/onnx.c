/* onnx.map: checks its rows against the operators, and generates the importer's table, the
 * prototypes of its hooks, and the page of supported operators. lib/import/onnx/map.h explains the
 * language and declares the table. */
#include <stdlib.h>

#include "tblgen.h"

/* ---- Check ----------------------------------------------------------------------------------- */

static void check_target(const OpFile *file, OnnxRow *row) {
  GLOW_VEC(const char *) all = {0};
  for (uint32_t i = 0; i < file->ops.count; i++) {
    const OpDecl *op = file->ops.data[i];
    if (op->is_instr)
      continue;
    if (op->camel == row->node.text) {
      row->target = op;
      return;
    }
    glow_vec_push(file->arena, &all, op->camel);
  }
  glow_error(file->ctx, row->node.loc, "there is no operator '%s'%s", row->node.text,
             did_you_mean(file->ctx, row->node.text, all.data, all.count));
}

static void check_attr(const OpFile *file, const OnnxRow *row, const Attr *a) {
  GLOW_VEC(const char *) all = {0};
  for (uint32_t i = 0; i < row->target->members.count; i++) {
    const MemberDecl *m = &row->target->members.data[i];
    if (m->instr_only)
      continue;
    if (m->name.text == a->member.text)
      return;
    glow_vec_push(file->arena, &all, m->name.text);
  }
  glow_error(file->ctx, a->member.loc, "'%s' has no member '%s'%s", row->target->camel,
             a->member.text, did_you_mean(file->ctx, a->member.text, all.data, all.count));
}

/* Versions of a row rise; no other row of the operator has the same. */
static void check_versions(const OpFile *file, uint32_t index) {
  const OnnxRow *row = file->rows.data[index];
  long last = 0;
  for (uint32_t i = 0; i < row->versions.count; i++) {
    Name v = row->versions.data[i];
    long n = strlen(v.text) > 5 ? -1 : strtol(v.text, NULL, 10);
    if (n <= last || n > UINT16_MAX)
      glow_error(file->ctx, v.loc, "versions are positive and ascend");
    last = n;
    for (uint32_t k = 0; k < index; k++) {
      const OnnxRow *other = file->rows.data[k];
      if (other->op.text != row->op.text || other->domain != row->domain)
        continue;
      for (uint32_t w = 0; w < other->versions.count; w++)
        if (other->versions.data[w].text == v.text) {
          glow_error(file->ctx, v.loc, "version %s of '%s' has a row already", v.text,
                     row->op.text);
          glow_note(file->ctx, other->versions.data[w].loc, "it is here");
        }
    }
  }
}

void onnx_check(OpFile *file) {
  for (uint32_t i = 0; i < file->rows.count; i++) {
    OnnxRow *row = file->rows.data[i];
    check_versions(file, i);
    if (!row->node.text)
      continue;
    check_target(file, row);
    for (uint32_t k = 0; row->target && k < row->attrs.count; k++)
      check_attr(file, row, &row->attrs.data[k]);
  }
}

/* ---- Generate -------------------------------------------------------------------------------- */

void gen_onnx_header(const OpFile *file, GlowText *out) {
  gen_head(out, "Hooks of the ONNX importer.");
  glow_text_puts(out, "#ifndef GLOW_IMPORT_ONNX_HOOKS_H\n#define GLOW_IMPORT_ONNX_HOOKS_H\n\n"
                      "#include \"import/onnx/map.h\"\n\n");
  for (uint32_t i = 0; i < file->rows.count; i++) {
    GlowStr hook = file->rows.data[i]->hook.text;
    uint32_t first = 0;
    while (file->rows.data[first]->hook.text != hook)
      first++;
    if (hook && first == i)
      glow_text_printf(out, "bool glow_onnx_%s(GlowOnnxNode *n);\n", hook);
  }
  glow_text_puts(out, "\n#endif\n");
}

static void row_arrays(const OnnxRow *row, uint32_t index, GlowText *out) {
  glow_text_printf(out, "static const uint16_t versions_%u[] = {", index);
  for (uint32_t i = 0; i < row->versions.count; i++)
    glow_text_printf(out, "%s%s", i ? ", " : "", row->versions.data[i].text);
  glow_text_puts(out, "};\n");
  if (!row->attrs.count)
    return;
  glow_text_printf(out, "static const GlowOnnxAttrMap attrs_%u[] = {", index);
  for (uint32_t i = 0; i < row->attrs.count; i++)
    glow_text_printf(out, "%s{\"%s\", \"%s\"}", i ? ", " : "", row->attrs.data[i].member.text,
                     row->attrs.data[i].attribute.text);
  glow_text_puts(out, "};\n");
}

static void row_entry(const OnnxRow *row, uint32_t index, GlowText *out) {
  glow_text_puts(out, "    {.domain = ");
  glow_text_quoted(out, row->domain, strlen(row->domain));
  glow_text_printf(out, ", .op = \"%s\", .versions = versions_%u, .nversions = %u, ", row->op.text,
                   index, row->versions.count);
  if (row->hook.text) {
    glow_text_printf(out,
                     ".rule = GLOW_ONNX_HOOK, .node = GLOW_OP_COUNT, .hook = glow_onnx_%s, "
                     ".hook_name = \"%s\"",
                     row->hook.text, row->hook.text);
  } else if (row->why.text) {
    glow_text_puts(out, ".rule = GLOW_ONNX_UNSUPPORTED, .node = GLOW_OP_COUNT, .why = ");
    glow_text_quoted(out, row->why.text, strlen(row->why.text));
  } else {
    glow_text_printf(out, ".rule = GLOW_ONNX_DIRECT, .node = GLOW_OP_%s", row->target->upper);
    if (row->attrs.count)
      glow_text_printf(out, ", .attrs = attrs_%u, .nattrs = %u", index, row->attrs.count);
  }
  glow_text_puts(out, "},\n");
}

void gen_onnx(const OpFile *file, GlowText *out) {
  gen_head(out, "How ONNX operators become nodes.");
  glow_text_puts(out, "#include \"import/onnx/hooks.h\"\n\n");
  for (uint32_t i = 0; i < file->rows.count; i++)
    row_arrays(file->rows.data[i], i, out);
  glow_text_puts(out, "\nconst GlowOnnxRow glow_onnx_rows[] = {\n");
  for (uint32_t i = 0; i < file->rows.count; i++)
    row_entry(file->rows.data[i], i, out);
  glow_text_printf(out, "};\nconst uint32_t glow_onnx_nrows = %u;\n\n", file->rows.count);
  glow_text_puts(out, "const GlowOnnxDomain glow_onnx_domains[] = {\n");
  for (uint32_t i = 0; i < file->domains.count; i++) {
    const OnnxDomain *d = &file->domains.data[i];
    glow_text_puts(out, "    {");
    glow_text_quoted(out, d->name.text, strlen(d->name.text));
    glow_text_printf(out, ", %s},\n", d->newest.text);
  }
  glow_text_printf(out, "};\nconst uint32_t glow_onnx_ndomains = %u;\n", file->domains.count);
}

void gen_onnx_docs(const OpFile *file, GlowText *out) {
  glow_text_puts(out, "# Supported ONNX operators\n\nMade from lib/import/onnx/onnx.map. A version "
                      "is the operator set that introduced a definition.\n\n"
                      "| operator | versions | becomes |\n|---|---|---|\n");
  for (uint32_t i = 0; i < file->rows.count; i++) {
    const OnnxRow *row = file->rows.data[i];
    glow_text_printf(out, "| %s%s%s | ", row->domain, *row->domain ? "." : "", row->op.text);
    for (uint32_t k = 0; k < row->versions.count; k++)
      glow_text_printf(out, "%s%s", k ? ", " : "", row->versions.data[k].text);
    if (row->why.text)
      glow_text_printf(out, " | not supported: %s |\n", row->why.text);
    else if (row->target)
      glow_text_printf(out, " | [%s](Ops.md#%s) |\n", row->target->camel, row->target->snake);
    else
      glow_text_puts(out, " | several nodes |\n");
  }
}
