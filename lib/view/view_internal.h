/* What choosing, folding and drawing share. */
#ifndef GLOW_VIEW_VIEW_INTERNAL_H
#define GLOW_VIEW_VIEW_INTERNAL_H

#include "support/text.h"
#include "view/view.h"

/* A box of the picture: one node, or consecutive nodes of one scope. */
typedef struct ViewBox {
  GlowNode **nodes;
  uint32_t count;
  GlowStr scope;  /* of its nodes, without the parts that all scopes begin with; "" if none */
  uint64_t shape; /* equal for boxes with the same operators, members and types */
  uint32_t drawn; /* the box that is drawn for this one: itself, or one of an earlier repetition */
} ViewBox;
typedef GLOW_VEC(ViewBox) ViewBoxes;

/* `period` boxes from `first` on that repeat `times`; only the first repetition is drawn. */
typedef struct ViewRepeat {
  uint32_t first, period, times;
} ViewRepeat;
typedef GLOW_VEC(ViewRepeat) ViewRepeats;

typedef struct ViewGraph {
  GlowContext *ctx;
  GlowArena *arena;
  GlowFunction *function;
  GlowBlock *block; /* its body, or a region inside */
  ViewBoxes boxes;
  ViewRepeats repeats; /* by `first` */
  uint32_t ndrawn;
  GlowMap *box_of; /* node -> its number in boxes, plus 1 */
} ViewGraph;

/* choose.c: which boxes a block of a function is drawn with. */
void glow_view_choose(ViewGraph *g, GlowArena *arena, GlowFunction *f, GlowBlock *b);
/* fold.c: finds repetitions among g->boxes; sets repeats, ndrawn and `drawn` of each box. */
void glow_view_fold(ViewGraph *g);

/* Calls fn for each value that a box takes from outside it: from another box (`from` is its
 * number), or from storage, a parameter or an enclosing block (`from` is GLOW_VIEW_OUTSIDE). In a
 * program `value` is the buffer. Constants are left out. */
#define GLOW_VIEW_OUTSIDE UINT32_MAX
typedef void ViewSourceFn(void *user, uint32_t from, const GlowValue *value);
void glow_view_sources(ViewGraph *g, uint32_t box, ViewSourceFn *fn, void *user);

bool glow_view_is_constant(const GlowValue *v);
/* dot.c, label.c: the text for Graphviz. */
void glow_view_print_dot(ViewGraph *g, GlowText *out, uint32_t number);
void glow_view_print_label(GlowArena *arena, GlowText *out, const ViewBox *box);
void glow_view_print_type(GlowText *out, const GlowType *t); /* "1×3×224×224", "i64 4" */
/* Text of a label or of an SVG; `limit` characters at most, the rest as an ellipsis. */
void glow_view_escape(GlowText *out, const char *s, size_t limit);
/* What a node is called: its first result, or the first buffer it writes; "" if it has no name. */
GlowStr glow_view_name(const GlowNode *n);
const char *glow_view_last_part(const char *name); /* after the last '/' */

/* chart.c: a chart of the arenas of all planned programs. */
bool glow_view_is_planned(const GlowFunction *f);
void glow_view_print_charts(GlowModule *m, GlowArena *arena, GlowText *out);

#endif
