/* Convolution and transposed convolution of any rank, over any strides: whatever has no kernel of
 * its own.
 *
 * Lanes are output places. For some registers of places, a chunk, the input of every term of the
 * chains is gathered into rows, in the order of docs/Numerics; then each weight is broadcast to a
 * tile of output channels by places. A whole chunk of a convolution of one tap, whose places follow
 * each other, is read where it is. A chunk of a transposed convolution is of one phase; where only
 * some of its places meet an input at a tap, the others keep their sums.
 *
 * Scratch: the rows; a TapState per tap; the input's offset per tap and place; the masks of mixed
 * taps; the results of a tile; the filter of a group as floats, if it is not float. Operands:
 * result, input, filter, bias. */
#include "matrix_tile.h"
#include "num/half.h"

#define LANES (GLOW_TILE_VECTORS * GLOW_VL)
#define BLOCK 16

/* Which places meet an input at a tap. A place of a convolution always does: padding is zero. */
typedef enum TapState { TAP_ABSENT, TAP_ALL, TAP_MIXED } TapState;

/* The chunk that is worked on: scratch memory of its input (see above), and its outputs. */
typedef struct Chunk {
  float *rows;
  int64_t *taps, *offsets;
  int32_t *masks;
  int64_t places;     /* at most LANES */
  int64_t out[LANES]; /* offsets into the result */
  bool dense;         /* these offsets are consecutive */
} Chunk;

INLINE float load(const GlowConvPlainParams *s, const void *p, int64_t i) {
  if (s->element == GLOW_CONV_ELEMENT_HALF)
    return glow_half_to_float(((const uint16_t *)p)[i]);
  if (s->element == GLOW_CONV_ELEMENT_BFLOAT)
    return glow_bfloat_to_float(((const uint16_t *)p)[i]);
  return ((const float *)p)[i];
}

INLINE void store(const GlowConvPlainParams *s, void *p, int64_t i, float v) {
  if (s->element == GLOW_CONV_ELEMENT_HALF)
    ((uint16_t *)p)[i] = glow_half_from_float(v);
  else if (s->element == GLOW_CONV_ELEMENT_BFLOAT)
    ((uint16_t *)p)[i] = glow_bfloat_from_float(v);
  else
    ((float *)p)[i] = v;
}

/* ---- The tile -------------------------------------------------------------------------------- */

/* n terms for the places whose mask is not 0, one vector of places after the other. */
INLINE void mixed_terms(int mr, const GlowConvPlainParams *s, Accumulators acc, const float *w,
                        const float *row, const int32_t *mask, int64_t n) {
  UNROLL for (int j = 0; j < GLOW_TILE_VECTORS; j++) {
    const GlowVecI m = *(const GlowVecI *)(mask + j * GLOW_VL);
    ROLLED for (int64_t k = 0; k < n; k++) {
      const GlowVec f = vec_load(row + k * LANES + j * GLOW_VL);
      UNROLL for (int i = 0; i < mr; i++) {
        GlowVecI sum = (GlowVecI)vec_fma(f, vec_splat(w[k * s->wc + i * s->wo]), acc[i][j]);
        acc[i][j] = (GlowVec)((sum & m) | ((GlowVecI)acc[i][j] & ~m));
      }
    }
  }
}

/* mr output channels from `channel` on, at all places of a chunk. */
INLINE void tile(int mr, const GlowConvPlainParams *s, float *results, const float *rows,
                 const float *filter, const void *bias, const int64_t *taps, const int32_t *masks,
                 int64_t channel, int64_t apart) {
  Accumulators acc;
  UNROLL for (int i = 0; i < mr; i++) {
    GlowVec b = {0};
    if (s->bias)
      b = vec_splat(load(s, bias, channel + i));
    UNROLL for (int j = 0; j < GLOW_TILE_VECTORS; j++) acc[i][j] = b;
  }
  ROLLED for (int64_t c = 0; c < s->ic; c += BLOCK) {
    const int64_t n = s->ic - c < BLOCK ? s->ic - c : BLOCK;
    ROLLED for (int64_t t = 0; t < s->taps; t++, rows += n * apart) {
      const float *w = filter + c * s->wc + t * s->wt;
      if (s->transposed && taps[t] != TAP_ALL) {
        mixed_terms(mr, s, acc, w, rows, masks + t * LANES, taps[t] == TAP_MIXED ? n : 0);
        continue;
      }
      ROLLED for (int64_t k = 0; k < n; k++)
          product_step(mr, GLOW_TILE_VECTORS, acc, w + k * s->wc, s->wo, rows + k * apart);
    }
  }
  UNROLL for (int i = 0; i < mr; i++) UNROLL for (int j = 0; j < GLOW_TILE_VECTORS; j++)
      vec_store(results + i * LANES + j * GLOW_VL, acc[i][j]);
}

#define TILE(mr)                                                                                   \
  void glow_conv_plain_tile_##mr(const GlowConvPlainParams *params, float *results,                \
                                 const float *rows, const float *w, const void *bias,              \
                                 const int64_t *taps, const int32_t *masks, int64_t channel,       \
                                 int64_t apart) {                                                  \
    tile(mr, params, results, rows, w, bias, taps, masks, channel, apart);                         \
  }

EACH_CONV_PLAIN_TILE(TILE)

/* ---- Gathering ------------------------------------------------------------------------------- */

/* The lowest digit of *number, one of `count`, which it has no more then. Most have one, and
 * divisions take long. */
INLINE int64_t take(int64_t *number, int64_t count) {
  if (count == 1)
    return 0;
  const int64_t digit = *number % count;
  *number /= count;
  return digit;
}

/* Outputs of a phase along an axis: they start at `first` and are `step` apart. */
typedef struct Phase {
  int64_t first[GLOW_CONV_AXES], count[GLOW_CONV_AXES], step[GLOW_CONV_AXES];
  int64_t places;
} Phase;

INLINE Phase phase_of(const GlowConvPlainParams *s, int64_t number) {
  Phase p = {.places = 1};
  ROLLED for (int64_t a = s->axes - 1; a >= 0; a--) {
    p.step[a] = s->transposed ? s->stride[a] : 1;
    p.first[a] = take(&number, p.step[a]);
    p.count[a] = p.first[a] >= s->out[a] ? 0
                 : p.step[a] == 1        ? s->out[a]
                                         : (s->out[a] - p.first[a] - 1) / p.step[a] + 1;
    p.places *= p.count[a];
  }
  return p;
}

/* The places of a chunk: their offsets into the result and, for tap 0, their input along each axis,
 * before it is divided by the stride of a transposed convolution. */
INLINE void find_places(const GlowConvPlainParams *s, const Phase *p, int64_t first, Chunk *c,
                        int64_t at[GLOW_CONV_AXES][LANES]) {
  int64_t place[GLOW_CONV_AXES], rest = first;
  c->places = p->places - first < LANES ? p->places - first : LANES;
  c->dense = true;
  ROLLED for (int64_t a = s->axes - 1; a >= 0; a--) {
    place[a] = rest % p->count[a];
    rest /= p->count[a];
  }
  ROLLED for (int64_t i = 0; i < c->places; i++) {
    int64_t out = 0;
    ROLLED for (int64_t a = 0; a < s->axes; a++) {
      const int64_t o = p->first[a] + place[a] * p->step[a];
      out += o * s->ys[a];
      at[a][i] = s->transposed ? o + s->pad[a] : o * s->stride[a] - s->pad[a];
    }
    c->out[i] = out;
    c->dense = c->dense && out == c->out[0] + i;
    ROLLED for (int64_t a = s->axes - 1; a >= 0; a--) { /* divisions would take longer */
      if (++place[a] < p->count[a])
        break;
      place[a] = 0;
    }
  }
}

/* The inputs of all places at the tap `index`, -1 where there is none; how many there are. */
INLINE int64_t find_inputs(const GlowConvPlainParams *s, const int64_t *index, const Chunk *c,
                           int64_t at[GLOW_CONV_AXES][LANES], int64_t *offsets) {
  int64_t found = 0;
  ROLLED for (int64_t i = 0; i < LANES; i++) {
    int64_t offset = 0;
    bool inside = i < c->places;
    ROLLED for (int64_t a = 0; a < s->axes && inside; a++) {
      int64_t step = index[a] * s->dilation[a];
      int64_t x = s->transposed ? at[a][i] - step : at[a][i] + step;
      if (s->transposed) {
        inside = x >= 0 && x % s->stride[a] == 0;
        x /= s->stride[a];
      }
      inside = inside && x >= 0 && x < s->in[a];
      offset += x * s->xs[a];
    }
    offsets[i] = inside ? offset : -1;
    found += inside;
  }
  return found;
}

INLINE void find_taps(const GlowConvPlainParams *s, Chunk *c, int64_t at[GLOW_CONV_AXES][LANES]) {
  int64_t index[GLOW_CONV_AXES] = {0};
  ROLLED for (int64_t t = 0; t < s->taps; t++) {
    int64_t *offsets = c->offsets + t * LANES;
    int64_t found = find_inputs(s, index, c, at, offsets);
    c->taps[t] = found == c->places || !s->transposed ? TAP_ALL : found ? TAP_MIXED : TAP_ABSENT;
    ROLLED for (int64_t i = 0; s->transposed && i < LANES; i++) c->masks[t * LANES + i] =
        offsets[i] < 0 ? 0 : -1;
    for (int64_t a = s->axes - 1; a >= 0; a--) {
      if (++index[a] < s->window[a])
        break;
      index[a] = 0;
    }
  }
}

/* Whether places follow each other in the result. */
INLINE bool are_dense(const GlowConvPlainParams *s) {
  int64_t step = 1;
  bool dense = true;
  ROLLED for (int64_t a = s->axes - 1; a >= 0; a--) {
    dense = dense && (s->out[a] == 1 || s->ys[a] == step);
    step *= s->out[a];
  }
  return dense;
}

/* The places of a chunk and its only tap, where places follow each other in the input and in the
 * result. */
INLINE void find_direct(const Phase *p, int64_t first, Chunk *c) {
  c->places = p->places - first < LANES ? p->places - first : LANES;
  c->dense = true;
  c->taps[0] = TAP_ALL;
  ROLLED for (int64_t i = 0; i < LANES; i++) {
    c->out[i] = first + i;
    c->offsets[i] = i < c->places ? first + i : -1;
  }
}

/* How many consecutive elements a register of offsets is, with nothing behind them; -1: not that.
 */
INLINE int64_t run_of(const int64_t *offsets) {
  int64_t run = 0;
  ROLLED while (run < GLOW_VL && offsets[run] >= 0 && offsets[run] == offsets[0] + run) run++;
  ROLLED for (int64_t i = run; i < GLOW_VL; i++) {
    if (offsets[i] >= 0)
      return -1;
  }
  return run;
}

/* Gathers the rows of one tap and n channels. `first`: the first channel in X of the image. */
INLINE void gather(const GlowConvPlainParams *s, const void *x, int64_t first, int64_t n,
                   const int64_t *offsets, float *rows) {
  ROLLED for (int64_t j = 0; j < LANES; j += GLOW_VL) {
    const int64_t run = s->element == GLOW_CONV_ELEMENT_FLOAT ? run_of(offsets + j) : -1;
    ROLLED for (int64_t k = 0; k < n; k++) {
      const int64_t at = first + k * s->xc;
      float *row = rows + k * LANES + j;
      const float *from = (const float *)x + at + offsets[j];
      if (run == GLOW_VL) {
        vec_store(row, vec_load(from));
      } else if (run >= 0) {
        vec_store(row, vec_splat(0));
        ROLLED for (int64_t i = 0; i < run; i++) row[i] = from[i];
      }
      if (run >= 0)
        continue;
      ROLLED for (int64_t i = 0; i < GLOW_VL; i++) row[i] =
          offsets[j + i] < 0 ? 0.0f : load(s, x, at + offsets[j + i]);
    }
  }
}

INLINE void gather_all(const GlowConvPlainParams *s, const void *x, int64_t first, const Chunk *c) {
  float *rows = c->rows;
  ROLLED for (int64_t b = 0; b < s->ic; b += BLOCK) {
    const int64_t n = s->ic - b < BLOCK ? s->ic - b : BLOCK;
    ROLLED for (int64_t t = 0; t < s->taps; t++, rows += n * LANES) {
      if (c->taps[t] != TAP_ABSENT)
        gather(s, x, first + b * s->xc, n, c->offsets + t * LANES, rows);
    }
  }
}

/* ---- The kernel ------------------------------------------------------------------------------ */

INLINE void put_row(const GlowConvPlainParams *s, void *y, int64_t at, const Chunk *c,
                    const float *results) {
  int64_t i = 0;
  if (s->element == GLOW_CONV_ELEMENT_FLOAT && c->dense) {
    ROLLED for (; i + GLOW_VL <= c->places; i += GLOW_VL)
        vec_store((float *)y + at + c->out[0] + i, vec_load(results + i));
  }
  ROLLED for (; i < c->places; i++) store(s, y, at + c->out[i], results[i]);
}

/* What a unit works on. If filters are converted, groups are outermost, so that a range of units
 * converts each filter once. */
typedef struct Unit {
  int64_t group, image, phase, chunk, part;
} Unit;

INLINE Unit unit_of(const GlowConvPlainParams *s, int64_t u) {
  const bool floats = s->element == GLOW_CONV_ELEMENT_FLOAT;
  Unit at = {.part = take(&u, s->parts)};
  if (floats)
    at.group = take(&u, s->groups);
  at.image = take(&u, s->images);
  at.chunk = take(&u, s->chunks);
  at.phase = take(&u, s->phases);
  if (!floats)
    at.group = u;
  return at;
}

/* The unit behind `at`: divisions would take longer. */
INLINE Unit next_unit(const GlowConvPlainParams *s, Unit at) {
  const bool floats = s->element == GLOW_CONV_ELEMENT_FLOAT;
  if (++at.part < s->parts)
    return at;
  at.part = 0;
  if (floats && ++at.group < s->groups)
    return at;
  at.group = floats ? 0 : at.group;
  if (++at.image < s->images)
    return at;
  at.image = 0;
  if (++at.chunk < s->chunks)
    return at;
  at.chunk = 0;
  if (++at.phase < s->phases)
    return at;
  at.phase = 0;
  at.group += !floats;
  return at;
}

/* The first tile of a part. */
INLINE int64_t tile_of(const GlowConvPlainParams *s, int64_t tiles, int64_t part) {
  return s->parts == tiles ? part : part * tiles / s->parts;
}

void glow_conv_plain(const GlowConvPlainParams *params, GlowConvPlainTileFn *full,
                     GlowConvPlainTileFn *rest, void *const *ptrs, int64_t begin, int64_t end,
                     char *scratch) {
  if (begin >= end)
    return;
  const GlowConvPlainParams copy = *params, *const s = &copy; /* no store changes it */
  const int64_t tiles = (s->oc + s->rows - 1) / s->rows;
  Chunk c = {.rows = (float *)scratch,
             .taps = (int64_t *)(scratch + s->taps_at),
             .offsets = (int64_t *)(scratch + s->offsets_at),
             .masks = (int32_t *)(scratch + s->masks_at)};
  float *results = (float *)(scratch + s->results_at),
        *converted = (float *)(scratch + s->filter_at);
  const bool direct = s->direct && are_dense(s);
  Unit last = {-1, -1, -1, -1, -1}, at = unit_of(s, begin);
  Phase phase = phase_of(s, at.phase);
  int64_t known = at.phase; /* the phase that `phase` is of */
  ROLLED for (int64_t u = begin; u < end; u++, at = next_unit(s, at)) {
    if (at.phase != known) {
      known = at.phase;
      phase = phase_of(s, known);
    }
    if (at.chunk * LANES >= phase.places)
      continue;
    bool moved = at.chunk != last.chunk || at.phase != last.phase;
    if (moved && direct) {
      find_direct(&phase, at.chunk * LANES, &c);
    } else if (moved) {
      int64_t inputs[GLOW_CONV_AXES][LANES];
      find_places(s, &phase, at.chunk * LANES, &c, inputs);
      find_taps(s, &c, inputs);
    }
    const int64_t from = at.image * s->xn + at.group * s->ic * s->xc;
    const bool in_place = s->direct && c.places == LANES;
    if (!in_place && (moved || at.image != last.image || at.group != last.group))
      gather_all(s, GLOW_CONV_PLAIN_PTRS(ptrs).x, from, &c);
    const float *rows =
        in_place ? (const float *)GLOW_CONV_PLAIN_PTRS(ptrs).x + from + at.chunk * LANES : c.rows;
    if (s->element != GLOW_CONV_ELEMENT_FLOAT && at.group != last.group) {
      ROLLED for (int64_t i = 0; i < s->wg; i++) converted[i] =
          load(s, GLOW_CONV_PLAIN_PTRS(ptrs).w, at.group * s->wg + i);
    }
    const float *filter = s->element == GLOW_CONV_ELEMENT_FLOAT
                              ? (const float *)GLOW_CONV_PLAIN_PTRS(ptrs).w + at.group * s->wg
                              : converted;
    last = at;
    const int64_t after = tile_of(s, tiles, at.part + 1);
    ROLLED for (int64_t i = tile_of(s, tiles, at.part); i < after; i++) {
      const int64_t o = i * s->rows, channel = at.group * s->oc + o;
      const int64_t n = s->oc - o < s->rows ? s->oc - o : s->rows;
      (n < s->rows ? rest : full)(GLOW_IN_LIBRARY(params) results, rows, filter + o * s->wo,
                                  GLOW_CONV_PLAIN_PTRS(ptrs).bias, c.taps, c.masks, channel,
                                  in_place ? s->xc : LANES);
      ROLLED for (int64_t r = 0; r < n; r++)
          put_row(s, GLOW_CONV_PLAIN_PTRS(ptrs).y, at.image * s->yn + (channel + r) * s->yc, &c,
                  results + r * LANES);
    }
  }
}
