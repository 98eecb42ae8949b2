/* Element-wise operators over whole buffers: rows of at most GLOW_ROW_BLOCK elements go through the
 * generated loops. Operands that are not in the loop's kind (quantized ones, which are computed in
 * float, and exponents of another kind than their base) are converted row by row. */
#include "backend/interp/interp_internal.h"

enum { MAX_INPUTS = 4 };

typedef union RowMemory {
  float real[GLOW_ROW_BLOCK];
  double wide[GLOW_ROW_BLOCK];
  int64_t integer[GLOW_ROW_BLOCK];
} RowMemory;

/* ---- The kind to compute in ------------------------------------------------------------------ */

static bool is_variable(const GlowOpPort *p) { return p->type == GLOW_PORT_VAR; }

static GlowKind compute_kind(const GlowOpDesc *d, const GlowRow *rows, uint32_t nin) {
  GlowKind kinds[MAX_INPUTS] = {GLOW_KIND_COUNT};
  for (uint32_t i = 0; i < nin && i < MAX_INPUTS; i++)
    kinds[i] = rows[1 + i].buf->quantized ? GLOW_KIND_FLOAT : rows[1 + i].buf->kind;
  return glow_op_compute_kind(d, kinds, nin);
}

/* ---- Conversions of rows --------------------------------------------------------------------- */

static void load_as(const GlowRow *r, int64_t n, GlowKind to, RowMemory *m) {
  RowMemory t;
  GlowRowClass cls = glow_ref_class(r->buf);
  bool wide = to == GLOW_KIND_DOUBLE;
  if (to != GLOW_KIND_FLOAT && !wide) {
    glow_load_int(r->buf, r->offset, r->step, n, m->integer);
  } else if (cls == GLOW_ROW_DOUBLE) {
    glow_load_double(r->buf, r->offset, r->step, n, m->wide);
  } else if (cls == GLOW_ROW_FLOAT) {
    glow_load_float(r->buf, r->offset, r->step, n, wide ? t.real : m->real);
    for (int64_t i = 0; wide && i < n; i++)
      m->wide[i] = (double)t.real[i];
  } else {
    glow_load_int(r->buf, r->offset, r->step, n, t.integer);
    for (int64_t i = 0; i < n; i++) {
      int64_t v = t.integer[i];
      double d = cls == GLOW_ROW_UINT ? (double)(uint64_t)v : (double)v;
      if (wide)
        m->wide[i] = d;
      else
        m->real[i] = (float)v;
    }
  }
}

static void store_as(const GlowRow *r, int64_t n, GlowKind from, const RowMemory *m) {
  GlowBuf b = *r->buf;
  if (from == GLOW_KIND_FLOAT && glow_ref_class(&b) == GLOW_ROW_FLOAT) {
    glow_store_float(&b, r->offset, r->step, n, m->real);
  } else if (from == GLOW_KIND_FLOAT || from == GLOW_KIND_DOUBLE) {
    for (int64_t i = 0; i < n; i++)
      glow_ref_store_number(&b, r->offset + i * r->step,
                            from == GLOW_KIND_FLOAT ? (double)m->real[i] : m->wide[i]);
  } else {
    glow_store_int(&b, r->offset, r->step, n, m->integer);
  }
}

/* ---- Rows and buffers ------------------------------------------------------------------------ */

/* The operator Where for elements that have no loop: strings, complex numbers, packed and small
 * kinds. */
static bool pick_row(const GlowRow *rows, uint32_t nin, int64_t n) {
  if (nin != 3)
    return false;
  for (int64_t i = 0; i < n; i++) {
    const GlowRow *from =
        glow_ref_int(rows[1].buf, rows[1].offset + i * rows[1].step) ? &rows[2] : &rows[3];
    glow_ref_move(rows[0].buf, rows[0].offset + i * rows[0].step, from->buf,
                  from->offset + i * from->step, 1, 1);
  }
  return true;
}

static void *row_address(const GlowRow *r) {
  return (char *)r->buf->data + r->offset * (int64_t)(glow_ref_bits(r->buf->kind) / 8);
}

bool glow_elementwise_row(const GlowKernels *k, GlowOp op, const void *members, const GlowRow *rows,
                          uint32_t nin, int64_t n) {
  const GlowOpDesc *d = &glow_op_desc[op];
  RowMemory memory[MAX_INPUTS + 1];
  void *p[MAX_INPUTS + 1];
  int64_t strides[MAX_INPUTS + 1];
  uint32_t present = 0;
  if (d->nin > MAX_INPUTS)
    return false;
  GlowKind kind = compute_kind(d, rows, nin);
  GlowRowFn loop = kind < GLOW_KIND_COUNT ? k->rows[op][kind] : NULL;
  if (!loop)
    return op == GLOW_OP_WHERE && pick_row(rows, nin, n);
  for (uint32_t i = 0; i < d->nin; i++) {
    const GlowRow *r = &rows[1 + i];
    bool is_there = i < nin && glow_buf_present(r->buf);
    p[1 + i] = &memory[1 + i];
    strides[1 + i] = 0;
    if (!is_there)
      continue;
    present |= 1u << i;
    if (is_variable(&d->in[i]) && (r->buf->quantized || r->buf->kind != kind)) {
      load_as(r, r->step ? n : 1, kind, &memory[1 + i]);
      strides[1 + i] = r->step != 0;
    } else {
      p[1 + i] = row_address(r);
      strides[1 + i] = r->step;
    }
  }
  bool convert = is_variable(&d->out[0]) && (rows[0].buf->quantized || rows[0].buf->kind != kind);
  p[0] = convert ? (void *)&memory[0] : row_address(&rows[0]);
  strides[0] = convert ? 1 : rows[0].step;
  loop(p, strides, n, members, present);
  if (convert)
    store_as(&rows[0], n, kind, &memory[0]);
  return true;
}

bool glow_elementwise(const GlowKernels *k, GlowOp op, const void *members, GlowBuf *out,
                      GlowBuf *in, uint32_t nin) {
  GlowBuf *bufs[MAX_INPUTS + 1] = {out};
  GlowRow rows[MAX_INPUTS + 1];
  GlowRowLoop l;
  if (nin > MAX_INPUTS)
    return false;
  for (uint32_t i = 0; i < nin; i++)
    bufs[1 + i] = &in[i];
  bool ok = true;
  if (!glow_row_loop_init(&l, bufs, nin + 1))
    return true;
  while (ok && glow_row_loop_next(&l)) {
    for (uint32_t i = 0; i <= nin; i++)
      rows[i] = (GlowRow){bufs[i], l.offset[i], l.step[i]};
    ok = glow_elementwise_row(k, op, members, rows, nin, l.n);
  }
  glow_ref_clear_padding(out);
  return ok;
}
