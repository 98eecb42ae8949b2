/* Gradients.md: the page of derivatives. */
#include "tblgen.h"

/* Whether an operator counts as differentiable: an operand has a derivative that is not 0 by
 * definition, as that of a shape is. */
static bool has_derivative(const OpDecl *op) {
  for (uint32_t i = 0; i < op->grads.count; i++) {
    const GradDecl *g = &op->grads.data[i];
    if (g->kind != GRAD_NONE && (g->kind != GRAD_SLOPE || op->scalar.text))
      return true;
  }
  return false;
}

static const char *const kinds[] = {"none", "hook", "lowering", "inside", "slope", "slope", "rule"};

static void item_text(const OpFile *file, const OpDecl *op, const GradDecl *g, GlowText *corners,
                      GlowText *out) {
  if (g->port.text)
    glow_text_printf(out, "%s: ", g->port.text);
  glow_text_puts(out, kinds[g->kind]);
  if (g->kind == GRAD_SLOPE || g->kind == GRAD_DERIVED || g->kind == GRAD_RULE)
    glow_text_puts(out, " `");
  if (g->kind == GRAD_SLOPE || g->kind == GRAD_DERIVED) {
    slope_text(file, op, g, out, corners);
    glow_text_putc(out, '`');
    return;
  }
  if (g->kind == GRAD_RULE) {
    rule_text(g->rule, out);
    glow_text_putc(out, '`');
  }
  if (g->doc.text && g->kind == GRAD_NONE)
    glow_text_printf(out, ", %s", g->doc.text);
  else if (g->doc.text)
    glow_text_printf(corners, "%s%s", corners->size ? "; " : "", g->doc.text);
}

/* A row; a bar in code would end the cell. */
static void row(const OpFile *file, const OpDecl *op, GlowText *out) {
  GlowText corners, items;
  GlowDefer first, second;
  glow_text_init(&corners, file->ctx);
  glow_defer_push(file->ctx, &first, glow_text_release_fn, &corners);
  glow_text_init(&items, file->ctx);
  glow_defer_push(file->ctx, &second, glow_text_release_fn, &items);
  for (uint32_t i = 0; i < op->grads.count; i++) {
    glow_text_puts(&items, i ? "; " : "");
    item_text(file, op, &op->grads.data[i], &corners, &items);
  }
  glow_text_printf(out, "| %s | ", op->name.text);
  for (size_t i = 0; i < items.size; i++)
    glow_text_printf(out, items.data[i] == '|' ? "\\%c" : "%c", items.data[i]);
  glow_text_printf(out, " | %s |\n", glow_text_cstr(&corners));
  glow_defer_pop(file->ctx, &second, true);
  glow_defer_pop(file->ctx, &first, true);
}

static void rows(const OpFile *file, bool differentiable, GlowText *out) {
  for (uint32_t i = 0; i < file->ops.count; i++) {
    const OpDecl *op = file->ops.data[i];
    if (!op->is_instr && op->grads.count && has_derivative(op) == differentiable)
      row(file, op, out);
  }
}

void gen_gradients(const OpFile *file, GlowText *out) {
  uint32_t with = 0, without = 0, all = 0;
  for (uint32_t i = 0; i < file->ops.count; i++) {
    const OpDecl *op = file->ops.data[i];
    all += !op->is_instr;
    with += !op->is_instr && has_derivative(op);
    without += !op->is_instr && op->grads.count && !has_derivative(op);
  }
  glow_text_printf(
      out,
      "# Gradients\n\nMade from the operator descriptions. Of %u operators %u have derivatives and "
      "%u have none; the others take or give no\nfloating-point values. A derivative is a slope, "
      "which is a number for each element, a rule of nodes, a hook in\n`lib/autodiff`, that of "
      "what the lowering rule builds, or that of what is inside: of regions or of a called "
      "function.\n"
      "[OperatorDescriptions](OperatorDescriptions.md) explains the rules; a corner is a place "
      "without a derivative, where one\nside counts.\n\n"
      "| operator | derivatives | corners |\n|---|---|---|\n",
      all, with, without);
  rows(file, true, out);
  glow_text_puts(out, "\nWithout a derivative:\n\n| operator | why | |\n|---|---|---|\n");
  rows(file, false, out);
}
