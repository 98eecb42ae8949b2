/* Operators of ONNX Runtime (com.microsoft, version 1) whose weights are a few bits wide: they
 * become what they compute on real numbers. DequantizeLinear in blocks holds the weights, so that
 * narrow constants stay narrow until a pass decides otherwise.
 *
 * Bits lie in bytes: the first of the elements that share a byte has its lowest bits; of
 * MatMulBnb4, its highest. */
#include <string.h>

#include "import/onnx/hooks.h"
#include "import/onnx/importer.h"
#include "ir/dims.h"

enum { MOST = 1 << 30 }; /* of an extent that an attribute says */

static GlowValue *operand(const GlowOnnxNode *n, uint32_t i) {
  return i < n->nins ? n->ins[i] : NULL;
}

/* ---- Building blocks ------------------------------------------------------------------------- */

static GlowValue *reshape(GlowOnnxNode *n, GlowValue *v, const int64_t *dims, uint32_t rank) {
  return glow_onnx_emit2(n, GLOW_OP_RESHAPE, v, glow_onnx_make_ints(n, "shape", dims, rank), NULL);
}

static GlowValue *as_matrix(GlowOnnxNode *n, GlowValue *v, int64_t rows, int64_t columns) {
  return reshape(n, v, (int64_t[]){rows, columns}, 2);
}

/* The first `columns` columns of a matrix that has `there` of them. */
static GlowValue *first_columns(GlowOnnxNode *n, GlowValue *v, int64_t there, int64_t columns) {
  if (!v || there == columns)
    return v;
  int64_t zero = 0, axis = 1;
  GlowValue *ins[] = {v, glow_onnx_make_ints(n, "starts", &zero, 1),
                      glow_onnx_make_ints(n, "ends", &columns, 1),
                      glow_onnx_make_ints(n, "axes", &axis, 1)};
  return glow_onnx_emit(n, GLOW_OP_SLICE, ins, 4, NULL);
}

/* Element `place` of each byte, counted from the lowest bits. */
static GlowValue *bits_at(GlowOnnxNode *n, GlowValue *bytes, uint32_t bits, uint32_t place) {
  if (place) {
    GlowValue *by = glow_onnx_make_scalar(n, "shift", GLOW_KIND_U8, place * bits);
    bytes = glow_onnx_emit2(n, GLOW_OP_BIT_SHIFT, bytes, by, &(GlowBitShiftMembers){.right = true});
  }
  if ((place + 1) * bits == 8)
    return bytes;
  GlowValue *mask = glow_onnx_make_scalar(n, "mask", GLOW_KIND_U8, (1 << bits) - 1);
  return glow_onnx_emit2(n, GLOW_OP_BITWISE_AND, bytes, mask, NULL);
}

/* The elements of a u8 tensor along a new last axis, for each byte those that share it. */
static GlowValue *unpacked(GlowOnnxNode *n, GlowValue *bytes, uint32_t bits, bool highest_first) {
  GlowValue *parts[4];
  uint32_t count = 8 / bits;
  int64_t last = -1;
  for (uint32_t i = 0; i < count; i++) {
    GlowValue *part = bits_at(n, bytes, bits, highest_first ? count - 1 - i : i);
    parts[i] =
        glow_onnx_emit2(n, GLOW_OP_UNSQUEEZE, part, glow_onnx_make_ints(n, "last", &last, 1), NULL);
    if (!parts[i])
      return NULL;
  }
  return glow_onnx_emit(n, GLOW_OP_CONCAT, parts, count, &(GlowConcatMembers){.axis = -1});
}

static GlowKind kind_of(int64_t bits) {
  return bits == 2 ? GLOW_KIND_U2 : bits == 4 ? GLOW_KIND_U4 : GLOW_KIND_U8;
}

/* The u8 operand i, whose rows of bytes hold at least `columns` elements each, as a matrix of
 * elements of the kind that has these bits. */
static GlowValue *unpacked_rows(GlowOnnxNode *n, uint32_t i, uint32_t bits, int64_t rows,
                                int64_t columns) {
  int64_t in_byte = 8 / bits, bytes = (columns + in_byte - 1) / in_byte;
  GlowValue *v = as_matrix(n, n->ins[i], rows, bytes);
  if (bits < 8 && v)
    v = as_matrix(n, unpacked(n, v, bits, false), rows, bytes * in_byte);
  v = first_columns(n, v, bytes * in_byte, columns);
  return v ? glow_onnx_cast_to(n, v, kind_of(bits)) : NULL;
}

/* Reads an extent that must be given. */
static bool read_extent(GlowOnnxNode *n, const char *name, int64_t *value) {
  if (!glow_onnx_has(n, name))
    return glow_onnx_fail(n, "attribute '%s' is missing", name);
  if (!glow_onnx_int(n, name, value))
    return false;
  return (*value > 0 && *value <= MOST) ||
         glow_onnx_fail(n, "%s = %lld, expected 1 to %d", name, (long long)*value, MOST);
}

static bool read_bits(GlowOnnxNode *n, int64_t *bits) {
  if (!glow_onnx_int(n, "bits", bits))
    return false;
  return *bits == 2 || *bits == 4 || *bits == 8 ||
         glow_onnx_unsupported(n, "attribute 'bits' is %lld, not 2, 4 or 8", (long long)*bits);
}

/* Blocks are a power of two, at least 16. */
static bool read_block(GlowOnnxNode *n, int64_t *block) {
  if (!glow_onnx_int(n, "block_size", block))
    return false;
  return (*block >= 16 && *block <= MOST && (*block & (*block - 1)) == 0) ||
         glow_onnx_fail(n, "block_size = %lld, expected a power of two from 16", (long long)*block);
}

static bool check_kind(GlowOnnxNode *n, uint32_t i, GlowKind kind) {
  const GlowValue *v = n->ins[i];
  return (glow_type_is_tensor(v->type) && v->type->kind == kind) ||
         glow_onnx_unsupported(n, "operand %u is no %s tensor", i, glow_kind_info[kind].name);
}

/* ---- Products -------------------------------------------------------------------------------- */

typedef struct Weights {
  int64_t rows, columns, block, blocks, bits; /* N x K, in `blocks` blocks of a row */
} Weights;

/* (q - zero) * scale, where zero is of the kind of scale: each of these is rounded. */
static GlowValue *shifted(GlowOnnxNode *n, const Weights *w, GlowValue *q, GlowValue *scale,
                          GlowValue *zero) {
  int64_t whole[] = {w->rows, w->blocks, w->block}, each[] = {w->rows, w->blocks, 1};
  GlowValue *x = reshape(n, glow_onnx_cast_to(n, q, scale->type->kind), whole, 3);
  x = glow_onnx_emit2(n, GLOW_OP_SUB, x, reshape(n, zero, each, 3), NULL);
  x = glow_onnx_emit2(n, GLOW_OP_MUL, x, reshape(n, scale, each, 3), NULL);
  return as_matrix(n, x, w->rows, w->blocks * w->block);
}

/* The weights as a matrix of N x K real numbers. */
static GlowValue *weights_of(GlowOnnxNode *n, const Weights *w) {
  GlowValue *q = unpacked_rows(n, 1, (uint32_t)w->bits, w->rows, w->blocks * w->block);
  GlowValue *scale = as_matrix(n, n->ins[2], w->rows, w->blocks), *zero = operand(n, 3), *x;
  if (!q || !scale)
    return NULL;
  if (zero && zero->type->kind != GLOW_KIND_U8) {
    x = shifted(n, w, q, scale, glow_onnx_cast_to(n, zero, scale->type->kind));
  } else {
    GlowScalar middle = {.is_int = true, .i = (int64_t)1 << (w->bits - 1)};
    zero = zero ? unpacked_rows(n, 3, (uint32_t)w->bits, w->rows, w->blocks)
                : glow_onnx_make_splat(
                      n, "zero", glow_type_with_kind(n->im->ctx, scale->type, kind_of(w->bits)),
                      middle);
    GlowValue *ins[] = {q, scale, zero};
    x = zero ? glow_onnx_emit(n, GLOW_OP_DEQUANTIZE_LINEAR, ins, 3,
                              &(GlowDequantizeLinearMembers){.axis = 1, .block = w->block})
             : NULL;
  }
  return first_columns(n, x, w->blocks * w->block, w->columns);
}

static GlowValue *swapped(GlowOnnxNode *n, GlowValue *v) {
  static const uint32_t swap[] = {1, 0};
  GlowTransposeMembers m = {.perm = glow_array_u32(n->im->m, swap, 2)};
  return glow_onnx_emit1(n, GLOW_OP_TRANSPOSE, v, &m);
}

/* A * weights, plus a bias where there is one. */
static bool finish_product(GlowOnnxNode *n, GlowValue *weights, GlowValue *bias) {
  if (!bias)
    return glow_onnx_finish2(n, GLOW_OP_MAT_MUL, n->ins[0], weights, NULL);
  return glow_onnx_finish2(
      n, GLOW_OP_ADD, glow_onnx_emit2(n, GLOW_OP_MAT_MUL, n->ins[0], weights, NULL), bias, NULL);
}

/* A, B, scales, zero points?, g_idx?, bias?. `accuracy_level` permits less exact products. */
bool glow_onnx_mat_mul_n_bits(GlowOnnxNode *n) {
  Weights w = {.bits = 4, .block = 128};
  int64_t prepacked = 0;
  glow_onnx_ignore(n, "accuracy_level");
  if (!glow_onnx_check_ins(n, 3, 6) || !read_extent(n, "K", &w.columns) ||
      !read_extent(n, "N", &w.rows) || !read_bits(n, &w.bits) || !read_block(n, &w.block) ||
      !glow_onnx_int(n, "weight_prepacked", &prepacked) || !check_kind(n, 1, GLOW_KIND_U8))
    return false;
  if (operand(n, 4))
    return glow_onnx_unsupported(n, "g_idx, an order of columns");
  if (prepacked)
    return glow_onnx_unsupported(n, "weights that are packed for a device");
  glow_onnx_check_scale(n, 2, false);
  w.blocks = (w.columns + w.block - 1) / w.block;
  GlowValue *weights = weights_of(n, &w);
  return weights && finish_product(n, swapped(n, weights), operand(n, 5));
}

/* Floats of 4 bits and 4-bit numbers whose values suit normally distributed weights, as
 * bitsandbytes has them. */
static const float fp4[16] = {
    0.0f,  5.208333333e-03f,  0.66666667f,  1.0f,  0.33333333f,  0.5f,  0.16666667f,  0.25f,
    -0.0f, -5.208333333e-03f, -0.66666667f, -1.0f, -0.33333333f, -0.5f, -0.16666667f, -0.25f};
static const float nf4[16] = {-1.0f,
                              -0.6961928009986877f,
                              -0.5250730514526367f,
                              -0.39491748809814453f,
                              -0.28444138169288635f,
                              -0.18477343022823334f,
                              -0.09105003625154495f,
                              0.0f,
                              0.07958029955625534f,
                              0.16093020141124725f,
                              0.24611230194568634f,
                              0.33791524171829224f,
                              0.44070982933044434f,
                              0.5626170039176941f,
                              0.7229568362236023f,
                              1.0f};

static GlowValue *table_of(GlowOnnxNode *n, const float *values) {
  GlowModule *m = n->im->m;
  GlowTensor *t = GLOW_NEW(m->arena, GlowTensor);
  t->type = glow_type_exact(n->im->ctx, GLOW_KIND_FLOAT, 1, (int64_t[]){16});
  t->bytes = 16 * sizeof *values;
  t->data = glow_arena_alloc(m->arena, t->bytes);
  memcpy(t->data, values, t->bytes);
  GlowInit init = {.kind = GLOW_INIT_LIST, .tensor = t};
  GlowStr name = glow_onnx_part_name(n, "table");
  return &glow_storage_create(m, GLOW_CONSTANT, name, t->type, init)->value;
}

/* A, B, the largest magnitude of each block; blocks run over all elements of B, row by row. */
bool glow_onnx_mat_mul_bnb4(GlowOnnxNode *n) {
  int64_t rows, columns, block = 64, type = 1, transposed = 1;
  glow_onnx_ignore(n, "training_mode");
  if (!glow_onnx_check_ins(n, 3, 3) || !read_extent(n, "K", &columns) ||
      !read_extent(n, "N", &rows) || !read_block(n, &block) ||
      !glow_onnx_int(n, "quant_type", &type) || !glow_onnx_int(n, "transB", &transposed) ||
      !check_kind(n, 1, GLOW_KIND_U8))
    return false;
  if (type != 0 && type != 1)
    return glow_onnx_fail(n, "quant_type = %lld, expected 0 or 1", (long long)type);
  glow_onnx_check_scale(n, 2, false);
  int64_t count = rows * columns, bytes = (count + 1) / 2, blocks = (count + block - 1) / block;
  GlowValue *q = unpacked(n, reshape(n, n->ins[1], &bytes, 1), 4, true);
  q = first_columns(n, as_matrix(n, q, 1, bytes * 2), bytes * 2, count);
  GlowValue *table = table_of(n, type ? nf4 : fp4);
  GlowValue *x = glow_onnx_emit2(n, GLOW_OP_GATHER, table, glow_onnx_cast_to(n, q, GLOW_KIND_I32),
                                 &(GlowGatherMembers){.axis = 0});
  GlowValue *largest = as_matrix(n, n->ins[2], blocks, 1);
  int64_t each[] = {blocks, block};
  largest =
      glow_onnx_emit2(n, GLOW_OP_EXPAND, largest, glow_onnx_make_ints(n, "each", each, 2), NULL);
  largest = first_columns(n, as_matrix(n, largest, 1, blocks * block), blocks * block, count);
  if (!x || !largest)
    return false;
  x = glow_onnx_emit2(n, GLOW_OP_MUL, glow_onnx_cast_to(n, x, largest->type->kind), largest, NULL);
  x = as_matrix(n, x, transposed ? rows : columns, transposed ? columns : rows);
  return x && finish_product(n, transposed ? swapped(n, x) : x, NULL);
}

/* ---- Rows of narrow tables ------------------------------------------------------------------- */

typedef struct Lookup {
  int64_t bits, block, gather, along; /* axes: what is picked, what has the blocks */
  uint32_t rank;                      /* of the result */
} Lookup;

static bool read_axis(GlowOnnxNode *n, const char *name, int64_t rank, int64_t *axis) {
  if (!glow_onnx_int(n, name, axis))
    return false;
  if (*axis < -rank || *axis >= rank)
    return glow_onnx_fail(n, "%s = %lld, expected %lld to %lld", name, (long long)*axis,
                          (long long)-rank, (long long)rank - 1);
  *axis += *axis < 0 ? rank : 0;
  return true;
}

/* The slices of v that the indices pick. */
static GlowValue *picked(GlowOnnxNode *n, const Lookup *l, GlowValue *v) {
  return v ? glow_onnx_emit2(n, GLOW_OP_GATHER, v, n->ins[1],
                             &(GlowGatherMembers){.axis = l->gather})
           : NULL;
}

/* v, whose last axis is bytes, with the elements in them along that axis. */
static GlowValue *spread_bytes(GlowOnnxNode *n, const Lookup *l, GlowValue *v) {
  int64_t dims[GLOW_MAX_RANK] = {0};
  if (l->bits == 8 || !v)
    return v;
  dims[l->rank - 1] = -1;
  return reshape(n, unpacked(n, v, (uint32_t)l->bits, false), dims, l->rank);
}

/* The zero points of u8 data, one for each scale; NULL after a diagnostic. */
static GlowValue *zeros_in_bytes(GlowOnnxNode *n, const Lookup *l, GlowValue *scale) {
  if (!operand(n, 3)) {
    GlowValue *middle = glow_onnx_make_scalar(n, "zero", GLOW_KIND_U8, 1 << (l->bits - 1));
    return glow_onnx_emit2(n, GLOW_OP_EXPAND, middle, glow_onnx_shape_of(n, scale), NULL);
  }
  GlowValue *zero = spread_bytes(n, l, picked(n, l, n->ins[3]));
  GlowDim blocks = scale->type->dims[l->rank - 1];
  int64_t start = 0, last = -1, end = blocks.size;
  if (blocks.kind != GLOW_DIM_EXACT) {
    glow_onnx_unsupported(n, "an open number of blocks");
    return NULL;
  }
  GlowValue *ins[] = {zero, glow_onnx_make_ints(n, "starts", &start, 1),
                      glow_onnx_make_ints(n, "ends", &end, 1),
                      glow_onnx_make_ints(n, "axes", &last, 1)};
  return zero ? glow_onnx_emit(n, GLOW_OP_SLICE, ins, 4, NULL) : NULL;
}

/* Data, indices, scales, zero points?. Data is i4 or u4, or u8 of elements that share bytes. */
bool glow_onnx_gather_block_quantized(GlowOnnxNode *n) {
  Lookup l = {.bits = 4, .block = 128, .along = 1};
  if (!glow_onnx_check_ins(n, 3, 4) || !read_bits(n, &l.bits) || !read_block(n, &l.block))
    return false;
  const GlowType *data = n->ins[0]->type, *indices = n->ins[1]->type;
  if (data->unranked || indices->unranked || n->ins[2]->type->unranked)
    return glow_onnx_unsupported(n, "operands whose rank is not known");
  if (!read_axis(n, "gather_axis", data->rank, &l.gather) ||
      !read_axis(n, "quantize_axis", data->rank, &l.along))
    return false;
  if (l.gather == l.along)
    return glow_onnx_fail(n, "gather_axis and quantize_axis are the same");
  bool bytes = data->kind == GLOW_KIND_U8;
  if (bytes && (l.gather != 0 || l.along != (int64_t)data->rank - 1))
    return glow_onnx_fail(n, "u8 data is picked along axis 0, with blocks along the last");
  const GlowType *scales = n->ins[2]->type;
  GlowDim slices;
  if (scales->rank != data->rank ||
      !glow_dim_meet(scales->dims[l.gather], data->dims[l.gather], &slices))
    return glow_onnx_fail(n, "scales of %s for data of %s", glow_type_str(n->im->ctx, scales),
                          glow_type_str(n->im->ctx, data));
  if (data->rank + indices->rank > GLOW_MAX_RANK)
    return glow_onnx_unsupported(n, "results of more than %d axes", GLOW_MAX_RANK);
  glow_onnx_check_scale(n, 2, false);
  l.rank = data->rank + indices->rank - 1;
  GlowKind kind = data->kind == GLOW_KIND_I4 ? GLOW_KIND_I8 : GLOW_KIND_U8;
  GlowValue *scale = picked(n, &l, n->ins[2]), *q, *zero = NULL;
  if (!scale)
    return false;
  if (bytes) {
    q = spread_bytes(n, &l, picked(n, &l, n->ins[0]));
    zero = zeros_in_bytes(n, &l, scale);
    if (!zero)
      return false;
  } else {
    q = picked(n, &l, glow_onnx_cast_to(n, n->ins[0], kind));
    if (operand(n, 3) && !(zero = picked(n, &l, glow_onnx_cast_to(n, n->ins[3], kind))))
      return false;
  }
  GlowDequantizeLinearMembers m = {.block = l.block, .axis = l.along};
  if (l.along > l.gather)
    m.axis += (int64_t)indices->rank - 1;
  GlowValue *ins[] = {q, scale, zero};
  return q && glow_onnx_finish(n, GLOW_OP_DEQUANTIZE_LINEAR, ins, 3, &m, NULL, 0);
}
