/* DFT of plain, dense buffers, whose length is known. */
#include "cpu/work.h"
#include "kernels/ref/dft.h"

enum { MOST = 1 << 18 }; /* numbers of a table in the program */

static bool read_plan(GlowSelect *s, const GlowNode *n, GlowFourier *f, uint32_t *axis) {
  const GlowCall *call = glow_select_call(s, n);
  const GlowValue *length = glow_node_in(n, GLOW_DFT_IN_LENGTH);
  if (!call)
    return false;
  if (length) {
    const GlowTensor *known = glow_value_known(length);
    if (!known)
      return glow_select_fail(s, "its length is not known before it runs");
    call->in[GLOW_DFT_IN_LENGTH].data = known->data;
  }
  return glow_dft_plan(call, f, axis) ||
         glow_select_fail(s, "its length contradicts the extents of its result");
}

/* How lines lie in X and Y. */
static void read_lines(const GlowView *x, const GlowView *y, const GlowFourier *f, uint32_t axis,
                       GlowDftParams *p) {
  const int64_t x_parts = x->dims[x->rank - 1], y_parts = y->dims[y->rank - 1];
  const bool pairs = f->halved && !f->back;
  const int64_t most = pairs ? f->length : f->loaded;
  const int64_t given = x->dims[axis] < most ? x->dims[axis] : most;
  p->inner = glow_view_extent(x, axis + 1, x->rank - 1);
  p->x_outer = x->dims[axis] * p->inner * x_parts;
  p->y_outer = y->dims[axis] * p->inner * y_parts;
  p->x_inner = x_parts;
  p->y_inner = y_parts;
  p->x_point = pairs ? 2 * p->inner : p->inner * x_parts;
  p->x_part = pairs ? p->inner : x_parts == 2;
  p->given = pairs ? given / 2 : given;
  p->half = pairs && given % 2;
  p->y_point = f->back && f->halved ? 2 * p->inner : p->inner * y_parts;
  p->y_part = f->back ? (f->halved ? p->inner : 0) : 1;
}

/* The table, of which `room` is for work as it is made. */
static const int64_t *make_table(GlowSelect *s, const GlowFourier *f, int64_t count) {
  const int64_t room = glow_fourier_room(f);
  double *work = GLOW_NEW_ARRAY(s->arena, double, 4 * room);
  double *table = GLOW_NEW_ARRAY(s->arena, double, count + 1);
  int64_t *bits = GLOW_NEW_ARRAY(s->arena, int64_t, count + 1);
  glow_fourier_fill(f, table,
                    (GlowFourierLine){work, work + room, work + 2 * room, work + 3 * room});
  memcpy(bits, table, (size_t)count * sizeof(double));
  return bits;
}

bool glow_select_dft(GlowSelect *s, const GlowNode *n) {
  GlowView x, y;
  GlowFourier f;
  uint32_t axis;
  if (!glow_select_dense(s, glow_node_in(n, GLOW_DFT_IN_X), &x) ||
      !glow_select_dense(s, glow_node_out(n, 0), &y))
    return false;
  if (!glow_view_extent(&y, 0, y.rank))
    return true;
  if (!read_plan(s, n, &f, &axis))
    return false;
  const int64_t count = f.points > MOST ? f.points : glow_fourier_table(&f);
  if (count > MOST)
    return glow_select_fail(s, "its lines are too long for a table in the program");
  GlowDftParams p = {.length = f.length,
                     .points = f.points,
                     .chirp = f.chirp,
                     .loaded = f.loaded,
                     .results = f.results,
                     .inverse = f.inverse,
                     .back = f.back,
                     .halved = f.halved,
                     .room = glow_fourier_room(&f)};
  read_lines(&x, &y, &f, axis, &p);
  GlowWorkSpec spec = {.units = glow_view_extent(&x, 0, axis) * p.inner};
  glow_work_dft(s, n, y.type->kind, &p, make_table(s, &f, count), (uint32_t)count,
                &(GlowDftPlaces){.y = y.place, .x = x.place}, &spec)
      ->scratch = 4 * p.room * (int64_t)sizeof(double);
  return true;
}
