/* A function becomes a training step, as ordinary text:
 *
 *   func @net.loss       the function, then its loss and how many samples are right
 *   gradient @net.grad   of @net.loss, with respect to the weights
 *   func @train          the gradient, the rate of the schedule, the updates, and Saves
 *   func @eval           the loss and how many are right, without effects
 *
 * -grad makes a function of the declaration. The function itself stays. Weights are the variables
 * of floating point that it reads and does not save, or those that `wrt` names. What it saves,
 * running statistics and the states of random numbers, is saved by @train, too.
 *
 * Requested: nothing that was there changes. docs/HowTo-train.md has the names that callers of the
 * text rely on. */
#include <stdlib.h>
#include <string.h>

#include "analysis/access.h"
#include "transforms/globs.h"
#include "transforms/training/training.h"

static bool refuse(GlowTraining *t, GlowLoc loc, const char *message, const char *name) {
  glow_error(t->ctx, loc, "-train: %s%s", message, name);
  return false;
}

/* ---- What the function gives ----------------------------------------------------------------- */

static bool is_real(const GlowValue *v) {
  return glow_type_is_tensor(v->type) && glow_kind_is_float(v->type->kind) && !v->type->quantized;
}

/* What a Save stores into a placeholder; NULL for other nodes. */
static GlowValue *given_out(const GlowNode *n, const GlowValue **to) {
  if (n->op != GLOW_OP_SAVE)
    return NULL;
  *to = glow_node_in(n, GLOW_SAVE_IN_STORAGE);
  bool out = (*to)->kind == GLOW_VALUE_STORAGE && (*to)->def.storage->cls == GLOW_PLACEHOLDER;
  return out ? glow_node_in(n, GLOW_SAVE_IN_VALUE) : NULL;
}

/* The only floating-point output of f; NULL after a diagnostic. */
static GlowValue *only_output(GlowTraining *t, const GlowFunction *f) {
  GlowValue *found = NULL;
  const GlowValue *to;
  uint32_t count = 0;
  for (const GlowNode *n = f->body->first; n; n = n->next) {
    GlowValue *v = given_out(n, &to);
    if (v && is_real(v))
      found = v, count++;
  }
  const GlowNode *end = glow_block_terminator(f->body);
  for (uint32_t i = 0; end && i < end->noperands; i++)
    if (is_real(end->operands[i].value))
      found = end->operands[i].value, count++;
  if (count == 1)
    return found;
  glow_error(t->ctx, f->src,
             "-train: @%s has %u floating-point outputs; say which one the "
             "loss is of: of=%%value",
             f->name, count);
  return NULL;
}

/* The value that the text names: %value, @placeholder that it is saved into, or the number of a
 * result. NULL after a diagnostic. */
static GlowValue *find_value(GlowTraining *t, const GlowFunction *f, const char *text) {
  const GlowValue *to;
  const GlowNode *end = glow_block_terminator(f->body);
  char *rest;
  unsigned long index = strtoul(text, &rest, 10);
  if (*text >= '0' && *text <= '9' && !*rest && end && index < end->noperands)
    return end->operands[index].value;
  for (uint32_t i = 0; *text == '%' && i < f->body->nparams; i++)
    if (strcmp(f->body->params[i]->name, text + 1) == 0)
      return f->body->params[i];
  for (const GlowNode *n = f->body->first; n; n = n->next) {
    GlowValue *v = given_out(n, &to);
    if (v && *text == '@' && strcmp(to->name, text + 1) == 0)
      return v;
    for (uint32_t i = 0; *text == '%' && i < n->nresults; i++)
      if (n->results[i].name && strcmp(n->results[i].name, text + 1) == 0)
        return &n->results[i];
  }
  glow_error(t->ctx, f->src,
             "-train: @%s has no value '%s'; expected %%value, @placeholder that it "
             "saves, or the number of a result",
             f->name, text);
  return NULL;
}

/* ---- Functions ------------------------------------------------------------------------------- */

/* A new function with the parameters of `like`. */
static GlowFunction *add_function(GlowTraining *t, GlowStr name, const GlowFunction *like,
                                  GlowMap *map) {
  GlowFunction *f = glow_function_create(t->module, GLOW_FUNC, name);
  f->src = t->net->src;
  for (uint32_t i = 0; i < like->body->nparams; i++) {
    GlowValue *from = like->body->params[i];
    glow_map_set(map, from, glow_block_add_param(f->body, from->name, from->type));
  }
  return f;
}

/* Copies what f computes to b, and with `effects` its Saves into variables. */
static void copy_body(const GlowFunction *f, GlowBuilder *b, GlowMap *map, bool effects) {
  const GlowNode *end = glow_block_terminator(f->body);
  for (const GlowNode *n = f->body->first; n && n != end; n = n->next) {
    const GlowValue *to;
    if (n->op == GLOW_OP_SAVE && (!effects || given_out(n, &to)))
      continue;
    glow_node_clone(b, n, map);
  }
}

/* The value of f that the loss is of, or that is the loss; NULL after a diagnostic. */
static GlowValue *loss_value(GlowTraining *t, const GlowFunction *f) {
  const char *from = glow_pass_option(t->run, "from"), *of = glow_pass_option(t->run, "of");
  return from ? find_value(t, f, from) : of ? find_value(t, f, of) : only_output(t, f);
}

/* The value of the loss, and how many are right if that is known, of the copy in `map`. */
static GlowValue *build_loss(GlowTraining *t, GlowBuilder *b, GlowMap *map, GlowValue *of,
                             GlowValue **right) {
  GlowValue *v = glow_map_get(map, of);
  v = v ? v : of; /* storage stands for itself */
  *right = NULL;
  GlowValue *loss = glow_pass_option(t->run, "from") ? v : glow_training_loss(t, b, v, right);
  if (loss && loss->kind == GLOW_VALUE_RESULT)
    glow_value_set_name(loss, glow_str(t->ctx, "loss"));
  if (*right)
    glow_value_set_name(*right, glow_str(t->ctx, "right"));
  return loss;
}

static GlowFunction *build_loss_function(GlowTraining *t, GlowValue *of) {
  GlowMap *map = glow_map_create(t->run->arena);
  GlowFunction *f = add_function(t, glow_str_printf(t->ctx, "%s.loss", t->net->name), t->net, map);
  GlowBuilder b = glow_builder_at_end(f->body);
  GlowValue *results[2];
  copy_body(t->net, &b, map, true);
  results[0] = build_loss(t, &b, map, of, &results[1]);
  if (!results[0])
    return NULL;
  f->has_results = true;
  f->nresults = results[1] ? 2 : 1;
  f->results = GLOW_NEW_ARRAY(t->module->arena, const GlowType *, 2);
  for (uint32_t i = 0; i < f->nresults; i++)
    f->results[i] = results[i]->type;
  return glow_build_terminator(f->body, GLOW_OP_RETURN, results, f->nresults) ? f : NULL;
}

static GlowGradientRef *storage_refs(GlowTraining *t, const GlowStorageList *list,
                                     uint32_t before) {
  GlowGradientRef *refs =
      GLOW_NEW_ARRAY(t->module->arena, GlowGradientRef, before + list->count + 1);
  for (uint32_t i = 0; i < before; i++)
    refs[i].index = i;
  for (uint32_t i = 0; i < list->count; i++)
    refs[before + i] = (GlowGradientRef){.name = list->data[i]->value.name, .is_storage = true};
  return refs;
}

static GlowFunction *declare_gradient(GlowTraining *t) {
  GlowFunction *g = glow_function_create(t->module, GLOW_GRADIENT,
                                         glow_str_printf(t->ctx, "%s.grad", t->net->name));
  g->src = t->net->src;
  g->primal = t->loss->name;
  g->from = GLOW_NEW(t->module->arena, GlowGradientRef);
  g->nfrom = 1;
  g->seedable = glow_pass_option(t->run, "loss-scale") != NULL;
  g->wrt = storage_refs(t, &t->weights, 0);
  g->nwrt = t->weights.count;
  g->keeping = storage_refs(t, &t->states, t->loss->nresults);
  g->nkeeping = t->loss->nresults + t->states.count;
  return glow_gradient_signature(g) ? g : NULL;
}

/* A Call with the parameters of the function at b, which are those of the loss, and a seed if that
 * is not NULL. */
static GlowNode *build_call(GlowTraining *t, GlowBuilder *b, const GlowFunction *callee,
                            GlowValue *seed, const GlowStr *names) {
  uint32_t nparams = b->block->nparams;
  GlowValue **ins = GLOW_NEW_ARRAY(t->run->arena, GlowValue *, nparams + 1);
  for (uint32_t i = 0; i < nparams; i++)
    ins[i] = b->block->params[i];
  ins[nparams] = seed;
  GlowCallMembers members = {.callee = callee->name};
  GlowNodeSpec spec = {.op = GLOW_OP_CALL,
                       .ins = ins,
                       .nins = nparams + (seed != NULL),
                       .members = &members,
                       .nresults = callee->nresults,
                       .names = names};
  return glow_node_create(b, &spec);
}

/* ---- @train and @eval ------------------------------------------------------------------------ */

static GlowStr str(GlowTraining *t, const char *text) { return glow_str(t->ctx, text); }

/* What the Call of the gradient in @train gives: the derivatives, the loss, how many are right,
 * states. */
static bool call_gradient(GlowTraining *t, const GlowFunction *g, GlowValue **results) {
  GlowStr *names = GLOW_NEW_ARRAY(t->run->arena, GlowStr, g->nresults);
  uint32_t n = 0;
  for (uint32_t i = 0; i < t->weights.count; i++)
    names[n++] = glow_str_printf(t->ctx, "%s.grad", t->weights.data[i]->value.name);
  names[n++] = str(t, "loss");
  if (t->loss->nresults > 1)
    names[n++] = str(t, "right");
  for (uint32_t i = 0; i < t->states.count; i++)
    names[n++] = glow_str_printf(t->ctx, "%s.next", t->states.data[i]->value.name);
  GlowValue *seed = glow_then_cast(&t->b, t->scale, t->loss->results[0]->kind);
  if (t->slices > 1) {
    if (!glow_training_accumulate(t, g, seed, results))
      return false;
    for (uint32_t i = 0; i < n; i++)
      glow_value_set_name(results[i], names[i]);
    return true;
  }
  GlowNode *call = build_call(t, &t->b, g, seed, names);
  for (uint32_t i = 0; call && i < n; i++)
    results[i] = &call->results[i];
  return call != NULL;
}

/* Saves the loss, and how many are right, into the placeholders of their names. */
static bool save_scores(GlowTraining *t, GlowValue *loss, GlowValue *right) {
  return glow_training_save(t, loss, glow_training_port(t, "loss", loss->type)) &&
         (!right || glow_training_save(t, right, glow_training_port(t, "right", right->type)));
}

static bool build_train(GlowTraining *t, const GlowFunction *g) {
  GlowFunction *f = add_function(t, str(t, "train"), t->loss, glow_map_create(t->run->arena));
  for (uint32_t i = 0; t->slices > 1 && i < f->body->nparams; i++)
    f->body->params[i]->type = glow_training_whole(t, f->body->params[i]->type);
  t->b = glow_builder_at_end(f->body);
  GlowValue **results = GLOW_NEW_ARRAY(t->run->arena, GlowValue *, g->nresults), *norm;
  if (!glow_training_begin_scale(t) || !call_gradient(t, g, results))
    return false;
  GlowStorage *step =
      glow_training_variable(t, str(t, "train.step"), glow_type_scalar(t->ctx, GLOW_KIND_I64),
                             (GlowScalar){.is_int = true});
  if (!step)
    return false;
  GlowValue *count =
      glow_then2(&t->b, GLOW_OP_ADD, &step->value, glow_build_scalar(&t->b, GLOW_KIND_I64, 1));
  GlowValue *rate = count ? glow_training_rate(t, &step->value) : NULL;
  if (!rate || !glow_training_unscale(t, results) || !glow_training_clip(t, results, &norm) ||
      !glow_training_update(t, results, rate, count) || !glow_training_save(t, count, step))
    return false;
  if (norm && !glow_training_save(t, norm, glow_training_port(t, "norm", norm->type)))
    return false;
  GlowValue **scores = results + t->weights.count;
  for (uint32_t i = 0; i < t->states.count; i++)
    if (!glow_training_save(t, scores[t->loss->nresults + i], t->states.data[i]))
      return false;
  return save_scores(t, scores[0], t->loss->nresults > 1 ? scores[1] : NULL);
}

/* @eval calls @net.loss if that is what is judged and it saves nothing; else it has a copy of what
 * is judged, which saves nothing. */
static bool build_eval(GlowTraining *t) {
  bool calls = t->judged == t->net && t->states.count == 0;
  GlowMap *map = glow_map_create(t->run->arena);
  GlowFunction *f = add_function(t, str(t, "eval"), calls ? t->loss : t->judged, map);
  t->b = glow_builder_at_end(f->body);
  t->finite = NULL;
  GlowValue *loss = NULL, *right = NULL, *of = calls ? NULL : loss_value(t, t->judged);
  if (of) {
    copy_body(t->judged, &t->b, map, false);
    loss = build_loss(t, &t->b, map, of, &right);
  } else if (calls) {
    GlowStr names[] = {str(t, "loss"), str(t, "right")};
    GlowNode *call = build_call(t, &t->b, t->loss, NULL, names);
    loss = call ? &call->results[0] : NULL;
    right = call && t->loss->nresults > 1 ? &call->results[1] : NULL;
  }
  return loss && save_scores(t, loss, right) &&
         (calls || t->slices == 1 || glow_training_parameters(t, f));
}

/* ---- The pass -------------------------------------------------------------------------------- */

static bool is_weight(const GlowStorage *s) {
  return s->cls == GLOW_VARIABLE && is_real(&s->value);
}

/* Finds the weights, and the variables that the function itself saves. */
static bool choose_weights(GlowTraining *t) {
  GlowPassRun *run = t->run;
  const GlowAccess *access = glow_function_accesses(t->net, run->arena).of;
  const char *wrt = glow_pass_option(run, "wrt");
  GlowGlobs globs = glow_globs_read(run, wrt);
  GLOW_VEC(const char *) names = {0};
  bool ok = true;
  for (GlowStorage *s = t->module->first_storage; s; s = s->next) {
    GlowAccess a = access[s->value.id];
    bool named = wrt && glow_globs_match(&globs, s->value.name);
    if (s->cls == GLOW_VARIABLE && a.written) {
      glow_vec_push(run->arena, &t->states, s);
      if (named && is_weight(s))
        ok = refuse(t, s->src, "the function saves into a weight itself: @", s->value.name);
    } else if (is_weight(s) && a.read) {
      glow_vec_push(run->arena, &names, s->value.name);
      if (named || !wrt)
        glow_vec_push(run->arena, &t->weights, s);
    } else if (named && s->cls == GLOW_CONSTANT && is_real(&s->value) && !strpbrk(wrt, "*?[")) {
      ok = refuse(t, s->src, "a weight is a constant (use -unfreeze): @", s->value.name);
    }
  }
  if (!glow_globs_all_matched(&globs, "variable that the function reads", names.data,
                              names.count) ||
      !ok)
    return false;
  return t->weights.count ||
         refuse(t, t->net->src, "no variable of floating point is read (use -unfreeze) by @",
                t->net->name);
}

static bool is_taken(GlowTraining *t, const char *name) {
  GlowStr s = str(t, name);
  const GlowFunction *f = glow_module_function(t->module, s);
  return f && !refuse(t, f->src, "the module has a function already: @", s);
}

/* Checks what the options say of the loss. */
static bool check_loss(GlowTraining *t) {
  bool loss = glow_pass_option(t->run, "loss"), from = glow_pass_option(t->run, "from");
  if (loss != from)
    return true;
  return refuse(t, GLOW_NOWHERE,
                loss ? "give one of loss and from"
                     : "there is no loss; give "
                       "loss=SoftmaxCrossEntropyLoss, or from=@value of the function's own",
                "");
}

static bool check_scalar(GlowTraining *t, const GlowValue *loss) {
  if (is_real(loss) && (!glow_pass_option(t->run, "from") || loss->type->rank == 0))
    return true;
  glow_error(t->ctx, glow_value_loc(loss),
             "-train: the loss '%s' is %s, expected a floating-point "
             "number of rank 0",
             loss->name ? loss->name : "_", glow_type_str(t->ctx, loss->type));
  return false;
}

/* Reads accumulate=R, and makes parameters of the inputs. */
static bool begin_slices(GlowTraining *t) {
  bool ok = true;
  t->slices = glow_pass_option_int(t->run, "accumulate", 1, &ok);
  if (!ok)
    return false;
  if (t->slices < 1 || t->slices > INT32_MAX)
    return refuse(t, GLOW_NOWHERE,
                  "accumulate is no number of slices: ", glow_pass_option(t->run, "accumulate"));
  if (t->slices > 1 && t->states.count)
    return refuse(t, t->states.data[0]->src, "accumulate: the function saves @",
                  t->states.data[0]->value.name);
  return t->slices == 1 || glow_training_parameters(t, t->net);
}

/* The function to train: what `entry` names, else the only one that no other calls, but for what is
 * judged. NULL after a diagnostic. */
static GlowFunction *find_net(GlowTraining *t) {
  const char *name = glow_pass_option(t->run, "entry"), *judged = glow_pass_option(t->run, "eval");
  GlowFunctions all = glow_module_entries(t->module, t->run->arena);
  GlowFunction *found = NULL;
  uint32_t count = 0;
  for (uint32_t i = 0; judged && !name && i < all.count; i++)
    if (strcmp(all.data[i]->name, judged) != 0)
      found = all.data[i], count++;
  return count == 1 ? found : glow_module_entry(t->module, name);
}

/* Finds the net and what is judged. */
static bool find_functions(GlowTraining *t) {
  const char *judged = glow_pass_option(t->run, "eval");
  t->net = find_net(t);
  t->judged = judged ? glow_module_entry(t->module, judged) : t->net;
  const GlowFunction *wrong = t->net && t->net->kind != GLOW_FUNC ? t->net : t->judged;
  if (!t->net || !t->judged)
    return false;
  return wrong->kind == GLOW_FUNC ||
         refuse(t, wrong->src, "a program cannot be trained: @", wrong->name);
}

bool glow_pass_train(GlowPassRun *run) {
  GlowTraining t = {.run = run, .ctx = run->ctx, .module = run->module};
  if (!find_functions(&t) || !check_loss(&t) || is_taken(&t, "train") || is_taken(&t, "eval"))
    return false;
  GlowValue *v = loss_value(&t, t.net);
  if (!v || !check_scalar(&t, v) || !choose_weights(&t))
    return false;
  glow_pass_changed(run, NULL, "@%s is trained", t.net->name);
  t.loss = begin_slices(&t) ? build_loss_function(&t, v) : NULL;
  if (t.loss && t.slices > 1 && !glow_training_parameters(&t, t.loss))
    return false;
  const GlowFunction *g = t.loss ? declare_gradient(&t) : NULL;
  return g && build_train(&t, g) && build_eval(&t);
}
