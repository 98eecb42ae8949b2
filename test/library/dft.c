/* Transforms of lines: every radix, and lengths that have none. */
#include "test/library/cases.h"

void case_dft(Program *p) {
  static const int lengths[] = {1, 2, 3, 8, 15, 21, 48, 49, 60, 64, 75, 97, 112, 118, 256};
  const bool inverse = draw(p, 2), one_sided = draw(p, 2);
  const int count = (int)(sizeof lengths / sizeof *lengths);
  const int length = draw(p, 2) ? lengths[draw(p, count)] : draw_in(p, 1, 40);
  const int expected = inverse && one_sided ? length / 2 + 1 : length;
  const bool given = draw(p, 2) || (inverse && one_sided);
  Shape x = draw_shape(p, draw_kind(p, FLOATS), 2, 4, 3), y;
  const int axis = (int)draw(p, (uint32_t)x.rank - 1);
  x.dims[axis] = given ? draw_in(p, 1, expected + 4) : length;
  x.dims[x.rank - 1] = one_sided && inverse ? 2 : one_sided ? 1 : draw_in(p, 1, 2);
  y = x;
  y.dims[axis] = one_sided && !inverse ? length / 2 + 1 : length;
  y.dims[x.rank - 1] = one_sided && inverse ? 1 : 2;
  put(p, "  dft @out @v%d, @in @v%d, @in ", declare(p, &y), declare(p, &x));
  if (given)
    put(p, "@v%d", declare_int(p, length));
  else
    put(p, "none");
  put(p, " {axis = %d, inverse = %s, onesided = %s, ", draw(p, 2) ? axis : axis - x.rank,
      inverse ? "true" : "false", one_sided ? "true" : "false");
  put_shards(p);
}
