/* A chosen graph as text for Graphviz: boxes, frames round scopes and round what repeats, edges. */
#include "analysis/buffers.h"
#include "view/view_internal.h"

typedef struct Edge {
  uint32_t from, to; /* boxes that are drawn; `from` may be GLOW_VIEW_OUTSIDE */
  const GlowValue *value;
  bool again; /* from one repetition to the next */
} Edge;

typedef struct Drawing {
  ViewGraph *g;
  GlowText *out;
  uint32_t number; /* of the function: names of its boxes begin with it */
  uint32_t frames;
  uint32_t target; /* the box whose sources are listed */
  GLOW_VEC(Edge) edges;
} Drawing;

/* ---- Boxes and frames ------------------------------------------------------------------------ */

/* A colour for what an operator does; write.c has the legend. */
static const char *fill(const ViewBox *box) {
  const GlowOpDesc *d = glow_node_desc(box->nodes[0]);
  if (box->count > 1)
    return "#ffffff";
  return GLOW_HAS(d, MOVEMENT) ? "#e8e8e8" : GLOW_HAS(d, ELEMENTWISE) ? "#dff0d8" : "#d6e6f5";
}

static void print_box(Drawing *d, uint32_t i) {
  const ViewBox *box = &d->g->boxes.data[i];
  glow_text_printf(d->out, "    f%ub%u [fillcolor=\"%s\", tooltip=\"", d->number, i, fill(box));
  glow_view_escape(d->out, glow_view_name(box->nodes[0]), SIZE_MAX);
  glow_text_puts(d->out, "\", label=");
  glow_view_print_label(d->g->arena, d->out, box);
  glow_text_puts(d->out, "];\n");
}

static void open_frame(Drawing *d, const char *style) {
  glow_text_printf(d->out, "  subgraph cluster_f%u_%u {\n    %s\n    label=\"", d->number,
                   d->frames++, style);
}

/* The first part of a scope, after which its frame is called. */
static size_t first_part(GlowStr scope) { return strcspn(scope, "/"); }

static bool same_part(GlowStr a, GlowStr b) {
  size_t n = first_part(a);
  return n == first_part(b) && memcmp(a, b, n) == 0;
}

/* Boxes [first, end), with a frame round those in a row whose scopes begin alike. */
static void print_boxes(Drawing *d, uint32_t first, uint32_t end) {
  const ViewBox *boxes = d->g->boxes.data;
  for (uint32_t i = first, j; i < end; i = j) {
    size_t part = first_part(boxes[i].scope);
    for (j = i + 1; j < end && part && same_part(boxes[i].scope, boxes[j].scope); j++)
      ;
    bool framed = j - i > 1;
    if (framed) {
      open_frame(d, "peripheries=1; style=\"rounded\"; fontsize=10; color=\"#aaaaaa\"; "
                    "fontcolor=\"#555555\";");
      glow_view_escape(d->out, glow_str_n(d->g->ctx, boxes[i].scope, part), SIZE_MAX);
      glow_text_puts(d->out, "\";\n");
    }
    for (uint32_t k = i; k < j; k++)
      print_box(d, k);
    if (framed)
      glow_text_puts(d->out, "  }\n");
  }
}

static const char *box_title(const ViewBox *box) {
  return *box->scope ? box->scope : glow_view_name(box->nodes[0]);
}

static void print_repeat(Drawing *d, const ViewRepeat *r) {
  const ViewBox *boxes = d->g->boxes.data;
  const ViewBox *last = &boxes[r->first + r->period * (r->times - 1)];
  open_frame(d, "peripheries=1; style=\"rounded,bold\"; color=\"#3465a4\"; fontcolor=\"#3465a4\"; "
                "fontsize=13;");
  glow_text_printf(d->out, "%u times: from ", r->times);
  glow_view_escape(d->out, box_title(&boxes[r->first]), 60);
  glow_text_puts(d->out, " to ");
  glow_view_escape(d->out, box_title(last), 60);
  glow_text_puts(d->out, "\";\n");
  print_boxes(d, r->first, r->first + r->period);
  glow_text_puts(d->out, "  }\n");
}

static void print_all_boxes(Drawing *d) {
  uint32_t at = 0;
  for (uint32_t k = 0; k < d->g->repeats.count; k++) {
    const ViewRepeat *r = &d->g->repeats.data[k];
    print_boxes(d, at, r->first);
    print_repeat(d, r);
    at = r->first + r->period * r->times;
  }
  print_boxes(d, at, d->g->boxes.count);
}

/* ---- Edges ----------------------------------------------------------------------------------- */

static void add_edge(Drawing *d, Edge e) {
  for (uint32_t i = d->edges.count; i-- && d->edges.data[i].to == e.to;)
    if (d->edges.data[i].from == e.from && d->edges.data[i].value == e.value)
      return;
  glow_vec_push(d->g->arena, &d->edges, e);
}

static const ViewRepeat *repeat_of(const ViewGraph *g, uint32_t box) {
  const ViewRepeat *r = g->repeats.data;
  while (box >= r->first + r->period * r->times)
    r++;
  return r;
}

/* Boxes that stand for a later repetition only add what they take from the first one. */
static void add_source(void *user, uint32_t from, const GlowValue *value) {
  Drawing *d = user;
  const ViewBox *boxes = d->g->boxes.data;
  uint32_t to = boxes[d->target].drawn;
  bool outside = from == GLOW_VIEW_OUTSIDE, again = to != d->target;
  if (again) {
    const ViewRepeat *r = repeat_of(d->g, d->target);
    if (outside || from < r->first || from >= r->first + r->period)
      return;
  }
  add_edge(d, (Edge){outside ? from : boxes[from].drawn, to, value, again});
}

static void print_edge_label(Drawing *d, const GlowValue *v, const char *more) {
  glow_text_puts(d->out, " [label=\"");
  glow_view_print_type(d->out, v->type);
  glow_text_printf(d->out, "\"%s];\n", more);
}

/* Storage or a parameter as an end of an edge. */
static void print_end(Drawing *d, const GlowValue *v, char kind) {
  glow_text_printf(d->out,
                   "    f%u%c%u [shape=box, style=\"rounded,filled\", fillcolor=\"#f5e6f7\", "
                   "label=\"",
                   d->number, kind, v->id);
  glow_view_escape(d->out, v->name ? v->name : "", 60);
  glow_text_puts(d->out, "\"];\n");
}

static void print_edges(Drawing *d) {
  GlowMap *seen = glow_map_create(d->g->arena);
  for (d->target = 0; d->target < d->g->boxes.count; d->target++)
    glow_view_sources(d->g, d->target, add_source, d);
  for (uint32_t i = 0; i < d->edges.count; i++) {
    const Edge *e = &d->edges.data[i];
    if (e->from != GLOW_VIEW_OUTSIDE) {
      glow_text_printf(d->out, "    f%ub%u -> f%ub%u", d->number, e->from, d->number, e->to);
    } else {
      if (!glow_map_get(seen, e->value))
        print_end(d, e->value, 'i');
      glow_map_set(seen, e->value, d);
      glow_text_printf(d->out, "    f%ui%u -> f%ub%u", d->number, e->value->id, d->number, e->to);
    }
    print_edge_label(d, e->value,
                     e->again ? ", style=dashed, color=\"#3465a4\", "
                                "fontcolor=\"#3465a4\", constraint=false"
                              : "");
  }
}

/* What the function gives to the outside: `value` from box `i` as output `end`. */
static void print_output(Drawing *d, const GlowValue *value, const GlowValue *end) {
  const GlowNode *n = value->kind == GLOW_VALUE_RESULT ? value->def.node : NULL;
  uint32_t i = n ? (uint32_t)(uintptr_t)glow_map_get(d->g->box_of, n) : 0;
  if (!i)
    return;
  print_end(d, end, 'o');
  glow_text_printf(d->out, "    f%ub%u -> f%uo%u", d->number, d->g->boxes.data[i - 1].drawn,
                   d->number, end->id);
  print_edge_label(d, value, "");
}

/* Whether a buffer lives no longer than the block that is drawn. */
static bool is_inside(const ViewGraph *g, const GlowValue *buffer) {
  const GlowBlock *b = buffer->kind == GLOW_VALUE_RESULT ? buffer->def.node->block : NULL;
  while (b && b != g->block)
    b = glow_block_parent(b);
  return b != NULL;
}

/* What an instruction writes that the outside sees: storage, or buffers of enclosing blocks. */
static void print_written(Drawing *d, GlowMap *seen, uint32_t i, const GlowNode *n) {
  for (uint32_t k = 0; k < n->noperands; k++) {
    const GlowUse *u = &n->operands[k];
    GlowValue *base = u->value ? glow_buffer_base(u->value) : NULL;
    if (!base || is_inside(d->g, base) || u->qual == GLOW_QUAL_IN)
      continue;
    if (!glow_map_get(seen, base))
      print_end(d, base, 'o');
    glow_map_set(seen, base, d);
    glow_text_printf(d->out, "    f%ub%u -> f%uo%u", d->number, d->g->boxes.data[i].drawn,
                     d->number, base->id);
    print_edge_label(d, base, "");
  }
}

static void print_outputs(Drawing *d) {
  GlowBlock *body = d->g->block;
  GlowMap *seen = glow_map_create(d->g->arena);
  for (GlowNode *n = body->first; n; n = n->next) {
    uint32_t i = (uint32_t)(uintptr_t)glow_map_get(d->g->box_of, n);
    if (n->op == GLOW_OP_SAVE)
      print_output(d, glow_node_in(n, 0), glow_node_in(n, 1));
    else if (n->op == GLOW_OP_RETURN || n->op == GLOW_OP_YIELD)
      for (uint32_t k = 0; k < n->noperands; k++)
        print_output(d, n->operands[k].value, n->operands[k].value);
    else if (i && body->level == GLOW_LEVEL_PROGRAM)
      print_written(d, seen, i - 1, n);
  }
}

/* "program @main", or "^body of loop %r" in a frame of its own. */
static void print_title(const ViewGraph *g, GlowText *out) {
  if (g->block == g->function->body) {
    glow_text_printf(out, "peripheries=0; label=\"%s @",
                     g->function->kind == GLOW_PROGRAM ? "program" : "func");
    glow_view_escape(out, g->function->name, 80);
    return;
  }
  const GlowNode *n = g->block->of.node;
  glow_text_puts(out, "peripheries=1; style=\"rounded,dashed\"; color=\"#777777\"; label=\"^");
  glow_view_escape(out, g->block->label ? g->block->label : "", 40);
  glow_text_puts(out, " of ");
  bool instr = g->block->level == GLOW_LEVEL_PROGRAM;
  glow_text_puts(out, instr ? glow_node_desc(n)->instr : glow_node_desc(n)->node);
  const char *name = glow_view_last_part(glow_view_name(n));
  glow_text_puts(out, *name ? " " : "");
  glow_view_escape(out, name, 60);
  if (!*name && glow_node_loc(n).line)
    glow_text_printf(out, " at line %u", glow_node_loc(n).line);
}

void glow_view_print_dot(ViewGraph *g, GlowText *out, uint32_t number) {
  Drawing d = {.g = g, .out = out, .number = number};
  glow_text_printf(out, "  subgraph cluster_f%u {\n    fontsize=14; ", number);
  print_title(g, out);
  glow_text_puts(out, "\";\n");
  print_all_boxes(&d);
  print_edges(&d);
  print_outputs(&d);
  glow_text_puts(out, "  }\n");
}
