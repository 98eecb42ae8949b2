/* -view: writes the text for Graphviz, or an SVG of Graphviz or of a chart, into one file.
 *
 * Graphviz runs as a process of its own: it may fail or run out of memory without ending ours, and
 * only the SVG of a graph needs it. */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/file.h"
#include "view/view_internal.h"

extern char **environ;

static bool ends_with(const char *path, const char *suffix) {
  size_t n = strlen(path), k = strlen(suffix);
  return n > k && strcmp(path + n - k, suffix) == 0;
}

static const char head[] =
    "digraph glow {\n"
    "  graph [fontname=\"Helvetica\", fontsize=11, ranksep=0.28, nodesep=0.25, labelloc=t];\n"
    "  node [shape=box, style=filled, fontname=\"Helvetica\", fontsize=10, height=0.2, "
    "margin=\"0.06,0.03\", color=\"#777777\"];\n"
    "  edge [fontname=\"Helvetica\", fontsize=8, color=\"#555555\", fontcolor=\"#555555\", "
    "arrowsize=0.6];\n";

/* What the colours mean, above the picture. */
static const char legend[] =
    "  labelloc=t; labeljust=l; label=<<TABLE BORDER=\"1\" COLOR=\"#cccccc\" CELLBORDER=\"0\" "
    "CELLSPACING=\"0\" CELLPADDING=\"3\"><TR><TD BGCOLOR=\"#d6e6f5\">computes</TD>"
    "<TD BGCOLOR=\"#dff0d8\">element by element</TD><TD BGCOLOR=\"#e8e8e8\">moves data</TD>"
    "<TD BGCOLOR=\"#fff3c4\">constants</TD><TD BGCOLOR=\"#ffd9b8\">fused</TD></TR></TABLE>>;\n";

enum { MOST_BODIES = 24 };

/* The drawings of a module so far: functions, and bodies of If, Loop and Scan in them. */
typedef struct Drawings {
  GlowArena *arena;
  GlowText *out;
  uint32_t count, bodies;
} Drawings;

/* Draws a block, then those inside of the boxes that are drawn. */
static void print_block(Drawings *d, GlowFunction *f, GlowBlock *b) {
  ViewGraph g;
  glow_view_choose(&g, d->arena, f, b);
  glow_view_print_dot(&g, d->out, d->count++);
  for (uint32_t i = 0; i < g.boxes.count; i++) {
    const ViewBox *box = &g.boxes.data[i];
    for (uint32_t k = 0; box->drawn == i && k < box->count; k++)
      for (uint32_t r = 0; r < box->nodes[k]->nregions; r++) {
        GlowBlock *inner = box->nodes[k]->regions[r];
        if (inner && !inner->scalar && d->bodies++ < MOST_BODIES)
          print_block(d, f, inner);
      }
  }
}

static void print_graphs(GlowModule *m, GlowArena *arena, GlowText *out) {
  Drawings d = {.arena = arena, .out = out};
  glow_text_puts(out, head);
  glow_text_puts(out, legend);
  for (GlowFunction *f = m->first_function; f; f = f->next)
    if (f->kind != GLOW_GRADIENT)
      print_block(&d, f, f->body);
  glow_text_puts(out, "}\n");
}

/* ---- Graphviz -------------------------------------------------------------------------------- */

typedef struct Streams {
  FILE *file[3]; /* stdin, stdout and stderr of dot, all files without a name */
} Streams;

static void close_streams(void *arg) {
  Streams *s = arg;
  for (int i = 0; i < 3; i++)
    if (s->file[i])
      fclose(s->file[i]);
}

static GlowStatus fail(GlowContext *ctx, const char *what, int error) {
  char buffer[128];
  glow_error(ctx, GLOW_NOWHERE, "cannot draw: %s: %s", what,
             strerror_r(error, buffer, sizeof buffer));
  return GLOW_IO;
}

/* Everything that dot wrote to one of its streams. */
static void read_all(GlowText *out, FILE *file) {
  char buffer[4096];
  rewind(file);
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, file)) > 0;)
    glow_text_bytes(out, buffer, n);
}

/* Runs dot; its exit status, or -1 with *error set. */
static int spawn_dot(const Streams *s, int *error) {
  static const char *const argv[] = {"dot", "-Tsvg", NULL};
  posix_spawn_file_actions_t actions;
  *error = posix_spawn_file_actions_init(&actions);
  if (*error)
    return -1;
  pid_t child = -1;
  for (int i = 0; i < 3 && !*error; i++)
    *error = posix_spawn_file_actions_adddup2(&actions, fileno(s->file[i]), i);
  if (!*error)
    *error = posix_spawnp(&child, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (*error)
    return -1;
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) {
      *error = errno;
      return -1;
    }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static GlowStatus run_dot(GlowContext *ctx, const Streams *s, const GlowText *dot, GlowText *svg) {
  for (int i = 0; i < 3; i++)
    if (!s->file[i])
      return fail(ctx, "no temporary file", errno);
  if (fwrite(dot->data, 1, dot->size, s->file[0]) != dot->size || fflush(s->file[0]) != 0)
    return fail(ctx, "a temporary file", errno);
  rewind(s->file[0]);
  int error, status = spawn_dot(s, &error);
  if (error == ENOENT) {
    glow_error(ctx, GLOW_NOWHERE,
               "the picture of a graph as .svg needs Graphviz's 'dot', which is "
               "not on PATH; install graphviz, or write a .dot file");
    return GLOW_IO;
  }
  if (error)
    return fail(ctx, "'dot'", error);
  if (status != 0) {
    read_all(svg, s->file[2]);
    size_t line = strcspn(glow_text_cstr(svg), "\n");
    glow_error(ctx, GLOW_NOWHERE, "Graphviz's 'dot' failed with status %d: %.*s", status, (int)line,
               svg->data);
    return GLOW_IO;
  }
  read_all(svg, s->file[1]);
  return GLOW_OK;
}

static GlowStatus dot_to_svg(GlowContext *ctx, const GlowText *dot, GlowText *svg) {
  Streams s = {{tmpfile(), tmpfile(), tmpfile()}};
  GlowDefer close;
  glow_defer_push(ctx, &close, close_streams, &s);
  GlowStatus status = run_dot(ctx, &s, dot, svg);
  glow_defer_pop(ctx, &close, true);
  return status;
}

/* ---- The file -------------------------------------------------------------------------------- */

/* What to draw: `graph:` or `memory:` in front of the file says so. Without (EITHER), an .svg has
 * the memory if all programs are planned; other files have graphs. */
typedef enum Subject { EITHER, GRAPHS, MEMORY } Subject;

/* The path behind `graph:` or `memory:`. */
static const char *split_subject(const char *file, Subject *subject) {
  static const struct {
    const char *prefix;
    Subject subject;
  } words[] = {{"graph:", GRAPHS}, {"memory:", MEMORY}};
  *subject = EITHER;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    size_t n = strlen(words[i].prefix);
    if (strncmp(file, words[i].prefix, n) == 0) {
      *subject = words[i].subject;
      return file + n;
    }
  }
  return file;
}

/* How many functions there are to draw, and how many of them are planned programs. */
static uint32_t count_functions(const GlowModule *m, uint32_t *planned) {
  uint32_t count = 0;
  *planned = 0;
  for (const GlowFunction *f = m->first_function; f; f = f->next)
    if (f->kind != GLOW_GRADIENT) {
      count++;
      *planned += glow_view_is_planned(f);
    }
  return count;
}

static GlowStatus draw(GlowModule *m, GlowArena *arena, Subject subject, bool svg, GlowText *text,
                       GlowText *dot) {
  uint32_t planned, count = count_functions(m, &planned);
  if (subject == MEMORY ? !planned : !count) {
    glow_error(m->ctx, GLOW_NOWHERE,
               subject == MEMORY
                   ? "-view: the module has no program whose memory is planned; run -plan-memory"
                   : "-view: the module has no function to draw");
    return GLOW_BAD_INPUT;
  }
  if (subject == MEMORY || (subject == EITHER && svg && planned == count)) {
    glow_view_print_charts(m, arena, text);
    return GLOW_OK;
  }
  print_graphs(m, arena, svg ? dot : text);
  return svg ? dot_to_svg(m->ctx, dot, text) : GLOW_OK;
}

static void destroy_arena(void *arena) { glow_arena_destroy(arena); }

GlowStatus glow_view_write(GlowModule *m, const char *file) {
  GlowContext *ctx = m->ctx;
  Subject subject;
  const char *path = split_subject(file, &subject);
  bool svg = ends_with(path, ".svg");
  if (!svg && (subject == MEMORY || !ends_with(path, ".dot"))) {
    glow_error(ctx, GLOW_NOWHERE, "-view=%s: the name must end in .svg%s", file,
               subject == MEMORY ? "" : " or .dot");
    return GLOW_BAD_USAGE;
  }
  GlowText text, dot;
  GlowDefer release_text, release_dot, destroy;
  GlowArena *arena = glow_arena_create(ctx);
  glow_defer_push(ctx, &destroy, destroy_arena, arena);
  glow_text_init(&text, ctx);
  glow_defer_push(ctx, &release_text, glow_text_release_fn, &text);
  glow_text_init(&dot, ctx);
  glow_defer_push(ctx, &release_dot, glow_text_release_fn, &dot);
  GlowStatus status = draw(m, arena, subject, svg, &text, &dot);
  GlowBytes bytes = {text.data, text.size};
  if (status == GLOW_OK && !glow_output_write(ctx, path, &bytes, 1))
    status = GLOW_IO;
  glow_defer_pop(ctx, &release_dot, true);
  glow_defer_pop(ctx, &release_text, true);
  glow_defer_pop(ctx, &destroy, true);
  return status;
}
