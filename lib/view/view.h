/* Pictures of modules, to be read by people.
 *
 * A graph is drawn with types on its edges and constants as notes. Where it is large, nodes are
 * drawn together by the scopes in their names, and what repeats (the layers of a transformer) is
 * drawn once in a frame that says how often. A program whose memory is planned becomes a chart of
 * its arena over time. */
#ifndef GLOW_VIEW_VIEW_H
#define GLOW_VIEW_VIEW_H

#include "ir/ir.h"

/* Draws every func and program of the module, with the bodies of If, Loop and Scan, to `file`,
 * which must end in .dot, for Graphviz, or .svg, for which a graph needs Graphviz's program `dot`
 * on PATH. `graph:` or `memory:` in front says which picture of a planned program; without, an .svg
 * has the memory if all programs are planned. GLOW_BAD_USAGE for another ending, GLOW_BAD_INPUT if
 * there is nothing to draw, GLOW_IO if dot is missing or fails or the file cannot be written; all
 * after a diagnostic, and then no file is left. */
GlowStatus glow_view_write(GlowModule *m, const char *file);

#endif
