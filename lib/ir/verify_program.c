/* The rules for buffers of programs.
 *
 * A buffer is an alloc, a storage or a parameter. A tensorview is a part of a buffer; using it
 * counts as using the buffer. A walk in execution order knows of each alloc whether it has been
 * written and whether its dealloc has been passed. After an If, the buffers that both regions write
 * count as written. What any other region writes does not count after it, since the region may not
 * run. */
#include <string.h>

#include "ir/ir_internal.h"
#include "tensor/form.h"

/* The state of an alloc during the walk. */
typedef struct Buffer {
  GlowNode *alloc;
  const GlowNode *dealloc; /* NULL until the walk passes it */
  bool written;
  uint32_t mark; /* number of the last If whose second region wrote the buffer */
} Buffer;

typedef struct Checker {
  GlowContext *ctx;
  GlowArena *scratch;
  GlowMap *buffers;           /* root value -> Buffer */
  GLOW_VEC(Buffer *) written; /* in the order of their first write */
  uint32_t marks;             /* the last number used as a mark */
  bool *ok;
} Checker;

static bool report(Checker *c) {
  *c->ok = false;
  return false;
}

/* ---- Spans ---------------------------------------------------------------------------------- */
static int64_t count_elements(const GlowType *t) {
  uint32_t bits = glow_type_is_tensor(t) ? glow_kind_info[t->kind].bits : 0;
  int64_t bytes = bits ? glow_type_bytes(t) : -1;
  return bytes < 0 ? INT64_MAX : bytes * 8 / bits;
}

/* Stores the extents of the physical axes and returns the number of axes. */
static uint32_t physical_extents(const GlowType *t, int64_t *physical) {
  int64_t dims[GLOW_MAX_RANK];
  for (uint32_t i = 0; i < t->rank; i++)
    dims[i] = t->dims[i].size;
  return glow_layout_physical(t->layout, t->rank, dims, physical);
}

/* How far a view with strides reaches: from its first element to one past its last. */
static int64_t reach(const GlowType *t, GlowArray strides) {
  int64_t physical[GLOW_MAX_RANK + 4], end = 1;
  uint32_t rank = physical_extents(t, physical);
  for (uint32_t i = 0; i < rank && i < strides.count; i++) {
    int64_t step;
    if (physical[i] == 0)
      return 0;
    if (__builtin_mul_overflow(physical[i] - 1, glow_array_at(strides, GlowSize, i).size, &step) ||
        __builtin_add_overflow(end, step, &end))
      return INT64_MAX;
  }
  return end;
}

/* Each view has been verified to lie inside its base, and to have elements as wide as its base. */
GlowSpan glow_value_span(const GlowValue *v) {
  int64_t offset = 0, moved = 0, size = -1; /* the offset is at least, and at most as much more */
  bool open = false;
  for (const GlowNode *view; (view = glow_value_def(v, GLOW_OP_TENSORVIEW));
       v = view->operands[0].value) {
    const GlowTensorviewMembers *m = view->members;
    const GlowExtent *e = m->offset.extent;
    if (__builtin_add_overflow(offset, e ? e->least : m->offset.size, &offset))
      offset = INT64_MAX / 2;
    if (e && __builtin_add_overflow(moved, e->most - e->least, &moved))
      moved = INT64_MAX / 2;
    open |= e != NULL;
    if (size < 0)
      size = m->strides.count ? reach(v->type, m->strides) : count_elements(v->type);
  }
  if (size < 0)
    size = count_elements(v->type);
  GlowSpan p = {v, offset, offset, open};
  if (__builtin_add_overflow(offset, size, &p.high) ||
      __builtin_add_overflow(p.high, moved, &p.high))
    p.high = INT64_MAX;
  return p;
}

bool glow_spans_overlap(GlowSpan a, GlowSpan b) {
  return a.root == b.root && a.low < b.high && b.low < a.high;
}

/* ---- Touching a buffer ----------------------------------------------------------------------- */
static Buffer *buffer_of(const Checker *c, const GlowValue *v) {
  return glow_map_get(c->buffers, glow_value_span(v).root);
}

static const char *name_of(const GlowValue *v) { return v->name ? v->name : "_"; }

static void set_written(Checker *c, Buffer *b) {
  if (!b || b->written)
    return;
  b->written = true;
  glow_vec_push(c->scratch, &c->written, b);
}

static bool check_alive(Checker *c, const GlowNode *n, const GlowValue *v, const Buffer *b) {
  if (!b || !b->dealloc)
    return true;
  glow_verify_error(n, "uses '%%%s' after its dealloc", name_of(v));
  glow_note(c->ctx, glow_node_loc(b->dealloc), "it ends here");
  return report(c);
}

/* A buffer with bounds starts with extents 0, so `append` may use it before anything is written. */
static bool starts_defined(const GlowValue *v, GlowQual qual) {
  return qual == GLOW_QUAL_INOUT && glow_type_is_tensor(v->type) && !glow_type_is_static(v->type);
}

static bool check_read(Checker *c, const GlowNode *n, const GlowUse *use) {
  const Buffer *b = buffer_of(c, use->value);
  if (!check_alive(c, n, use->value, b))
    return false;
  if (!b || b->written || starts_defined(use->value, use->qual))
    return true;
  glow_verify_error(n, "reads '%%%s' before anything is written into it", name_of(use->value));
  glow_note_value(n, &b->alloc->results[0]);
  return report(c);
}

static bool check_write(Checker *c, const GlowNode *n, const GlowValue *v) {
  const GlowValue *root = glow_value_span(v).root;
  if (root->kind == GLOW_VALUE_STORAGE && root->def.storage->cls == GLOW_CONSTANT) {
    glow_verify_error(n, "writes '@%s', which is a constant", root->name);
    glow_note_value(n, root);
    return report(c);
  }
  return check_alive(c, n, v, buffer_of(c, v));
}

/* ---- In place -------------------------------------------------------------------------------- */
bool glow_instr_may_share(const GlowNode *n, uint32_t out, uint32_t in) {
  const GlowOpDesc *d = glow_node_desc(n);
  if (in >= glow_node_nins(n))
    return false; /* an extra is still read after other elements are written */
  if (d->body)
    return true; /* element by element: an element is read before it is written */
  for (uint32_t i = 0; i < d->ninplace; i++)
    if (d->inplace[i].out == out && d->inplace[i].in == in)
      return true;
  return false;
}

/* The same extents and layout. Kinds need no check: views of one buffer have its kind. */
static bool same_shape(const GlowType *a, const GlowType *b) {
  if (a->rank != b->rank || a->layout != b->layout)
    return false;
  for (uint32_t i = 0; i < a->rank; i++)
    if (!glow_dim_equals(a->dims[i], b->dims[i]))
      return false;
  return true;
}

/* Whether a and b, which begin at the same element, have the same elements in the same order. */
static bool same_elements(const GlowValue *a, const GlowValue *b) {
  if (a == b)
    return true;
  if (!same_shape(a->type, b->type))
    return false;
  const GlowNode *x = glow_value_def(a, GLOW_OP_TENSORVIEW),
                 *y = glow_value_def(b, GLOW_OP_TENSORVIEW);
  GlowArray none = {0};
  GlowArray s = x ? ((const GlowTensorviewMembers *)x->members)->strides : none;
  GlowArray t = y ? ((const GlowTensorviewMembers *)y->members)->strides : none;
  if (s.count != t.count)
    return false;
  return s.count == 0 || !memcmp(s.data, t.data, s.count * sizeof(GlowSize));
}

static bool check_pair(Checker *c, const GlowNode *n, uint32_t out, uint32_t other) {
  const GlowValue *a = n->operands[out].value, *b = n->operands[other].value;
  if (!a || !b)
    return true;
  GlowSpan p = glow_value_span(a), q = glow_value_span(b);
  if (!glow_spans_overlap(p, q))
    return true;
  bool written = other < n->nouts;
  if (!written && p.low == q.low && p.open == q.open && same_elements(a, b)) {
    if (glow_instr_may_share(n, out, other - n->nouts))
      return true;
    glow_verify_error(n, "cannot work in place: '%s%s' is read and written",
                      b->kind == GLOW_VALUE_STORAGE ? "@" : "%", name_of(b));
  } else {
    glow_verify_error(n, "%s '%s%s' overlaps what it writes", written ? "output" : "operand",
                      b->kind == GLOW_VALUE_STORAGE ? "@" : "%", name_of(b));
  }
  glow_note_value(n, p.root);
  return report(c);
}

static bool check_overlaps(Checker *c, const GlowNode *n) {
  for (uint32_t i = 0; i < n->nouts; i++)
    for (uint32_t k = i + 1; k < n->noperands; k++)
      if (!check_pair(c, n, i, k))
        return false;
  return true;
}

/* ---- Strides --------------------------------------------------------------------------------- */
bool glow_value_is_strided(const GlowValue *v) {
  const GlowNode *view = glow_value_def(v, GLOW_OP_TENSORVIEW);
  const GlowArray strides =
      view ? ((const GlowTensorviewMembers *)view->members)->strides : (GlowArray){0};
  GlowDim extents[GLOW_MAX_RANK + 4];
  GlowForm size = glow_form_number(1), f;
  bool divides;
  uint32_t rank = strides.count ? glow_type_physical(v->type, extents, &divides) : 0;
  for (uint32_t i = 0; i < rank; i++)
    if (glow_dim_is_exact(extents[i], 0))
      return false;
  for (uint32_t i = rank; i-- > 0;) {
    GlowContext *ctx = view->block->module->ctx;
    GlowDim stride = glow_size_dim(glow_array_at(strides, GlowSize, i));
    if (glow_dim_is_exact(extents[i], 1))
      continue;
    if (!glow_form_of(ctx, stride, &f) || !glow_form_equals(&f, &size) ||
        !glow_form_of(ctx, extents[i], &f) || !glow_form_mul(&size, &f, &size))
      return true;
  }
  return false;
}

static bool check_strides(Checker *c, const GlowNode *n) {
  const GlowOpDesc *d = glow_node_desc(n);
  for (uint32_t i = 0; i < n->noperands - n->nextra; i++) {
    const GlowValue *v = n->operands[i].value;
    const GlowOpPort *port =
        i < n->nouts ? glow_op_out_port(d, i) : glow_op_in_port(d, i - n->nouts);
    if (!v || (port->flags & GLOW_PORT_STRIDED) || !glow_value_is_strided(v))
      continue;
    glow_verify_error(n, "%s takes no view with strides", port->name);
    glow_note_value(n, v);
    return report(c);
  }
  return true;
}

/* ---- Instructions ---------------------------------------------------------------------------- */
static bool add_alloc(Checker *c, GlowNode *n) {
  const GlowType *t = n->results[0].type;
  Buffer *b = GLOW_NEW(c->scratch, Buffer);
  b->alloc = n;
  glow_map_set(c->buffers, &n->results[0], b);
  if (glow_type_is_tensor(t) && glow_type_is_bounded(t))
    return true;
  glow_verify_error(n, "a buffer needs a tensor type with exact or bounded extents, not %s",
                    glow_type_str(c->ctx, t));
  return report(c);
}

static bool end_buffer(Checker *c, const GlowNode *n) {
  const GlowValue *v = n->operands[0].value;
  Buffer *b = glow_value_def(v, GLOW_OP_ALLOC) ? buffer_of(c, v) : NULL;
  if (!b) {
    glow_verify_error(n, "'%s%s' is no alloc", v->kind == GLOW_VALUE_STORAGE ? "@" : "%",
                      name_of(v));
    glow_note_value(n, v);
    return report(c);
  }
  if (b->dealloc) {
    glow_verify_error(n, "a second dealloc of '%%%s'", name_of(v));
    glow_note(c->ctx, glow_node_loc(b->dealloc), "the first one is here");
    return report(c);
  }
  b->dealloc = n;
  if (n->block == b->alloc->block)
    return true;
  glow_verify_error(n, "'%%%s' must end in the block that it is allocated in", name_of(v));
  glow_note_value(n, v);
  return report(c);
}

static void walk(Checker *c, GlowBlock *b);

/* Marks the buffers from index `base` of c->written on as not written; the list keeps them. */
static void forget(Checker *c, uint32_t base) {
  for (uint32_t i = base; i < c->written.count; i++)
    c->written.data[i]->written = false;
}

/* Exactly one of two regions runs: the buffers that both write are written afterwards. */
static void walk_alternatives(Checker *c, GlowNode *n) {
  uint32_t base = c->written.count;
  walk(c, n->regions[0]);
  uint32_t middle = c->written.count;
  forget(c, base);
  walk(c, n->regions[1]);
  forget(c, middle);
  uint32_t mark = ++c->marks, kept = base;
  for (uint32_t i = middle; i < c->written.count; i++)
    c->written.data[i]->mark = mark;
  for (uint32_t i = base; i < middle; i++) {
    Buffer *b = c->written.data[i];
    b->written = b->mark == mark;
    if (b->written)
      c->written.data[kept++] = b;
  }
  c->written.count = kept;
}

static void walk_regions(Checker *c, GlowNode *n) {
  if (n->op == GLOW_OP_IF && n->nregions == 2 && n->regions[0] && n->regions[1]) {
    walk_alternatives(c, n);
    return;
  }
  for (uint32_t i = 0; i < n->nregions; i++) {
    if (!n->regions[i] || n->regions[i]->scalar)
      continue;
    uint32_t base = c->written.count;
    walk(c, n->regions[i]); /* this region may not run */
    forget(c, base);
    c->written.count = base;
  }
}

static void check_instr(Checker *c, GlowNode *n) {
  if (n->op == GLOW_OP_ALLOC) {
    add_alloc(c, n);
    return;
  }
  if (n->op == GLOW_OP_DEALLOC) {
    end_buffer(c, n);
    return;
  }
  if (n->op == GLOW_OP_TENSORVIEW) {
    check_alive(c, n, n->operands[0].value, buffer_of(c, n->operands[0].value));
    return;
  }
  for (uint32_t i = 0; i < n->noperands; i++) {
    const GlowUse *use = &n->operands[i];
    if (!use->value)
      continue;
    if (use->qual != GLOW_QUAL_OUT && !check_read(c, n, use))
      return;
    if (use->qual != GLOW_QUAL_IN && !check_write(c, n, use->value))
      return;
  }
  if (n->pred.value && !check_read(c, n, &n->pred))
    return;
  if (!check_overlaps(c, n) || !check_strides(c, n))
    return;
  walk_regions(c, n);
  for (uint32_t i = 0; i < n->nouts; i++) {
    const GlowUse *use = &n->operands[i];
    Buffer *b = use->value ? buffer_of(c, use->value) : NULL;
    if (b && starts_defined(use->value, use->qual))
      b->written = true; /* not put into c->written: stays true even if this region never runs */
    set_written(c, b);
  }
}

static void walk(Checker *c, GlowBlock *b) {
  for (GlowNode *n = b->first; n; n = n->next)
    check_instr(c, n);
  for (GlowNode *n = b->first; n; n = n->next) {
    const Buffer *buffer = n->op == GLOW_OP_ALLOC ? glow_map_get(c->buffers, &n->results[0]) : NULL;
    if (buffer && !buffer->dealloc) {
      glow_verify_error(n, "'%%%s' has no dealloc in its block", name_of(&n->results[0]));
      report(c);
    }
  }
}

void glow_verify_buffers(GlowFunction *f, bool *ok) {
  Checker c = {.ctx = f->module->ctx, .scratch = glow_arena_create(f->module->ctx), .ok = ok};
  c.buffers = glow_map_create(c.scratch);
  walk(&c, f->body);
  glow_arena_destroy(c.scratch);
}
