/* See judge.h. */
#include "driver/judge.h"

#include <math.h>

/* Row r of an output as doubles. */
typedef struct Row {
  const GlowTensor *of;
  int64_t first, count;
} Row;

static Row row_of(const GlowTensor *t, int64_t count, int64_t r) {
  return (Row){t, r * count, count};
}
static double at(const Row *r, int64_t i) { return glow_tensor_get_double(r->of, r->first + i); }

/* The place of the largest element, the first of several; -1 if all are NaN. */
static int64_t largest(const Row *r) {
  int64_t best = -1;
  for (int64_t i = 0; i < r->count; i++)
    if (!isnan(at(r, i)) && (best < 0 || at(r, i) > at(r, best)))
      best = i;
  return best;
}

/* How many elements stand before element i in order: larger ones, and equal ones at a smaller
 * place. NaN stands last. */
static int64_t rank_of(const Row *r, int64_t i) {
  double v = at(r, i);
  int64_t rank = 0;
  for (int64_t k = 0; k < r->count; k++)
    rank += isnan(v) ? !isnan(at(r, k)) || k < i : at(r, k) > v || (at(r, k) == v && k < i);
  return rank;
}

/* ---- One row --------------------------------------------------------------------------------- */

static bool judge_label(GlowJudge *j, GlowJudged *o, const Row *got) {
  int64_t label = 0;
  if (!glow_samples_read(j->truth, j->samples, &label))
    return false;
  if (label < 0 || label >= o->classes) {
    glow_error(j->ctx, glow_loc_file(j->ctx, j->truth->name),
               "sample %lld: %lld is no class: '%s' has %lld elements for each sample",
               (long long)j->samples, (long long)label, o->name, (long long)o->classes);
    return false;
  }
  int64_t rank = rank_of(got, label);
  o->right += rank == 0;
  o->near += rank < 5;
  return true;
}

static void compare_row(GlowJudged *o, const Row *got, const Row *want) {
  double product = 0, ours = 0, theirs = 0, noise = 0;
  for (int64_t i = 0; i < got->count; i++) {
    double a = at(got, i), b = at(want, i), d = fabs(a - b);
    bool same = a == b || (isnan(a) && isnan(b));
    d = same ? 0 : isfinite(d) ? d : INFINITY;
    product += a * b;
    ours += a * a;
    theirs += b * b;
    noise += d * d;
    o->worst = fmax(o->worst, d);
  }
  double cosine = ours > 0 && theirs > 0 ? product / (sqrt(ours) * sqrt(theirs)) : ours == theirs;
  if (!isfinite(cosine))
    cosine = noise > 0 ? -1 : 1;
  o->cosine += cosine;
  o->least = fmin(o->least, cosine);
  o->signal += theirs;
  o->noise += noise;
  int64_t best = largest(got);
  o->agreed += best >= 0 && best == largest(want);
}

/* ---- Outputs --------------------------------------------------------------------------------- */

/* How many numbers a sample has in an output with `batch` rows; 0: it has no such rows. */
static int64_t row_size(const GlowTensor *t, int64_t batch) {
  const GlowType *type = t->type;
  bool rows = type->cls == GLOW_TYPE_TENSOR && type->kind != GLOW_KIND_STRING && type->rank &&
              type->dims[0].size == batch;
  return rows ? glow_tensor_elements(t) / batch : 0;
}

static bool choose(GlowJudge *j, const GlowBindings *got, int64_t batch) {
  for (uint32_t i = 0; i < got->count; i++) {
    GlowJudged o = {
        .name = got->data[i].name, .classes = row_size(got->data[i].tensor, batch), .least = 1};
    glow_vec_push(j->ctx->arena, &j->outputs, o);
  }
  for (uint32_t i = 0; i < j->outputs.count; i++)
    if (j->outputs.data[i].classes)
      return true;
  glow_error(j->ctx, GLOW_NOWHERE, "no output has a row of numbers for each sample");
  return false;
}

static const GlowTensor *partner(const GlowBindings *want, GlowStr name, uint32_t place) {
  const GlowTensor *t = glow_bindings_find(want, name);
  return t || place >= want->count ? t : want->data[place].tensor;
}

/* The other model's values of an output. NULL after a diagnostic. */
static const GlowTensor *find_partner(const GlowJudge *j, const GlowBindings *want, uint32_t i,
                                      int64_t batch) {
  const GlowJudged *o = &j->outputs.data[i];
  const GlowTensor *t = partner(want, o->name, i);
  if (t && row_size(t, batch) == o->classes)
    return t;
  if (t)
    glow_error(j->ctx, GLOW_NOWHERE,
               "output '%s' is %s in the other model, which has not %lld elements for each sample",
               o->name, glow_type_str(j->ctx, t->type), (long long)o->classes);
  else
    glow_error(j->ctx, GLOW_NOWHERE, "the other model has no output '%s'", o->name);
  return NULL;
}

bool glow_judge_add(GlowJudge *j, const GlowBindings *got, const GlowBindings *want, int64_t batch,
                    int64_t n) {
  if (!j->outputs.count && !choose(j, got, batch))
    return false;
  int64_t before = j->samples;
  bool labelled = false;
  for (uint32_t i = 0; i < j->outputs.count; i++) {
    GlowJudged *o = &j->outputs.data[i];
    if (!o->classes)
      continue;
    const GlowTensor *other = want ? find_partner(j, want, i, batch) : NULL;
    if (want && !other)
      return false;
    for (int64_t r = 0; r < n; r++) {
      Row row = row_of(got->data[i].tensor, o->classes, r);
      j->samples = before + r;
      if (j->truth && !labelled && !judge_label(j, o, &row))
        return false;
      if (other)
        compare_row(o, &row, &(Row){other, row.first, row.count});
    }
    labelled = true;
  }
  j->samples = before + n;
  return true;
}

/* ---- Saying so ------------------------------------------------------------------------------- */

static double share(const GlowJudge *j, int64_t count) {
  return j->samples ? (double)count / (double)j->samples : 0;
}

static double decibels(const GlowJudged *o) {
  return o->noise > 0 ? 10 * log10(o->signal / o->noise) : INFINITY;
}

static const GlowJudged *labelled_output(const GlowJudge *j) {
  for (uint32_t i = 0; j->truth && i < j->outputs.count; i++)
    if (j->outputs.data[i].classes)
      return &j->outputs.data[i];
  return NULL;
}

GlowDistance glow_judge_distance(const GlowJudge *j) {
  GlowDistance d = {.cosine = 1, .agreement = 1, .sqnr = INFINITY};
  for (uint32_t i = 0; i < j->outputs.count; i++) {
    const GlowJudged *o = &j->outputs.data[i];
    if (!o->classes)
      continue;
    d.cosine = fmin(d.cosine, o->least);
    d.agreement = fmin(d.agreement, share(j, o->agreed));
    double sqnr = decibels(o);
    d.sqnr = fmin(d.sqnr, isnan(sqnr) ? -INFINITY : sqnr);
  }
  return d;
}

void glow_judge_print(GlowText *out, const GlowJudge *j) {
  const GlowJudged *first = labelled_output(j);
  if (first)
    glow_text_printf(out, "%s: %lld of %lld labels right (%.4f), %lld among the best five\n",
                     first->name, (long long)first->right, (long long)j->samples,
                     share(j, first->right), (long long)first->near);
  for (uint32_t i = 0; j->compares && i < j->outputs.count; i++) {
    const GlowJudged *o = &j->outputs.data[i];
    if (!o->classes)
      continue;
    glow_text_printf(out,
                     "%s: %lld of %lld agree (%.4f), cosine at least %.6f, mean %.6f, SQNR %.2f "
                     "dB, largest error %.6g\n",
                     o->name, (long long)o->agreed, (long long)j->samples, share(j, o->agreed),
                     o->least, o->cosine / (double)j->samples, decibels(o), o->worst);
  }
}

bool glow_judge_holds(const GlowJudge *j, const GlowVerdict *v) {
  const GlowJudged *first = labelled_output(j);
  bool ok = true;
  if (first && !(share(j, first->right) >= v->accuracy)) {
    glow_error(j->ctx, GLOW_NOWHERE, "'%s': %.4f of the labels are right, less than %g",
               first->name, share(j, first->right), v->accuracy);
    ok = false;
  }
  for (uint32_t i = 0; j->compares && i < j->outputs.count; i++) {
    const GlowJudged *o = &j->outputs.data[i];
    if (o->classes && !(share(j, o->agreed) >= v->agreement)) {
      glow_error(j->ctx, GLOW_NOWHERE, "'%s': %.4f of the samples agree, less than %g", o->name,
                 share(j, o->agreed), v->agreement);
      ok = false;
    }
    if (o->classes && !(o->least >= v->cosine)) {
      glow_error(j->ctx, GLOW_NOWHERE, "'%s': the smallest cosine is %.6f, less than %g", o->name,
                 o->least, v->cosine);
      ok = false;
    }
  }
  return ok;
}
