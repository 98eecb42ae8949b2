/* The pre-flight report: which operators a model uses, and how each will run. The survey counts
 * nodes, the reader notes what it built for them, and gaps tell which could not be read. */
#include "import/onnx/importer.h"
#include "target/target.h"

static GlowOnnxUse *find_use(GlowOnnxImporter *im, GlowStr domain, GlowStr op, unsigned version) {
  GlowStr key = glow_str_printf(im->ctx, "%s:%s:%u", domain, op, version);
  GlowOnnxUse *use = glow_map_get(im->use_index, key);
  if (use)
    return use;
  use = GLOW_NEW(im->ctx->arena, GlowOnnxUse);
  *use = (GlowOnnxUse){.domain = domain, .op = op, .version = version};
  glow_map_set(im->use_index, key, use);
  glow_vec_push(im->ctx->arena, &im->uses->list, use);
  return use;
}

void glow_onnx_count_use(GlowOnnxImporter *im, GlowStr domain, GlowStr op, unsigned version) {
  if (im->uses)
    find_use(im, domain, op, version)->count++;
}

/* How n will run where the model is compiled for this host. */
static GlowOnnxSupport support_of(const GlowTarget *target, const GlowNode *n) {
  const char *why;
  GlowSupport support = glow_target_support(target, n, &why);
  if (support <= GLOW_HOSTED)
    return GLOW_ONNX_GRAPH;
  if (GLOW_HAS(glow_node_desc(n), LOWERED))
    return GLOW_ONNX_LOWERED;
  return support == GLOW_NATIVE ? GLOW_ONNX_NATIVE : GLOW_ONNX_REFERENCE;
}

void glow_onnx_note_built(GlowOnnxNode *n, const GlowNode *last) {
  if (!n->im->uses)
    return;
  GlowOnnxUse *use = find_use(n->im, n->domain, n->op, n->version);
  const GlowTarget *target = glow_target_asked(n->im->m);
  for (const GlowNode *m = last ? last->next : n->b.block->first; m; m = m->next) {
    GlowOnnxSupport support = support_of(target, m);
    use->worst = support > use->worst ? support : use->worst;
  }
}

void glow_onnx_note_gaps(GlowOnnxImporter *im) {
  for (uint32_t i = 0; i < im->gaps.count; i++) {
    const GlowOnnxGap *gap = &im->gaps.data[i];
    GlowOnnxUse *use = find_use(im, gap->domain, gap->op, gap->version);
    if (!use->why) {
      use->why = gap->why;
      use->first = gap->first;
    }
    use->unread += gap->count;
    im->uses->unread += gap->count;
  }
  im->uses->unread += im->unlisted;
}

GlowOnnxSupport glow_onnx_support(const GlowOnnxUse *use) {
  return use->unread ? GLOW_ONNX_NOT_SUPPORTED : use->worst;
}
