/* The printer: canonical text. The text parses back to the same module, and printing that module
 * gives the same bytes again.
 *
 * One node stands on a line, indented by two spaces for each level; its regions stand on the lines
 * below. Members stand in the order of their declaration; members with their default are left out.
 * Types are always printed. */
#include "ir/print_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/file.h"

/* ---- Names ----------------------------------------------------------------------------------- */
static bool is_plain(GlowStr name) {
  if (!*name)
    return false;
  for (const char *p = name; *p; p++) {
    char c = *p;
    bool plain = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                 c == '_' || c == '.' || c == '$' || c == '/' || c == '-';
    if (!plain)
      return false;
  }
  return true;
}

void glow_print_name(GlowText *out, char sigil, GlowStr name) {
  bool reserved =
      sigil == '@' && (!strcmp(name, "in") || !strcmp(name, "out") || !strcmp(name, "inout"));
  glow_text_putc(out, sigil);
  if (is_plain(name) && !reserved)
    glow_text_bytes(out, name, glow_str_length(name));
  else
    glow_text_quoted(out, name, glow_str_length(name));
}

static void print_string(GlowText *out, GlowStr s) {
  glow_text_quoted(out, s ? s : "", s ? glow_str_length(s) : 0);
}

static void print_value(GlowText *out, const GlowValue *v) {
  if (!v)
    glow_text_puts(out, "none");
  else if (v->name)
    glow_print_name(out, v->kind == GLOW_VALUE_STORAGE ? '@' : '%', v->name);
  else
    glow_text_putc(out, '_');
}

static void print_result(GlowText *out, const GlowValue *v) {
  if (v->name)
    glow_print_name(out, '%', v->name);
  else
    glow_text_putc(out, '_');
}

static void indent(GlowText *out, uint32_t depth) {
  for (uint32_t i = 0; i < depth; i++)
    glow_text_puts(out, "  ");
}

/* ---- Members --------------------------------------------------------------------------------- */
void glow_print_scalar(GlowText *out, const GlowScalar *v, bool single) {
  char buf[64];
  size_t n;
  if (v->is_int && v->i < 0 && v->f > 0) /* a u64 beyond i64 */
    n = (size_t)snprintf(buf, sizeof buf, "%llu", (unsigned long long)(uint64_t)v->i);
  else if (v->is_int)
    n = (size_t)snprintf(buf, sizeof buf, "%lld", (long long)v->i);
  else
    n = single ? glow_format_float(buf, (float)v->f) : glow_format_double(buf, v->f);
  glow_text_bytes(out, buf, n);
}

static void print_item(GlowText *out, const GlowMember *m, const void *item) {
  char buf[64];
  switch ((GlowMemberType)m->type) {
  case GLOW_MEMBER_BOOL:
    glow_text_puts(out, *(const bool *)item ? "true" : "false");
    return;
  case GLOW_MEMBER_U32:
    glow_text_bytes(out, buf, (size_t)snprintf(buf, sizeof buf, "%u", *(const uint32_t *)item));
    return;
  case GLOW_MEMBER_I64:
    glow_text_bytes(out, buf,
                    (size_t)snprintf(buf, sizeof buf, "%lld", (long long)*(const int64_t *)item));
    return;
  case GLOW_MEMBER_FLOAT:
    glow_text_bytes(out, buf, glow_format_float(buf, *(const float *)item));
    return;
  case GLOW_MEMBER_STR:
    print_string(out, *(const GlowStr *)item);
    return;
  case GLOW_MEMBER_KIND:
    glow_text_puts(out, glow_kind_info[*(const GlowKind *)item].name);
    return;
  case GLOW_MEMBER_TYPE:
    if (*(const GlowType *const *)item)
      glow_type_print(out, *(const GlowType *const *)item);
    else
      glow_text_puts(out, "none");
    return;
  case GLOW_MEMBER_SYMBOL:
    glow_print_name(out, '@', *(const GlowStr *)item ? *(const GlowStr *)item : "");
    return;
  case GLOW_MEMBER_SCALAR:
    glow_print_scalar(out, item, false);
    return;
  case GLOW_MEMBER_SIZE: {
    const GlowSize *size = item;
    if (size->extent)
      glow_text_printf(out, "$%s", size->extent->symbol);
    else
      glow_text_printf(out, "%lld", (long long)size->size);
    return;
  }
  case GLOW_MEMBER_ENUM:
    glow_text_puts(out, m->enumeration->values[*(const int *)item]);
    return;
  }
}

static void print_member_value(GlowText *out, const GlowMember *m, const void *members) {
  const void *field = (const char *)members + m->offset;
  if (!m->array) {
    print_item(out, m, field);
    return;
  }
  const GlowArray *array = field;
  glow_text_putc(out, '[');
  for (uint32_t i = 0; i < array->count; i++) {
    if (i)
      glow_text_puts(out, ", ");
    print_item(out, m, (const char *)array->data + i * glow_member_size(m));
  }
  glow_text_putc(out, ']');
}

static void print_member(GlowText *out, const GlowMember *m, const void *members) {
  glow_text_printf(out, "%s = ", m->name);
  print_member_value(out, m, members);
}

bool glow_node_print_member(GlowText *out, const GlowNode *n, const char *name) {
  const GlowOpDesc *d = glow_node_desc(n);
  bool instr = glow_node_is_instr(n);
  if (instr && glow_op_has_shards(d) && strcmp(name, "shards") == 0) {
    glow_text_printf(out, "%u", n->shards);
    return true;
  }
  const GlowMember *m = glow_op_member(d, name);
  if (!m || (m->instr_only && !instr))
    return false;
  print_member_value(out, m, n->members);
  return true;
}

static void print_members(GlowText *out, const GlowNode *n, bool instr) {
  const GlowOpDesc *d = glow_node_desc(n);
  const char *before = " {";
  for (uint32_t i = 0; i < d->nmembers; i++) {
    const GlowMember *m = &d->members[i];
    if ((m->instr_only && !instr) || glow_member_is_default(m, n->members))
      continue;
    glow_text_puts(out, before);
    print_member(out, m, n->members);
    before = ", ";
  }
  if (n->shards) {
    glow_text_printf(out, "%sshards = %u", before, n->shards);
    before = ", ";
  }
  if (*before == ',')
    glow_text_putc(out, '}');
}

void glow_node_print_members(GlowText *out, const GlowNode *n) {
  print_members(out, n, glow_node_is_instr(n));
}

/* ---- Nodes ----------------------------------------------------------------------------------- */
static void print_operands(GlowText *out, const GlowNode *n) {
  static const char *const qualifiers[] = {"", "@in ", "@out ", "@inout "};
  for (uint32_t i = 0; i < n->noperands; i++) {
    if (i)
      glow_text_puts(out, ", ");
    glow_text_puts(out, qualifiers[n->operands[i].qual]);
    print_value(out, n->operands[i].value);
  }
}

static void print_results(GlowText *out, const GlowNode *n) {
  for (uint32_t i = 0; i < n->nresults; i++) {
    if (i)
      glow_text_puts(out, ", ");
    print_result(out, &n->results[i]);
  }
  if (n->nresults)
    glow_text_puts(out, " = ");
}

static void print_types(GlowText *out, const GlowNode *n) {
  for (uint32_t i = 0; i < n->nresults; i++) {
    glow_text_puts(out, i ? ", " : " : ");
    glow_type_print(out, n->results[i].type);
  }
}

static void print_origin(GlowText *out, const GlowOrigin *o) {
  if (!o)
    return;
  glow_text_puts(out, " loc(");
  print_string(out, o->file);
  if (o->name) {
    glow_text_putc(out, ':');
    print_string(out, o->name);
    glow_text_putc(out, ')');
  } else {
    glow_text_printf(out, ":%u:%u)", o->line, o->col);
  }
}

/* `%x = Op(%a) {...} : types`, without the parts that may follow any statement. */
static void print_plain(GlowText *out, const GlowNode *n) {
  const GlowOpDesc *d = glow_node_desc(n);
  print_results(out, n);
  glow_text_puts(out, d->node);
  glow_text_putc(out, '(');
  print_operands(out, n);
  glow_text_putc(out, ')');
  print_members(out, n, false);
  print_types(out, n);
}

static void print_instr(GlowText *out, const GlowNode *n) {
  const GlowOpDesc *d = glow_node_desc(n);
  print_results(out, n);
  glow_text_puts(out, d->instr);
  if (n->op == GLOW_OP_ALLOC) {
    int64_t at = ((const GlowAllocMembers *)n->members)->at;
    glow_text_putc(out, ' ');
    glow_type_print(out, n->results[0].type);
    if (at >= 0)
      glow_text_printf(out, " at %lld", (long long)at);
    return;
  }
  if (n->noperands)
    glow_text_putc(out, ' ');
  print_operands(out, n);
  print_members(out, n, true);
  print_types(out, n);
}

void glow_node_print(GlowText *out, const GlowNode *n) {
  const GlowOpDesc *d = glow_node_desc(n);
  if (GLOW_HAS(d, TERMINATOR)) {
    glow_text_puts(out, n->op == GLOW_OP_RETURN ? "return" : "yield");
    if (n->noperands)
      glow_text_putc(out, ' ');
    print_operands(out, n);
  } else if (glow_node_is_instr(n)) {
    print_instr(out, n);
  } else {
    print_plain(out, n);
  }
  if (n->pred.value) {
    glow_text_puts(out, " pred ");
    print_value(out, n->pred.value);
  }
}

static void print_statement(GlowText *out, const GlowNode *n) {
  glow_node_print(out, n);
  print_origin(out, n->origin);
}

static void print_params(GlowText *out, const GlowBlock *b) {
  glow_text_putc(out, '(');
  for (uint32_t i = 0; i < b->nparams; i++) {
    if (i)
      glow_text_puts(out, ", ");
    glow_print_name(out, '%', b->params[i]->name);
    glow_text_puts(out, " : ");
    glow_type_print(out, b->params[i]->type);
  }
  glow_text_putc(out, ')');
}

static void print_block(GlowText *out, const GlowBlock *b, uint32_t depth);

static void print_regions(GlowText *out, const GlowNode *n, uint32_t depth) {
  for (uint32_t i = 0; i < n->nregions; i++) {
    const GlowBlock *b = n->regions[i];
    if (!b)
      continue;
    glow_text_putc(out, '\n');
    indent(out, depth);
    glow_text_printf(out, "^%s", b->label);
    if (b->nparams || b->scalar)
      print_params(out, b);
    glow_text_puts(out, b->scalar ? " = " : " ");
    print_block(out, b, depth);
  }
}

static void print_block(GlowText *out, const GlowBlock *b, uint32_t depth) {
  glow_text_puts(out, "{\n");
  for (const GlowNode *n = b->first; n; n = n->next) {
    indent(out, depth + 1);
    print_statement(out, n);
    print_regions(out, n, depth + 2);
    glow_text_putc(out, '\n');
  }
  indent(out, depth);
  glow_text_putc(out, '}');
}

/* ---- Storage --------------------------------------------------------------------------------- */
static void print_random(GlowText *out, const GlowRandom *r) {
  char a[64], b[64];
  switch (r->kind) {
  case GLOW_RANDOM_XAVIER:
    a[glow_format_double(a, r->fan)] = '\0';
    glow_text_printf(out, "random {kind = xavier, fan = %s, ", a);
    break;
  case GLOW_RANDOM_UNIFORM:
    a[glow_format_double(a, r->low)] = b[glow_format_double(b, r->high)] = '\0';
    glow_text_printf(out, "random {kind = uniform, low = %s, high = %s, ", a, b);
    break;
  case GLOW_RANDOM_NORMAL:
    a[glow_format_double(a, r->mean)] = b[glow_format_double(b, r->scale)] = '\0';
    glow_text_printf(out, "random {kind = normal, mean = %s, scale = %s, ", a, b);
    break;
  }
  glow_text_printf(out, "seed = %llu}", (unsigned long long)r->seed);
}

static void print_splat(GlowText *out, const GlowStorage *s) {
  GlowKind k = s->value.type->kind;
  bool nan_of_float = k != GLOW_KIND_DOUBLE && isnan(s->init.splat.f);
  glow_text_puts(out, "splat(");
  if (k == GLOW_KIND_BOOL)
    glow_text_puts(out, s->init.splat.i ? "true" : "false");
  else
    glow_print_scalar(out, &s->init.splat, k == GLOW_KIND_FLOAT || nan_of_float);
  glow_text_putc(out, ')');
}

static void print_resource(GlowText *out, const GlowModule *m, const GlowInit *init,
                           const GlowPrintOptions *o) {
  GlowStr path = init->file;
  if (o->relative_to)
    path = glow_path_relative(m->ctx, glow_path_join(m->ctx, m->path_dir, path), o->relative_to);
  glow_text_puts(out, "resource(");
  print_string(out, path);
  glow_text_puts(out, ", ");
  print_string(out, init->key);
  glow_text_putc(out, ')');
}

static void print_init(GlowText *out, const GlowStorage *s, const GlowPrintOptions *o) {
  const GlowInit *init = &s->init;
  bool elide = o->elide_constants && glow_init_is_elided(init);
  switch (elide ? GLOW_INIT_ELIDED : init->kind) {
  case GLOW_INIT_NONE:
    return;
  case GLOW_INIT_SPLAT:
    print_splat(out, s);
    return;
  case GLOW_INIT_LIST:
    glow_tensor_print(out, init->tensor);
    return;
  case GLOW_INIT_RANDOM:
    print_random(out, &init->random);
    return;
  case GLOW_INIT_RESOURCE:
    print_resource(out, s->module, init, o);
    return;
  case GLOW_INIT_EVAL:
    glow_text_puts(out, "eval ");
    print_block(out, init->eval, 1);
    return;
  case GLOW_INIT_PAYLOAD:
    glow_text_puts(out, "payload(");
    print_string(out, init->key);
    glow_text_putc(out, ')');
    return;
  case GLOW_INIT_ELIDED:
    glow_text_puts(out, "elided");
    return;
  }
}

static void print_storage(GlowText *out, const GlowStorage *s, const GlowPrintOptions *o) {
  static const char *const classes[] = {"placeholder ", "variable ", "constant "};
  glow_text_puts(out, "  ");
  glow_text_puts(out, classes[s->cls]);
  glow_print_name(out, '@', s->value.name);
  glow_text_puts(out, " : ");
  glow_type_print(out, s->value.type);
  if (s->init.kind != GLOW_INIT_NONE) {
    glow_text_puts(out, " = ");
    print_init(out, s, o);
  }
  print_origin(out, s->origin);
  glow_text_putc(out, '\n');
}

/* ---- Functions ------------------------------------------------------------------------------- */
static void print_function_results(GlowText *out, const GlowFunction *f) {
  GlowArena *arena = glow_arena_create(f->module->ctx);
  const GlowStr *names =
      glow_function_shows_result_names(f) ? glow_function_result_names(f, arena) : NULL;
  glow_text_puts(out, " -> (");
  for (uint32_t i = 0; i < f->nresults; i++) {
    if (i)
      glow_text_puts(out, ", ");
    if (names) {
      glow_print_name(out, '%', names[i]);
      glow_text_puts(out, " : ");
    }
    glow_type_print(out, f->results[i]);
  }
  glow_text_putc(out, ')');
  glow_arena_destroy(arena);
}

static void print_with(GlowText *out, const GlowFunction *f) {
  const char *before = " with {";
  if (f->arena >= 0) {
    glow_text_printf(out, "%sarena = %lld", before, (long long)f->arena);
    before = ", ";
  }
  if (f->align >= 0) {
    glow_text_printf(out, "%salign = %lld", before, (long long)f->align);
    before = ", ";
  }
  if (f->device) {
    glow_text_printf(out, "%sdevice = ", before);
    print_string(out, f->device);
    before = ", ";
  }
  if (f->inline_always) {
    glow_text_printf(out, "%sinline = true", before);
    before = ", ";
  }
  if (*before == ',')
    glow_text_putc(out, '}');
}

static void print_refs(GlowText *out, const char *clause, const GlowGradientRef *refs,
                       uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    glow_text_puts(out, i ? ", " : clause);
    if (refs[i].name)
      glow_print_name(out, refs[i].is_storage ? '@' : '%', refs[i].name);
    else
      glow_text_printf(out, "%u", refs[i].index);
  }
}

static void print_gradient(GlowText *out, const GlowFunction *f) {
  glow_text_puts(out, " of ");
  glow_print_name(out, '@', f->primal);
  print_refs(out, " from ", f->from, f->nfrom);
  print_refs(out, " wrt ", f->wrt, f->nwrt);
  print_refs(out, " keeping ", f->keeping, f->nkeeping);
  if (f->seedable)
    glow_text_puts(out, " seedable");
  if (f->forward)
    glow_text_puts(out, " forward");
}

void glow_function_print_head(GlowText *out, const GlowFunction *f) {
  static const char *const kinds[] = {"func ", "program ", "gradient "};
  glow_text_puts(out, kinds[f->kind]);
  glow_print_name(out, '@', f->name);
  if (f->body->nparams || (f->has_results && f->kind != GLOW_GRADIENT))
    print_params(out, f->body);
  if (f->has_results)
    print_function_results(out, f);
  if (f->kind == GLOW_GRADIENT)
    print_gradient(out, f);
  else
    print_with(out, f);
}

static void print_function(GlowText *out, const GlowFunction *f) {
  glow_function_print_head(out, f);
  if (f->kind != GLOW_GRADIENT) {
    glow_text_putc(out, ' ');
    print_block(out, f->body, 0);
  }
  glow_text_putc(out, '\n');
}

/* ---- Modules --------------------------------------------------------------------------------- */
static bool has_resources(const GlowModule *m) {
  for (const GlowStorage *s = m->first_storage; s; s = s->next)
    if (s->init.kind == GLOW_INIT_RESOURCE)
      return true;
  return false;
}

static const char *header_string(GlowText *out, const char *before, const char *key, GlowStr s) {
  if (!s)
    return before;
  glow_text_printf(out, "%s%s = ", before, key);
  print_string(out, s);
  return ", ";
}

static void print_header(GlowText *out, const GlowModule *m, const GlowPrintOptions *o) {
  GlowStr base =
      !o->relative_to && has_resources(m) ? glow_path_absolute(m->ctx, m->path_dir) : NULL;
  if (!m->name && m->version < 0 && !m->target && !base && !m->producer)
    return;
  glow_text_puts(out, "module");
  if (m->name) {
    glow_text_putc(out, ' ');
    print_string(out, m->name);
  }
  const char *before = " {";
  if (m->version >= 0) {
    glow_text_printf(out, "%sversion = %lld", before, (long long)m->version);
    before = ", ";
  }
  before = header_string(out, before, "target", m->target);
  before = header_string(out, before, "base", base);
  before = header_string(out, before, "producer", m->producer);
  if (*before == ',')
    glow_text_putc(out, '}');
  glow_text_putc(out, '\n');
}

static void print_extents(GlowText *out, const GlowModule *m) {
  GlowArena *arena = glow_arena_create(m->ctx);
  GlowExtents all = glow_module_extents(m, arena);
  for (uint32_t i = 0; i < all.count; i++) {
    const GlowExtent *e = all.data[i];
    glow_text_printf(out, "  extent $%s%s%s : %s\n", e->symbol, e->form ? " = " : "",
                     e->form ? e->text : "", glow_extent_str(m->ctx, e));
  }
  glow_arena_destroy(arena);
}

void glow_module_print(const GlowModule *m, GlowText *out, const GlowPrintOptions *options) {
  static const GlowPrintOptions plain = {0};
  const GlowPrintOptions *o = options ? options : &plain;
  size_t before = out->size;
  if (m->elided || (o->elide_constants && glow_module_elides(m)))
    glow_text_puts(out, "; Constants are elided: this text is for reading and cannot be run.\n");
  if (!o->shows)
    print_header(out, m, o);
  if ((m->first_storage || m->extents.count) && !o->shows) {
    glow_text_puts(out, "declare {\n");
    print_extents(out, m);
    for (const GlowStorage *s = m->first_storage; s; s = s->next)
      print_storage(out, s, o);
    glow_text_puts(out, "}\n");
  }
  for (const GlowFunction *f = m->first_function; f; f = f->next)
    if (!o->shows || o->shows(f, o->user))
      print_function(out, f);
  if (o->shows)
    return;
  if (out->size == before)
    glow_text_puts(out, "declare {\n}\n");
  if (!o->elide_constants && glow_module_has_payload(m))
    glow_print_payload(out, m, o->no_payload);
}
