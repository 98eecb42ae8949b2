/* DeformConv of float.
 *
 * X has its channels last here and W its filters, in the order of Convolution's chain: blocks of 16
 * channels, taps, channels. Of some places at a time all samples are computed, each row of them a
 * place; a sample is the reference kernel's chain in double over its neighbours, a vector of
 * channels at a time. Then filters run over the rows in register tiles, each result one chain from
 * its bias.
 *
 * Units are pieces of the places of an image. */
#include "kernels/kernels.h"

#include "num/math.h"

enum { LANES = GLOW_VL / 2, ROWS = GLOW_TILE_PIXELS, VECTORS = GLOW_TILE_VECTORS, BLOCK = 16 };

/* One register of doubles, and as many floats. */
typedef double Doubles __attribute__((vector_size(GLOW_VL * 4), aligned(8)));
typedef float Floats __attribute__((vector_size(GLOW_VL * 2), aligned(4)));

INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

INLINE Doubles doubles_fma(double a, Doubles b, Doubles c) {
#if GLOW_HAS_FMA
  return __builtin_elementwise_fma((Doubles){0} + a, b, c);
#else
  Doubles r;
  ROLLED for (int l = 0; l < LANES; l++) r[l] = glow_fma(a, b[l], c[l]);
  return r;
#endif
}

/* ---- Samples --------------------------------------------------------------------------------- */

/* The neighbours of one tap's place: offsets of their channels, and their weights. */
typedef struct Neighbours {
  int64_t count, at[1 << GLOW_DEFORM_AXES];
  double weight[1 << GLOW_DEFORM_AXES], start, mask; /* start: +0, or NaN */
} Neighbours;

/* place: the coordinates in X. */
INLINE void find_neighbours(const GlowDeformParams *p, const double *place, Neighbours *s) {
  int64_t low[GLOW_DEFORM_AXES];
  bool inside = true;
  s->count = 0;
  s->start = 0;
  ROLLED for (int64_t a = 0; a < p->axes; a++) {
    const double v = place[a];
    const bool here = v > -1 && v < (double)p->in[a];
    s->start = v != v ? v : s->start;
    inside = inside && here;
    low[a] = here ? (int64_t)glow_floor(v) : 0;
  }
  ROLLED for (int64_t corner = 0; inside && corner < 1 << p->axes; corner++) {
    double weight = 1;
    int64_t at = 0;
    ROLLED for (int64_t a = 0; a < p->axes; a++) {
      const bool high = corner >> (p->axes - 1 - a) & 1;
      const int64_t index = low[a] + high;
      const double above = place[a] - (double)low[a];
      weight *= index < 0 || index >= p->in[a] ? 0 : high ? above : 1 - above;
      at = at * p->in[a] + index;
    }
    s->at[s->count] = at * p->channels;
    s->weight[s->count] = weight;
    s->count += weight != 0;
  }
}

/* The largest integer that is not above v, which is of their range. */
INLINE int64_t floor_of(double v) {
  const int64_t i = (int64_t)v;
  return i - ((double)i > v);
}

/* The same for two axes, spelled out. */
INLINE void find_four(const GlowDeformParams *p, const double *place, Neighbours *s) {
  const double v = place[0], h = place[1];
  s->count = 0;
  s->start = v != v ? v : h != h ? h : 0;
  if (!(v > -1 && v < (double)p->in[0] && h > -1 && h < (double)p->in[1]))
    return;
  const int64_t row = floor_of(v), column = floor_of(h);
  const double above[] = {v - (double)row, h - (double)column};
  const double rows[] = {row < 0 ? 0 : 1 - above[0], row + 1 < p->in[0] ? above[0] : 0};
  const double columns[] = {column < 0 ? 0 : 1 - above[1], column + 1 < p->in[1] ? above[1] : 0};
  UNROLL for (int i = 0; i < 4; i++) {
    s->at[s->count] = ((row + i / 2) * p->in[1] + column + i % 2) * p->channels;
    s->weight[s->count] = rows[i / 2] * columns[i % 2];
    s->count += rows[i / 2] * columns[i % 2] != 0;
  }
}

/* LANES samples from channel x on. */
INLINE Floats sample(const Neighbours *s, bool masked, const float *x) {
  Doubles sum = (Doubles){0} + s->start;
  if (s->count == 4) {
    UNROLL for (int i = 0; i < 4; i++) sum = doubles_fma(
        s->weight[i], __builtin_convertvector(*(const Floats *)(x + s->at[i]), Doubles), sum);
  } else {
    ROLLED for (int64_t i = 0; i < s->count; i++) sum = doubles_fma(
        s->weight[i], __builtin_convertvector(*(const Floats *)(x + s->at[i]), Doubles), sum);
  }
  return __builtin_convertvector(masked ? sum * s->mask : sum, Floats);
}

/* Samples of tap `tap` for channels [first, end), which have their neighbours in common. */
INLINE void sample_channels(const GlowDeformParams *p, const Neighbours *s, bool masked,
                            const float *x, int64_t tap, int64_t first, int64_t end, float *row) {
  const int64_t channels = p->channels / p->group;
  ROLLED for (int64_t c = first, count; c < end; c += count) {
    const int64_t group = p->group == 1 ? 0 : c / channels, in_group = c - group * channels;
    const int64_t in_block = in_group % BLOCK;
    const int64_t block = least(channels - (in_group - in_block), BLOCK);
    count = least(block - in_block, end - c);
    float *to = row + group * p->k + (in_group - in_block) * p->taps + tap * block + in_block;
    int64_t i = 0;
    ROLLED for (; i + LANES <= count; i += LANES) * (Floats *)(to + i) =
        sample(s, masked, x + c + i);
    if (i < count) {
      const Floats rest = sample(s, masked, x + c + i);
      float each[LANES];
      __builtin_memcpy(each, &rest, sizeof each);
      ROLLED for (int64_t l = 0; i + l < count; l++) to[i + l] = each[l];
    }
  }
}

/* All samples of place `output` of an image. offset, mask: of the image. */
INLINE void sample_place(const GlowDeformParams *p, const float *x, const float *offset,
                         const float *mask, int64_t output, float *row) {
  const int64_t each = p->channels / p->offset_group;
  int64_t index[GLOW_DEFORM_AXES], rest = output;
  ROLLED for (int64_t a = p->axes - 1; a >= 0; a--) {
    index[a] = rest % p->out[a] * p->stride[a] - p->before[a];
    rest /= p->out[a];
  }
  ROLLED for (int64_t g = 0; g < p->offset_group; g++) {
    int64_t k[GLOW_DEFORM_AXES] = {0};
    ROLLED for (int64_t tap = 0; tap < p->taps; tap++) {
      const int64_t number = g * p->taps + tap;
      double place[GLOW_DEFORM_AXES];
      Neighbours s;
      ROLLED for (int64_t a = 0; a < p->axes; a++) place[a] =
          (double)(index[a] + k[a] * p->dilation[a]) +
          (double)offset[(number * p->axes + a) * p->places + output];
      if (p->axes == 2)
        find_four(p, place, &s);
      else
        find_neighbours(p, place, &s);
      s.mask = mask ? (double)mask[number * p->places + output] : 1;
      sample_channels(p, &s, mask != NULL, x, tap, g * each, (g + 1) * each, row);
      ROLLED for (int64_t a = p->axes - 1; a >= 0 && ++k[a] == p->kernel[a]; a--) k[a] = 0;
    }
  }
}

/* ---- Filters --------------------------------------------------------------------------------- */

/* ROWS rows of samples by VECTORS vectors of filters. w: a row of filters for each sample. */
INLINE void tile(const GlowDeformParams *p, const float *rows, const float *w, int64_t filters,
                 const float *bias, float *to) {
  GlowVec sum[ROWS][VECTORS];
  UNROLL for (int v = 0; v < VECTORS; v++) {
    const GlowVec first = vec_load(bias + v * GLOW_VL);
    UNROLL for (int r = 0; r < ROWS; r++) sum[r][v] = first;
  }
  ROLLED for (int64_t k = 0; k < p->k; k++) {
    GlowVec filter[VECTORS];
    UNROLL for (int v = 0; v < VECTORS; v++) filter[v] = vec_load(w + k * filters + v * GLOW_VL);
    UNROLL for (int r = 0; r < ROWS; r++) {
      const GlowVec x = vec_splat(rows[r * p->pitch + k]);
      UNROLL for (int v = 0; v < VECTORS; v++) sum[r][v] = vec_fma(x, filter[v], sum[r][v]);
    }
  }
  UNROLL for (int r = 0; r < ROWS; r++) UNROLL for (int v = 0; v < VECTORS; v++)
      vec_store(to + (r * VECTORS + v) * GLOW_VL, sum[r][v]);
}

/* `count` places of all filters; y: of the first filter. */
INLINE void filter_places(const GlowDeformParams *p, const float *samples, const float *w,
                          const float *bias, int64_t count, float *results, float *y) {
  const int64_t filters = p->filters / p->group, columns = VECTORS * GLOW_VL;
  float *first = results + ROWS * columns;
  ROLLED for (int64_t g = 0; g < p->group; g++)
      ROLLED for (int64_t f = 0; f < filters; f += columns) {
    const int64_t some = least(filters - f, columns), filter = g * filters + f;
    ROLLED for (int64_t j = 0; j < columns; j++) first[j] = bias && j < some ? bias[filter + j] : 0;
    ROLLED for (int64_t r = 0; r < count; r += ROWS) {
      const int64_t left = least(count - r, ROWS);
      tile(p, samples + r * p->pitch + g * p->k, w + g * p->k * filters + f, filters, first,
           results);
      ROLLED for (int64_t j = 0; j < some; j++) ROLLED for (int64_t i = 0; i < left; i++)
          y[(filter + j) * p->places + r + i] = results[i * columns + j];
    }
  }
}

void glow_deform_conv(const GlowDeformParams *params, void *const *ptrs, int64_t begin, int64_t end,
                      char *scratch) {
  const GlowDeformParams copy = *params, *const p = &copy; /* no store changes it */
  const int64_t numbers = p->offset_group * p->taps;
  const float *offset = GLOW_DEFORM_CONV_PTRS(ptrs).offset,
              *mask = GLOW_DEFORM_CONV_PTRS(ptrs).mask;
  float *results = (float *)scratch, *samples = results + (ROWS + 1) * VECTORS * GLOW_VL;
  ROLLED for (int64_t u = begin; u < end; u++) {
    const int64_t image = u / p->chunks, first = u % p->chunks * p->chunk;
    const int64_t count = least(p->places - first, p->chunk);
    const float *x = GLOW_DEFORM_CONV_PTRS(ptrs).x + image * p->in_places * p->channels;
    ROLLED for (int64_t i = 0; i < count; i++) sample_place(
        p, x, offset + image * numbers * p->axes * p->places,
        mask ? mask + image * numbers * p->places : NULL, first + i, samples + i * p->pitch);
    /* Rows of the last tile that nothing is stored of. */
    __builtin_memset(samples + count * p->pitch, 0,
                     (size_t)((count + ROWS - 1) / ROWS * ROWS - count) * (size_t)p->pitch *
                         sizeof(float));
    filter_places(p, samples, GLOW_DEFORM_CONV_PTRS(ptrs).w, GLOW_DEFORM_CONV_PTRS(ptrs).bias,
                  count, results,
                  GLOW_DEFORM_CONV_PTRS(ptrs).y + image * p->filters * p->places + first);
  }
}
