/* Evaluates eval constants with the interpreter. Their values become payload, which travels with
 * the text; with file=F.safetensors, they go into a new file, to which the constants refer. Small
 * constants and strings become lists. The file is written when the whole pipeline has succeeded.
 * Constants that were only read by eval constants are left to -dce. */
#include "backend/interp/interp.h"
#include "pass/pass.h"
#include "tensor/blob.h"
#include "transforms/transforms.h"

static void drop_eval(GlowStorage *s) {
  GlowBlock *b = s->init.eval;
  while (b->last)
    glow_node_remove(b->last);
}

static bool materialize(GlowPassRun *run, GlowValues *values, GlowStorage *s, GlowStr file) {
  const GlowTensor *value = glow_values_get(values, s);
  if (!value)
    return false;
  value = glow_tensor_in_arena(run->ctx->arena, value);
  drop_eval(s);
  if (value->bytes <= GLOW_MAX_INLINE_BYTES || value->type->kind == GLOW_KIND_STRING)
    s->init = (GlowInit){.kind = GLOW_INIT_LIST, .tensor = value};
  else
    s->init = (GlowInit){.kind = file ? GLOW_INIT_RESOURCE : GLOW_INIT_PAYLOAD,
                         .tensor = value,
                         .file = file,
                         .key = s->value.name};
  glow_values_forget(values, s);
  glow_pass_changed(run, NULL, "evaluated @%s", s->value.name);
  return true;
}

bool glow_pass_materialize(GlowPassRun *run) {
  const char *path = glow_pass_option(run, "file");
  GlowStr file = path ? glow_path_absolute(run->ctx, path) : NULL;
  GLOW_VEC(GlowNamedTensor) tensors = {0};
  GlowDefer defer;
  GlowValues *values = glow_values_create(run->module);
  glow_defer_push(run->ctx, &defer, glow_values_destroy_fn, values);
  bool ok = true;
  for (GlowStorage *s = run->module->first_storage; s && ok; s = s->next) {
    if (s->init.kind != GLOW_INIT_EVAL)
      continue;
    ok = materialize(run, values, s, file);
    GlowNamedTensor named = {s->value.name, s->init.tensor};
    if (ok && s->init.kind != GLOW_INIT_LIST)
      glow_vec_push(run->arena, &tensors, named);
  }
  glow_defer_pop(run->ctx, &defer, true);
  if (!ok)
    return false;
  if (file)
    glow_safetensors_write(glow_pass_side_file(run, file), tensors.data, tensors.count);
  return !run->changes || glow_reinfer_module(run->module); /* inference reads values */
}
