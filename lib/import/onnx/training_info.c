/* Functions beside the one of the model's graph, which share its inputs and initializers.
 *
 * A model that was read for training is read again as for inference, if that differs: func @infer.
 *
 * TrainingInfoProto says how a model is trained. A step of training computes the model's graph and,
 * behind that, the graph `algorithm`, in one scope: so the algorithm reads what the model computes.
 * This becomes func @train (@train.1, ...), beside the model's own function. Its outputs are
 * placeholders; what `update_binding` names is saved into the initializer of that name, which is a
 * variable then. The graph `initialization` computes first values of such variables: each becomes
 * an eval initializer, with what it needs of the graph. Random numbers are drawn there from states
 * that are constants. */
#include "import/onnx/importer.h"
#include "ir/dead.h"

static GlowLoc file_loc(const GlowOnnxImporter *im) {
  return glow_loc_file(im->ctx, im->file.name);
}

/* Gives the scope what the model's own graph has under this name, if that is a storage. */
static void share(GlowOnnxImporter *im, GlowOnnxScope *scope, GlowStr name) {
  GlowValue *v = glow_map_get(im->scope->values, name);
  if (v && !glow_map_get(scope->values, name) &&
      (v == &glow_onnx_failed || v->kind == GLOW_VALUE_STORAGE))
    glow_map_set(scope->values, name, v);
}

/* A scope at the top of `block` with the initializers and inputs of the model's graph. */
static GlowOnnxScope *open_scope(GlowOnnxImporter *im, GlowBlock *block,
                                 const GlowOnnxGraph *model) {
  GlowOnnxScope *scope = glow_onnx_scope(im, NULL);
  scope->block = block;
  scope->region = &im->top;
  scope->opsets = im->scope->opsets;
  GlowWireIter i = {0}, k = {0};
  while (glow_wire_each(&im->file, &model->initializers, &i)) {
    GlowOnnxTensor t;
    glow_wire_read(&im->file, &glow_onnx_msg_tensor, i.span, &t);
    share(im, scope, glow_wire_str(&im->file, t.name));
  }
  while (glow_wire_each(&im->file, &model->inputs, &k)) {
    GlowOnnxValueInfo info;
    glow_wire_read(&im->file, &glow_onnx_msg_value_info, k.span, &info);
    share(im, scope, glow_wire_str(&im->file, info.name));
  }
  return scope;
}

/* Inputs of the graph that are no initializers become placeholders. */
static void make_inputs(GlowOnnxImporter *im, const GlowOnnxOptions *o, GlowOnnxScope *scope,
                        const GlowOnnxGraph *graph) {
  GLOW_VEC(GlowStr) names = {0};
  GLOW_VEC(GlowWireSpan) protos = {0};
  GlowWireIter i = {0};
  while (glow_wire_each(&im->file, &graph->inputs, &i)) {
    GlowOnnxValueInfo info;
    glow_wire_read(&im->file, &glow_onnx_msg_value_info, i.span, &info);
    GlowStr name = glow_wire_str(&im->file, info.name);
    if (glow_map_get(scope->values, name))
      continue;
    glow_vec_push(im->arena, &names, name);
    glow_vec_push(im->arena, &protos, info.type);
  }
  const GlowType **types = GLOW_NEW_ARRAY(im->arena, const GlowType *, names.count + 1);
  glow_onnx_input_types(im, o, names.data, protos.data, names.count, types);
  for (uint32_t k = 0; k < names.count; k++) {
    GlowValue *v = &glow_onnx_failed;
    if (types[k])
      v = &glow_storage_create(im->m, GLOW_PLACEHOLDER, names.data[k], types[k], (GlowInit){0})
               ->value;
    glow_onnx_define(im, scope, names.data[k], v, file_loc(im));
  }
}

/* The variable that a binding writes: an initializer. NULL after a diagnostic. */
static GlowStorage *bound_variable(GlowOnnxImporter *im, const GlowOnnxScope *scope, GlowStr name,
                                   const char *what) {
  GlowValue *v = glow_map_get(scope->values, name);
  if (v == &glow_onnx_failed)
    return NULL;
  if (v && v->kind == GLOW_VALUE_STORAGE && v->def.storage->cls != GLOW_PLACEHOLDER)
    return v->def.storage;
  glow_error(im->ctx, file_loc(im), "%s names '%s', which is no initializer", what, name);
  return NULL;
}

/* The value that a binding reads. NULL after a diagnostic. */
static GlowValue *bound_value(GlowOnnxImporter *im, const GlowOnnxScope *scope, GlowStr name,
                              const char *what) {
  GlowValue *v = glow_map_get(scope->values, name);
  if (!v)
    glow_error(im->ctx, file_loc(im), "%s names '%s', which is not computed", what, name);
  return v == &glow_onnx_failed ? NULL : v;
}

static void save(GlowBuilder *b, GlowValue *v, GlowStorage *s) {
  glow_build(b, GLOW_OP_SAVE, (GlowValue *[]){v, &s->value}, 2, NULL, NULL);
}

/* Saves what update_binding says; `saved` gets the names of the values. */
static void save_updates(GlowOnnxImporter *im, GlowOnnxScope *scope, const GlowWireList *bindings,
                         GlowMap *saved) {
  GlowBuilder b = glow_builder_at_end(scope->block);
  GlowWireIter i = {0};
  while (glow_wire_each(&im->file, bindings, &i)) {
    GlowOnnxEntry e;
    glow_wire_read(&im->file, &glow_onnx_msg_entry, i.span, &e);
    GlowStr name = glow_wire_str(&im->file, e.value);
    GlowStorage *s = bound_variable(im, scope, glow_wire_str(&im->file, e.key), "update_binding");
    GlowValue *v = s ? bound_value(im, scope, name, "update_binding") : NULL;
    if (!v)
      continue;
    s->cls = GLOW_VARIABLE;
    save(&b, v, s);
    glow_map_set(saved, name, im);
  }
}

/* The other outputs of the algorithm are placeholders. */
static void make_outputs(GlowOnnxImporter *im, GlowOnnxScope *scope, const GlowOnnxGraph *graph,
                         const GlowMap *saved) {
  GlowBuilder b = glow_builder_at_end(scope->block);
  GlowWireIter i = {0};
  while (glow_wire_each(&im->file, &graph->outputs, &i)) {
    GlowOnnxValueInfo info;
    glow_wire_read(&im->file, &glow_onnx_msg_value_info, i.span, &info);
    GlowStr name = glow_wire_str(&im->file, info.name);
    GlowValue *v = glow_map_get(saved, name) ? NULL : bound_value(im, scope, name, "an output");
    if (v)
      save(&b, v, glow_storage_create(im->m, GLOW_PLACEHOLDER, name, v->type, (GlowInit){0}));
  }
}

/* ---- Inference ------------------------------------------------------------------------------- */

/* Saves outputs of the scope where the function `like` saves them. */
static void save_alike(GlowOnnxImporter *im, const GlowOnnxScope *scope, const GlowFunction *like,
                       const GlowWireList *outputs) {
  GlowBuilder b = glow_builder_at_end(scope->block);
  GlowNode *n = like->body->first;
  GlowWireIter i = {0};
  while (glow_wire_each(&im->file, outputs, &i)) {
    GlowOnnxValueInfo info;
    glow_wire_read(&im->file, &glow_onnx_msg_value_info, i.span, &info);
    GlowValue *v = glow_map_get(scope->values, glow_wire_str(&im->file, info.name));
    while (n && n->op != GLOW_OP_SAVE)
      n = n->next;
    if (!n || !v || v == &glow_onnx_failed)
      return;
    save(&b, v, glow_node_in(n, GLOW_SAVE_IN_STORAGE)->def.storage);
    n = n->next;
  }
}

void glow_onnx_inference_form(GlowOnnxImporter *im) {
  GlowOnnxGraph model;
  const GlowFunction *main = im->func;
  glow_wire_read(&im->file, &glow_onnx_msg_graph, im->model.graph, &model);
  im->training = false;
  im->func = glow_function_create(im->m, GLOW_FUNC, glow_str(im->ctx, "infer"));
  im->top = (GlowOnnxRegion){0};
  GlowOnnxScope *scope = open_scope(im, im->func->body, &model);
  glow_onnx_nodes(im, scope, &model.nodes);
  save_alike(im, scope, main, &model.outputs);
  glow_onnx_save_states(im);
}

/* ---- Initialization -------------------------------------------------------------------------- */

/* What is drawn in an initializer is drawn once: nothing changes the states. Those that nothing
 * reads go. */
static void keep_states(GlowOnnxImporter *im, GlowBlock *block) {
  glow_remove_unneeded(block);
  for (uint32_t i = 0; i < im->top.states.count; i++) {
    GlowStorage *state = im->top.states.data[i].variable;
    state->cls = GLOW_CONSTANT;
    if (!state->value.uses)
      glow_storage_remove(state);
  }
  im->top.states.count = 0;
}

/* The variable begins with the value `name` of the graph. The nodes are read for each such value,
 * so those that draw without a seed begin with the same one each time. */
static void initialize(GlowOnnxImporter *im, const GlowOnnxGraph *model, const GlowOnnxGraph *graph,
                       GlowStorage *s, GlowStr name) {
  GlowBlock *block = glow_block_create(im->m, GLOW_LEVEL_GRAPH, NULL, NULL);
  block->owner = GLOW_BLOCK_EVAL;
  block->of.storage = s;
  GlowOnnxScope *scope = open_scope(im, block, model);
  glow_onnx_initializers(im, scope, graph);
  const uint64_t drawn = im->nrandom;
  glow_onnx_nodes(im, scope, &graph->nodes);
  im->nrandom = drawn;
  GlowValue *v = bound_value(im, scope, name, "initialization_binding");
  if (!v || !glow_build_terminator(block, GLOW_OP_YIELD, &v, 1))
    return;
  keep_states(im, block);
  s->init = (GlowInit){.kind = GLOW_INIT_EVAL, .eval = block};
  glow_storage_move(s, NULL); /* behind the constants that the block reads */
}

static void read_initialization(GlowOnnxImporter *im, const GlowOnnxGraph *model,
                                const GlowOnnxScope *scope, const GlowOnnxTrainingInfo *info) {
  GlowOnnxGraph graph;
  GlowWireIter i = {0};
  if (!info->initialization.at)
    return;
  glow_wire_read(&im->file, &glow_onnx_msg_graph, info->initialization, &graph);
  glow_onnx_survey(im, im->scope->opsets, &graph.nodes, im->scope->prefix);
  while (!im->ctx->too_many_errors &&
         glow_wire_each(&im->file, &info->initialization_binding, &i)) {
    GlowOnnxEntry e;
    glow_wire_read(&im->file, &glow_onnx_msg_entry, i.span, &e);
    GlowStorage *s =
        bound_variable(im, scope, glow_wire_str(&im->file, e.key), "initialization_binding");
    if (s)
      initialize(im, model, &graph, s, glow_wire_str(&im->file, e.value));
  }
}

/* ---- Steps ----------------------------------------------------------------------------------- */

static void read_step(GlowOnnxImporter *im, const GlowOnnxOptions *o, const GlowOnnxGraph *model,
                      const GlowOnnxTrainingInfo *info) {
  GlowOnnxGraph algorithm = {0};
  if (info->algorithm.at)
    glow_wire_read(&im->file, &glow_onnx_msg_graph, info->algorithm, &algorithm);
  im->func = glow_function_create(im->m, GLOW_FUNC, glow_str(im->ctx, "train"));
  im->top = (GlowOnnxRegion){0};
  im->claims = NULL;
  glow_onnx_survey(im, im->scope->opsets, &algorithm.nodes, im->scope->prefix);
  GlowOnnxScope *scope = open_scope(im, im->func->body, model);
  glow_onnx_initializers(im, scope, &algorithm);
  make_inputs(im, o, scope, &algorithm);
  glow_onnx_nodes(im, scope, &model->nodes);
  glow_onnx_nodes(im, scope, &algorithm.nodes);
  GlowMap *saved = glow_map_create(im->arena);
  save_updates(im, scope, &info->update_binding, saved);
  make_outputs(im, scope, &algorithm, saved);
  glow_onnx_save_states(im);
  im->top = (GlowOnnxRegion){0};
  read_initialization(im, model, scope, info);
}

void glow_onnx_training_info(GlowOnnxImporter *im, const GlowOnnxOptions *o) {
  GlowOnnxGraph model;
  GlowWireIter i = {0};
  glow_wire_read(&im->file, &glow_onnx_msg_graph, im->model.graph, &model);
  while (!im->ctx->too_many_errors && glow_wire_each(&im->file, &im->model.training_info, &i)) {
    GlowOnnxTrainingInfo info;
    glow_wire_read(&im->file, &glow_onnx_msg_training_info, i.span, &info);
    read_step(im, o, &model, &info);
  }
}
