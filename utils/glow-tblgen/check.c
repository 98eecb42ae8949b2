/* Resolves the names in declarations and enforces the rules of the language. Every error is
 * reported where the offending word stands; checking goes on with the next thing. */
#include "tblgen.h"

static const char *const trait_names[] = {
#define TRAIT(e, s, d) s,
    GLOW_TRAITS(TRAIT)
#undef TRAIT
};
enum { NTRAITS = sizeof trait_names / sizeof *trait_names };

#define BIT(trait) (UINT32_C(1) << GLOW_TRAIT_BIT_##trait)

static const char *const member_type_names[] = {"bool", "u32",  "i64",    "float",  "str",
                                                "kind", "type", "symbol", "scalar", "size"};

/* ---- Kinds ----------------------------------------------------------------------------------- */

static void unknown_kind(const OpFile *file, Name n) {
  GLOW_VEC(const char *) all = {0};
  for (int i = 0; i < GLOW_KIND_COUNT; i++)
    glow_vec_push(file->arena, &all, kind_names[i]);
  for (uint32_t i = 0; i < file->kinds.count; i++)
    glow_vec_push(file->arena, &all, file->kinds.data[i]->name.text);
  glow_vec_push(file->arena, &all, "quantized");
  glow_error(file->ctx, n.loc, "unknown kind '%s'%s", n.text,
             did_you_mean(file->ctx, n.text, all.data, all.count));
}

/* The union of what the words mean; sets count only among the first `nsets` of the file. */
static GlowKindSet kind_set(const OpFile *file, const Names *parts, uint32_t nsets) {
  GlowKindSet set = 0;
  for (uint32_t i = 0; i < parts->count; i++) {
    Name n = parts->data[i];
    GlowKind kind = kind_find(n.text);
    if (kind != GLOW_KIND_COUNT) {
      set |= GLOW_KIND_BIT(kind);
      continue;
    }
    if (strcmp(n.text, "quantized") == 0) {
      set |= GLOW_KINDS_QUANTIZED;
      continue;
    }
    uint32_t k = 0;
    while (k < nsets && file->kinds.data[k]->name.text != n.text)
      k++;
    if (k < nsets)
      set |= file->kinds.data[k]->set;
    else
      unknown_kind(file, n);
  }
  return set;
}

GlowKindSet kinds_union(const OpFile *file, const Names *parts) {
  return kind_set(file, parts, file->kinds.count);
}

static void check_kinds(OpFile *file) {
  for (uint32_t i = 0; i < file->kinds.count; i++) {
    KindsDecl *d = file->kinds.data[i];
    d->set = kind_set(file, &d->parts, i);
    for (uint32_t k = 0; k < i; k++)
      if (file->kinds.data[k]->name.text == d->name.text)
        glow_error(file->ctx, d->name.loc, "kinds '%s' is declared twice", d->name.text);
    if (kind_find(d->name.text) != GLOW_KIND_COUNT)
      glow_error(file->ctx, d->name.loc, "'%s' is an element kind", d->name.text);
  }
}

static void check_enums(OpFile *file) {
  for (uint32_t i = 0; i < file->enums.count; i++) {
    EnumDecl *d = file->enums.data[i];
    for (uint32_t k = 0; k < i; k++)
      if (file->enums.data[k]->name.text == d->name.text)
        glow_error(file->ctx, d->name.loc, "enum '%s' is declared twice", d->name.text);
    for (uint32_t v = 0; v < d->values.count; v++)
      for (uint32_t w = 0; w < v; w++)
        if (d->values.data[w].text == d->values.data[v].text)
          glow_error(file->ctx, d->values.data[v].loc, "'%s' is listed twice",
                     d->values.data[v].text);
  }
}

/* ---- Ports ----------------------------------------------------------------------------------- */

static int port_index(const Ports *ports, GlowStr name) {
  for (uint32_t i = 0; i < ports->count; i++)
    if (ports->data[i].name.text == name)
      return (int)i;
  return -1;
}

int ops_find_port(const OpFile *file, const OpDecl *op, Name n, bool in, bool out) {
  int i = in ? port_index(&op->in, n.text) : -1;
  if (i < 0 && out)
    i = port_index(&op->out, n.text);
  if (i >= 0)
    return i;
  GLOW_VEC(const char *) all = {0};
  for (uint32_t k = 0; in && k < op->in.count; k++)
    glow_vec_push(file->arena, &all, op->in.data[k].name.text);
  for (uint32_t k = 0; out && k < op->out.count; k++)
    glow_vec_push(file->arena, &all, op->out.data[k].name.text);
  glow_error(file->ctx, n.loc, "'%s' has no %s '%s'%s", op->name.text,
             in && out ? "port"
             : in      ? "input"
                       : "output",
             n.text, did_you_mean(file->ctx, n.text, all.data, all.count));
  return -1;
}

static void resolve_port_type(const OpFile *file, const OpDecl *op, PortDecl *p) {
  static const struct {
    const char *name;
    GlowPortTypeKind kind;
  } fixed[] = {{"any", GLOW_PORT_ANY}, {"seq", GLOW_PORT_SEQ}, {"opt", GLOW_PORT_OPT}};
  for (uint32_t i = 0; i < op->vars.count; i++)
    if (op->vars.data[i].name.text == p->type.text) {
      p->type_kind = GLOW_PORT_VAR;
      p->var = (uint8_t)i;
      return;
    }
  for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
    if (strcmp(fixed[i].name, p->type.text) == 0) {
      p->type_kind = fixed[i].kind;
      return;
    }
  GlowKind kind = kind_find(p->type.text);
  if (kind != GLOW_KIND_COUNT) {
    p->type_kind = GLOW_PORT_KIND;
    p->var = (uint8_t)kind;
    return;
  }
  GLOW_VEC(const char *) all = {0};
  for (uint32_t i = 0; i < op->vars.count; i++)
    glow_vec_push(file->arena, &all, op->vars.data[i].name.text);
  for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
    glow_vec_push(file->arena, &all, fixed[i].name);
  for (int i = 0; i < GLOW_KIND_COUNT; i++)
    glow_vec_push(file->arena, &all, kind_names[i]);
  const char *near = did_you_mean(file->ctx, p->type.text, all.data, all.count);
  if (strlen(p->type.text) == 1)
    near = glow_arena_printf(file->arena, "; 'types %s(...)' declares it", p->type.text);
  glow_error(file->ctx, p->type.loc, "unknown type '%s'%s", p->type.text, near);
}

static void check_side(const OpFile *file, const OpDecl *op, Ports *ports, bool out) {
  for (uint32_t i = 0; i < ports->count; i++) {
    PortDecl *p = &ports->data[i];
    resolve_port_type(file, op, p);
    if (port_index(ports, p->name.text) != (int)i ||
        (out && port_index(&op->in, p->name.text) >= 0))
      glow_error(file->ctx, p->name.loc, "'%s' has a second port '%s'", op->name.text,
                 p->name.text);
    if ((p->flags & GLOW_PORT_VARIADIC) && i + 1 != ports->count)
      glow_error(file->ctx, p->name.loc, "only the last %s can be variadic",
                 out ? "output" : "input");
    if ((p->flags & GLOW_PORT_INOUT) && !out)
      glow_error(file->ctx, p->name.loc, "only an output can be inout");
    if (p->scalar && p->type_kind != GLOW_PORT_KIND)
      glow_error(file->ctx, p->type.loc, "'<>' follows the name of an element kind only");
  }
}

/* Each item of a `narrow` clause is an operand with a type variable that may be i32. */
static void check_narrow(const OpFile *file, OpDecl *op) {
  for (uint32_t i = 0; i < op->narrow.count; i++) {
    const Call *c = &op->narrow.data[i];
    int k = ops_find_port(file, op, c->name, true, false);
    if (k < 0)
      continue;
    PortDecl *p = &op->in.data[k];
    if (p->narrow)
      glow_error(file->ctx, c->name.loc, "'%s' is listed twice", c->name.text);
    p->narrow = kind_set(file, &c->args, file->kinds.count);
    if (!p->narrow)
      glow_error(file->ctx, c->name.loc, "'%s' needs the kinds that it may have", c->name.text);
    if (p->type_kind != GLOW_PORT_VAR ||
        !(op->vars.data[p->var].set & GLOW_KIND_BIT(GLOW_KIND_I32)))
      glow_error(file->ctx, c->name.loc, "the type of '%s' is no variable that may be i32",
                 c->name.text);
    else if (op->vars.data[p->var].set & p->narrow)
      glow_error(file->ctx, c->name.loc, "'%s' may have one of these kinds anyway", c->name.text);
  }
}

/* Each item of a `stored` clause is an operand with a type variable. */
static void check_stored(const OpFile *file, OpDecl *op) {
  for (uint32_t i = 0; i < op->stored.count; i++) {
    const Call *c = &op->stored.data[i];
    int k = ops_find_port(file, op, c->name, true, false);
    if (k < 0)
      continue;
    PortDecl *p = &op->in.data[k];
    if (p->stored)
      glow_error(file->ctx, c->name.loc, "'%s' is listed twice", c->name.text);
    p->stored = kind_set(file, &c->args, file->kinds.count);
    if (!p->stored)
      glow_error(file->ctx, c->name.loc, "'%s' needs the kinds that it may have", c->name.text);
    if (p->type_kind != GLOW_PORT_VAR)
      glow_error(file->ctx, c->name.loc, "the type of '%s' is no variable", c->name.text);
  }
}

static void check_ports(const OpFile *file, OpDecl *op) {
  for (uint32_t i = 0; i < op->vars.count; i++) {
    VarDecl *v = &op->vars.data[i];
    v->set = kind_set(file, &v->parts, file->kinds.count);
    bool used = false;
    for (uint32_t k = 0; k < op->in.count; k++)
      used |= op->in.data[k].type.text == v->name.text;
    for (uint32_t k = 0; k < op->out.count; k++)
      used |= op->out.data[k].type.text == v->name.text;
    if (!used)
      glow_error(file->ctx, v->name.loc, "no port of '%s' has the type '%s'", op->name.text,
                 v->name.text);
  }
  check_side(file, op, &op->in, false);
  check_side(file, op, &op->out, true);
  check_narrow(file, op);
  check_stored(file, op);
}

/* ---- Members --------------------------------------------------------------------------------- */

static bool lit_fits(const MemberDecl *m, const Lit *lit) {
  const char *s = lit->text.text;
  switch (m->member_type) {
  case GLOW_MEMBER_BOOL:
    return lit->kind == LIT_NAME && (!strcmp(s, "true") || !strcmp(s, "false"));
  case GLOW_MEMBER_U32:
    return lit->kind == LIT_INT && s[0] != '-' && strlen(s) <= 9;
  case GLOW_MEMBER_I64:
    return lit->kind == LIT_INT && strlen(s) <= 19 + (size_t)(s[0] == '-');
  case GLOW_MEMBER_FLOAT:
    return lit->kind == LIT_FLOAT || lit->kind == LIT_INT;
  case GLOW_MEMBER_STR:
    return lit->kind == LIT_STRING;
  case GLOW_MEMBER_KIND:
    return lit->kind == LIT_NAME && kind_find(s) != GLOW_KIND_COUNT;
  case GLOW_MEMBER_TYPE:
  case GLOW_MEMBER_SYMBOL:
    return lit->kind == LIT_NAME && !strcmp(s, "none");
  case GLOW_MEMBER_SCALAR:
    return lit->kind == LIT_FLOAT || (lit->kind == LIT_INT && strlen(s) <= 18);
  case GLOW_MEMBER_SIZE:
    return lit->kind == LIT_INT && s[0] != '-' && strlen(s) <= 18;
  case GLOW_MEMBER_ENUM:
    for (uint32_t i = 0; i < m->enumeration->values.count; i++)
      if (lit->kind == LIT_NAME && m->enumeration->values.data[i].text == lit->text.text)
        return true;
    return false;
  }
  return false;
}

static void check_initial(const OpFile *file, const MemberDecl *m) {
  const Lit *lit = &m->initial;
  if (lit->kind == LIT_ABSENT)
    return;
  bool fits = m->array == (lit->kind == LIT_LIST);
  if (fits && m->array)
    for (uint32_t i = 0; i < lit->items.count; i++)
      fits &= lit_fits(m, &lit->items.data[i]);
  else if (fits)
    fits = lit_fits(m, lit);
  if (!fits)
    glow_error(file->ctx, lit->text.loc, "the default of '%s' is no %s%s", m->name.text,
               m->type.text, m->array ? "[]" : "");
}

static void check_member(const OpFile *file, const OpDecl *op, MemberDecl *m) {
  enum { NTYPES = sizeof member_type_names / sizeof *member_type_names };
  m->field = name_field(file->ctx, m->name.text);
  for (const MemberDecl *o = op->members.data; o < m; o++)
    if (o->name.text == m->name.text)
      glow_error(file->ctx, m->name.loc, "'%s' has a second member '%s'", op->name.text,
                 m->name.text);
  GLOW_VEC(const char *) all = {0};
  for (int i = 0; i < NTYPES; i++) {
    glow_vec_push(file->arena, &all, member_type_names[i]);
    if (strcmp(member_type_names[i], m->type.text) == 0) {
      m->member_type = (GlowMemberType)i;
      check_initial(file, m);
      return;
    }
  }
  for (uint32_t i = 0; i < file->enums.count; i++) {
    glow_vec_push(file->arena, &all, file->enums.data[i]->name.text);
    if (file->enums.data[i]->name.text == m->type.text) {
      m->member_type = GLOW_MEMBER_ENUM;
      m->enumeration = file->enums.data[i];
      check_initial(file, m);
      return;
    }
  }
  glow_error(file->ctx, m->type.loc, "unknown member type '%s'%s", m->type.text,
             did_you_mean(file->ctx, m->type.text, all.data, all.count));
}

/* ---- Traits ---------------------------------------------------------------------------------- */

static bool want_args(const OpFile *file, const Call *c, uint32_t count) {
  if (c->args.count == count)
    return true;
  glow_error(file->ctx, c->name.loc, "'%s' takes %u argument%s", c->name.text, count,
             count == 1 ? "" : "s");
  return false;
}

/* Traits that say something about ports. Returns false if c is none of them. */
static bool port_trait(const OpFile *file, OpDecl *op, const Call *c) {
  const char *s = c->name.text;
  if (strcmp(s, "inplace") == 0) {
    if (!want_args(file, c, 2))
      return true;
    int out = ops_find_port(file, op, c->args.data[0], false, true);
    int in = ops_find_port(file, op, c->args.data[1], true, false);
    if (out >= 0 && in >= 0) {
      GlowInplace pair = {(uint8_t)out, (uint8_t)in};
      glow_vec_push(file->arena, &op->inplace, pair);
    }
  } else if (strcmp(s, "strided") == 0) {
    for (uint32_t i = 0; i < c->args.count; i++) {
      int k = ops_find_port(file, op, c->args.data[i], true, true);
      bool in = k >= 0 && port_index(&op->in, c->args.data[i].text) >= 0;
      if (k >= 0)
        (in ? &op->in : &op->out)->data[k].flags |= GLOW_PORT_STRIDED;
    }
  } else if (strcmp(s, "epilogue") == 0) {
    if (want_args(file, c, 1))
      op->epilogue = (int8_t)ops_find_port(file, op, c->args.data[0], false, true);
  } else if (strcmp(s, "body") == 0) {
    op->body = want_args(file, c, 0);
  } else {
    return false;
  }
  return true;
}

static void check_trait(const OpFile *file, OpDecl *op, const Call *c) {
  if (port_trait(file, op, c))
    return;
  const char *spelling = c->name.text;
  if (c->args.count == 1)
    spelling = glow_arena_printf(file->arena, "%s(%s)", c->name.text, c->args.data[0].text);
  for (int i = 0; i < NTRAITS; i++)
    if (strcmp(trait_names[i], spelling) == 0) {
      if (op->traits >> i & 1u)
        glow_error(file->ctx, c->name.loc, "'%s' is listed twice", spelling);
      op->traits |= UINT32_C(1) << i;
      return;
    }
  GLOW_VEC(const char *) all = {0};
  for (int i = 0; i < NTRAITS; i++)
    glow_vec_push(file->arena, &all, trait_names[i]);
  static const char *const more[] = {"inplace", "strided", "epilogue", "body"};
  for (int i = 0; i < 4; i++)
    glow_vec_push(file->arena, &all, more[i]);
  glow_error(file->ctx, c->name.loc, "unknown trait '%s'%s", spelling,
             did_you_mean(file->ctx, spelling, all.data, all.count));
}

static void check_traits(const OpFile *file, OpDecl *op) {
  op->epilogue = -1;
  for (uint32_t i = 0; i < op->traits_list.count; i++)
    check_trait(file, op, &op->traits_list.data[i]);
  if (op->is_instr)
    op->traits |= BIT(INSTR_ONLY);
  GlowTraits effects = op->traits & (BIT(PURE) | BIT(READS) | BIT(WRITES) | BIT(CONTROL));
  if (!effects)
    glow_error(file->ctx, op->name.loc,
               "'%s' has no effects trait: one of pure, reads, writes, control", op->name.text);
  if ((effects & BIT(PURE)) && effects != BIT(PURE))
    glow_error(file->ctx, op->name.loc, "'%s' is pure and has another effect", op->name.text);
  if (HAS(op, NODE_ONLY) && HAS(op, INSTR_ONLY))
    glow_error(file->ctx, op->name.loc, "'%s' cannot be both node and instruction only",
               op->name.text);
  if (HAS(op, LOWERED) && (!op->lower.text || strcmp(op->lower.text, "hook")))
    glow_error(file->ctx, op->name.loc,
               "the trait 'lower' and the clause 'lower hook' go together");
}

/* ---- Rules ----------------------------------------------------------------------------------- */

static void check_infer(const OpFile *file, OpDecl *op) {
  static const char *const rules[] = {"same", "broadcast", "free", "none", "hook"};
  const Call *c = &op->infer;
  if (!c->name.text) {
    glow_error(file->ctx, op->name.loc, "'%s' has no 'infer' clause", op->name.text);
    return;
  }
  int rule = 0;
  while (rule < 5 && strcmp(rules[rule], c->name.text))
    rule++;
  if (rule == 5) {
    glow_error(file->ctx, c->name.loc, "unknown rule '%s'%s", c->name.text,
               did_you_mean(file->ctx, c->name.text, rules, 5));
    return;
  }
  op->rule = (GlowInferRule)rule;
  if (!want_args(file, c, rule == GLOW_INFER_SAME ? 1 : 0))
    return;
  if (rule == GLOW_INFER_SAME) {
    int i = ops_find_port(file, op, c->args.data[0], true, false);
    op->rule_arg = (uint8_t)(i < 0 ? 0 : i);
  }
  if (rule == GLOW_INFER_NONE && op->out.count && !op->is_instr)
    glow_error(file->ctx, c->name.loc, "'infer none' is for operators without outputs");
}

static int port_number(const OpFile *file, const OpDecl *op, Name n) {
  int i = ops_find_port(file, op, n, true, true);
  return i < 0 ? 0 : port_index(&op->in, n.text) >= 0 ? i + (int)op->out.count : i;
}

static void check_verify(const OpFile *file, OpDecl *op) {
  static const char *const rules[] = {"hook", "same_kind"};
  for (uint32_t i = 0; i < op->verify.count; i++) {
    const Call *c = &op->verify.data[i];
    if (strcmp(c->name.text, "hook") == 0) {
      op->verify_hook = want_args(file, c, 0);
    } else if (strcmp(c->name.text, "same_kind") == 0) {
      if (want_args(file, c, 2)) {
        GlowInplace pair = {(uint8_t)port_number(file, op, c->args.data[0]),
                            (uint8_t)port_number(file, op, c->args.data[1])};
        glow_vec_push(file->arena, &op->same_kind, pair);
      }
    } else {
      glow_error(file->ctx, c->name.loc, "unknown rule '%s'%s", c->name.text,
                 did_you_mean(file->ctx, c->name.text, rules, 2));
    }
  }
}

static void want_word(const OpFile *file, Name n, const char *word, const char *other) {
  if (n.text && strcmp(n.text, word) && !(other && strcmp(n.text, other) == 0))
    glow_error(file->ctx, n.loc, "expected '%s'%s%s%s, found '%s'", word, other ? " or '" : "",
               other ? other : "", other ? "'" : "", n.text);
}

static void check_rules(const OpFile *file, OpDecl *op) {
  check_infer(file, op);
  check_verify(file, op);
  want_word(file, op->lower, "hook", "body");
  want_word(file, op->fold, "hook", NULL);
  want_word(file, op->scratch, "hook", NULL);
  want_word(file, op->macs, "hook", NULL);
  want_word(file, op->irgen, "hook", "auto");
  if (op->scalar.text && (!HAS(op, ELEMENTWISE) || op->out.count != 1))
    glow_error(file->ctx, op->scalar.loc,
               "a scalar body needs the trait 'elementwise' and exactly one output");
  if (op->turns && (op->in.count != 1 || (op->in.data[0].flags & GLOW_PORT_OPTIONAL)))
    glow_error(file->ctx, op->scalar.loc, "a scalar body that takes turns has one operand");
  for (uint32_t i = 0; i < op->regions.count; i++)
    for (uint32_t k = 0; k < i; k++)
      if (op->regions.data[k].name.text == op->regions.data[i].name.text)
        glow_error(file->ctx, op->regions.data[i].name.loc, "'%s' has a second region '%s'",
                   op->name.text, op->regions.data[i].name.text);
}

static void name_op(const OpFile *file, OpDecl *op) {
  GlowContext *ctx = file->ctx;
  op->snake = op->is_instr ? op->name.text : name_snake(ctx, op->name.text);
  op->camel = op->is_instr ? name_camel(ctx, op->name.text) : op->name.text;
  op->upper = name_upper(ctx, op->snake);
}

/* Operators elsewhere: their names mean none here, and each is given once. */
static void check_also(const OpFile *file, Name also, const Names *before) {
  for (uint32_t i = 0; i < file->ops.count; i++)
    if (file->ops.data[i]->snake == name_snake(file->ctx, also.text))
      glow_error(file->ctx, also.loc, "'%s' is an operator of its own", also.text);
  for (uint32_t i = 0; i < before->count; i++)
    if (before->data[i].text == also.text)
      glow_error(file->ctx, also.loc, "'%s' stands behind 'also' twice", also.text);
}

static void check_all_also(OpFile *file) {
  Names seen = {0};
  for (uint32_t i = 0; i < file->ops.count; i++) {
    const OpDecl *op = file->ops.data[i];
    for (uint32_t k = 0; k < op->also.count; k++) {
      check_also(file, op->also.data[k], &seen);
      glow_vec_push(file->arena, &seen, op->also.data[k]);
    }
  }
}

void ops_check(OpFile *file) {
  check_kinds(file);
  check_enums(file);
  for (uint32_t i = 0; i < file->ops.count; i++) {
    OpDecl *op = file->ops.data[i];
    name_op(file, op);
    for (uint32_t k = 0; k < i; k++)
      if (file->ops.data[k]->snake == op->snake) {
        glow_error(file->ctx, op->name.loc, "'%s' is described twice", op->name.text);
        glow_note(file->ctx, file->ops.data[k]->name.loc, "the first description is here");
      }
    check_ports(file, op);
    for (uint32_t k = 0; k < op->members.count; k++)
      check_member(file, op, &op->members.data[k]);
    check_traits(file, op);
    check_rules(file, op);
    grads_check(file, op);
    quantize_check(file, op);
  }
  check_all_also(file);
}
