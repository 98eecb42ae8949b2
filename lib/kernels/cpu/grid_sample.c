/* GridSample: glow_grid_nearest copies elements, glow_grid_sample sums neighbours.
 *
 * Where places of the grid lie is planned once for all channels, 16 places at a time: offsets into
 * a channel of X, and weights in double. Neighbours that take no part have weight 0, and an offset
 * that may be read. Then a vector of places is summed for up to four channels at a time, so that
 * offsets and weights are loaded once for these. A sum is the reference kernel's: a chain of fused
 * multiply-adds from +0 over the neighbours in row-major order.
 *
 * Units are images, then pieces of their places, then groups of channels. A plan stays while units
 * have it in common. */
#include "kernels/kernels.h"

#include "doubles.h"
#include "grid_element.h"
#include "num/half.h"
#include "num/math.h"

#define LANES16                                                                                    \
  _Pragma("clang loop vectorize(enable) interleave(disable)") for (int l = 0; l < 16; l++)

enum { GROUP = 4 };

/* ---- Plans ----------------------------------------------------------------------------------- */

/* As the functions of these names in kernels/ref/grid_sample.c, with choices instead of branches.
 */
INLINE double clamp(double v, double low, double high) {
  return v > low ? v < high ? v : high : low;
}
INLINE double reflect(double v, double low, double high) {
  const double range = high - low, beyond = v < low ? low - v : v - high;
  const double turns = glow_floor(beyond / range), rest = beyond - turns * range;
  const bool even = glow_floor(turns / 2) * 2 == turns, below = v < low;
  const double turned = even == below ? low + rest : high - rest;
  const double v_inside = v < low || v > high ? turned : v;
  return range <= 0 || !(glow_fabs(v) < 0x1p52) ? low : v_inside;
}
/* Of 16 places, whole numbers; what all of them have in common is asked outside of the loops over
 * them. */
INLINE void elements_at(const GlowGridParams *p, const double *places, double shift, double n,
                        int32_t *restrict to) {
  const double edge = p->align ? 0 : 0.5;
  double i[16];
  LANES16 i[l] = places[l] + shift;
  if (p->padding == GLOW_GRID_PAD_ZEROS) {
    LANES16 to[l] = whole_of(i[l] >= 0 && i[l] < n ? i[l] : -1);
    return;
  }
  if (p->padding == GLOW_GRID_PAD_REFLECTION)
    LANES16 i[l] = reflect(i[l], -edge, n - 1 + edge);
  LANES16 to[l] = whole_of(clamp(i[l], 0, n - 1));
}
INLINE void places_on(const GlowGridParams *p, const double *v, double size, double *restrict to) {
  const double edge = p->align ? 0 : 0.5, low = -edge, high = size - 1 + edge;
  double x[16], beyond[16];
  if (p->align)
    LANES16 x[l] = (v[l] + 1) / 2 * (size - 1);
  else
    LANES16 x[l] = ((v[l] + 1) * size - 1) / 2;
  if (p->taps == 1)
    LANES16 x[l] = glow_rint((double)(float)x[l]);
  if (p->padding == GLOW_GRID_PAD_BORDER && p->taps != 4)
    LANES16 beyond[l] = clamp(x[l], 0, size - 1);
  else if (p->padding == GLOW_GRID_PAD_REFLECTION)
    LANES16 beyond[l] = reflect(x[l], low, high);
  else
    LANES16 beyond[l] = clamp(x[l], -4, size + 4);
  LANES16 to[l] = x[l] >= low && x[l] <= high ? x[l] : beyond[l];
}

/* 16 places along an axis: where each neighbour is (-1: outside), and its weight. */
typedef struct Axis {
  int32_t at[4][16];
  double weight[4][16];
} Axis;

INLINE void plan_axis(const GlowGridParams *p, const double *v, int64_t n, Axis *axis) {
  const double a = -0.75, size = (double)n;
  double base[16], t[16];
  places_on(p, v, size, t);
  if (p->taps == 1) {
    elements_at(p, t, 0, size, axis->at[0]);
    LANES16 axis->weight[0][l] = 1;
    return;
  }
  LANES16 base[l] = glow_floor(t[l]);
  LANES16 t[l] = t[l] - base[l];
  if (p->taps == 2) {
    LANES16 axis->weight[0][l] = 1 - t[l];
    LANES16 axis->weight[1][l] = t[l];
  } else {
    LANES16 {
      const double s = t[l], u = 1 - s;
      axis->weight[0][l] = ((a * (s + 1) - 5 * a) * (s + 1) + 8 * a) * (s + 1) - 4 * a;
      axis->weight[1][l] = ((a + 2) * s - (a + 3)) * s * s + 1;
      axis->weight[2][l] = ((a + 2) * u - (a + 3)) * u * u + 1;
      axis->weight[3][l] = ((a * (u + 1) - 5 * a) * (u + 1) + 8 * a) * (u + 1) - 4 * a;
    }
  }
  ROLLED for (int64_t k = 0; k < p->taps; k++)
      elements_at(p, base, (double)(p->taps == 2 ? k : k - 1), size, axis->at[k]);
}

/* Coordinates of 16 places from `first` on, of the `count` of the grid; the last one again beyond
 * them. */
INLINE void load_grid(const GlowGridParams *p, const void *grid, int64_t first, int64_t count,
                      double (*to)[16]) {
  if (p->axes == 2 && p->element == GLOW_GRID_ELEMENT_FLOAT && first + 16 <= count) {
    const float *at = (const float *)grid + 2 * first;
    LANES16 to[0][l] = (double)at[2 * l];
    LANES16 to[1][l] = (double)at[2 * l + 1];
    return;
  }
  ROLLED for (int64_t l = 0; l < 16; l++) {
    const int64_t place = first + l < count ? first + l : count - 1;
    ROLLED for (int64_t a = 0; a < p->axes; a++) {
      to[a][l] = grid_number(p->element, grid, place * p->axes + a);
    }
  }
}

/* Plans places [first, first + count) of an image: for each neighbour `chunk` offsets (of the
 * nearest element -1: outside), then for each `chunk` weights. */
INLINE void plan(const GlowGridParams *p, const void *grid, int64_t first, int64_t count,
                 int32_t *restrict offset, double *restrict weight) {
  ROLLED for (int64_t i = 0; i < count; i += 16) {
    double v[GLOW_GRID_AXES][16];
    Axis axes[GLOW_GRID_AXES];
    load_grid(p, grid, first + i, first + count, v);
    ROLLED for (int64_t a = 0; a < p->axes; a++)
        plan_axis(p, v[p->axes - 1 - a], p->in[a], &axes[a]);
    ROLLED for (int64_t k = 0; k < p->neighbours; k++) {
      int32_t *restrict at = offset + k * p->chunk + i;
      double *restrict w = weight + k * p->chunk + i, product[16];
      int32_t sum[16], outside[16];
      LANES16 product[l] = 1;
      LANES16 sum[l] = 0;
      LANES16 outside[l] = 0;
      int64_t rest = p->neighbours, which = k;
      ROLLED for (int64_t a = 0; a < p->axes; a++) {
        rest /= p->taps;
        const Axis *axis = &axes[a];
        const int64_t tap = which / rest;
        const int32_t stride = (int32_t)p->stride[a];
        which %= rest;
        LANES16 product[l] *= axis->weight[tap][l];
        LANES16 sum[l] += axis->at[tap][l] * stride;
        LANES16 outside[l] |= axis->at[tap][l] >> 31;
      }
      if (p->taps == 1) {
        LANES16 at[l] = outside[l] ? -1 : sum[l];
      } else {
        LANES16 at[l] = outside[l] ? 0 : sum[l];
        LANES16 w[l] = outside[l] ? 0 : product[l];
      }
    }
  }
}

/* What a unit is, and its plan. */
typedef struct Unit {
  int64_t image, first, count, channel, channels;
} Unit;
INLINE Unit unit_of(const GlowGridParams *p, int64_t u) {
  const int64_t groups = (p->channels + GROUP - 1) / GROUP, piece = u / groups;
  Unit one = {.image = piece / p->chunks,
              .first = piece % p->chunks * p->chunk,
              .channel = u % groups * GROUP};
  const int64_t places = p->places - one.first, channels = p->channels - one.channel;
  one.count = places < p->chunk ? places : p->chunk;
  one.channels = channels < GROUP ? channels : GROUP;
  return one;
}
INLINE void plan_unit(const GlowGridParams *p, const char *grid, const Unit *u, char *scratch) {
  const int64_t bytes = grid_bytes(p->element);
  plan(p, grid + u->image * p->places * p->axes * bytes, u->first, u->count, (int32_t *)scratch,
       (double *)(scratch + p->weights_at));
}

/* ---- Nearest --------------------------------------------------------------------------------- */

#define NEAREST(bits, T)                                                                           \
  void glow_grid_nearest_##bits(const GlowGridParams *params, void *const *ptrs, int64_t begin,    \
                                int64_t end, char *scratch) {                                      \
    const GlowGridParams copy = *params, *const p = &copy; /* no store changes it */               \
    const int32_t *offset = (const int32_t *)scratch;                                              \
    ROLLED for (int64_t u = begin; u < end; u++) {                                                 \
      const Unit one = unit_of(p, u);                                                              \
      if (u == begin || !one.channel)                                                              \
        plan_unit(p, GLOW_GRID_NEAREST_PTRS(ptrs).grid, &one, scratch);                            \
      ROLLED for (int64_t c = 0; c < one.channels; c++) {                                          \
        const int64_t plane = one.image * p->channels + one.channel + c;                           \
        const T *restrict x = (const T *)ptrs[1] + plane * p->in_plane;                            \
        T *restrict y = (T *)ptrs[0] + plane * p->places + one.first;                              \
        ROLLED for (int64_t i = 0; i < one.count; i++) {                                           \
          const T v = x[offset[i] < 0 ? 0 : offset[i]];                                            \
          y[i] = offset[i] < 0 ? 0 : v;                                                            \
        }                                                                                          \
      }                                                                                            \
    }                                                                                              \
  }
NEAREST(8, uint8_t)
NEAREST(16, uint16_t)
NEAREST(32, uint32_t)
NEAREST(64, uint64_t)

/* ---- Sums ------------------------------------------------------------------------------------ */

/* A register of places from i on, of N channels. C: what elements are loaded as. */
#define SUM(kind, S, C, LOAD, N)                                                                   \
  INLINE void kind##_sum##N(const GlowGridParams *p, const S *x, const int32_t *offset,            \
                            const double *weight, Doubles *sums) {                                 \
    Doubles sum[N];                                                                                \
    UNROLL for (int c = 0; c < N; c++) sum[c] = (Doubles){0};                                      \
    ROLLED for (int64_t k = 0; k < p->neighbours; k++) {                                           \
      typedef C Loaded __attribute__((vector_size(LANES * sizeof(C))));                            \
      const int32_t *at = offset + k * p->chunk;                                                   \
      const Doubles w = *(const Doubles *)(weight + k * p->chunk);                                 \
      const Longs some = (Longs)(w != 0);                                                          \
      UNROLL for (int c = 0; c < N; c++) {                                                         \
        Loaded v;                                                                                  \
        UNROLL for (int l = 0; l < LANES; l++) v[l] = LOAD(x[at[l] + c * p->in_plane]);            \
        const Doubles next = doubles_fma(w, __builtin_convertvector(v, Doubles), sum[c]);          \
        sum[c] = (Doubles)(((Longs)next & some) | ((Longs)sum[c] & ~some));                        \
      }                                                                                            \
    }                                                                                              \
    UNROLL for (int c = 0; c < N; c++) sums[c] = sum[c];                                           \
  }

#define CHANNELS(kind, S, STORE, N)                                                                \
  INLINE void kind##_channels##N(const GlowGridParams *p, const S *restrict x, S *restrict y,      \
                                 int64_t count, const int32_t *restrict offset,                    \
                                 const double *restrict weight) {                                  \
    ROLLED for (int64_t i = 0; i < count; i += LANES) {                                            \
      Doubles sums[N];                                                                             \
      const int64_t left = count - i;                                                              \
      kind##_sum##N(p, x, offset + i, weight + i, sums);                                           \
      if (left >= LANES) {                                                                         \
        UNROLL for (int c = 0; c < N; c++) UNROLL for (int l = 0; l < LANES; l++)                  \
            y[c * p->places + i + l] = STORE(sums[c][l]);                                          \
        continue;                                                                                  \
      }                                                                                            \
      double rest[N * LANES];                                                                      \
      __builtin_memcpy(rest, sums, sizeof rest);                                                   \
      ROLLED for (int64_t c = 0; c < N; c++) ROLLED for (int64_t l = 0; l < left; l++)             \
          y[c * p->places + i + l] = STORE(rest[c * LANES + l]);                                   \
    }                                                                                              \
  }

#define SAMPLE(kind, S, C, LOAD, STORE)                                                            \
  SUM(kind, S, C, LOAD, 4)                                                                         \
  SUM(kind, S, C, LOAD, 1)                                                                         \
  CHANNELS(kind, S, STORE, 4)                                                                      \
  CHANNELS(kind, S, STORE, 1)                                                                      \
  void glow_grid_sample_##kind(const GlowGridParams *params, void *const *ptrs, int64_t begin,     \
                               int64_t end, char *scratch) {                                       \
    const GlowGridParams copy = *params, *const p = &copy; /* no store changes it */               \
    const int32_t *offset = (const int32_t *)scratch;                                              \
    const double *weight = (const double *)(scratch + p->weights_at);                              \
    ROLLED for (int64_t u = begin; u < end; u++) {                                                 \
      const Unit one = unit_of(p, u);                                                              \
      const int64_t plane = one.image * p->channels + one.channel;                                 \
      const S *x = (const S *)ptrs[1] + plane * p->in_plane;                                       \
      S *y = (S *)ptrs[0] + plane * p->places + one.first;                                         \
      if (u == begin || !one.channel)                                                              \
        plan_unit(p, GLOW_GRID_SAMPLE_PTRS(ptrs).grid, &one, scratch);                             \
      if (one.channels == GROUP)                                                                   \
        kind##_channels4(p, x, y, one.count, offset, weight);                                      \
      else                                                                                         \
        ROLLED for (int64_t c = 0; c < one.channels; c++) kind##_channels1(                        \
            p, x + c * p->in_plane, y + c * p->places, one.count, offset, weight);                 \
    }                                                                                              \
  }

#define PLAIN(v) (v)
#define TO_FLOAT(v) ((float)(v))
static inline uint8_t to_u8(double v) {
  const int64_t i = glow_trunc_i64(v);
  return (uint8_t)(i > 255 ? 255 : i < 0 ? 0 : i);
}
static inline int8_t to_i8(double v) {
  const int64_t i = glow_trunc_i64(v);
  return (int8_t)(i > 127 ? 127 : i < -128 ? -128 : i);
}
SAMPLE(float, float, float, PLAIN, TO_FLOAT)
SAMPLE(double, double, double, PLAIN, PLAIN)
SAMPLE(float16, uint16_t, float, glow_half_to_float, glow_half_from_double)
SAMPLE(bfloat16, uint16_t, float, glow_bfloat_to_float, glow_bfloat_from_double)
SAMPLE(u8, uint8_t, int32_t, PLAIN, to_u8)
SAMPLE(i8, int8_t, int32_t, PLAIN, to_i8)
