/* The subgraphs of control flow and of SequenceMap. A hook opens a region, adds its parameters and
 * closes it. It ends the region when the random states that all regions of the node change are
 * known. */
#ifndef GLOW_IMPORT_ONNX_SUBGRAPH_H
#define GLOW_IMPORT_ONNX_SUBGRAPH_H

#include "import/onnx/importer.h"

typedef struct GlowOnnxSubgraph {
  GlowOnnxRegion *r;
  GlowOnnxGraph graph;
  GlowOnnxScope *scope;
  GlowBuilder saved; /* n's own builder while the region's is in use */
  GlowValue **yields;
  uint32_t nyields;
  bool *wrapped; /* of a loop: outputs that were made optionals */
} GlowOnnxSubgraph;

/* Opens the region for the graph in attribute `name`, `extra` levels deeper than n itself. From
 * here to glow_onnx_close_region or glow_onnx_leave_region what n builds goes into the region. */
bool glow_onnx_open_region(GlowOnnxNode *n, const char *name, const char *label,
                           GlowOnnxRegionKind kind, unsigned extra, GlowOnnxSubgraph *r);
/* After a diagnostic: n builds where it stands again. Returns false. */
bool glow_onnx_leave_region(GlowOnnxNode *n, const GlowOnnxSubgraph *r);
/* Adds the subgraph's inputs as parameters. The declared type is narrowed by known[i]; if none is
 * declared, carried[i] stands for it, the type of the initial value. Both may be NULL. If known[i]
 * is rank 0, so is the parameter, and a declaration of one element becomes a Reshape. */
bool glow_onnx_add_parameters(GlowOnnxNode *n, GlowOnnxSubgraph *r, uint32_t count,
                              const GlowType *const *known, const GlowType *const *carried);
/* Reads the subgraph's nodes and finds its outputs, which glow_onnx_end_region is to yield. Of a
 * loop, the first output is made rank 0 and output i goes to parameter i + 1. */
bool glow_onnx_close_region(GlowOnnxNode *n, GlowOnnxSubgraph *r, uint32_t count, bool loop);
/* Ends the region: it yields its outputs, with the random states in front of output `at`. */
void glow_onnx_end_region(GlowOnnxNode *n, GlowOnnxSubgraph *r, uint32_t at);

#endif
