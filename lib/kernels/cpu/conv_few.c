/* Convolution of few input channels that are stored plain: the first layer of a network.
 *
 * Blocks of 16 channels would be mostly padding, and a tap would be only a few FMAs long. So the
 * input rows of a band of output rows are packed as [row][place][channel] with their padding as
 * real zeros. Then the taps of a row are one run of channels in the order of docs/Numerics, and the
 * tiles of conv_tile.h read it without a thought for edges. */
#include "conv_tile.h"

typedef float Quad __attribute__((vector_size(16), aligned(4)));

/* Interleaves three channels, four places at a time. Returns how many of the n places are done. */
INLINE int64_t interleave3(float *to, const float *a, const float *b, const float *c, int64_t n) {
  int64_t i = 0;
  ROLLED for (; i + 4 <= n; i += 4) {
    Quad x = *(const Quad *)(a + i), y = *(const Quad *)(b + i), z = *(const Quad *)(c + i);
    Quad xy = __builtin_shufflevector(x, y, 0, 4, 1, 5),
         yz = __builtin_shufflevector(y, z, 1, 5, 2, 6);
    Quad last = __builtin_shufflevector(x, y, 3, 7, 3, 7), *out = (Quad *)(to + i * 3);
    out[0] = __builtin_shufflevector(xy, z, 0, 1, 4, 2);
    out[1] = __builtin_shufflevector(yz, x, 0, 1, 6, 2);
    out[2] = __builtin_shufflevector(z, last, 2, 4, 5, 3);
  }
  return i;
}

/* Interleaves four channels, `step` floats apart, four places at a time: place i is at to + i * ic.
 * Returns how many of the n places are done. */
INLINE int64_t interleave4(float *to, int64_t ic, const float *from, int64_t step, int64_t n) {
  int64_t i = 0;
  ROLLED for (; i + 4 <= n; i += 4) {
    Quad v[4];
    UNROLL for (int c = 0; c < 4; c++) v[c] = *(const Quad *)(from + c * step + i);
    const Quad a = __builtin_shufflevector(v[0], v[1], 0, 4, 1, 5),
               b = __builtin_shufflevector(v[2], v[3], 0, 4, 1, 5),
               c = __builtin_shufflevector(v[0], v[1], 2, 6, 3, 7),
               d = __builtin_shufflevector(v[2], v[3], 2, 6, 3, 7);
    float *out = to + i * ic;
    *(Quad *)out = __builtin_shufflevector(a, b, 0, 1, 4, 5);
    *(Quad *)(out + ic) = __builtin_shufflevector(a, b, 2, 3, 6, 7);
    *(Quad *)(out + 2 * ic) = __builtin_shufflevector(c, d, 0, 1, 4, 5);
    *(Quad *)(out + 3 * ic) = __builtin_shufflevector(c, d, 2, 3, 6, 7);
  }
  return i;
}

/* n zeros. Library code, which does not know how few they are, would make a call for each row. */
INLINE void put_zeros(float *to, int64_t n) {
  if (!IN_LIBRARY || n > 64) {
    __builtin_memset(to, 0, (size_t)n * sizeof *to);
    return;
  }
  int64_t i = 0;
  ROLLED for (; i + 4 <= n; i += 4) * (Quad *)(to + i) = (Quad){0};
  ROLLED for (; i < n; i++) to[i] = 0;
}

/* Packs row h of the image at x, with its padding. */
INLINE void pack_row(const GlowConvFewParams *s, float *to, const float *x, int64_t h) {
  const int64_t pitch = s->places * s->g.ic;
  if ((uint64_t)h >= (uint64_t)s->g.ih) {
    put_zeros(to, pitch);
    return;
  }
  const float *from = x + h * s->g.xh;
  const int64_t left = s->g.pl < s->places ? s->g.pl : s->places;
  const int64_t n = s->places - left < s->g.iw ? s->places - left : s->g.iw;
  put_zeros(to, left * s->g.ic);
  to += left * s->g.ic;
  put_zeros(to + n * s->g.ic, (s->places - left - n) * s->g.ic);
  int64_t done = 0;
  if (s->g.ic == 1 && s->g.xw == 1) {
    __builtin_memcpy(to, from, (size_t)n * sizeof *to);
    return;
  }
  if (s->g.ic == 3 && s->g.xw == 1)
    done = interleave3(to, from, from + s->g.xc, from + 2 * s->g.xc, n);
  if (s->g.ic % 4 == 0 && s->g.xw == 1) {
    ROLLED for (int64_t c = 0; c < s->g.ic; c += 4) done =
        interleave4(to + c, s->g.ic, from + c * s->g.xc, s->g.xc, n);
  }
  ROLLED for (int64_t c = 0; c < s->g.ic && done < n; c++) {
    ROLLED for (int64_t i = done; i < n; i++) to[i * s->g.ic + c] = from[c * s->g.xc + i * s->g.xw];
  }
}

void glow_conv_few(const GlowConvFewParams *params, GlowConvTileFn *full, GlowConvTileFn *small,
                   GlowConvTileFn *full_odd, GlowConvTileFn *small_odd, GlowEpilogueFn *callback,
                   void *const *ptrs, int64_t begin, int64_t end, char *scratch) {
  const GlowConvFewParams s = *params;
  const int64_t pitch = s.places * s.g.ic;
  float *packed = (float *)scratch;
  int64_t r1;
  ROLLED for (int64_t r0 = begin; r0 < end; r0 = r1) {
    const int64_t n = r0 / s.conv.g.oh, h0 = r0 % s.conv.g.oh;
    r1 = r0 + s.conv.band < end ? r0 + s.conv.band : end;
    r1 = r1 < (n + 1) * s.conv.g.oh ? r1 : (n + 1) * s.conv.g.oh;
    const int64_t rows = (r1 - r0 - 1) * s.conv.g.sh + (s.conv.g.kh - 1) * s.conv.g.dh + 1;
    ROLLED for (int64_t r = 0; r < rows; r++)
        pack_row(&s, packed + r * pitch, GLOW_CONV_FEW_PTRS(ptrs).x + n * s.g.xn,
                 h0 * s.conv.g.sh - s.g.pt + r);
    const GlowConvFewPtrs at = GLOW_CONV_FEW_PTRS(ptrs);
    const GlowConvPtrs t = {at.y, packed - h0 * s.conv.g.sh * pitch, at.w, at.bias, NULL, at.env};
    all_tiles(&params->conv, full, small, full_odd, small_odd, callback, &t, r0, r1);
  }
}
