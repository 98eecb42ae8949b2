/* Copies of a module with something left out, made without a sound. */
#ifndef GLOW_REDUCE_CANDIDATE_H
#define GLOW_REDUCE_CANDIDATE_H

#include "reduce/delta.h"
#include "reduce/reduce.h"

typedef struct GlowDraft {
  GlowArena *arena;
  GlowModule *module; /* NULL: not valid */
  GlowCandidate candidate;
  uint64_t hash; /* of the text */
} GlowDraft;

/* How much the strategy has to offer in m. */
uint32_t glow_draft_count(GlowModule *m, const GlowStrategy *s);
/* A copy of m without what is taken. With s NULL the draft is m itself, and owns nothing of it. */
GlowDraft glow_draft_make(GlowModule *m, const GlowStrategy *s, const bool *taken);
/* Whether the text reads back and verifies, in a context of its own. */
bool glow_draft_reads_back(const GlowModule *m, const GlowDraft *draft);
void glow_draft_release(GlowDraft *d, bool keep_module);

#endif
