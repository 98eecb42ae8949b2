/* What the files of lib/pass share. */
#ifndef GLOW_PASS_PASS_INTERNAL_H
#define GLOW_PASS_PASS_INTERNAL_H

#include "pass/pass.h"

typedef enum GlowItemKind {
  GLOW_ITEM_PASS,
  GLOW_ITEM_FIXPOINT, /* fixpoint(...): its items again and again until nothing changes */
  GLOW_ITEM_LEVEL     /* O0, O1, O2: expanded by glow_pipeline_resolve */
} GlowItemKind;

typedef struct GlowPipelineItem GlowPipelineItem;
struct GlowPipelineItem {
  GlowItemKind kind;
  const GlowPass *pass;
  const char **names, **values; /* options; a flag has the value "" */
  uint32_t noptions;
  GlowPipelineItem *first, *last; /* FIXPOINT */
  int optimization;               /* LEVEL */
  GlowPipelineItem *next;
};

struct GlowPipeline {
  GlowContext *ctx;
  GlowPipelineItem *first, *last;
};

/* A file that is written when the pipeline has succeeded. */
typedef struct GlowSideFile GlowSideFile;
struct GlowSideFile {
  GlowStr path;
  GlowText text;
  GlowSideFile *next;
};

/* The text of O0, O1 or O2 for a level. */
const char *glow_pipeline_text(GlowLevel level, int optimization);
void glow_pipelines_print(GlowText *out);

#endif
