/* Samples in a CSV file (RFC 4180): a line each, columns by number or name.
 *
 * The file is mapped. What is kept of it are the places where lines begin; a line is read when its
 * sample is. The first line is a heading if a column is chosen by name, or if one of its chosen
 * fields is no number. A field in quotes may hold commas, line ends and doubled quotes. */
#include <string.h>

#include "driver/samples_internal.h"
#include "tensor/element.h"

/* Columns first to last. */
typedef struct Range {
  uint32_t first, last;
} Range;

typedef struct Line {
  uint64_t at;     /* offset in the file */
  uint32_t number; /* from 1, for messages */
} Line;

typedef struct Csv {
  const char *data;
  size_t size;
  GLOW_VEC(Line) lines;
  GLOW_VEC(Range) columns;
  uint32_t ncolumns; /* how many fields a sample has */
} Csv;

enum { MOST_COLUMNS = 1 << 20, MOST_DIGITS = 64 };

/* ---- Lines and fields ------------------------------------------------------------------------ */

typedef struct Cursor {
  const char *at, *end;
} Cursor;

typedef struct Field {
  const char *text;
  size_t length;
  bool last; /* of its line */
} Field;

/* Takes the next field and what ends it. Quotes around it are left out; doubled ones stay doubled,
 * since no number has any. */
static Field take_field(Cursor *c) {
  Field f = {.text = c->at};
  bool quoted = c->at < c->end && *c->at == '"';
  if (quoted) {
    f.text = ++c->at;
    while (c->at < c->end && (*c->at != '"' || (c->at + 1 < c->end && c->at[1] == '"')))
      c->at += *c->at == '"' ? 2 : 1;
    f.length = (size_t)(c->at - f.text);
  }
  while (c->at < c->end && *c->at != ',' && *c->at != '\n')
    c->at++;
  if (!quoted)
    f.length = (size_t)(c->at - f.text);
  f.last = c->at == c->end || *c->at == '\n';
  if (f.last && !quoted && f.length && f.text[f.length - 1] == '\r')
    f.length--;
  if (c->at < c->end)
    c->at++;
  return f;
}

static void trim(Field *f) {
  while (f->length && (*f->text == ' ' || *f->text == '\t'))
    f->text++, f->length--;
  while (f->length && (f->text[f->length - 1] == ' ' || f->text[f->length - 1] == '\t'))
    f->length--;
}

/* A field of up to 18 digits with or without a minus as an integer, but for -0. */
static bool read_integer(Field f, GlowScalar *v) {
  bool negative = f.length && *f.text == '-';
  int64_t n = 0;
  if (f.length == negative || f.length > 18u + negative)
    return false;
  for (size_t i = negative; i < f.length; i++) {
    if (f.text[i] < '0' || f.text[i] > '9')
      return false;
    n = 10 * n + (f.text[i] - '0');
  }
  *v = glow_scalar_int(negative ? -n : n);
  return n || !negative;
}

/* A whole field as a number: most integers exactly, else a double. */
static bool read_number(Field f, GlowScalar *v) {
  char text[MOST_DIGITS], *end;
  trim(&f);
  if (read_integer(f, v))
    return true;
  if (!f.length || f.length >= sizeof text)
    return false;
  memcpy(text, f.text, f.length);
  text[f.length] = 0;
  *v = glow_scalar_float(glow_parse_double(text, &end));
  return !*end;
}

/* Notes where lines begin. Empty ones are none. */
static bool find_lines(GlowSamples *s, Csv *csv) {
  Cursor c = {csv->data, csv->data + csv->size};
  for (uint32_t number = 1; c.at < c.end;) {
    Line line = {(uint64_t)(c.at - csv->data), number};
    bool empty = *c.at == '\n' || (*c.at == '\r' && c.at + 1 < c.end && c.at[1] == '\n');
    const char *from = c.at;
    while (!take_field(&c).last) {
    }
    for (const char *p = from; p < c.at; p++)
      number += *p == '\n';
    if (empty)
      continue;
    if (csv->lines.count == UINT32_MAX - 1) {
      glow_error(s->ctx, glow_loc_file(s->ctx, s->name), "it has over 2^32 lines");
      return false;
    }
    glow_vec_push(s->ctx->arena, &csv->lines, line);
  }
  return true;
}

static Cursor line_at(const Csv *csv, uint32_t i) {
  return (Cursor){csv->data + csv->lines.data[i].at, csv->data + csv->size};
}

static GlowLoc loc_of(const GlowSamples *s, const Csv *csv, uint32_t i) {
  GlowLoc at = glow_loc_file(s->ctx, s->name);
  at.line = csv->lines.data[i].number;
  return at;
}

/* ---- Columns --------------------------------------------------------------------------------- */

/* The number of the column whose field in the first line is this name; -1: none. */
static int64_t column_named(const Csv *csv, const char *name, size_t length) {
  Cursor c = line_at(csv, 0);
  for (int64_t i = 0;; i++) {
    Field f = take_field(&c);
    trim(&f);
    if (f.length == length && !memcmp(f.text, name, length))
      return i;
    if (f.last)
      return -1;
  }
}

/* "3" or "0-63". */
static bool read_range(const char *text, size_t length, Range *r) {
  uint64_t n[2] = {0, 0};
  int part = 0;
  bool digit = false;
  for (size_t i = 0; i < length; i++) {
    if (text[i] == '-' && digit && !part) {
      part = 1;
      digit = false;
    } else if (text[i] >= '0' && text[i] <= '9' && n[part] < MOST_COLUMNS) {
      n[part] = 10 * n[part] + (uint64_t)(text[i] - '0');
      digit = true;
    } else {
      return false;
    }
  }
  if (!part)
    n[1] = n[0];
  *r = (Range){(uint32_t)n[0], (uint32_t)n[1]};
  return digit && n[0] <= n[1] && n[1] < MOST_COLUMNS;
}

/* Reads the list of columns. *named: one has a name. */
static bool read_columns(GlowSamples *s, Csv *csv, const char *text, bool *named) {
  for (*named = false;; text++) {
    size_t length = strcspn(text, ",");
    Range r;
    if (!read_range(text, length, &r)) {
      int64_t column = csv->lines.count ? column_named(csv, text, length) : -1;
      if (column < 0) {
        glow_error(s->ctx, glow_loc_file(s->ctx, s->name),
                   "'%.*s' is neither a column's number nor its name in the first line",
                   (int)(length < 100 ? length : 100), text);
        return false;
      }
      *named = true;
      r = (Range){(uint32_t)column, (uint32_t)column};
    }
    csv->ncolumns += r.last - r.first + 1;
    glow_vec_push(s->ctx->arena, &csv->columns, r);
    text += length;
    if (!*text || csv->ncolumns > MOST_COLUMNS)
      return true;
  }
}

/* ---- Samples --------------------------------------------------------------------------------- */

/* Why a line has no number where one is wanted. */
typedef struct Miss {
  uint32_t column;
  bool absent; /* the line is too short; else the field is no number */
} Miss;

/* Reads the fields of a range. False with *miss set. */
static bool read_line(const Csv *csv, uint32_t line, Range r, GlowScalar *values, Miss *miss) {
  Cursor c = line_at(csv, line);
  for (uint32_t column = 0;; column++) {
    Field f = take_field(&c);
    *miss = (Miss){column, false};
    if (column >= r.first && !read_number(f, &values[column - r.first]))
      return false;
    if (column == r.last)
      return true;
    *miss = (Miss){column + 1 > r.first ? column + 1 : r.first, true};
    if (f.last)
      return false;
  }
}

static bool refuse(const GlowSamples *s, const Csv *csv, uint32_t line, Miss miss) {
  glow_error(s->ctx, loc_of(s, csv, line),
             miss.absent ? "there is no column %u" : "column %u is no number", miss.column);
  return false;
}

static bool read_csv(const GlowSamples *s, int64_t i, GlowTensor *sample) {
  const Csv *csv = s->source;
  uint32_t line = csv->lines.count - (uint32_t)s->count + (uint32_t)i;
  GlowArena *arena = glow_arena_create(s->ctx);
  GlowScalar *values = GLOW_NEW_ARRAY(arena, GlowScalar, csv->ncolumns);
  GlowLoc at = loc_of(s, csv, line);
  int64_t e = 0;
  Miss miss;
  bool ok = true;
  for (uint32_t k = 0; ok && k < csv->columns.count; k++) {
    Range r = csv->columns.data[k];
    ok = read_line(csv, line, r, values, &miss) || refuse(s, csv, line, miss);
    for (uint32_t n = 0; ok && n <= r.last - r.first; n++, e++)
      ok = glow_samples_put(s, i, at, sample, e, glow_samples_number(s, e, values[n]));
  }
  glow_arena_destroy(arena);
  return ok;
}

/* Whether the first line has a chosen field that is no number. False after a diagnostic if it lacks
 * one. */
static bool find_heading(const GlowSamples *s, const Csv *csv, bool *found) {
  GlowArena *arena = glow_arena_create(s->ctx);
  GlowScalar *values = GLOW_NEW_ARRAY(arena, GlowScalar, csv->ncolumns);
  bool ok = true;
  Miss miss;
  *found = false;
  for (uint32_t k = 0; csv->lines.count && ok && k < csv->columns.count; k++) {
    if (read_line(csv, 0, csv->columns.data[k], values, &miss))
      continue;
    *found |= !miss.absent;
    ok = !miss.absent || refuse(s, csv, 0, miss);
  }
  glow_arena_destroy(arena);
  return ok;
}

bool glow_samples_csv(GlowSamples *s, const GlowInput *in, const char *columns) {
  Csv *csv = GLOW_NEW(s->ctx->arena, Csv);
  *csv = (Csv){.data = in->data, .size = in->size};
  bool named, heading;
  if (!find_lines(s, csv) || !read_columns(s, csv, columns, &named))
    return false;
  if (csv->ncolumns != (uint64_t)glow_type_elements(s->type)) {
    glow_error(s->ctx, glow_loc_file(s->ctx, s->name), "%u columns are no %s", csv->ncolumns,
               glow_type_str(s->ctx, s->type));
    return false;
  }
  if (!find_heading(s, csv, &heading))
    return false;
  s->count = csv->lines.count - (named || heading);
  s->source = csv;
  s->read = read_csv;
  return true;
}
