/* Patience diff. First, lines that occur exactly once in each text are matched, as many as stand in
 * the same order in both. Then each gap between two matches is filled: equal lines at its ends are
 * matched; for the rest a longest common subsequence is computed. A gap whose table would exceed
 * MAX_TABLE entries stays unmatched and is replaced as a whole. */
#include "support/diff.h"

#include <stdlib.h>

enum { MAX_TABLE = 1 << 20 }; /* entries of a table for a longest common subsequence */
static const uint32_t NONE = UINT32_MAX;

typedef struct Line {
  const char *text;
  size_t size;
  uint64_t hash;
} Line;

typedef struct Diff {
  GlowArena *scratch;
  const Line *a, *b;
  uint32_t na, nb;
  uint32_t *match; /* for each line of a: the line of b that it matches, or NONE */
} Diff;

/* ---- Lines ----------------------------------------------------------------------------------- */

static uint64_t hash_bytes(const char *s, size_t n) { /* FNV-1a */
  uint64_t h = 0xcbf29ce484222325;
  for (size_t i = 0; i < n; i++)
    h = (h ^ (unsigned char)s[i]) * 0x100000001b3;
  return h;
}

static Line *split(GlowArena *scratch, GlowBytes text, uint32_t *count) {
  const char *end = text.data + text.size;
  uint32_t n = 0;
  for (const char *s = text.data; s < end; n++) {
    const char *newline = memchr(s, '\n', (size_t)(end - s));
    s = newline ? newline + 1 : end;
  }
  Line *lines = GLOW_NEW_ARRAY(scratch, Line, n + 1);
  const char *s = text.data;
  for (uint32_t i = 0; i < n; i++) {
    const char *newline = memchr(s, '\n', (size_t)(end - s));
    size_t size = (size_t)((newline ? newline : end) - s);
    lines[i] = (Line){s, size, hash_bytes(s, size)};
    s += size + 1;
  }
  *count = n;
  return lines;
}

static bool same(const Line *x, const Line *y) {
  return x->hash == y->hash && x->size == y->size && memcmp(x->text, y->text, x->size) == 0;
}

/* ---- Anchors --------------------------------------------------------------------------------- */

typedef struct Entry {
  uint64_t hash;
  uint32_t line;
  bool in_b;
} Entry;

static int by_hash(const void *x, const void *y) {
  const Entry *a = x, *b = y;
  if (a->hash != b->hash)
    return a->hash < b->hash ? -1 : 1;
  return a->in_b != b->in_b ? a->in_b - b->in_b : a->line < b->line ? -1 : 1;
}

/* Matches every line that occurs once in a and once in b. */
static void match_unique(Diff *d) {
  uint32_t n = d->na + d->nb;
  Entry *entries = GLOW_NEW_ARRAY(d->scratch, Entry, n + 1);
  for (uint32_t i = 0; i < d->na; i++)
    entries[i] = (Entry){d->a[i].hash, i, false};
  for (uint32_t i = 0; i < d->nb; i++)
    entries[d->na + i] = (Entry){d->b[i].hash, i, true};
  qsort(entries, n, sizeof *entries, by_hash);
  for (uint32_t i = 0, end; i < n; i = end) {
    for (end = i + 1; end < n && entries[end].hash == entries[i].hash;)
      end++;
    if (end - i == 2 && !entries[i].in_b && entries[i + 1].in_b &&
        same(&d->a[entries[i].line], &d->b[entries[i + 1].line]))
      d->match[entries[i].line] = entries[i + 1].line;
  }
}

/* Keeps a longest sequence of matches whose lines ascend in b, and drops the other matches. */
static void keep_ascending(Diff *d) {
  /* tails[k]: the line of a that ends the best sequence of k + 1 matches; before[i]: the line of a
   * that precedes line i in its sequence. */
  uint32_t *tails = GLOW_NEW_ARRAY(d->scratch, uint32_t, d->na + 1);
  uint32_t *before = GLOW_NEW_ARRAY(d->scratch, uint32_t, d->na + 1);
  uint32_t length = 0;
  for (uint32_t i = 0; i < d->na; i++) {
    if (d->match[i] == NONE)
      continue;
    uint32_t low = 0, high = length;
    while (low < high) {
      uint32_t middle = (low + high) / 2;
      if (d->match[tails[middle]] < d->match[i])
        low = middle + 1;
      else
        high = middle;
    }
    before[i] = low ? tails[low - 1] : NONE;
    tails[low] = i;
    length += low == length;
  }
  uint32_t *kept = GLOW_NEW_ARRAY(d->scratch, uint32_t, d->na + 1);
  memset(kept, 0xff, d->na * sizeof *kept);
  for (uint32_t i = length ? tails[length - 1] : NONE; i != NONE; i = before[i])
    kept[i] = d->match[i];
  memcpy(d->match, kept, d->na * sizeof *kept);
}

/* ---- Gaps ------------------------------------------------------------------------------------ */

/* Matches a longest common subsequence of a[a0, a1) and b[b0, b1). best[i][j] is its length for the
 * suffixes that begin at a0 + i and b0 + j. */
static void match_common(Diff *d, uint32_t a0, uint32_t a1, uint32_t b0, uint32_t b1) {
  uint32_t na = a1 - a0, nb = b1 - b0, width = nb + 1;
  if (na == 0 || nb == 0 || (uint64_t)(na + 1) * width > MAX_TABLE)
    return;
  uint32_t *best = GLOW_NEW_ARRAY(d->scratch, uint32_t, (na + 1) * width);
  for (uint32_t i = na; i-- > 0;)
    for (uint32_t j = nb; j-- > 0;) {
      uint32_t down = best[(i + 1) * width + j], right = best[i * width + j + 1];
      best[i * width + j] = same(&d->a[a0 + i], &d->b[b0 + j]) ? best[(i + 1) * width + j + 1] + 1
                            : down > right                     ? down
                                                               : right;
    }
  for (uint32_t i = 0, j = 0; i < na && j < nb;) {
    if (same(&d->a[a0 + i], &d->b[b0 + j]))
      d->match[a0 + i++] = b0 + j++;
    else if (best[(i + 1) * width + j] >= best[i * width + j + 1])
      i++;
    else
      j++;
  }
}

/* Matches lines of one gap, a[a0, a1) and b[b0, b1): equal lines at both ends, then the rest. */
static void match_gap(Diff *d, uint32_t a0, uint32_t a1, uint32_t b0, uint32_t b1) {
  while (a0 < a1 && b0 < b1 && same(&d->a[a0], &d->b[b0]))
    d->match[a0++] = b0++;
  while (a0 < a1 && b0 < b1 && same(&d->a[a1 - 1], &d->b[b1 - 1]))
    d->match[--a1] = --b1;
  match_common(d, a0, a1, b0, b1);
}

static void match_gaps(Diff *d) {
  uint32_t a = 0, b = 0;
  for (uint32_t i = 0; i < d->na; i++)
    if (d->match[i] != NONE) {
      match_gap(d, a, i, b, d->match[i]);
      a = i + 1;
      b = d->match[i] + 1;
    }
  match_gap(d, a, d->na, b, d->nb);
}

/* ---- Printing -------------------------------------------------------------------------------- */

/* A line of the result: ' ', '-' or '+', and its numbers in a and b. */
typedef struct Edit {
  char sign;
  uint32_t a, b;
} Edit;

static Edit *list_edits(const Diff *d, uint32_t *count) {
  Edit *edits = GLOW_NEW_ARRAY(d->scratch, Edit, d->na + d->nb + 1);
  uint32_t n = 0, a = 0, b = 0;
  while (a < d->na || b < d->nb) {
    char sign = a < d->na && d->match[a] == NONE ? '-' : a < d->na && d->match[a] == b ? ' ' : '+';
    edits[n++] = (Edit){sign, a, b};
    a += sign != '+';
    b += sign != '-';
  }
  *count = n;
  return edits;
}

static void put_line(GlowText *out, const Diff *d, const Edit *e, bool color) {
  const Line *line = e->sign == '+' ? &d->b[e->b] : &d->a[e->a];
  const char *on = !color || e->sign == ' ' ? "" : e->sign == '-' ? "\033[31m" : "\033[32m";
  glow_text_printf(out, "%s%c", on, e->sign);
  glow_text_bytes(out, line->text, line->size);
  glow_text_puts(out, *on ? "\033[0m\n" : "\n");
}

static void put_hunk(GlowText *out, const Diff *d, const Edit *edits, uint32_t from, uint32_t to,
                     bool color) {
  uint32_t removed = 0, added = 0;
  for (uint32_t i = from; i < to; i++) {
    removed += edits[i].sign != '+';
    added += edits[i].sign != '-';
  }
  glow_text_printf(out, "%s@@ -%u,%u +%u,%u @@%s\n", color ? "\033[36m" : "",
                   edits[from].a + (removed > 0), removed, edits[from].b + (added > 0), added,
                   color ? "\033[0m" : "");
  for (uint32_t i = from; i < to; i++)
    put_line(out, d, &edits[i], color);
}

static void put_hunks(GlowText *out, const Diff *d, uint32_t context, bool color) {
  uint32_t n, i = 0;
  const Edit *edits = list_edits(d, &n);
  for (;;) {
    while (i < n && edits[i].sign == ' ')
      i++;
    if (i == n)
      return;
    uint32_t from = i > context ? i - context : 0, last = i;
    /* Changes whose context lines touch or overlap make one hunk. */
    for (; i < n && i - last <= 2 * context; i++)
      if (edits[i].sign != ' ')
        last = i;
    uint32_t to = n - last - 1 > context ? last + 1 + context : n;
    put_hunk(out, d, edits, from, to, color);
    i = last + 1;
  }
}

bool glow_diff(GlowText *out, GlowArena *scratch, GlowBytes a, GlowBytes b, uint32_t context,
               bool color) {
  if (a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0))
    return false;
  Diff d = {.scratch = scratch};
  d.a = split(scratch, a, &d.na);
  d.b = split(scratch, b, &d.nb);
  d.match = GLOW_NEW_ARRAY(scratch, uint32_t, d.na + 1);
  memset(d.match, 0xff, d.na * sizeof *d.match);
  match_unique(&d);
  keep_ascending(&d);
  match_gaps(&d);
  put_hunks(out, &d, context, color);
  return true;
}
