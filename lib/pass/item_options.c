/* Options of passes in a pipeline: what they are, and copies of pipelines with others. */
#include "pass/pass_internal.h"

static const GlowPipelineItem *find_item(const GlowPipelineItem *item, const GlowPass *pass) {
  for (; item; item = item->next) {
    const GlowPipelineItem *in = find_item(item->first, pass);
    if (in || (item->kind == GLOW_ITEM_PASS && item->pass == pass))
      return in ? in : item;
  }
  return NULL;
}

const char *glow_pipeline_option(const GlowPipeline *p, const GlowPass *pass, const char *name,
                                 bool *found) {
  const GlowPipelineItem *item = find_item(p->first, pass);
  *found = item != NULL;
  for (uint32_t i = 0; item && i < item->noptions; i++)
    if (!strcmp(item->names[i], name))
      return item->values[i];
  return NULL;
}

typedef struct Setting {
  GlowContext *ctx;
  const GlowPass *pass;
  const char *name, *value;
} Setting;

static void set_option(const Setting *s, GlowPipelineItem *item) {
  uint32_t count = item->noptions, at = count;
  const char **names = GLOW_NEW_ARRAY(s->ctx->arena, const char *, count + 1);
  const char **values = GLOW_NEW_ARRAY(s->ctx->arena, const char *, count + 1);
  for (uint32_t i = 0; i < count; i++) {
    names[i] = item->names[i];
    values[i] = item->values[i];
    at = strcmp(names[i], s->name) ? at : i;
  }
  names[at] = s->name;
  values[at] = s->value;
  item->names = names;
  item->values = values;
  item->noptions = at == count ? count + 1 : count;
}

static void copy_items(const Setting *s, const GlowPipelineItem *item, GlowPipelineItem **first,
                       GlowPipelineItem **last) {
  for (; item; item = item->next) {
    GlowPipelineItem *copy = glow_arena_copy(s->ctx->arena, item, sizeof *item);
    copy->next = copy->first = copy->last = NULL;
    copy_items(s, item->first, &copy->first, &copy->last);
    if (copy->kind == GLOW_ITEM_PASS && copy->pass == s->pass)
      set_option(s, copy);
    *(*last ? &(*last)->next : first) = copy;
    *last = copy;
  }
}

GlowPipeline *glow_pipeline_with(const GlowPipeline *p, const GlowPass *pass, const char *name,
                                 const char *value) {
  Setting s = {p->ctx, pass, glow_str(p->ctx, name), glow_str(p->ctx, value)};
  GlowPipeline *copy = glow_pipeline_create(p->ctx, p->table);
  copy_items(&s, p->first, &copy->first, &copy->last);
  return copy;
}
