/* The text inside a box, as an HTML label of Graphviz: the operator, its members and constants. */
#include "support/sizes.h"
#include "view/view_internal.h"

enum { LINES = 12, WIDTH = 40, SHOWN_ELEMENTS = 4 };

#define SMALL "<TR><TD ALIGN=\"LEFT\"><FONT POINT-SIZE=\"8\" COLOR=\"#555555\">"
#define NOTE "<TR><TD ALIGN=\"LEFT\" BGCOLOR=\"#fff3c4\"><FONT POINT-SIZE=\"8\">"
#define FUSED "<TR><TD ALIGN=\"LEFT\" BGCOLOR=\"#ffd9b8\"><FONT POINT-SIZE=\"9\">"
#define END "</FONT></TD></TR>"

void glow_view_escape(GlowText *out, const char *s, size_t limit) {
  size_t left = strlen(s), shown = 0;
  for (size_t n; left; s += n, left -= n, ++shown) {
    n = glow_utf8_sequence(s, left);
    if (shown + 1 >= limit && left > (n ? n : 1)) {
      glow_text_puts(out, "…");
      return;
    }
    if (n == 0 || (unsigned char)*s < 0x20) {
      n = n ? n : 1;
      glow_text_putc(out, '?');
    } else if (*s == '&' || *s == '<' || *s == '>' || *s == '"') {
      glow_text_puts(out, *s == '&' ? "&amp;" : *s == '<' ? "&lt;" : *s == '>' ? "&gt;" : "&quot;");
    } else {
      glow_text_bytes(out, s, n);
    }
  }
}

void glow_view_print_type(GlowText *out, const GlowType *t) {
  if (!glow_type_is_tensor(t) || t->unranked || t->quantized || t->layout) {
    GlowText text;
    GlowDefer release;
    glow_text_init(&text, out->ctx);
    glow_defer_push(out->ctx, &release, glow_text_release_fn, &text);
    glow_type_print(&text, t);
    glow_view_escape(out, glow_text_cstr(&text), WIDTH);
    glow_defer_pop(out->ctx, &release, true);
    return;
  }
  if (t->kind != GLOW_KIND_FLOAT || t->rank == 0)
    glow_text_printf(out, "%s%s", glow_kind_info[t->kind].name, t->rank ? " " : "");
  for (uint32_t i = 0; i < t->rank; i++) {
    const GlowDim *d = &t->dims[i];
    glow_text_puts(out, i ? "×" : "");
    if (d->kind == GLOW_DIM_EXACT || d->kind == GLOW_DIM_BOUND)
      glow_text_printf(out, "%s%lld", d->kind == GLOW_DIM_BOUND ? ".." : "", (long long)d->size);
    else if (d->kind == GLOW_DIM_SYMBOL)
      glow_view_escape(out, d->symbol, WIDTH);
    else
      glow_text_putc(out, '?');
  }
}

static void print_escaped_members(GlowText *out, const GlowNode *n) {
  GlowText text;
  GlowDefer release;
  glow_text_init(&text, out->ctx);
  glow_defer_push(out->ctx, &release, glow_text_release_fn, &text);
  glow_node_print_members(&text, n);
  glow_view_escape(out, glow_text_cstr(&text), WIDTH);
  glow_defer_pop(out->ctx, &release, true);
}

/* A constant: its few elements, or its type; the node that makes it. */
static void print_constant(GlowText *out, const GlowValue *v) {
  if (v->kind == GLOW_VALUE_RESULT) {
    glow_text_puts(out, glow_node_desc(v->def.node)->node);
    print_escaped_members(out, v->def.node);
    return;
  }
  const GlowTensor *t = glow_type_is_tensor(v->type) ? glow_value_known(v) : NULL;
  if (!t || glow_tensor_elements(t) > SHOWN_ELEMENTS || v->type->kind == GLOW_KIND_STRING) {
    glow_view_print_type(out, v->type);
    return;
  }
  int64_t count = glow_tensor_elements(t);
  glow_text_puts(out, v->type->rank ? "[" : "");
  for (int64_t i = 0; i < count; i++) {
    GlowScalar s = glow_tensor_get(t, i);
    glow_text_puts(out, i ? ", " : "");
    if (s.is_int)
      glow_text_printf(out, "%lld", (long long)s.i);
    else
      glow_text_printf(out, "%g", s.f);
  }
  glow_text_puts(out, v->type->rank ? "]" : "");
}

static void print_constants(GlowText *out, const GlowNode *n) {
  const GlowOpDesc *d = glow_node_desc(n);
  for (uint32_t i = 0; i < glow_node_nins(n); i++) {
    const GlowValue *v = glow_node_in(n, i);
    const GlowOpPort *port = glow_op_in_port(d, i);
    if (!v || !glow_view_is_constant(v))
      continue;
    glow_text_printf(out, NOTE "%s ", port ? port->name : "");
    print_constant(out, v);
    glow_text_puts(out, END);
  }
}

/* What was fused into a node, and what regions hold. */
static void print_regions(GlowText *out, const GlowNode *n) {
  for (uint32_t r = 0; r < n->nregions; r++) {
    const GlowBlock *b = n->regions[r];
    if (!b)
      continue;
    uint32_t count = 0;
    for (const GlowNode *k = b->first; k; k = k->next)
      count += !GLOW_HAS(glow_node_desc(k), TERMINATOR);
    if (!b->scalar) {
      glow_text_printf(out, SMALL "^%s: %u operator%s" END, b->label ? b->label : "", count,
                       count == 1 ? "" : "s");
      continue;
    }
    for (const GlowNode *k = b->first; k; k = k->next)
      if (!GLOW_HAS(glow_node_desc(k), TERMINATOR))
        glow_text_printf(out, FUSED "+ %s" END, glow_node_desc(k)->node);
  }
}

static void print_members(GlowText *out, const GlowNode *n) {
  GlowText text;
  GlowDefer release;
  glow_text_init(&text, out->ctx);
  glow_defer_push(out->ctx, &release, glow_text_release_fn, &text);
  glow_node_print_members(&text, n);
  char *s = (char *)(uintptr_t)glow_text_cstr(&text);
  if (text.size > 3) { /* without the braces */
    s[text.size - 1] = '\0';
    for (s += 2; *s;) { /* one line for each, cut where "], " or a name follows */
      char *comma = strstr(s, ", ");
      while (comma && !(comma[-1] == ']' || !memchr(s, '[', (size_t)(comma - s))))
        comma = strstr(comma + 1, ", ");
      if (comma)
        *comma = '\0';
      glow_text_puts(out, SMALL);
      glow_view_escape(out, s, WIDTH);
      glow_text_puts(out, END);
      s = comma ? comma + 2 : s + strlen(s);
    }
  }
  glow_defer_pop(out->ctx, &release, true);
}

static const char *op_name(const GlowNode *n) {
  return glow_node_is_instr(n) ? glow_node_desc(n)->instr : glow_node_desc(n)->node;
}

const char *glow_view_last_part(const char *name) {
  const char *slash = strrchr(name, '/');
  return slash && slash[1] ? slash + 1 : name;
}

static void print_single(GlowText *out, const GlowNode *n, GlowStr scope) {
  glow_text_printf(out, "<TR><TD><B>%s</B></TD></TR>", op_name(n));
  print_members(out, n);
  print_constants(out, n);
  print_regions(out, n);
  const char *name = glow_view_last_part(glow_view_name(n));
  if (!*name)
    return;
  glow_text_puts(out, SMALL "<I>");
  glow_view_escape(out, scope, WIDTH);
  glow_text_puts(out, *scope ? "/" : "");
  glow_view_escape(out, name, WIDTH);
  glow_text_puts(out, "</I>" END);
}

/* One line of a group: operators in a row that are called the same count together. */
static void print_line(GlowText *out, const ViewBox *box, uint32_t first, uint32_t count) {
  const GlowNode *n = box->nodes[first];
  const GlowValue *result = glow_node_out(box->nodes[first + count - 1], 0);
  glow_text_puts(out, "<TR><TD ALIGN=\"LEFT\"><FONT POINT-SIZE=\"9\">");
  if (count > 1)
    glow_text_printf(out, "%u × ", count);
  glow_text_printf(out, "%s  ", op_name(n));
  for (uint32_t r = 0; r < n->nregions; r++)
    for (const GlowNode *k = n->regions[r] ? n->regions[r]->first : NULL; k; k = k->next)
      if (n->regions[r]->scalar && !GLOW_HAS(glow_node_desc(k), TERMINATOR))
        glow_text_printf(out, "+ %s  ", glow_node_desc(k)->node);
  glow_text_puts(out, "<FONT COLOR=\"#555555\">");
  if (result)
    glow_view_print_type(out, result->type);
  glow_text_puts(out, "</FONT>" END);
}

static void print_group(GlowArena *arena, GlowText *out, const ViewBox *box) {
  glow_text_puts(out, "<TR><TD><B>");
  if (*box->scope) {
    glow_view_escape(out, box->scope, WIDTH);
  } else {
    glow_view_escape(out, glow_view_last_part(glow_view_name(box->nodes[0])), WIDTH);
    const char *last = glow_view_name(box->nodes[box->count - 1]);
    if (strcmp(last, glow_view_name(box->nodes[0])) != 0) {
      glow_text_puts(out, " … ");
      glow_view_escape(out, glow_view_last_part(last), WIDTH);
    }
  }
  glow_text_puts(out, "</B></TD></TR>");
  uint32_t lines = 0;
  for (uint32_t i = 0, j; i < box->count; i = j) {
    for (j = i + 1; j < box->count && box->nodes[j]->op == box->nodes[i]->op; j++)
      ;
    if (++lines > LINES) {
      glow_text_printf(out, SMALL "… and %u more" END, box->count - i);
      break;
    }
    print_line(out, box, i, j - i);
  }
  int64_t bytes = 0;
  for (uint32_t i = 0; i < box->count; i++)
    for (uint32_t k = 0; k < box->nodes[i]->noperands; k++) {
      const GlowValue *v = box->nodes[i]->operands[k].value;
      bool stored = v && v->kind == GLOW_VALUE_STORAGE && glow_view_is_constant(v);
      int64_t size = stored ? glow_type_bytes(v->type) : 0;
      bytes += size > 0 ? size : 0;
    }
  if (bytes)
    glow_text_printf(out, NOTE "constants %s" END, glow_bytes_str(arena, bytes));
}

void glow_view_print_label(GlowArena *arena, GlowText *out, const ViewBox *box) {
  glow_text_puts(out, "<<TABLE BORDER=\"0\" CELLBORDER=\"0\" CELLSPACING=\"0\" CELLPADDING=\"1\">");
  if (box->count == 1)
    print_single(out, box->nodes[0], box->scope);
  else
    print_group(arena, out, box);
  glow_text_puts(out, "</TABLE>>");
}
