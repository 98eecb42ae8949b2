/* Einsum: reading its equation, as ONNX's version 12 and NumPy write it, and inference.
 *
 *   equation := term (',' term)* ('->' term)?      term := (letter | '...' | space)*
 *
 * Without an arrow the result has the axes of the ellipsis, then the letters that appear once, in
 * ASCII order. Extents of 1 broadcast with those of the same label in other operands. */
#include "ir/einsum.h"

#include "ir/infer/hooks.h"

typedef struct Reader {
  GlowContext *ctx;
  const char *at;
  uint32_t dots; /* number of axes of the largest ellipsis so far */
} Reader;

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

static uint32_t count_letters(const char *s) {
  uint32_t n = 0;
  for (; *s && *s != ',' && *s != '-'; s++)
    n += is_letter(*s);
  return n;
}

static const char *wrong(const Reader *r, const char *format, int c) {
  return glow_arena_printf(r->ctx->arena, format, c);
}

static const char *push(const Reader *r, GlowEinsumTerm *t, GlowLabel label) {
  if (t->rank == GLOW_MAX_RANK)
    return wrong(r, "a term has more than %d labels", GLOW_MAX_RANK);
  t->labels[t->rank++] = label;
  return NULL;
}

/* Reads a term. `dots`: the number of axes that an ellipsis in it stands for. */
static const char *read_term(Reader *r, GlowEinsumTerm *t, uint32_t dots, bool *has_dots) {
  const char *error = NULL;
  *has_dots = false;
  for (; !error && *r->at && *r->at != ',' && *r->at != '-'; r->at++) {
    if (*r->at == ' ')
      continue;
    if (is_letter(*r->at)) {
      error = push(r, t, (GlowLabel)*r->at);
    } else if (strncmp(r->at, "...", 3) == 0) {
      if (*has_dots)
        return "a term has two ellipses";
      *has_dots = true;
      r->at += 2;
      for (uint32_t i = dots; !error && i > 0; i--)
        error = push(r, t, (GlowLabel)i);
    } else {
      return wrong(r, "'%c' is no label", *r->at >= ' ' && *r->at <= '~' ? *r->at : '?');
    }
  }
  return error;
}

static const char *read_operands(Reader *r, const GlowType *const *types, uint32_t ntypes,
                                 GlowEinsum *e) {
  e->terms = GLOW_NEW_ARRAY(r->ctx->arena, GlowEinsumTerm, ntypes);
  e->nterms = ntypes;
  for (uint32_t i = 0; i < ntypes; i++) {
    bool has_dots;
    uint32_t letters = count_letters(r->at), rank = types[i]->rank;
    uint32_t dots = rank > letters ? rank - letters : 0;
    const char *error = read_term(r, &e->terms[i], dots, &has_dots);
    if (error)
      return error;
    if (e->terms[i].rank != rank)
      return glow_arena_printf(r->ctx->arena, "term %u has %u labels, but operand %u has rank %u",
                               i, e->terms[i].rank, i, rank);
    r->dots = has_dots && dots > r->dots ? dots : r->dots;
    if ((*r->at == ',') != (i + 1 < ntypes))
      return glow_arena_printf(r->ctx->arena, "it has %s terms than the %u operands",
                               *r->at == ',' ? "more" : "fewer", ntypes);
    r->at += *r->at == ',';
  }
  return NULL;
}

/* All labels, in order of first appearance. */
static void collect(GlowEinsum *e) {
  bool seen[128] = {false};
  for (uint32_t i = 0; i < e->nterms; i++)
    for (uint32_t k = 0; k < e->terms[i].rank; k++) {
      GlowLabel label = e->terms[i].labels[k];
      if (!seen[label])
        e->order[e->nlabels++] = label;
      seen[label] = true;
    }
}

static const char *implicit_result(const Reader *r, GlowEinsum *e) {
  uint32_t count[128] = {0};
  const char *error = NULL;
  for (uint32_t i = 0; i < e->nterms; i++)
    for (uint32_t k = 0; k < e->terms[i].rank; k++)
      count[e->terms[i].labels[k]]++;
  for (uint32_t i = r->dots; !error && i > 0; i--)
    error = push(r, &e->result, (GlowLabel)i);
  for (int c = 'A'; !error && c <= 'z'; c++)
    if (count[c] == 1)
      error = push(r, &e->result, (GlowLabel)c);
  return error;
}

static const char *explicit_result(Reader *r, GlowEinsum *e) {
  bool has_dots, seen[128] = {false}, known[128] = {false};
  r->at += 2;
  const char *error = read_term(r, &e->result, r->dots, &has_dots);
  if (error)
    return error;
  if (*r->at)
    return "more follows behind the result";
  for (uint32_t i = 0; i < e->nlabels; i++)
    known[e->order[i]] = true;
  for (uint32_t i = 0; i < e->result.rank; i++) {
    GlowLabel label = e->result.labels[i];
    if (seen[label])
      return wrong(r, "the result names '%c' twice", label);
    if (!known[label])
      return wrong(r, "the result names '%c', which no operand has", label);
    seen[label] = true;
  }
  return NULL;
}

const char *glow_einsum_parse(GlowContext *ctx, const char *equation, const GlowType *const *types,
                              uint32_t ntypes, GlowEinsum *e) {
  Reader r = {.ctx = ctx, .at = equation};
  *e = (GlowEinsum){0};
  const char *error = read_operands(&r, types, ntypes, e);
  if (error)
    return error;
  collect(e);
  if (strncmp(r.at, "->", 2) == 0)
    return explicit_result(&r, e);
  return *r.at ? "a '-' without '>'" : implicit_result(&r, e);
}

/* ---- Inference ------------------------------------------------------------------------------- */

/* The extent of every label. Within one operand a label has one extent; between operands, 1
 * broadcasts. */
static bool label_dims(const GlowInfer *in, const GlowEinsum *e, GlowDim *dims) {
  for (uint32_t i = 0; i < e->nterms; i++) {
    const GlowEinsumTerm *t = &e->terms[i];
    for (uint32_t k = 0; k < t->rank; k++) {
      GlowLabel label = t->labels[k];
      GlowDim d = in->in[i]->dims[k];
      for (uint32_t j = 0; j < k; j++)
        if (t->labels[j] == label && !glow_dim_meet(in->in[i]->dims[j], d, &d))
          return glow_infer_error(in, "operand %u has extents %s and %s for the same label", i,
                                  glow_dim_str(in->ctx, in->in[i]->dims[j]),
                                  glow_dim_str(in->ctx, in->in[i]->dims[k]));
      GlowDim before = dims[label];
      if (!glow_dim_broadcast(before, d, &dims[label]))
        return glow_infer_error(in, "operand %u has extent %s for a label that has %s elsewhere", i,
                                glow_dim_str(in->ctx, d), glow_dim_str(in->ctx, before));
    }
  }
  return true;
}

/* The operands are multiplied one by one: checks the ranks of the products before the last. */
static bool check_steps(const GlowInfer *in, const GlowEinsum *e) {
  for (uint32_t step = 1; step + 1 < e->nterms; step++) {
    uint32_t live = 0;
    for (uint32_t l = 0; l < e->nlabels; l++) {
      bool before = false, behind = glow_einsum_has(&e->result, e->order[l]);
      for (uint32_t i = 0; i < e->nterms; i++)
        *(i <= step ? &before : &behind) |= glow_einsum_has(&e->terms[i], e->order[l]);
      live += before && behind;
    }
    if (live > GLOW_MAX_RANK)
      return glow_infer_error(in, "the product of the first %u operands has %u axes", step + 1,
                              live);
  }
  return true;
}

bool glow_infer_einsum(GlowInfer *in) {
  const GlowEinsumMembers *m = in->members;
  GlowEinsum e;
  if (in->nin == 0)
    return glow_infer_error(in, "no operands");
  if (!m->equation)
    return glow_infer_error(in, "no equation");
  for (uint32_t i = 0; i < in->nin; i++)
    if (in->in[i]->unranked)
      return glow_infer_set_unknown(in, 0, in->in[0], -1);
  const char *error = glow_einsum_parse(in->ctx, m->equation, in->in, in->nin, &e);
  if (error)
    return glow_infer_error(in, "equation: %s", error);
  GlowDim extent[128], dims[GLOW_MAX_RANK];
  for (int i = 0; i < 128; i++)
    extent[i] = GLOW_EXACT(1);
  if (!label_dims(in, &e, extent) || !check_steps(in, &e))
    return false;
  for (uint32_t i = 0; i < e.result.rank; i++)
    dims[i] = extent[e.result.labels[i]];
  return glow_infer_set(in, 0, in->in[0], e.result.rank, dims);
}
