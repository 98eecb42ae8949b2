/* Resolves the names in the kernel table and enforces its rules, as check.c does for operators; and
 * finds out which tiles a machine has. */
#include "tblgen.h"

#include <ctype.h>
#include <stdlib.h>

enum { MOST_SIZES = 4, LARGEST_SIZE = 32, MOST_OPERANDS = 9, MOST_DIGITS = 9, MOST_LAYOUTS = 3 };

const Machine machines[] = {
#define ISA(id, name, triple, cpu, march, ref, base, arch, vl, pixels, vectors, ...)               \
  {#id, #base, name, vl, pixels, vectors},
#include "kernels/isa.def"
#undef ISA
};
const size_t nmachines = sizeof machines / sizeof *machines;

/* ---- Names ----------------------------------------------------------------------------------- */

/* Reports a name that is none of what there is. */
#define UNKNOWN(file, n, what, rows)                                                               \
  do {                                                                                             \
    GLOW_VEC(const char *) all_ = {0};                                                             \
    for (uint32_t i_ = 0; i_ < (rows)->count; i_++)                                                \
      glow_vec_push((file)->arena, &all_, (rows)->data[i_]->name.text);                            \
    glow_error((file)->ctx, (n).loc, "unknown %s '%s'%s", what, (n).text,                          \
               did_you_mean((file)->ctx, (n).text, all_.data, all_.count));                        \
  } while (0)

/* The row of that name among the first `count`, or NULL. */
#define FIND(rows, n, found)                                                                       \
  for (uint32_t i_ = 0; i_ < (rows)->count && !(found); i_++)                                      \
  found = (rows)->data[i_]->name.text == (n).text ? (rows)->data[i_] : NULL

#define CHECK_TWICE(file, rows, i)                                                                 \
  for (uint32_t k_ = 0; k_ < (i); k_++)                                                            \
    if ((rows)->data[k_]->name.text == (rows)->data[i]->name.text)                                 \
  glow_error((file)->ctx, (rows)->data[i]->name.loc, "'%s' is declared twice",                     \
             (rows)->data[i]->name.text)

static bool is_integer(Name n) { return n.text[0] >= '0' && n.text[0] <= '9'; }

static const NumberDecl *find_number(const OpFile *file, Name n) {
  const NumberDecl *found = NULL;
  FIND(&file->numbers, n, found);
  return found;
}

int64_t number_value(const OpFile *file, Name n) {
  const NumberDecl *d = is_integer(n) ? NULL : find_number(file, n);
  return strtoll(d ? d->value.text : n.text, NULL, 10);
}

/* An integer that is not negative and fits, or the name of a number. */
static bool check_integer(const OpFile *file, Name n) {
  if (n.text[0] != '-' && is_integer(n) && strlen(n.text) <= MOST_DIGITS)
    return true;
  if (is_integer(n) || n.text[0] == '-')
    glow_error(file->ctx, n.loc, "'%s' is negative or too large", n.text);
  else if (find_number(file, n))
    return true;
  else
    UNKNOWN(file, n, "number", &file->numbers);
  return false;
}

/* Names of one list, and those of a second that follow in the same scope. */
static void check_distinct(const OpFile *file, GlowStr row, Names *seen, Name n) {
  for (uint32_t i = 0; i < seen->count; i++)
    if (seen->data[i].text == n.text)
      glow_error(file->ctx, n.loc, "'%s' has a second '%s'", row, n.text);
  glow_vec_push(file->arena, seen, n);
}

/* ---- Numbers, params, callbacks -------------------------------------------------------------- */

static void check_sources(const OpFile *file) {
  Names seen = {0};
  for (uint32_t i = 0; i < file->sources.count; i++) {
    const SourcesDecl *d = file->sources.data[i];
    if (strcmp(d->level.text, "O1") && strcmp(d->level.text, "O2"))
      glow_error(file->ctx, d->level.loc, "sources are built at O1 or O2, not '%s'", d->level.text);
    for (uint32_t k = 0; k < d->files.count; k++)
      check_distinct(file, "sources", &seen, d->files.data[k]);
  }
}

static void check_numbers(OpFile *file) {
  for (uint32_t i = 0; i < file->numbers.count; i++) {
    CHECK_TWICE(file, &file->numbers, i);
    check_integer(file, file->numbers.data[i]->value);
  }
}

/* A table is the last of all, and what code generation makes a constant of is one list of integers,
 * so no other params have it inside. */
static void check_table(OpFile *file, ParamsDecl *params, FieldsDecl *f) {
  bool last = f == &params->fields.data[params->fields.count - 1] && f->names.count == 1;
  if (!last || f->params)
    glow_error(file->ctx, f->count.loc,
               "only the last field may be an array of any length, of type i64");
  if (params->fields.count == 1)
    glow_error(file->ctx, f->count.loc, "no field stands before the array of any length");
  if (f->derived)
    glow_error(file->ctx, f->count.loc, "an array of any length is not derived");
  params->table = f->names.data[0].text;
  f->doc = f->doc ? f->doc : "";
}

/* Their type stands before them, so no params hold themselves. */
static void check_fields(OpFile *file, ParamsDecl *params, FieldsDecl *f) {
  if (strcmp(f->type.text, "i64")) {
    FIND(&file->params, f->type, f->params);
    if (f->params == params || !f->params || !f->params->words) {
      glow_error(file->ctx, f->type.loc, "a field is i64, or of params that stand before, not '%s'",
                 f->type.text);
      f->params = NULL;
    } else if (f->params->table) {
      glow_error(file->ctx, f->type.loc, "'%s' has an array of any length", f->type.text);
    }
  }
  if (f->count.text && !*f->count.text) {
    check_table(file, params, f);
    return;
  }
  bool counts = !f->count.text || check_integer(file, f->count);
  int64_t count = f->count.text && counts ? number_value(file, f->count) : 1;
  if (count < 1)
    glow_error(file->ctx, f->count.loc, "an array has at least one element");
  f->doc = f->doc ? f->doc : "";
  if (f->derived && f->params)
    glow_error(file->ctx, f->type.loc, "only fields of type i64 are derived");
  params->derived |= f->derived || (f->params && f->params->derived);
  params->words += f->names.count * count * (f->params ? f->params->words : 1);
}

static void check_params(OpFile *file) {
  for (uint32_t i = 0; i < file->params.count; i++) {
    ParamsDecl *params = file->params.data[i];
    Names seen = {0};
    CHECK_TWICE(file, &file->params, i);
    for (uint32_t k = 0; k < params->fields.count; k++) {
      FieldsDecl *f = &params->fields.data[k];
      for (uint32_t j = 0; j < f->names.count; j++)
        check_distinct(file, params->name.text, &seen, f->names.data[j]);
      check_fields(file, params, f);
    }
    if (!params->fields.count)
      glow_error(file->ctx, params->name.loc, "'%s' has no fields", params->name.text);
  }
  for (uint32_t i = 0; i < file->callbacks.count; i++)
    CHECK_TWICE(file, &file->callbacks, i);
}

static const ParamsDecl *find_params(const OpFile *file, GlowStr row, Name of, Name n) {
  const ParamsDecl *found = NULL;
  if (!n.text) {
    glow_error(file->ctx, of.loc, "'%s' has no 'params' clause", row);
    return NULL;
  }
  FIND(&file->params, n, found);
  if (!found)
    UNKNOWN(file, n, "params", &file->params);
  return found;
}

/* ---- Families ---------------------------------------------------------------------------------
 */

static void check_family(const OpFile *file, Name row, Family *family) {
  Names seen = {0};
  for (uint32_t i = 0; i < family->variants.count; i++)
    check_distinct(file, row.text, &seen, family->variants.data[i]);
  for (uint32_t i = 0; i < family->vars.count; i++)
    family->vars.data[i].set = kinds_union(file, &family->vars.data[i].parts);
  if (family->vars.count > 1)
    glow_error(file->ctx, family->vars.data[1].name.loc, "'%s' has a second 'types' clause",
               row.text);
}

static const VarDecl *family_var(const Family *family) {
  return family->vars.count ? &family->vars.data[0] : NULL;
}

static void add_members(const OpFile *file, Name name, GlowStr variant, const Family *family,
                        Members *members) {
  Member one = {name, variant, GLOW_KIND_COUNT};
  if (!family->vars.count)
    glow_vec_push(file->arena, members, one);
  for (int i = 0; i < GLOW_KIND_COUNT && family->vars.count; i++) {
    one.name.text = glow_str_printf(file->ctx, "%s_%s", name.text, kind_names[i]);
    one.kind = (GlowKind)i;
    if (family->vars.data[0].set & GLOW_KIND_BIT(i))
      glow_vec_push(file->arena, members, one);
  }
}

Members family_members(const OpFile *file, Name row, const Family *family) {
  Members members = {0};
  if (!family->variants.count)
    add_members(file, row, NULL, family, &members);
  for (uint32_t i = 0; i < family->variants.count; i++) {
    GlowStr variant = family->variants.data[i].text;
    Name name = {glow_str_printf(file->ctx, "%s_%s", row.text, variant), row.loc};
    add_members(file, name, variant, family, &members);
  }
  return members;
}

static const CallbackDecl *find_callback(const OpFile *file, Name n, bool step) {
  const CallbackDecl *found = NULL;
  FIND(&file->callbacks, n, found);
  if (!found)
    UNKNOWN(file, n, step ? "step" : "callback", &file->callbacks);
  else if (found->step != step)
    glow_error(file->ctx, n.loc, step ? "'%s' is no step" : "'%s' is a step, which a kernel calls",
               n.text);
  return found;
}

/* ---- Ports ----------------------------------------------------------------------------------- */

const char *port_c_type(const PortDecl *port) {
  for (int i = 0; i < NSCALAR_KINDS && port->type_kind == GLOW_PORT_KIND; i++)
    if (scalar_kinds[i].kind == (GlowKind)port->var)
      return scalar_kinds[i].stored;
  return "void";
}

/* var: the type that stands for several kinds, or NULL. */
static void check_row_ports(const OpFile *file, GlowStr row, const VarDecl *var, Ports *ports,
                            Names *seen) {
  for (uint32_t i = 0; i < ports->count; i++) {
    PortDecl *p = &ports->data[i];
    GlowKind kind = kind_find(p->type.text);
    bool any = strcmp(p->type.text, "any") == 0 || (var && p->type.text == var->name.text);
    check_distinct(file, row, seen, p->name);
    if (kind == GLOW_KIND_COUNT && !any)
      glow_error(file->ctx, p->type.loc, "unknown kind '%s'%s", p->type.text,
                 did_you_mean(file->ctx, p->type.text, kind_names, GLOW_KIND_COUNT));
    if (p->scalar || (p->flags & ~GLOW_PORT_OPTIONAL))
      glow_error(file->ctx, p->name.loc, "an operand of a kernel is a kind, and may have a '?'");
    p->type_kind = any ? GLOW_PORT_ANY : GLOW_PORT_KIND;
    p->var = (uint8_t)(kind == GLOW_KIND_COUNT ? 0 : kind);
  }
}

static bool same_ports(const Ports *a, const Ports *b) {
  for (uint32_t i = 0; i < a->count && a->count == b->count; i++)
    if (a->data[i].type_kind != b->data[i].type_kind || a->data[i].var != b->data[i].var)
      return false;
  return a->count == b->count;
}

/* ---- Tiles ----------------------------------------------------------------------------------- */

/* Takes over what another tile says. */
static void take_over(const OpFile *file, TileDecl *t, uint32_t before) {
  const TileDecl *other = NULL;
  for (uint32_t i = 0; i < before && !other; i++)
    if (file->tiles.data[i]->name.text == t->as.text)
      other = file->tiles.data[i];
  if (!other)
    glow_error(file->ctx, t->as.loc, "no tile '%s' stands before '%s'", t->as.text, t->name.text);
  else if (t->params.text || t->callback.text || t->out.count || t->in.count || t->temp.count ||
           t->ints.count || t->family.vars.count)
    glow_error(file->ctx, t->as.loc, "'%s' is as '%s', so it has no operands of its own",
               t->name.text, t->as.text);
  if (!other)
    return;
  t->params = other->params;
  t->callback = other->callback;
  t->out = other->out;
  t->in = other->in;
  t->temp = other->temp;
  t->ints = other->ints;
}

static int size_index(const TileDecl *t, Name n) {
  for (uint32_t i = 0; i < t->sizes.count; i++)
    if (t->sizes.data[i].text == n.text)
      return (int)i;
  return -1;
}

/* What a word of a condition stands for; false if for nothing. */
static bool factor_value(const OpFile *file, const TileDecl *t, const Machine *m,
                         const int64_t *sizes, Name n, int64_t *value) {
  int size = size_index(t, n);
  if (size >= 0)
    *value = sizes[size];
  else if (strcmp(n.text, "vl") == 0)
    *value = m->vl;
  else if (strcmp(n.text, "tile_pixels") == 0)
    *value = m->tile_pixels;
  else if (strcmp(n.text, "tile_vectors") == 0)
    *value = m->tile_vectors;
  else if (is_integer(n) || find_number(file, n))
    *value = number_value(file, n);
  else
    return false;
  return true;
}

static int64_t product_value(const OpFile *file, const TileDecl *t, const Machine *m,
                             const int64_t *sizes, const Names *factors) {
  int64_t product = 1, value = 0;
  for (uint32_t i = 0; i < factors->count; i++)
    if (factor_value(file, t, m, sizes, factors->data[i], &value))
      product *= value;
  return product;
}

static bool holds(const OpFile *file, const TileDecl *t, const Machine *m, const int64_t *sizes,
                  const Comparison *c) {
  int64_t a = product_value(file, t, m, sizes, &c->left);
  int64_t b = product_value(file, t, m, sizes, &c->right);
  const char *relation = c->relation.text;
  return strcmp(relation, "=") == 0    ? a == b
         : strcmp(relation, "<=") == 0 ? a <= b
         : strcmp(relation, ">=") == 0 ? a >= b
                                       : a > b;
}

static bool has_tile(const OpFile *file, const TileDecl *t, const Machine *m,
                     const int64_t *sizes) {
  for (uint32_t i = 0; i < t->where.count; i++) {
    bool one = false;
    for (uint32_t k = 0; k < t->where.data[i].count && !one; k++)
      one = holds(file, t, m, sizes, &t->where.data[i].data[k]);
    if (!one)
      return false;
  }
  return true;
}

/* The next sizes in order, the last one fastest; false behind the last. */
static bool next_sizes(const TileDecl *t, int64_t *sizes) {
  for (uint32_t i = t->sizes.count; i-- > 0;) {
    if (sizes[i]++ < LARGEST_SIZE)
      return true;
    sizes[i] = 1;
  }
  return false;
}

Sizes tile_instances(const OpFile *file, const TileDecl *t, const Machine *m) {
  Sizes found = {0};
  int64_t sizes[MOST_SIZES] = {1, 1, 1, 1};
  if (!t->sizes.count)
    return found;
  do {
    for (uint32_t i = 0; i < t->sizes.count && has_tile(file, t, m, sizes); i++)
      glow_vec_push(file->arena, &found, sizes[i]);
  } while (next_sizes(t, sizes));
  return found;
}

static void check_words(const OpFile *file, const TileDecl *t, const Names *factors) {
  static const char *const columns[] = {"vl", "tile_pixels", "tile_vectors"};
  int64_t value, sizes[MOST_SIZES] = {0};
  for (uint32_t i = 0; i < factors->count; i++) {
    Name n = factors->data[i];
    if (factor_value(file, t, machines, sizes, n, &value))
      continue;
    GLOW_VEC(const char *) all = {0};
    for (int k = 0; k < 3; k++)
      glow_vec_push(file->arena, &all, columns[k]);
    for (uint32_t k = 0; k < t->sizes.count; k++)
      glow_vec_push(file->arena, &all, t->sizes.data[k].text);
    for (uint32_t k = 0; k < file->numbers.count; k++)
      glow_vec_push(file->arena, &all, file->numbers.data[k]->name.text);
    glow_error(file->ctx, n.loc, "'%s' is no size, number or column of isa.def%s", n.text,
               did_you_mean(file->ctx, n.text, all.data, all.count));
  }
}

/* Some machine has some tile, and none has tiles without a limit. */
static void check_instances(const OpFile *file, const TileDecl *t) {
  bool any = false;
  for (size_t k = 0; k < nmachines; k++) {
    Sizes found = tile_instances(file, t, &machines[k]);
    any |= found.count > 0;
    for (uint32_t i = 0; i < found.count; i++)
      if (found.data[i] == LARGEST_SIZE) {
        glow_error(file->ctx, t->name.loc, "%s has tiles '%s' of any '%s'", machines[k].name,
                   t->name.text, t->sizes.data[i % t->sizes.count].text);
        return;
      }
  }
  if (!any)
    glow_error(file->ctx, t->name.loc, "no machine has a tile '%s'", t->name.text);
}

static void check_where(const OpFile *file, const TileDecl *t) {
  uint32_t errors = file->ctx->errors;
  for (uint32_t i = 0; i < t->where.count; i++)
    for (uint32_t k = 0; k < t->where.data[i].count; k++) {
      check_words(file, t, &t->where.data[i].data[k].left);
      check_words(file, t, &t->where.data[i].data[k].right);
    }
  if (errors == file->ctx->errors)
    check_instances(file, t);
}

/* Finds the word of params that a name stands for, the first that has that name. */
static bool find_word(const OpFile *file, const ParamsDecl *params, Limit *l, int64_t first,
                      GlowStr path) {
  for (uint32_t i = 0; i < params->fields.count; i++) {
    const FieldsDecl *f = &params->fields.data[i];
    int64_t size = f->params ? f->params->words : 1;
    if (f->count.text && !*f->count.text)
      continue;
    if (f->count.text)
      size *= number_value(file, f->count);
    for (uint32_t k = 0; k < f->names.count; k++, first += size) {
      GlowStr name =
          glow_str_printf(file->ctx, "%s%s", path, name_field(file->ctx, f->names.data[k].text));
      if (f->params && !f->count.text &&
          find_word(file, f->params, l, first, glow_str_printf(file->ctx, "%s.", name)))
        return true;
      if (f->params || f->count.text || f->names.data[k].text != l->field.text)
        continue;
      l->word = first;
      l->path = name;
      return true;
    }
  }
  return false;
}

static void check_limit(const OpFile *file, const TileDecl *t, Limit *l) {
  if (!find_word(file, t->params_decl, l, 0, ""))
    glow_error(file->ctx, l->field.loc, "'%s' is no field of '%s'", l->field.text,
               t->params_decl->name.text);
  l->width = strcmp(l->value.text, "width") == 0;
  if (l->width && (l->zero.text || strcmp(l->relation.text, "=")))
    glow_error(file->ctx, l->relation.loc, "a fixed field is '=' width");
  if (l->width || !check_integer(file, l->value))
    return;
  int64_t value = number_value(file, l->value);
  if (l->zero.text && (strcmp(l->zero.text, "0") || value < 1 || (value & (value - 1))))
    glow_error(file->ctx, l->value.loc, "what is left over can only be 0, of a power of two");
  if (!l->zero.text && strcmp(l->relation.text, "=") && strcmp(l->relation.text, "<="))
    glow_error(file->ctx, l->relation.loc, "a fixed field is '=' or '<=' a number");
}

static void check_fixed(const OpFile *file, const TileDecl *t) {
  Names seen = {0};
  if (t->fixed.count && (!t->sizes.count || !t->params_decl)) {
    glow_error(file->ctx, t->fixed.data[0].name.loc, "'%s' has no sizes, or no params to fix",
               t->name.text);
    return;
  }
  for (uint32_t i = 0; i < t->fixed.count; i++) {
    check_distinct(file, t->name.text, &seen, t->fixed.data[i].name);
    for (uint32_t k = 0; k < t->fixed.data[i].limits.count; k++)
      check_limit(file, t, &t->fixed.data[i].limits.data[k]);
  }
}

static void check_tile(const OpFile *file, TileDecl *t, uint32_t index) {
  Names seen = {0};
  t->camel = name_camel(file->ctx, t->name.text);
  t->upper = name_upper(file->ctx, t->name.text);
  if (t->as.text)
    take_over(file, t, index);
  if (!t->params.text || strcmp(t->params.text, "any"))
    t->params_decl = find_params(file, t->name.text, t->name, t->params);
  if (t->callback.text)
    t->callback_decl = find_callback(file, t->callback, false);
  check_family(file, t->name, &t->family);
  const VarDecl *var = family_var(&t->family);
  check_row_ports(file, t->name.text, var, &t->out, &seen);
  check_row_ports(file, t->name.text, var, &t->in, &seen);
  check_row_ports(file, t->name.text, var, &t->temp, &seen);
  for (uint32_t i = 0; i < t->ints.count; i++)
    check_distinct(file, t->name.text, &seen, t->ints.data[i]);
  for (uint32_t i = 0; i < t->sizes.count; i++)
    check_distinct(file, t->name.text, &seen, t->sizes.data[i]);
  bool named = t->family.variants.count || t->family.vars.count;
  if (named == (t->sizes.count > 0))
    glow_error(file->ctx, t->name.loc, "a tile has either sizes or variants and types");
  else if (named && t->where.count)
    glow_error(file->ctx, t->name.loc, "every machine has the tiles of a row without sizes");
  else if (t->sizes.count > MOST_SIZES)
    glow_error(file->ctx, t->name.loc, "a tile has at most %d sizes", MOST_SIZES);
  else if (!named)
    check_where(file, t);
  check_fixed(file, t);
}

/* ---- Kernels --------------------------------------------------------------------------------- */

static bool same_signature(const TileDecl *a, const TileDecl *b) {
  return a->params_decl == b->params_decl && a->callback_decl == b->callback_decl &&
         same_ports(&a->out, &b->out) && same_ports(&a->in, &b->in) &&
         same_ports(&a->temp, &b->temp) && a->ints.count == b->ints.count;
}

/* A tile gets the kernel's params, or what these begin with. */
static bool begins_with(const ParamsDecl *all, const ParamsDecl *first) {
  return !all || !first || all == first ||
         (all->fields.data[0].params && begins_with(all->fields.data[0].params, first));
}

const CallbackDecl *kernel_callback(const KernelDecl *k) {
  const CallbackDecl *c = NULL;
  for (uint32_t i = 0; i < k->roles.count && !c; i++)
    if (k->roles.data[i].tiles.count)
      c = k->roles.data[i].tiles.data[0]->callback_decl;
  return c;
}

static void check_role(const OpFile *file, const KernelDecl *k, RolesDecl *r, Names *seen) {
  for (uint32_t i = 0; i < r->names.count; i++)
    check_distinct(file, k->name.text, seen, r->names.data[i]);
  for (uint32_t i = 0; i < r->kinds.count; i++) {
    const TileDecl *t = NULL;
    Name n = r->kinds.data[i];
    FIND(&file->tiles, n, t);
    if (!t) {
      UNKNOWN(file, n, "tile", &file->tiles);
      continue;
    }
    if (r->tiles.count && !same_signature(t, r->tiles.data[0]))
      glow_error(file->ctx, n.loc, "'%s' does not take what '%s' takes", n.text,
                 r->tiles.data[0]->name.text);
    if (!begins_with(k->params_decl, t->params_decl))
      glow_error(file->ctx, n.loc, "the params of '%s' do not begin with those of '%s'",
                 k->name.text, n.text);
    glow_vec_push(file->arena, &r->tiles, t);
  }
}

/* A kernel has one callback, which all tiles get that take one. */
static void check_callbacks(const OpFile *file, const KernelDecl *k) {
  const CallbackDecl *first = kernel_callback(k);
  for (uint32_t i = 0; i < k->roles.count; i++) {
    const RolesDecl *r = &k->roles.data[i];
    const CallbackDecl *c = r->tiles.count ? r->tiles.data[0]->callback_decl : NULL;
    if (c && c != first)
      glow_error(file->ctx, r->kinds.data[0].loc, "'%s' calls back '%s', other tiles '%s'",
                 r->tiles.data[0]->name.text, c->name.text, first->name.text);
  }
}

/* Capital letters, then blocks: a number, or a word in `<>`, and a small letter of those before. */
static bool is_layout(const char *text) {
  const char *axes = text;
  while (isupper((unsigned char)*text))
    text++;
  size_t rank = (size_t)(text - axes);
  while (*text) {
    size_t size = strspn(text, "0123456789");
    const char *end = *text == '<' ? strchr(text, '>') : NULL;
    if (end)
      size = (size_t)(end + 1 - text);
    if (!size || !islower((unsigned char)text[size]) ||
        !memchr(axes, toupper((unsigned char)text[size]), rank))
      return false;
    text += size + 1;
  }
  return rank > 0;
}

static void check_layout(const OpFile *file, const KernelDecl *k, const LayoutDecl *l) {
  bool found = false;
  for (uint32_t i = 0; i < k->out.count + k->in.count && !found; i++) {
    const PortDecl *port = i < k->out.count ? &k->out.data[i] : &k->in.data[i - k->out.count];
    found = strcmp(port->name.text, l->operand.text) == 0;
  }
  if (!found)
    glow_error(file->ctx, l->operand.loc, "'%s' has no operand '%s'", k->name.text,
               l->operand.text);
  for (uint32_t i = 0; i < l->texts.count; i++)
    if (!is_layout(l->texts.data[i].text))
      glow_error(file->ctx, l->texts.data[i].loc, "'%s' is no layout such as OIHW<wi>i16o",
                 l->texts.data[i].text);
  if (l->texts.count > MOST_LAYOUTS)
    glow_error(file->ctx, l->operand.loc, "an operand has at most %d layouts", MOST_LAYOUTS);
}

static void check_kernel(const OpFile *file, KernelDecl *k) {
  Names seen = {0};
  k->camel = name_camel(file->ctx, k->name.text);
  k->upper = name_upper(file->ctx, k->name.text);
  k->params_decl = find_params(file, k->name.text, k->name, k->params);
  check_family(file, k->name, &k->family);
  const VarDecl *var = family_var(&k->family);
  check_row_ports(file, k->name.text, var, &k->out, &seen);
  check_row_ports(file, k->name.text, var, &k->in, &seen);
  for (uint32_t i = 0; i < k->roles.count; i++)
    check_role(file, k, &k->roles.data[i], &seen);
  for (uint32_t i = 0; i < k->layouts.count; i++)
    check_layout(file, k, &k->layouts.data[i]);
  check_callbacks(file, k);
  if (k->step.text)
    k->step_decl = find_callback(file, k->step, true);
  for (uint32_t i = 0; i < k->steps.count; i++)
    check_distinct(file, k->name.text, &seen, k->steps.data[i]);
  if (k->step.text && k->out.count + k->in.count + k->roles.count)
    glow_error(file->ctx, k->step.loc,
               "the operands of '%s' are those of its steps, so it has no others, and no tiles",
               k->name.text);
  if (k->out.count + k->in.count == 0 && !k->step.text)
    glow_error(file->ctx, k->name.loc, "'%s' has no operands", k->name.text);
  if (k->out.count + k->in.count > MOST_OPERANDS)
    glow_error(file->ctx, k->name.loc, "a kernel has at most %d operands", MOST_OPERANDS);
}

void kernels_check(OpFile *file) {
  check_numbers(file);
  check_sources(file);
  check_params(file);
  for (uint32_t i = 0; i < file->tiles.count; i++) {
    CHECK_TWICE(file, &file->tiles, i);
    check_tile(file, file->tiles.data[i], i);
  }
  for (uint32_t i = 0; i < file->kernels.count; i++) {
    CHECK_TWICE(file, &file->kernels, i);
    check_kernel(file, file->kernels.data[i]);
  }
}
