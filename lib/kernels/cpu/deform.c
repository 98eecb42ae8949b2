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

#include "doubles.h"
#include "num/math.h"

enum { ROWS = GLOW_TILE_PIXELS, VECTORS = GLOW_TILE_VECTORS, BLOCK = 16 };

/* As many floats as a register has doubles. */
typedef float Floats __attribute__((vector_size(GLOW_VL * 2), aligned(4)));
typedef int32_t Ints __attribute__((vector_size(GLOW_VL * 2), aligned(4)));

INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* ---- Samples --------------------------------------------------------------------------------- */

/* The neighbours of one tap's place: offsets of their channels, and their weights. FEW: there are
 * `count` of them. FOUR: there are four, of which those whose `takes` is 0 and not -1 count as +0,
 * with the weight +0, which changes no sum: none is -0. WHOLE: all four take part. */
typedef enum How { FEW, FOUR, WHOLE } How;
typedef struct Neighbours {
  int64_t count, at[1 << GLOW_DEFORM_AXES];
  double weight[1 << GLOW_DEFORM_AXES], start, mask; /* start: +0, or NaN */
  int32_t takes[4];
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

/* The neighbours of LANES places in planes. */
typedef struct Fours {
  int32_t at[4][LANES], takes[4][LANES];
  double weight[4][LANES], start[LANES];
} Fours;

INLINE Doubles choose(Longs which, Doubles a, Doubles b) {
  return (Doubles)(((Longs)a & which) | ((Longs)b & ~which));
}

/* Adding this leaves the nearest integer in the low bits of a double. */
#define LAST_BITS 0x1.8p52

/* Of a coordinate inside of an axis, or beside it by less than one: the elements below and above
 * it, as indices in the axis, and their weights, which are 0 where there is no such element. */
INLINE void find_pair(Doubles v, double size, Doubles *index, Doubles *weight) {
  const Doubles zero = {0}, whole = v + LAST_BITS - LAST_BITS;
  const Doubles low = whole - choose(whole > v, zero + 1, zero), above = v - low;
  const Longs first = low >= 0, second = low + 1 < size;
  index[0] = choose(first, low, zero), weight[0] = choose(first, 1 - above, zero);
  index[1] = choose(second, low + 1, low), weight[1] = choose(second, above, zero);
}

/* find_neighbours for LANES places in planes, where all offsets are below 2^31. */
INLINE void find_fours(const GlowDeformParams *p, Doubles v, Doubles h, Fours *s) {
  const Doubles zero = {0};
  const double height = (double)p->in[0], width = (double)p->in[1];
  const Longs here = (v > -1) & (v < height) & (h > -1) & (h < width);
  Doubles row[2], rows[2], column[2], columns[2];
  *(Doubles *)s->start = choose(v != v, v, choose(h != h, h, zero));
  find_pair(choose(here, v, zero), height, row, rows);
  find_pair(choose(here, h, zero), width, column, columns);
  UNROLL for (int i = 0; i < 4; i++) {
    const Doubles weight = choose(here, rows[i / 2] * columns[i % 2], zero);
    const Doubles at = (row[i / 2] * width + column[i % 2]) * (double)p->channels;
    *(Doubles *)s->weight[i] = weight;
    *(Ints *)s->at[i] = __builtin_convertvector((Longs)(at + LAST_BITS), Ints);
    *(Ints *)s->takes[i] = __builtin_convertvector(weight != 0, Ints);
  }
}

/* LANES samples from channel x on. */
INLINE Floats sample(const Neighbours *s, How how, bool masked, const float *x) {
  Doubles sum = (Doubles){0} + s->start;
  UNROLL for (int i = 0; i < 4 && how != FEW; i++) {
    Floats v = *(const Floats *)(x + s->at[i]);
    if (how == FOUR)
      v = (Floats)((Ints)v & s->takes[i]);
    sum = doubles_fma(doubles_splat(s->weight[i]), __builtin_convertvector(v, Doubles), sum);
  }
  ROLLED for (int64_t i = 0; i < s->count && how == FEW; i++) sum =
      doubles_fma(doubles_splat(s->weight[i]),
                  __builtin_convertvector(*(const Floats *)(x + s->at[i]), Doubles), sum);
  return __builtin_convertvector(masked ? sum * s->mask : sum, Floats);
}

/* Channels in one block: where their samples are in a row, and how many channels. */
typedef struct Part {
  int64_t at, count;
} Part;

/* The part of channels [c, end) that begins with channel c, for tap `tap`. */
INLINE Part part_of(const GlowDeformParams *p, int64_t tap, int64_t c, int64_t end) {
  const int64_t channels = p->group == 1 ? p->channels : p->channels / p->group;
  const int64_t group = p->group == 1 ? 0 : c / channels, in_group = c - group * channels;
  const int64_t in_block = in_group % BLOCK;
  const int64_t block = least(channels - (in_group - in_block), BLOCK);
  return (Part){group * p->k + (in_group - in_block) * p->taps + tap * block + in_block,
                least(block - in_block, end - c)};
}

/* Samples of tap `tap` for channels [first, end), which have their neighbours in common. part: that
 * of `first`. */
INLINE void sample_channels(const GlowDeformParams *p, const Neighbours *s, How how, bool masked,
                            const float *x, int64_t tap, int64_t first, int64_t end, Part part,
                            float *row) {
  int64_t c = first;
  ROLLED while (c < end) {
    float *to = row + part.at;
    int64_t i = 0;
    ROLLED for (; i + LANES <= part.count; i += LANES) * (Floats *)(to + i) =
        sample(s, how, masked, x + c + i);
    if (i < part.count) {
      const Floats rest = sample(s, how, masked, x + c + i);
      float each[LANES];
      __builtin_memcpy(each, &rest, sizeof each);
      ROLLED for (int64_t l = 0; i + l < part.count; l++) to[i + l] = each[l];
    }
    c += part.count;
    if (c < end)
      part = part_of(p, tap, c, end);
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
      find_neighbours(p, place, &s);
      s.mask = mask ? (double)mask[number * p->places + output] : 1;
      sample_channels(p, &s, FEW, mask != NULL, x, tap, g * each, (g + 1) * each,
                      part_of(p, tap, g * each, (g + 1) * each), row);
      ROLLED for (int64_t a = p->axes - 1; a >= 0 && ++k[a] == p->kernel[a]; a--) k[a] = 0;
    }
  }
}

/* The samples of a tap at place l of some. With many channels a test of whether all neighbours take
 * part costs less than to treat them as if they might not. */
INLINE void sample_four(const GlowDeformParams *p, const Fours *some, int64_t l, const float *mask,
                        const float *x, int64_t tap, int64_t first, int64_t end, Part part,
                        float *row) {
  Neighbours s = {.start = some->start[l], .mask = mask ? (double)*mask : 1};
  UNROLL for (int i = 0; i < 4; i++) {
    s.at[i] = some->at[i][l], s.weight[i] = some->weight[i][l];
    s.takes[i] = some->takes[i][l];
  }
  if (end - first > 2 * LANES && (s.takes[0] & s.takes[1] & s.takes[2] & s.takes[3]))
    sample_channels(p, &s, WHOLE, mask != NULL, x, tap, first, end, part, row);
  else
    sample_channels(p, &s, FOUR, mask != NULL, x, tap, first, end, part, row);
}

/* sample_place for `count` <= LANES places in planes from `output` on. */
INLINE void sample_places(const GlowDeformParams *p, const float *x, const float *offset,
                          const float *mask, int64_t output, int64_t count, float *rows) {
  const int64_t each = p->channels / p->offset_group;
  Doubles v, h, by[2];
  int64_t row = output / p->out[1], column = output % p->out[1];
  UNROLL for (int l = 0; l < LANES; l++) {
    v[l] = (double)(row * p->stride[0] - p->before[0]);
    h[l] = (double)(column * p->stride[1] - p->before[1]);
    row += ++column == p->out[1];
    column = column == p->out[1] ? 0 : column;
  }
  ROLLED for (int64_t g = 0; g < p->offset_group; g++) {
    int64_t k0 = 0, k1 = 0; /* where the tap is in the kernel */
    ROLLED for (int64_t tap = 0; tap < p->taps; tap++) {
      const int64_t number = g * p->taps + tap;
      const Part part = part_of(p, tap, g * each, (g + 1) * each);
      const float *at = offset + number * 2 * p->places + output;
      float few[LANES] = {0};
      Fours some;
      UNROLL for (int a = 0; a < 2; a++, at += p->places) {
        const float *from = at;
        if (count < LANES) {
          ROLLED for (int64_t l = 0; l < count; l++) few[l] = at[l];
          from = few;
        }
        by[a] = __builtin_convertvector(*(const Floats *)from, Doubles);
      }
      find_fours(p, v + (double)(k0 * p->dilation[0]) + by[0],
                 h + (double)(k1 * p->dilation[1]) + by[1], &some);
      k0 += ++k1 == p->kernel[1];
      k1 = k1 == p->kernel[1] ? 0 : k1;
      ROLLED for (int64_t l = 0; l < count; l++)
          sample_four(p, &some, l, mask ? mask + number * p->places + output + l : NULL, x, tap,
                      g * each, (g + 1) * each, part, rows + l * p->pitch);
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
  const bool planes = p->axes == 2 && p->channels > 0 && p->channels <= INT32_MAX &&
                      p->in_places > 0 && p->in_places <= INT32_MAX / p->channels;
  const float *offset = GLOW_DEFORM_CONV_PTRS(ptrs).offset,
              *mask = GLOW_DEFORM_CONV_PTRS(ptrs).mask;
  float *results = (float *)scratch, *samples = results + (ROWS + 1) * VECTORS * GLOW_VL;
  ROLLED for (int64_t u = begin; u < end; u++) {
    const int64_t image = u / p->chunks, first = u % p->chunks * p->chunk;
    const int64_t count = least(p->places - first, p->chunk);
    const float *x = GLOW_DEFORM_CONV_PTRS(ptrs).x + image * p->in_places * p->channels;
    const float *by = offset + image * numbers * p->axes * p->places;
    const float *masks = mask ? mask + image * numbers * p->places : NULL;
    ROLLED for (int64_t i = 0; i < count && planes; i += LANES)
        sample_places(p, x, by, masks, first + i, least(count - i, LANES), samples + i * p->pitch);
    ROLLED for (int64_t i = 0; i < count && !planes && p->channels > 0; i++)
        sample_place(p, x, by, masks, first + i, samples + i * p->pitch);
    /* Rows of the last tile that nothing is stored of. */
    __builtin_memset(samples + count * p->pitch, 0,
                     (size_t)((count + ROWS - 1) / ROWS * ROWS - count) * (size_t)p->pitch *
                         sizeof(float));
    filter_places(p, samples, GLOW_DEFORM_CONV_PTRS(ptrs).w, GLOW_DEFORM_CONV_PTRS(ptrs).bias,
                  count, results,
                  GLOW_DEFORM_CONV_PTRS(ptrs).y + image * p->filters * p->places + first);
  }
}
