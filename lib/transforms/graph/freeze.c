/* Variables become constants, which passes fold and pack.
 *
 *   -freeze='state=digits.safetensors'   with the values of a checkpoint, to which they refer
 *   -freeze                              with the values that they begin with
 *
 * All variables of floating point are frozen, so a function that saves one of them is refused. The
 * file may have entries for more. What it lacks, or has with another type, is listed as a whole. */
#include "pass/pass.h"
#include "support/file.h"
#include "tensor/blob.h"
#include "transforms/transforms.h"

/* The function that saves into s, or NULL. */
static const GlowFunction *writer_of(const GlowStorage *s) {
  for (const GlowUse *u = s->value.uses; u; u = u->next)
    if (u->user->op == GLOW_OP_SAVE && u == &u->user->operands[GLOW_SAVE_IN_STORAGE])
      return glow_block_function(u->user->block);
  return NULL;
}

/* The value of s in the blob; NULL after a diagnostic. */
static const GlowTensor *read_entry(GlowPassRun *run, const GlowBlob *blob, const GlowStorage *s,
                                    const char *path) {
  GlowContext *ctx = run->ctx;
  const GlowBlobEntry *e = glow_blob_find(blob, s->value.name);
  if (!e) {
    glow_error(ctx, s->src, "-freeze: there is no '%s' in %s", s->value.name, path);
    return NULL;
  }
  const GlowType *found = glow_type_exact(ctx, e->kind, e->rank, e->dims);
  if (found != glow_type_in_file(ctx, s->value.type)) {
    glow_error(ctx, s->src, "-freeze: '%s' in %s is %s, but the variable is %s", s->value.name,
               path, glow_type_str(ctx, found), glow_type_str(ctx, s->value.type));
    return NULL;
  }
  GlowTensor *t = GLOW_NEW(ctx->arena, GlowTensor);
  *t = (GlowTensor){.type = s->value.type, .data = (void *)(uintptr_t)e->data, .bytes = e->bytes};
  return t;
}

static bool check(GlowPassRun *run, const GlowStorage *s) {
  const GlowFunction *f = writer_of(s);
  if (f)
    glow_error(run->ctx, s->src, "-freeze: @%s saves the variable @%s, so it cannot be a constant",
               f->name, s->value.name);
  return !f;
}

bool glow_pass_freeze(GlowPassRun *run) {
  const char *path = glow_pass_option(run, "state");
  GlowStr file = path ? glow_path_absolute(run->ctx, path) : NULL;
  const GlowBlob *blob = file ? glow_blob_open(run->ctx, file, GLOW_NOWHERE) : NULL;
  GLOW_VEC(GlowStorage *) variables = {0};
  GLOW_VEC(const GlowTensor *) values = {0};
  bool ok = blob || !file;
  for (GlowStorage *s = run->module->first_storage; s && (blob || !file); s = s->next) {
    if (s->cls != GLOW_VARIABLE || !glow_type_is_tensor(s->value.type) ||
        !glow_kind_is_float(s->value.type->kind))
      continue;
    const GlowTensor *value = blob ? read_entry(run, blob, s, path) : NULL;
    ok = check(run, s) && (value || !blob) && ok;
    glow_vec_push(run->arena, &variables, s);
    glow_vec_push(run->arena, &values, value);
  }
  for (uint32_t i = 0; ok && i < variables.count; i++) {
    GlowStorage *s = variables.data[i];
    glow_pass_changed(run, NULL, "@%s is a constant", s->value.name);
    s->cls = GLOW_CONSTANT;
    if (values.data[i])
      s->init = (GlowInit){
          .kind = GLOW_INIT_RESOURCE, .tensor = values.data[i], .file = file, .key = s->value.name};
  }
  return ok && (!run->changes || glow_reinfer_module(run->module));
}
