/* The pre-flight report: which operators a model uses and what became of each. The survey counts
 * nodes, the reader notes what it built for them, gaps say what could not be read. */
#include "import/onnx/importer.h"
#include "target/cpu/native.h"

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

static bool on_heap(const GlowValue *v) {
  if (!v)
    return false;
  const GlowType *t = v->type;
  return t->cls == GLOW_TYPE_SEQ || t->cls == GLOW_TYPE_OPT ||
         (glow_type_is_tensor(t) && t->kind == GLOW_KIND_STRING);
}

static bool works_on_heap(const GlowNode *n) {
  bool found = false;
  for (uint32_t i = 0; i < n->noperands && !found; ++i)
    found = on_heap(n->operands[i].value);
  for (uint32_t i = 0; i < n->nresults && !found; ++i)
    found = on_heap(&n->results[i]);
  return found;
}

void glow_onnx_note_built(GlowOnnxNode *n, const GlowNode *last) {
  if (!n->im->uses)
    return;
  GlowOnnxUse *use = find_use(n->im, n->domain, n->op, n->version);
  for (const GlowNode *m = last ? last->next : n->b.block->first; m; m = m->next) {
    use->built[m->op / 8] |= (uint8_t)(1u << m->op % 8);
    use->heap |= works_on_heap(m);
  }
}

void glow_onnx_note_gaps(GlowOnnxImporter *im) {
  for (uint32_t i = 0; i < im->gaps.count; ++i) {
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
  if (use->unread)
    return GLOW_ONNX_NOT_SUPPORTED;
  if (use->heap)
    return GLOW_ONNX_GRAPH;
  GlowOnnxSupport worst = GLOW_ONNX_NATIVE;
  for (GlowOp op = 0; op < GLOW_OP_COUNT; ++op) {
    if (!(use->built[op / 8] >> op % 8 & 1))
      continue;
    const GlowOpDesc *d = &glow_op_desc[op];
    GlowOnnxSupport support = GLOW_HAS(d, HEAP)        ? GLOW_ONNX_GRAPH
                              : GLOW_HAS(d, LOWERED)   ? GLOW_ONNX_LOWERED
                              : glow_cpu_is_native(op) ? GLOW_ONNX_NATIVE
                                                       : GLOW_ONNX_REFERENCE;
    worst = support > worst ? support : worst;
  }
  return worst;
}
