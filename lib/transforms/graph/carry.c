/* Inputs that are outputs of the run before: caches of decoders, states of recurrent networks.
 *
 *   -carry='past_key_values.*=present.*'     `*` stands for the same characters in both names
 *
 * The input becomes a variable of zeros, into which the function saves what it wrote to the output,
 * which goes. If both have one type, that is all. If the output is longer along one axis, whose
 * extent is a symbol $T in the input, the variable grows: that axis comes first, it begins at the
 * least of $T, and rows are added up to its most. Then
 *
 *   Concat(past, new)   ->   Transpose(Concat(@past, Transpose(new)))
 *
 * where irgen makes of the inner Concat a copy of the new rows to the end of the variable. The
 * Concat may be that of an Attention with a past, which becomes one without. The rows of the output
 * are at most those of the variable from then on, which each run checks. */
#include "pass/pass.h"
#include "tensor/form.h"
#include "transforms/transforms.h"

typedef struct Carry {
  GlowPassRun *run;
  GlowContext *ctx;
  GlowStorage *in, *out;
  GlowNode *save;                 /* of `out` */
  uint32_t axis;                  /* along which the variable grows */
  const GlowExtent *old, *narrow; /* what a definition becomes everywhere */
} Carry;

/* ---- Names ----------------------------------------------------------------------------------- */

static bool is_wild(GlowStr text) { return strchr(text, '*') != NULL; }

/* The name of the output for an input of this name; NULL: `from` is another input. */
static GlowStr partner(GlowContext *ctx, GlowStr name, GlowStr from, GlowStr to) {
  const char *star = strchr(from, '*'), *place = strchr(to, '*');
  if (!star)
    return strcmp(name, from) ? NULL : to;
  size_t head = (size_t)(star - from), tail = strlen(star + 1), length = strlen(name);
  if (length < head + tail || strncmp(name, from, head) || strcmp(name + length - tail, star + 1))
    return NULL;
  return glow_str_printf(ctx, "%.*s%.*s%s", (int)(place - to), to, (int)(length - head - tail),
                         name + head, place + 1);
}

/* ---- Pairs ----------------------------------------------------------------------------------- */

static bool refuse(const Carry *c, const char *why) {
  glow_error(c->ctx, glow_value_loc(&c->in->value), "carry: @%s is %s, and @%s is %s: %s",
             c->in->value.name, glow_type_str(c->ctx, c->in->value.type), c->out->value.name,
             glow_type_str(c->ctx, c->out->value.type), why);
  return false;
}

/* Finds the Save that writes the output, its only use. */
static bool find_save(Carry *c) {
  for (const GlowUse *u = c->out->value.uses; u; u = u->next) {
    bool saves = u->user->op == GLOW_OP_SAVE && u == &u->user->operands[GLOW_SAVE_IN_STORAGE];
    if (!saves || c->save)
      return refuse(c, "the output must be written once, and not be read");
    c->save = u->user;
  }
  for (const GlowUse *u = c->in->value.uses; u; u = u->next)
    if (u->user->op == GLOW_OP_SAVE && u == &u->user->operands[GLOW_SAVE_IN_STORAGE])
      return refuse(c, "the input must not be written");
  return c->save || refuse(c, "no function writes the output");
}

/* The extent that `now`, a definition with too large a range, becomes. */
static bool narrow_rows(Carry *c, GlowDim now, const GlowExtent *room) {
  if (now.size <= room->most)
    return true;
  if (!now.extent || !now.extent->form)
    return refuse(c, "the output may be longer than the input can ever be");
  c->old = now.extent;
  c->narrow = glow_extent_define(c->ctx, c->old->symbol, c->old->form, c->old->least, room->most);
  return c->narrow || refuse(c, "the output is always longer than the input can be");
}

/* Finds the axis along which the output is longer. */
static bool find_axis(Carry *c, const GlowType *value) {
  const GlowType *t = c->in->value.type;
  bool found = false;
  if (!glow_type_is_tensor(t) || !glow_type_is_tensor(value) || t->kind != value->kind ||
      t->rank != value->rank)
    return refuse(c, "they differ in more than the extent of an axis");
  for (uint32_t a = 0; a < t->rank; a++) {
    if (glow_dim_equals(t->dims[a], value->dims[a]))
      continue;
    if (found || !t->dims[a].extent || t->dims[a].extent->form)
      return refuse(c, "one axis may differ, whose extent in the input is a symbol with a range");
    found = true;
    c->axis = a;
  }
  for (uint32_t a = 0; a < t->rank; a++)
    if (a != c->axis && t->dims[a].kind != GLOW_DIM_EXACT)
      return refuse(c, "all axes but one need exact extents");
  return narrow_rows(c, value->dims[c->axis], t->dims[c->axis].extent);
}

/* ---- Types ----------------------------------------------------------------------------------- */

static void narrow_size(void *carry, GlowSize *size) {
  const Carry *c = carry;
  if (size->extent == c->old)
    *size = glow_size(glow_dim_ranged(c->narrow));
}

static const GlowType *narrow_type(void *carry, const GlowType *t) {
  const Carry *c = carry;
  GlowDim dims[GLOW_MAX_RANK];
  bool changes = false;
  for (uint32_t a = 0; glow_type_is_tensor(t) && a < t->rank; a++) {
    bool is_old = t->dims[a].extent == c->old;
    dims[a] = is_old ? glow_dim_ranged(c->narrow) : t->dims[a];
    changes |= is_old;
  }
  if (!changes)
    return t;
  const GlowType *type = glow_type_with_dims(c->ctx, t, t->rank, dims);
  return t->layout ? glow_type_with_layout(c->ctx, type, t->layout) : type;
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

/* Transpose with the axis first, or with it back in its place. */
static GlowValue *move_axis(const Carry *c, GlowBuilder *b, GlowValue *v, bool back) {
  uint32_t perm[GLOW_MAX_RANK], rank = v->type->rank;
  for (uint32_t i = 0; i < rank; i++) {
    uint32_t from = i == 0 ? c->axis : i <= c->axis ? i - 1 : i;
    perm[back ? from : i] = back ? i : from;
  }
  GlowTransposeMembers m = {.perm = glow_array_u32(b->module, perm, rank)};
  return c->axis ? glow_build1(b, GLOW_OP_TRANSPOSE, v, &m, NULL) : v;
}

/* Puts a Concat of the old value and new ones into the order of the variable. Returns what is to be
 * saved. */
static GlowValue *saved_value(const Carry *c, const GlowValue *past) {
  GlowValue *v = glow_node_in(c->save, GLOW_SAVE_IN_VALUE);
  GlowNode *n = glow_value_def(v, GLOW_OP_CONCAT);
  GlowBuilder b = glow_builder_before(c->save);
  const GlowConcatMembers *m = n ? n->members : NULL;
  if (!n || glow_node_in(n, 0) != past ||
      (uint32_t)(m->axis < 0 ? m->axis + v->type->rank : m->axis) != c->axis)
    return move_axis(c, &b, v, false);
  b = glow_builder_before(n);
  GlowValue **ins = GLOW_NEW_ARRAY(c->run->arena, GlowValue *, n->noperands);
  ins[0] = &c->in->value;
  for (uint32_t i = 1; i < n->noperands; i++)
    ins[i] = move_axis(c, &b, glow_node_in(n, i), false);
  GlowConcatMembers first = {.axis = 0};
  GlowNode *rows = glow_build(&b, GLOW_OP_CONCAT, ins, n->noperands, &first, NULL);
  GlowValue *all = rows ? move_axis(c, &b, &rows->results[0], true) : NULL;
  if (!all)
    return NULL;
  glow_value_replace_uses(v, all);
  glow_node_remove(n);
  return &rows->results[0];
}

/* The input becomes a variable, whose readers see it in the order of the input. */
static GlowValue *make_variable(Carry *c) {
  GlowStorage *s = c->in;
  GlowDim dims[GLOW_MAX_RANK];
  const GlowType *t = s->value.type;
  GlowBuilder b = glow_builder_before(glow_block_function(c->save->block)->body->first);
  for (uint32_t i = 0; i < t->rank; i++)
    dims[i] = t->dims[i == 0 ? c->axis : i <= c->axis ? i - 1 : i];
  s->cls = GLOW_VARIABLE;
  s->init = (GlowInit){.kind = GLOW_INIT_SPLAT};
  GlowUse *uses = s->value.uses;
  if (!c->axis || !uses)
    return &s->value;
  GLOW_VEC(GlowUse *) readers = {0};
  for (GlowUse *u = uses; u; u = u->next)
    glow_vec_push(c->run->arena, &readers, u);
  s->value.type = glow_type_with_dims(c->ctx, t, t->rank, dims);
  GlowValue *past = move_axis(c, &b, &s->value, true);
  for (uint32_t i = 0; past && i < readers.count; i++)
    glow_use_set(readers.data[i], past);
  return past;
}

/* An Attention whose past is the input, or whose present goes to the output, becomes one without a
 * past. */
static bool split_past(const Carry *c) {
  GlowNode *n = NULL;
  for (const GlowUse *u = c->in->value.uses; u && !n; u = u->next)
    n = u->user->op == GLOW_OP_ATTENTION ? u->user : NULL;
  if (!n || n->pred.value)
    return true;
  GlowBuilder b = glow_builder_before(n);
  GlowValue *results[4] = {NULL};
  unsigned errors = glow_context_error_count(c->ctx);
  if (!glow_build_attention_without_past(&b, n, results))
    return glow_context_error_count(c->ctx) == errors;
  for (uint32_t i = 0; i < n->nresults; i++)
    if (n->results[i].uses)
      glow_value_replace_uses(&n->results[i], results[i]);
  glow_node_remove(n);
  return true;
}

static bool carry(Carry *c) {
  const GlowValue *v = NULL;
  if (!split_past(c) || !find_save(c))
    return false;
  v = glow_node_in(c->save, GLOW_SAVE_IN_VALUE);
  bool grows = v->type != c->in->value.type;
  if (grows ? !find_axis(c, v->type) : !glow_type_is_static(v->type))
    return grows || refuse(c, "an extent is a symbol, but the input does not grow");
  if (c->old)
    glow_retype(c->run->module, narrow_type, narrow_size, c);
  GlowValue *past = make_variable(c);
  GlowValue *value = past ? saved_value(c, past) : NULL;
  if (!value)
    return false;
  glow_use_set(&c->save->operands[GLOW_SAVE_IN_VALUE], value);
  glow_use_set(&c->save->operands[GLOW_SAVE_IN_STORAGE], &c->in->value);
  glow_pass_changed(c->run, c->save, "@%s takes what @%s was", c->in->value.name,
                    c->out->value.name);
  glow_storage_remove(c->out);
  return true;
}

/* ---------------------------------------------------------------------------------------------- */

static bool carry_pairs(GlowPassRun *run, GlowStr from, GlowStr to) {
  bool found = false, ok = true;
  if (is_wild(from) != is_wild(to)) {
    glow_error(run->ctx, GLOW_NOWHERE, "carry: '%s=%s': both names have a *, or none", from, to);
    return false;
  }
  for (GlowStorage *s = run->module->first_storage; ok && s; s = s->next) {
    GlowStr name = s->cls == GLOW_PLACEHOLDER ? partner(run->ctx, s->value.name, from, to) : NULL;
    if (!name)
      continue;
    Carry c = {.run = run, .ctx = run->ctx, .in = s, .out = glow_module_storage(run->module, name)};
    found = true;
    ok = c.out && c.out->cls == GLOW_PLACEHOLDER;
    if (!ok)
      glow_error(run->ctx, glow_value_loc(&s->value), "carry: there is no output '%s' for @%s",
                 name, s->value.name);
    ok = ok && carry(&c);
  }
  if (!found)
    glow_error(run->ctx, GLOW_NOWHERE, "carry: the module has no input '%s'", from);
  return found && ok;
}

bool glow_pass_carry(GlowPassRun *run) {
  bool ok = true;
  if (!run->noptions) {
    glow_error(run->ctx, GLOW_NOWHERE, "carry: nothing to carry; write -carry='past.*=present.*'");
    return false;
  }
  for (uint32_t i = 0; ok && i < run->noptions; i++)
    ok = carry_pairs(run, run->option_names[i], run->option_values[i]);
  return ok && glow_reinfer_module(run->module);
}
