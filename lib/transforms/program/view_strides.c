/* Removes instructions that only move elements, if their readers, or the writer of what they read,
 * can take views with strides instead:
 *
 *   transpose @out %t, @in %x;  mat_mul @out %y, @in %t, ..
 *     becomes   %v = tensorview %x {strides = ..};  mat_mul @out %y, @in %v, ..
 *   mat_mul @out %t, ..;  transpose @out %y, @in %t
 *     becomes   %v = tensorview %y {strides = ..};  mat_mul @out %v, ..
 *
 * Slice and Split are read in place likewise. A reshape in between becomes a view with other
 * strides, if there are such strides. Readers that move elements, and all writers, need contiguous
 * rows; element-wise instructions, and the epilogue of a product, need long contiguous rows
 * (LONG_ROW). A Relayout needs what it
 * blocks to be contiguous: it puts channels that lie side by side into blocks of channels, or back,
 * without the Transpose. What is read must stay as it is until it is read for the last time; what
 * is written must not be touched from its new writer on. */
#include "ir/dims.h"
#include "transforms/pieces.h"
#include "transforms/programs.h"

enum { LONG_ROW = 16 }; /* elements */

/* A view with strides of `root`, which is no view itself. */
typedef struct Strided {
  GlowValue *root;
  uint32_t rank;
  GlowDim offset, dims[GLOW_MAX_RANK], strides[GLOW_MAX_RANK]; /* numbers and symbols */
} Strided;

typedef struct Reader {
  GlowValue *value; /* the buffer that goes, or a reshape of it */
  Strided s;
} Reader;

typedef struct Views {
  GlowPassRun *run;
  GLOW_VEC(Reader) readers;
  uint64_t count;
  int64_t bytes;
} Views;

/* ---- Strides --------------------------------------------------------------------------------- */

static bool strided_of(GlowValue *v, Strided *s) {
  const GlowType *t = v->type;
  if (!glow_type_is_tensor(t) || !glow_type_is_known(t) || t->layout ||
      glow_kind_info[t->kind].bits % 8 || t->kind == GLOW_KIND_STRING)
    return false;
  const GlowNode *view = glow_value_def(v, GLOW_OP_TENSORVIEW);
  const GlowArray strides =
      view ? ((const GlowTensorviewMembers *)view->members)->strides : (GlowArray){0};
  *s = (Strided){.rank = t->rank, .offset = GLOW_EXACT(0)};
  GlowDim size = GLOW_EXACT(1);
  for (uint32_t i = t->rank; i-- > 0;) {
    s->dims[i] = t->dims[i];
    s->strides[i] = strides.count ? glow_size_dim(glow_array_at(strides, GlowSize, i)) : size;
    size = glow_dim_mul(size, s->dims[i]);
  }
  for (GlowNode *n; (n = glow_value_def(v, GLOW_OP_TENSORVIEW)); v = glow_node_in(n, 0))
    s->offset =
        glow_dim_add(s->offset, glow_size_dim(((const GlowTensorviewMembers *)n->members)->offset));
  s->root = v;
  return glow_dim_is_known(size) && size.size > 0 && glow_dim_is_known(s->offset) &&
         v->type->kind == t->kind;
}

/* Sets *s to the view of n's operand that has the elements of output `out`. */
static bool source_of(const GlowNode *n, uint32_t out, Strided *s) {
  GlowPiece p;
  Strided x;
  if (n->op == GLOW_OP_TRANSPOSE) {
    const GlowArray perm = ((const GlowTransposeMembers *)n->members)->perm;
    if (!strided_of(glow_node_in(n, 0), &x))
      return false;
    *s = x;
    for (uint32_t i = 0; i < x.rank; i++) {
      uint32_t a = perm.count ? glow_array_at(perm, uint32_t, i) : x.rank - 1 - i;
      s->dims[i] = x.dims[a];
      s->strides[i] = x.strides[a];
    }
    return true;
  }
  if (!glow_piece_cut_known(n, out, &p) || !strided_of(p.source, &x))
    return false;
  *s = x;
  for (uint32_t i = 0; i < p.rank; i++) {
    if (p.size[i] == 0 || (p.step[i] < 0 && p.size[i] > 1))
      return false;
    s->offset = glow_dim_add(s->offset, glow_dim_mul(GLOW_EXACT(p.start[i]), x.strides[i]));
    s->dims[i] = x.dims[i].extent ? x.dims[i] : GLOW_EXACT(p.size[i]);
    s->strides[i] =
        p.size[i] > 1 ? glow_dim_mul(GLOW_EXACT(p.step[i]), x.strides[i]) : x.strides[i];
    if (!glow_dim_is_known(s->offset) || !glow_dim_is_known(s->strides[i]))
      return false;
  }
  return true;
}

/* Moves *i and *k behind the next axes, of x and of y, whose extents have the same product. False
 * if there are none. */
static bool next_group(const Strided *x, const Strided *y, uint32_t *i, uint32_t *k) {
  GlowDim a = x->dims[(*i)++], b = y->dims[(*k)++];
  while (!glow_dim_agrees(a, b)) {
    bool behind = a.size < b.size || (a.size == b.size && *i < x->rank);
    if (behind ? *i == x->rank : *k == y->rank)
      return false;
    if (behind)
      a = glow_dim_mul(a, x->dims[(*i)++]);
    else
      b = glow_dim_mul(b, y->dims[(*k)++]);
    if (!glow_dim_is_known(a) || !glow_dim_is_known(b))
      return false;
  }
  return true;
}

/* The same elements in the same order under t's extents; false if no strides say that. */
static bool reshape(const Strided *whole, const GlowType *t, Strided *y) {
  Strided x = *whole;
  x.rank = 0;
  for (uint32_t i = 0; i < whole->rank; i++) {
    if (glow_dim_is_exact(whole->dims[i], 1))
      continue;
    x.dims[x.rank] = whole->dims[i];
    x.strides[x.rank++] = whole->strides[i];
  }
  *y = *whole;
  y->rank = t->rank;
  for (uint32_t i = 0; i < t->rank; i++) {
    y->dims[i] = t->dims[i];
    y->strides[i] = GLOW_EXACT(1);
  }
  uint32_t i = 0, k = 0;
  while (i < x.rank && k < y->rank) {
    if (glow_dim_is_exact(y->dims[k], 1)) {
      k++;
      continue;
    }
    uint32_t first = i, begin = k;
    if (!next_group(&x, y, &i, &k))
      return false;
    for (uint32_t a = first; a + 1 < i; a++)
      if (!glow_dim_agrees(x.strides[a], glow_dim_mul(x.strides[a + 1], x.dims[a + 1])))
        return false;
    GlowDim size = x.strides[i - 1];
    for (uint32_t a = k; a-- > begin; size = glow_dim_mul(size, y->dims[a])) {
      if (!glow_dim_is_known(size))
        return false;
      y->strides[a] = size;
    }
  }
  return i == x.rank;
}

static bool has_rows(const Strided *s) {
  for (uint32_t i = s->rank; i-- > 0;)
    if (!glow_dim_is_exact(s->dims[i], 1))
      return glow_dim_is_exact(s->strides[i], 1);
  return true;
}

/* Loops over elements take whole registers of a row. */
static bool has_long_rows(const Strided *s) {
  return s->rank && s->dims[s->rank - 1].size >= LONG_ROW &&
         glow_dim_is_exact(s->strides[s->rank - 1], 1);
}

/* Whether the innermost blocks of `blocked`, the other side of a Relayout, are contiguous in s,
 * too. It has whole blocks, so nothing but them is moved. */
static bool has_blocks(const Strided *s, const GlowValue *blocked) {
  const GlowLayout *layout = blocked->type->layout;
  if (!layout || !layout->nblocks || layout->rank != s->rank)
    return false;
  const uint32_t last = layout->nblocks - 1u, axis = layout->blocks[last].axis;
  return glow_dim_is_exact(s->strides[axis], 1) && !s->dims[axis].extent &&
         s->dims[axis].size % layout->blocks[last].size == 0;
}

/* A view of s, before n; it has n's number. */
static GlowValue *build_view(Views *w, const Strided *s, const GlowType *t, GlowNode *n) {
  GlowSize strides[GLOW_MAX_RANK];
  for (uint32_t i = 0; i < s->rank; i++)
    strides[i] = glow_size(s->strides[i]);
  GlowTensorviewMembers members = {.offset = glow_size(s->offset),
                                   .strides = glow_array_sizes(w->run->module, strides, s->rank)};
  GlowBuilder b = glow_builder_before(n);
  b.pred = NULL;
  GlowValue *root = s->root;
  GlowNodeSpec spec = {
      .op = GLOW_OP_TENSORVIEW, .ins = &root, .nins = 1, .members = &members, .types = &t};
  GlowNode *view = glow_node_create(&b, &spec);
  GLOW_CHECK(w->run->ctx, view, "a view with strides cannot be built");
  view->order = n->order;
  return &view->results[0];
}

/* Removes a view that nothing uses, and those that it alone was a view of. */
static void prune(GlowValue *v) {
  for (GlowNode *n; !v->uses && (n = glow_value_def(v, GLOW_OP_TENSORVIEW));) {
    v = glow_node_in(n, 0);
    glow_node_remove(n);
  }
}

/* ---- Reading in place ------------------------------------------------------------------------ */

static bool takes_strides(const GlowUse *u, const Strided *s) {
  const GlowNode *n = u->user;
  if (u == &n->pred || u->qual != GLOW_QUAL_IN)
    return false;
  uint32_t i = (uint32_t)(u - n->operands);
  if (i >= n->noperands - n->nextra)
    return n->op == GLOW_OP_MAT_MUL && has_long_rows(s);
  if (i < n->nouts)
    return false;
  const GlowOpDesc *d = glow_node_desc(n);
  if (n->op == GLOW_OP_RELAYOUT && has_blocks(s, glow_node_out(n, 0)))
    return true;
  return (glow_op_in_port(d, i - n->nouts)->flags & GLOW_PORT_STRIDED) &&
         (GLOW_HAS(d, ELEMENTWISE) ? has_long_rows(s) : has_rows(s) || !GLOW_HAS(d, MOVEMENT));
}

/* Whether all that reads v, which `writer` writes, could read the view s instead. Adds v and its
 * reshapes to w->readers, each with its view. */
static bool readers_take(Views *w, GlowValue *v, const Strided *s, const GlowNode *writer) {
  Reader r = {v, *s};
  glow_vec_push(w->run->arena, &w->readers, r);
  for (const GlowUse *u = v->uses; u; u = u->next) {
    GlowNode *n = u->user;
    if (n == writer || n->op == GLOW_OP_DEALLOC)
      continue;
    if (n->op != GLOW_OP_TENSORVIEW) {
      if (!takes_strides(u, s))
        return false;
      continue;
    }
    const GlowTensorviewMembers *m = n->members;
    Strided reshaped;
    if (m->offset.size || m->strides.count || n->results[0].type->layout ||
        !glow_type_same_elements(n->results[0].type, v->type) ||
        !reshape(s, n->results[0].type, &reshaped) ||
        !readers_take(w, &n->results[0], &reshaped, writer))
      return false;
  }
  return true;
}

/* Whether output `out` can be read where its elements come from. */
static bool can_read(Views *w, GlowNode *n, uint32_t out, GlowNode **last) {
  GlowValue *to = n->operands[out].value;
  Strided s;
  if (!to || !glow_buffer_is_plain_alloc(to) || to->def.node->block != n->block ||
      !source_of(n, out, &s) || !readers_take(w, to, &s, n))
    return false;
  *last = glow_buffer_last_reader(w->run->arena, &n->operands[out]);
  return *last &&
         !glow_span_accessed(n->next, *last, glow_value_span(glow_node_in(n, 0)), GLOW_WRITES);
}

static bool read_in_place(Views *w, GlowNode *n) {
  GlowNode *last = NULL, *at = NULL;
  w->readers.count = 0;
  for (uint32_t i = 0; i < n->nouts; i++) {
    if (!can_read(w, n, i, &at))
      return false;
    last = !last || at->order > last->order ? at : last;
  }
  glow_program_begin_change(w->run);
  glow_pass_changed(w->run, n, "%s is read in place, as views with strides",
                    glow_node_desc(n)->instr);
  glow_buffer_keep_until(glow_buffer_base(glow_node_in(n, 0)), last);
  GlowValue *source = glow_node_in(n, 0);
  for (uint32_t i = w->readers.count; i-- > 0;) {
    Reader *r = &w->readers.data[i];
    GlowNode *def = r->value->def.node;
    GlowValue *view = build_view(w, &r->s, r->value->type, n);
    if (def->op == GLOW_OP_ALLOC) {
      w->bytes += glow_type_bytes(r->value->type);
      glow_node_remove(glow_buffer_dealloc(r->value));
      for (uint32_t k = 0; k < n->nouts; k++)
        if (n->operands[k].value == r->value)
          glow_use_set(&n->operands[k], NULL);
    }
    glow_value_replace_uses(r->value, view);
    glow_node_remove(def);
    prune(view);
  }
  glow_node_remove(n);
  prune(source);
  w->count++;
  return true;
}

/* ---- Writing in place ------------------------------------------------------------------------ */

/* The instruction that could write the result of transpose n itself, and what it would write. */
static GlowNode *find_writer(const GlowNode *n, Strided *s) {
  GlowValue *from = glow_node_in(n, 0), *to = n->operands[0].value;
  Strided y;
  if (n->op != GLOW_OP_TRANSPOSE || !to || !glow_buffer_is_plain_alloc(from) ||
      !strided_of(to, &y) || !strided_of(from, s))
    return NULL;
  GlowBufferUses uses = glow_buffer_uses(from);
  GlowNode *c = uses.writer && !uses.others && uses.reader ? uses.writer->user : NULL;
  if (!c || c->block != n->block || c->pred.value || uses.reader->user != n)
    return NULL;
  uint32_t out = (uint32_t)(uses.writer - c->operands);
  bool blocks = c->op == GLOW_OP_RELAYOUT;
  if (!(glow_op_out_port(glow_node_desc(c), out)->flags & GLOW_PORT_STRIDED) ||
      (GLOW_HAS(glow_node_desc(c), MOVEMENT) && !blocks))
    return NULL;
  const GlowArray perm = ((const GlowTransposeMembers *)n->members)->perm;
  for (uint32_t i = 0; i < y.rank; i++)
    s->strides[perm.count ? glow_array_at(perm, uint32_t, i) : y.rank - 1 - i] = y.strides[i];
  s->root = y.root;
  s->offset = y.offset;
  if (blocks)
    return has_blocks(s, glow_node_in(c, 0)) ? c : NULL;
  bool loops = GLOW_HAS(glow_node_desc(c), ELEMENTWISE);
  return (loops ? has_long_rows(s) : has_rows(s)) ? c : NULL;
}

static bool write_in_place(Views *w, GlowNode *n) {
  Strided s;
  GlowNode *c = find_writer(n, &s);
  if (!c)
    return false;
  GlowNode *alloc = glow_value_def(s.root, GLOW_OP_ALLOC);
  bool later = alloc && alloc->order > c->order;
  if ((alloc && alloc->block != n->block) ||
      (!later && glow_span_accessed(c, n->prev, glow_value_span(n->operands[0].value),
                                    GLOW_READS | GLOW_WRITES)))
    return false;
  GlowValue *from = glow_node_in(n, 0), *to = n->operands[0].value;
  glow_program_begin_change(w->run);
  glow_pass_changed(w->run, n, "%s writes what transpose would", glow_node_desc(c)->instr);
  if (later) {
    glow_node_move_before(alloc, c);
    alloc->order = c->order;
  }
  GlowValue *view = build_view(w, &s, from->type, c);
  w->bytes += glow_type_bytes(from->type);
  w->count++;
  glow_node_remove(n);
  glow_node_remove(glow_buffer_dealloc(from));
  GlowNode *def = from->def.node;
  glow_value_replace_uses(from, view);
  glow_node_remove(def);
  prune(to);
  return true;
}

/* ---- The pass -------------------------------------------------------------------------------- */

static bool moves(const GlowNode *n) {
  return !n->pred.value &&
         (n->op == GLOW_OP_TRANSPOSE || n->op == GLOW_OP_SLICE || n->op == GLOW_OP_SPLIT);
}

static void view_in_block(Views *w, GlowBlock *b) {
  for (GlowNode *n = b->first, *next; n; n = next) {
    for (uint32_t i = 0; i < n->nregions; i++)
      if (n->regions[i] && !n->regions[i]->scalar)
        view_in_block(w, n->regions[i]);
    for (next = n->next; next && (next->op == GLOW_OP_DEALLOC || next->op == GLOW_OP_TENSORVIEW);)
      next = next->next; /* they may go with their allocs */
    if (moves(n) && !read_in_place(w, n))
      write_in_place(w, n);
  }
}

bool glow_pass_view_strides(GlowPassRun *run) {
  Views w = {.run = run};
  glow_function_number(run->function);
  view_in_block(&w, run->function->body);
  glow_program_saved(run, w.count, "moves", w.bytes);
  return true;
}
