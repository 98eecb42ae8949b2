/* Lists of globs that options of passes give, for names of storage or nodes: conv1.*,fc?.weight */
#ifndef GLOW_TRANSFORMS_GLOBS_H
#define GLOW_TRANSFORMS_GLOBS_H

#include "pass/pass.h"

typedef struct GlowGlob {
  GlowStr text;
  bool matched;
} GlowGlob;

typedef struct GlowGlobs {
  GlowPassRun *run;
  GLOW_VEC(GlowGlob) list;
} GlowGlobs;

/* Reads globs with commas between them; NULL and empty texts have none. */
GlowGlobs glow_globs_read(GlowPassRun *run, const char *text);
/* Whether one of the globs fits the name, as the shell's do. All that fit count as matched. */
bool glow_globs_match(GlowGlobs *g, GlowStr name);
/* False after an error for each glob that no name matched. `what` says which names were asked for,
 * "variable"; one of `names` that is near is suggested. */
bool glow_globs_all_matched(const GlowGlobs *g, const char *what, const char *const *names,
                            uint32_t count);
/* Warns of each glob of the option called `option` that no name matched. */
void glow_globs_warn_unmatched(const GlowGlobs *g, const char *option);

#endif
