/* See globs.h. */
#include "transforms/globs.h"

#include <fnmatch.h>
#include <string.h>

GlowGlobs glow_globs_read(GlowPassRun *run, const char *text) {
  GlowGlobs g = {.run = run};
  for (const char *at = text; at && *at;) {
    size_t length = strcspn(at, ",");
    GlowGlob one = {.text = glow_str_n(run->ctx, at, length)};
    if (length)
      glow_vec_push(run->arena, &g.list, one);
    at += length + (at[length] == ',');
  }
  return g;
}

bool glow_globs_match(GlowGlobs *g, GlowStr name) {
  bool any = false;
  for (uint32_t i = 0; i < g->list.count; i++)
    if (fnmatch(g->list.data[i].text, name, 0) == 0)
      any = g->list.data[i].matched = true;
  return any;
}

bool glow_globs_all_matched(const GlowGlobs *g, const char *what, const char *const *names,
                            uint32_t count) {
  bool all = true;
  for (uint32_t i = 0; i < g->list.count; i++) {
    if (g->list.data[i].matched)
      continue;
    const char *near = glow_nearest(g->list.data[i].text, names, count);
    glow_error(g->run->ctx, GLOW_NOWHERE, "-%s: no %s has a name like '%s'%s%s%s",
               g->run->pass->name, what, g->list.data[i].text, near ? "; did you mean '" : "",
               near ? near : "", near ? "'?" : "");
    all = false;
  }
  return all;
}

void glow_globs_warn_unmatched(const GlowGlobs *g, const char *option) {
  const GlowPassRun *run = g->run;
  for (uint32_t i = 0; i < g->list.count; i++)
    if (!g->list.data[i].matched)
      glow_diag(run->ctx, GLOW_WARNING, GLOW_NOWHERE, "-%s: %s=%s names nothing in @%s",
                run->pass->name, option, g->list.data[i].text, run->function->name);
}
