/* Derivatives as expressions of nodes, in `grad` clauses:
 *
 *   grad X = Mul(Y, Sub(dY, summed(Mul(dY, Y), axis)))
 *
 * Words are operands, results, dY (the derivative by the result Y) and members; calls are operators
 * and the helpers below. What is written is C that builds the nodes, with lib/autodiff/rule.h.
 *
 * Derivatives of derivatives are those of the nodes that a rule builds. So each operator that a
 * rule names needs a derivative by each operand that depends on the rule's values. */
#include "tblgen.h"

#define EVERY ((GlowKindSet)-1)
enum { MAX_ARGS = 32 }; /* bits of glow_rule_apply's `optional` */

/* What an argument of a helper is. */
typedef enum ArgKind { ARG_VALUE = 'v', ARG_OPERAND = 'o', ARG_MEMBER = 'm' } ArgKind;

/* The helpers: glow_rule_<name> in lib/autodiff/rule.h. */
static const struct {
  const char *name, *args; /* args: an ArgKind each */
  bool member;             /* it gives a member, not a value */
  GlowKindSet kinds;       /* of its value; 0: those of its first argument */
  const char *builds; /* operators that it applies to its first argument, with blanks between */
} helpers[] = {
    {"like", "vo", false, 0, "Reshape"},
    {"spread", "v", false, 0, "Unsqueeze Reshape Expand"},
    {"kept", "v", false, 0, "Unsqueeze Reshape"},
    {"summed", "vm", false, 0, "ReduceSum"},
    {"total", "v", false, 0, "ReduceSum"},
    {"ratio", "oo", false, FLOATS, ""},
    {"zeros", "o", false, FLOATS, ""},
    {"ones", "o", false, FLOATS, ""},
    {"swap", "v", false, 0, "Transpose"},
    {"cast", "vo", false, FLOATS, "Cast"},
    {"inverse", "m", true, 0, ""},
    {"opposite", "m", true, 0, ""},
};
enum { NHELPERS = sizeof helpers / sizeof *helpers };

static int find_helper(const char *name) {
  for (int i = 0; i < NHELPERS; i++)
    if (strcmp(helpers[i].name, name) == 0)
      return i;
  return -1;
}

static const OpDecl *find_op(const OpFile *file, const char *name) {
  for (uint32_t i = 0; i < file->ops.count; i++)
    if (!file->ops.data[i]->is_instr && strcmp(file->ops.data[i]->name.text, name) == 0)
      return file->ops.data[i];
  return NULL;
}

static int find_in(const Ports *ports, const char *name) {
  for (uint32_t i = 0; i < ports->count; i++)
    if (strcmp(ports->data[i].name.text, name) == 0)
      return (int)i;
  return -1;
}

static const MemberDecl *find_member(const OpDecl *op, const char *name) {
  for (uint32_t i = 0; i < op->members.count; i++)
    if (strcmp(op->members.data[i].name.text, name) == 0)
      return &op->members.data[i];
  return NULL;
}

static GlowKindSet port_kinds(const OpDecl *op, const PortDecl *p) {
  return p->type_kind == GLOW_PORT_VAR    ? op->vars.data[p->var].set
         : p->type_kind == GLOW_PORT_KIND ? GLOW_KIND_BIT(p->var)
                                          : EVERY;
}

/* The port of an operand; a variadic last one stands for all further operands. NULL if none. */
static const PortDecl *operand_port(const OpDecl *op, uint32_t i) {
  if (i < op->in.count)
    return &op->in.data[i];
  const PortDecl *last = op->in.count ? &op->in.data[op->in.count - 1] : NULL;
  return last && (last->flags & GLOW_PORT_VARIADIC) ? last : NULL;
}

/* ---- The check ------------------------------------------------------------------------------- */

typedef struct Checker {
  const OpFile *file;
  const OpDecl *op; /* whose rule it is */
} Checker;

static void check_value(const Checker *c, Rule *r);

static void unknown_word(const Checker *c, Name n, bool member) {
  GLOW_VEC(const char *) all = {0};
  GlowArena *arena = c->file->arena;
  for (uint32_t i = 0; !member && i < c->op->in.count; i++)
    glow_vec_push(arena, &all, c->op->in.data[i].name.text);
  for (uint32_t i = 0; !member && i < c->op->out.count; i++) {
    glow_vec_push(arena, &all, c->op->out.data[i].name.text);
    glow_vec_push(arena, &all, glow_arena_printf(arena, "d%s", c->op->out.data[i].name.text));
  }
  for (uint32_t i = 0; member && i < c->op->members.count; i++)
    glow_vec_push(arena, &all, c->op->members.data[i].name.text);
  glow_error(c->file->ctx, n.loc, "'%s' has no %s '%s'%s", c->op->name.text,
             member ? "member" : "operand, result or derivative", n.text,
             did_you_mean(c->file->ctx, n.text, all.data, all.count));
}

static void check_word(const Checker *c, Rule *r) {
  const char *word = r->name.text;
  int in = find_in(&c->op->in, word), out = find_in(&c->op->out, word);
  if (in < 0 && out < 0 && word[0] == 'd')
    out = find_in(&c->op->out, word + 1);
  if (in >= 0)
    r->kinds = port_kinds(c->op, &c->op->in.data[in]);
  else if (out >= 0)
    r->kinds = port_kinds(c->op, &c->op->out.data[out]);
  else
    unknown_word(c, r->name, false);
}

static bool is_real(const Rule *r) { return r->kind != RULE_NUMBER && (r->kinds & FLOATS) != 0; }

/* Whether op has derivatives by a port. */
static bool is_differentiable(const OpDecl *op, const PortDecl *p) {
  for (uint32_t i = 0; i < op->grads.count; i++) {
    const GradDecl *g = &op->grads.data[i];
    if (g->kind != GRAD_NONE && (!g->port.text || &op->in.data[g->operand] == p))
      return true;
  }
  return false;
}

/* Closure: if the argument may depend on what is differentiated, op has a derivative there. */
static void check_closure(const Checker *c, const Rule *arg, const OpDecl *op, const PortDecl *p,
                          GlowLoc loc) {
  bool real = op->out.count && (port_kinds(op, &op->out.data[0]) & FLOATS) != 0;
  if (is_real(arg) && real && !is_differentiable(op, p))
    glow_error(c->file->ctx, loc,
               "the rule of '%s' applies %s to values that depend on operands, but %s has no "
               "derivative by %s",
               c->op->name.text, op->name.text, op->name.text, p->name.text);
}

/* The type of a member as text: `i64[]`. */
static const char *member_type(const Checker *c, const MemberDecl *m) {
  return glow_arena_printf(c->file->arena, "%s%s", m->type.text, m->array ? "[]" : "");
}

/* The member of the rule's operator that stands behind a value of a setting or in a helper; NULL
 * after a report, or if the value is a literal. */
static const MemberDecl *member_of(const Checker *c, const Rule *r) {
  if (r->kind == RULE_CALL) {
    int h = find_helper(r->name.text);
    if (h >= 0 && helpers[h].member && r->args.count == 1)
      return member_of(c, r->args.data[0]);
    glow_error(c->file->ctx, r->name.loc, "'%s' gives no member", r->name.text);
    return NULL;
  }
  const MemberDecl *m = r->kind == RULE_WORD ? find_member(c->op, r->name.text) : NULL;
  if (!m)
    unknown_word(c, r->name, true);
  return m;
}

static bool is_literal(const MemberDecl *m, const Rule *r) {
  const char *word = r->name.text;
  if (m->array || r->kind == RULE_CALL)
    return false;
  if (r->kind == RULE_NUMBER)
    return m->member_type == GLOW_MEMBER_FLOAT || m->member_type == GLOW_MEMBER_I64 ||
           (m->member_type == GLOW_MEMBER_U32 && word[0] != '-');
  if (m->member_type == GLOW_MEMBER_BOOL)
    return strcmp(word, "true") == 0 || strcmp(word, "false") == 0;
  for (uint32_t i = 0; m->enumeration && i < m->enumeration->values.count; i++)
    if (strcmp(m->enumeration->values.data[i].text, word) == 0)
      return true;
  return false;
}

static void check_setting(const Checker *c, const OpDecl *op, const Setting *s) {
  const MemberDecl *to = find_member(op, s->member.text);
  if (!to) {
    GLOW_VEC(const char *) all = {0};
    for (uint32_t i = 0; i < op->members.count; i++)
      glow_vec_push(c->file->arena, &all, op->members.data[i].name.text);
    glow_error(c->file->ctx, s->member.loc, "'%s' has no member '%s'%s", op->name.text,
               s->member.text, did_you_mean(c->file->ctx, s->member.text, all.data, all.count));
    return;
  }
  if (is_literal(to, s->value))
    return;
  const MemberDecl *from = member_of(c, s->value);
  if (from && (from->member_type != to->member_type || from->array != to->array ||
               from->enumeration != to->enumeration))
    glow_error(c->file->ctx, s->value->name.loc, "member '%s' is %s, but '%s' of %s is %s",
               from->name.text, member_type(c, from), to->name.text, op->name.text,
               member_type(c, to));
}

static void check_settings(const Checker *c, const Rule *r) {
  for (uint32_t i = 0; i < r->settings.count; i++)
    check_setting(c, r->op, &r->settings.data[i]);
  for (uint32_t i = 0; i < r->op->members.count; i++) {
    const MemberDecl *m = &r->op->members.data[i];
    bool given = m->initial.kind != LIT_ABSENT || m->instr_only;
    for (uint32_t k = 0; k < r->settings.count; k++)
      given |= strcmp(r->settings.data[k].member.text, m->name.text) == 0;
    if (!given)
      glow_error(c->file->ctx, r->name.loc, "%s needs '%s'", r->op->name.text, m->name.text);
  }
}

static void check_operands(const Checker *c, Rule *r) {
  const OpDecl *op = r->op;
  for (uint32_t i = 0; i < r->args.count; i++) {
    Rule *arg = r->args.data[i];
    const PortDecl *p = operand_port(op, i);
    check_value(c, arg);
    if (!p || c->file->ctx->errors)
      return;
    GlowKindSet wanted = port_kinds(op, p);
    if (arg->kinds && !(arg->kinds & wanted))
      glow_error(c->file->ctx, arg->name.loc, "operand '%s' of %s cannot have this kind",
                 p->name.text, op->name.text);
    check_closure(c, arg, op, p, r->name.loc);
    /* The result has the kind of the operands of its type variable. */
    bool same = op->out.count && op->out.data[0].type_kind == GLOW_PORT_VAR &&
                p->type_kind == GLOW_PORT_VAR && op->out.data[0].var == p->var;
    if (same)
      r->kinds &= arg->kinds ? arg->kinds : EVERY;
  }
}

static void check_operator(const Checker *c, Rule *r) {
  const OpDecl *op = r->op;
  uint32_t needed = 0;
  for (uint32_t i = 0; i < op->in.count; i++)
    if (!(op->in.data[i].flags & (GLOW_PORT_OPTIONAL | GLOW_PORT_VARIADIC)))
      needed = i + 1;
  if (r->args.count > MAX_ARGS)
    glow_error(c->file->ctx, r->name.loc, "a rule can give at most %d operands", MAX_ARGS);
  if (r->args.count < needed || !operand_port(op, r->args.count - 1))
    glow_error(c->file->ctx, r->name.loc, "%s has %u operands, not %u", op->name.text,
               r->args.count < needed ? needed : op->in.count, r->args.count);
  r->kinds = op->out.count ? port_kinds(op, &op->out.data[0]) : 0;
  check_operands(c, r);
  check_settings(c, r);
}

static void check_built(const Checker *c, const Rule *r, const char *names) {
  while (*names) {
    size_t n = strcspn(names, " ");
    const OpDecl *op = find_op(c->file, glow_str_n(c->file->ctx, names, n));
    names += n + (names[n] == ' ');
    if (op)
      check_closure(c, r->args.data[0], op, &op->in.data[0], r->name.loc);
  }
}

static void check_helper(const Checker *c, Rule *r, int h) {
  const char *args = helpers[h].args;
  uint32_t count = (uint32_t)strlen(args);
  if (r->args.count != count) {
    glow_error(c->file->ctx, r->name.loc, "'%s' takes %u argument%s, not %u", r->name.text, count,
               count == 1 ? "" : "s", r->args.count);
    return;
  }
  for (uint32_t i = 0; i < count; i++) {
    Rule *arg = r->args.data[i];
    bool port = arg->kind == RULE_WORD && (find_in(&c->op->in, arg->name.text) >= 0 ||
                                           find_in(&c->op->out, arg->name.text) >= 0);
    if (args[i] == ARG_MEMBER)
      member_of(c, arg);
    else
      check_value(c, arg);
    if (args[i] == ARG_OPERAND && !port && !c->file->ctx->errors)
      glow_error(c->file->ctx, arg->name.loc, "argument %u of '%s' must be an operand or a result",
                 i + 1, r->name.text);
  }
  if (r->settings.count)
    glow_error(c->file->ctx, r->settings.data[0].member.loc, "'%s' has no members", r->name.text);
  r->kinds = helpers[h].kinds ? helpers[h].kinds : r->args.data[0]->kinds;
  if (!c->file->ctx->errors)
    check_built(c, r, helpers[h].builds);
}

static void check_call(const Checker *c, Rule *r) {
  int h = find_helper(r->name.text);
  r->op = h < 0 ? find_op(c->file, r->name.text) : NULL;
  if (r->op) {
    check_operator(c, r);
  } else if (h >= 0 && !helpers[h].member) {
    check_helper(c, r, h);
  } else if (h >= 0) {
    glow_error(c->file->ctx, r->name.loc, "'%s' gives a member, not a value", r->name.text);
  } else {
    GLOW_VEC(const char *) all = {0};
    for (uint32_t i = 0; i < c->file->ops.count; i++)
      if (!c->file->ops.data[i]->is_instr)
        glow_vec_push(c->file->arena, &all, c->file->ops.data[i]->name.text);
    for (int i = 0; i < NHELPERS; i++)
      glow_vec_push(c->file->arena, &all, helpers[i].name);
    glow_error(c->file->ctx, r->name.loc, "no operator or helper '%s'%s", r->name.text,
               did_you_mean(c->file->ctx, r->name.text, all.data, all.count));
  }
}

static void check_value(const Checker *c, Rule *r) {
  if (r->kind == RULE_WORD)
    check_word(c, r);
  else if (r->kind == RULE_CALL)
    check_call(c, r);
  else
    r->kinds = FLOATS;
}

void rules_check(const OpFile *file) {
  for (uint32_t i = 0; i < file->ops.count; i++) {
    const OpDecl *op = file->ops.data[i];
    for (uint32_t k = 0; k < op->grads.count; k++)
      if (op->grads.data[k].kind == GRAD_RULE) {
        uint32_t before = file->ctx->errors;
        file->ctx->errors = 0; /* of this rule alone */
        check_value(&(Checker){file, op}, op->grads.data[k].rule);
        file->ctx->errors += before;
      }
  }
}

/* ---- Writing --------------------------------------------------------------------------------- */

typedef struct Writer {
  const OpFile *file;
  const OpDecl *op;
  GlowText *out;
  int values;
} Writer;

static int write_value(Writer *w, const Rule *r);

/* The C expression of an operand, a result or a derivative. */
static const char *word_text(const Writer *w, const char *word) {
  int in = find_in(&w->op->in, word), out = find_in(&w->op->out, word);
  if (in >= 0)
    return glow_arena_printf(w->file->arena, "glow_node_in(g->n, %d)", in);
  if (out >= 0)
    return glow_arena_printf(w->file->arena, "glow_node_out(g->n, %d)", out);
  return glow_arena_printf(w->file->arena, "g->dy[%d]", find_in(&w->op->out, word + 1));
}

static const char *member_text(const Writer *w, const MemberDecl *to, const Rule *r) {
  GlowArena *arena = w->file->arena;
  if (r->kind == RULE_CALL)
    return glow_arena_printf(arena, "glow_rule_%s(&rule, %s)", r->name.text,
                             member_text(w, to, r->args.data[0]));
  if (to && is_literal(to, r))
    return to->enumeration ? enum_value(w->file, to->enumeration, r->name.text) : r->name.text;
  return glow_arena_printf(arena, "members->%s", find_member(w->op, r->name.text)->field);
}

/* Whether the argument is an operand that may be absent. */
static bool is_optional(const Writer *w, const Rule *r) {
  int in = r->kind == RULE_WORD ? find_in(&w->op->in, r->name.text) : -1;
  return in >= 0 && (w->op->in.data[in].flags & GLOW_PORT_OPTIONAL);
}

static void write_settings(Writer *w, const Rule *r) {
  const char *upper = r->op->upper, *camel = r->op->camel;
  if (!r->settings.count)
    return;
  glow_text_printf(w->out, "    Glow%sMembers m%d = ", camel, w->values);
  glow_text_printf(w->out, "*(const Glow%sMembers *)glow_op_desc[GLOW_OP_%s].member_defaults;\n",
                   camel, upper);
  for (uint32_t i = 0; i < r->settings.count; i++) {
    const MemberDecl *m = find_member(r->op, r->settings.data[i].member.text);
    glow_text_printf(w->out, "    m%d.%s = %s;\n", w->values, m->field,
                     member_text(w, m, r->settings.data[i].value));
  }
}

static int write_operator(Writer *w, const Rule *r) {
  uint32_t optional = 0, count = r->args.count;
  int *args = GLOW_NEW_ARRAY(w->file->arena, int, count);
  for (uint32_t i = 0; i < count; i++) {
    args[i] = write_value(w, r->args.data[i]);
    optional |= (uint32_t)is_optional(w, r->args.data[i]) << i;
  }
  write_settings(w, r);
  glow_text_printf(w->out,
                   "    GlowValue *v%d = glow_rule_apply(&rule, GLOW_OP_%s, (GlowValue *[]){",
                   w->values, r->op->upper);
  for (uint32_t i = 0; i < count; i++)
    glow_text_printf(w->out, "%sv%d", i ? ", " : "", args[i]);
  glow_text_printf(w->out, "}, %u, 0x%x, ", count, optional);
  glow_text_printf(w->out, r->settings.count ? "&m%d);\n" : "NULL);\n", w->values);
  return w->values++;
}

static int write_helper(Writer *w, const Rule *r) {
  const char *kinds = helpers[find_helper(r->name.text)].args, *args[2] = {0};
  for (uint32_t i = 0; i < r->args.count; i++) {
    const Rule *arg = r->args.data[i];
    args[i] = kinds[i] == ARG_MEMBER ? member_text(w, NULL, arg)
              : kinds[i] == ARG_OPERAND
                  ? word_text(w, arg->name.text)
                  : glow_arena_printf(w->file->arena, "v%d", write_value(w, arg));
  }
  glow_text_printf(w->out, "    GlowValue *v%d = glow_rule_%s(&rule, %s%s%s);\n", w->values,
                   r->name.text, args[0], args[1] ? ", " : "", args[1] ? args[1] : "");
  return w->values++;
}

static int write_value(Writer *w, const Rule *r) {
  if (r->kind == RULE_CALL)
    return r->op ? write_operator(w, r) : write_helper(w, r);
  if (r->kind == RULE_NUMBER)
    glow_text_printf(w->out, "    GlowValue *v%d = glow_rule_number(&rule, %s);\n", w->values,
                     r->name.text);
  else
    glow_text_printf(w->out, "    GlowValue *v%d = %s;\n", w->values, word_text(w, r->name.text));
  return w->values++;
}

bool has_rules(const OpDecl *op) {
  for (uint32_t i = 0; i < op->grads.count; i++)
    if (op->grads.data[i].kind == GRAD_RULE)
      return true;
  return false;
}

void rules_write(const OpFile *file, const OpDecl *op, GlowText *out) {
  Writer w = {.file = file, .op = op, .out = out};
  glow_text_puts(out, "  GlowRule rule = {.g = g};\n");
  if (op->members.count)
    glow_text_printf(out, "  const Glow%sMembers *members = g->n->members;\n  (void)members;\n",
                     op->camel);
  for (uint32_t i = 0; i < op->grads.count; i++) {
    const GradDecl *g = &op->grads.data[i];
    if (g->kind != GRAD_RULE)
      continue;
    glow_text_printf(out, "  if (g->wanted[%u]) {\n", g->operand);
    int v = write_value(&w, g->rule);
    glow_text_printf(out, "    if (!glow_rule_set(&rule, %u, v%d))\n      return false;\n  }\n",
                     g->operand, v);
  }
}

void rule_text(const Rule *r, GlowText *out) {
  glow_text_puts(out, r->name.text);
  for (uint32_t i = 0; i < r->args.count; i++) {
    glow_text_puts(out, i ? ", " : "(");
    rule_text(r->args.data[i], out);
  }
  glow_text_puts(out, r->args.count ? ")" : "");
  for (uint32_t i = 0; i < r->settings.count; i++) {
    glow_text_printf(out, "%s%s = ", i ? ", " : " {", r->settings.data[i].member.text);
    rule_text(r->settings.data[i].value, out);
  }
  glow_text_puts(out, r->settings.count ? "}" : "");
}
