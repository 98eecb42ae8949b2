/* Tensors as text: nested lists of numbers, each in the shortest digits that read back to the same
 * bits of its own kind. Complex numbers are lists of two, strings are quoted, an optional prints
 * its item or `none`. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tensor/element.h"

/* Prints the shortest decimal that rounds to the same bits of a kind narrower than float. The
 * digits come from printf. The locale's decimal point, whatever it is, stands between the first two
 * digits. */
static size_t format_narrow(char *buf, GlowKind kind, uint64_t bits, double v) {
  if (v != v && glow_element_encode(kind, glow_scalar_float((double)NAN)) == bits)
    return glow_format_float(buf, NAN); /* a kind's only NaN may decode to a float with a sign */
  if (v != v || v - v != 0)
    return glow_format_float(buf, (float)v);
  for (int digits = 1; digits <= 9; digits++) {
    char raw[64], plain[64];
    int n = snprintf(raw, sizeof raw, "%.*e", digits - 1, v);
    const char *e = strrchr(raw, 'e');
    if (n <= 0 || n >= (int)sizeof raw || !e)
      break;
    int sign = raw[0] == '-';
    snprintf(plain, sizeof plain, "%.*s%c%s%.*s%s", sign, raw, raw[sign], digits > 1 ? "." : "",
             digits - 1, e - (digits - 1), e);
    char *end;
    double read = glow_parse_double(plain, &end);
    if (glow_element_encode(kind, glow_scalar_float(read)) == bits)
      return glow_format_double(buf, read);
  }
  return glow_format_double(buf, v);
}

static void print_number(GlowText *out, GlowKind kind, uint64_t bits) {
  char buf[64];
  size_t n;
  GlowScalar v = glow_element_decode(kind, bits);
  if (kind == GLOW_KIND_FLOAT)
    n = glow_format_float(buf, (float)v.f);
  else if (kind == GLOW_KIND_DOUBLE)
    n = glow_format_double(buf, v.f);
  else if (glow_kind_info[kind].cls == GLOW_CLASS_FLOAT)
    n = format_narrow(buf, kind, bits, v.f);
  else if (glow_kind_info[kind].cls == GLOW_CLASS_UINT)
    n = (size_t)snprintf(buf, sizeof buf, "%llu", (unsigned long long)(uint64_t)v.i);
  else
    n = (size_t)snprintf(buf, sizeof buf, "%lld", (long long)v.i);
  glow_text_bytes(out, buf, n);
}

static void print_complex(GlowText *out, const GlowTensor *t, int64_t i) {
  GlowKind part = t->type->kind == GLOW_KIND_COMPLEX64 ? GLOW_KIND_FLOAT : GLOW_KIND_DOUBLE;
  int64_t at = glow_type_physical_index(t->type, i);
  glow_text_putc(out, '[');
  print_number(out, part, glow_element_bits(part, t->data, at * 2));
  glow_text_puts(out, ", ");
  print_number(out, part, glow_element_bits(part, t->data, at * 2 + 1));
  glow_text_putc(out, ']');
}

static void print_element(GlowText *out, const GlowTensor *t, int64_t i) {
  GlowKind kind = t->type->kind;
  switch (glow_kind_info[kind].cls) {
  case GLOW_CLASS_STRING: {
    GlowString s = glow_tensor_get_string(t, i);
    glow_text_quoted(out, s.data ? s.data : "", s.length);
    break;
  }
  case GLOW_CLASS_BOOL:
    glow_text_puts(out, glow_tensor_get(t, i).i ? "true" : "false");
    break;
  case GLOW_CLASS_COMPLEX:
    print_complex(out, t, i);
    break;
  default:
    print_number(out, kind, glow_element_bits(kind, t->data, glow_type_physical_index(t->type, i)));
  }
}

/* Prints the sub-tensor of axes `axis` and up whose first element is *next. */
static void print_axis(GlowText *out, const GlowTensor *t, uint32_t axis, int64_t *next) {
  if (axis == t->type->rank) {
    print_element(out, t, (*next)++);
    return;
  }
  glow_text_putc(out, '[');
  for (int64_t i = 0; i < t->type->dims[axis].size; i++) {
    if (i)
      glow_text_puts(out, ", ");
    print_axis(out, t, axis + 1, next);
  }
  glow_text_putc(out, ']');
}

void glow_tensor_print(GlowText *out, const GlowTensor *t) {
  int64_t next = 0;
  if (t->type->cls == GLOW_TYPE_TENSOR) {
    if (glow_tensor_elements(t) == 0)
      glow_text_puts(out, "[]");
    else
      print_axis(out, t, 0, &next);
    return;
  }
  if (t->type->cls == GLOW_TYPE_OPT) {
    if (t->count)
      glow_tensor_print(out, t->items[0]);
    else
      glow_text_puts(out, "none");
    return;
  }
  glow_text_putc(out, '[');
  for (uint32_t i = 0; i < t->count; i++) {
    if (i)
      glow_text_puts(out, ", ");
    glow_tensor_print(out, t->items[i]);
  }
  glow_text_putc(out, ']');
}
