/* Shared by the parser of command lines (cmdline.c) and the printers (cmdline_print.c). */
#ifndef GLOW_SUPPORT_CMDLINE_INTERNAL_H
#define GLOW_SUPPORT_CMDLINE_INTERNAL_H

#include "support/cmdline.h"

/* table[0]: the tool's own options; table[1]: the options that every tool has. */
typedef struct GlowOptionTable {
  const GlowOption *rows;
  size_t count;
} GlowOptionTable;
typedef struct GlowOptionTables {
  const GlowCommand *cmd;
  GlowOptionTable table[2];
} GlowOptionTables;

/* Whether the option takes a value: never, only as =value, or always. */
typedef enum GlowArity { GLOW_NO_VALUE, GLOW_OPTIONAL_VALUE, GLOW_ONE_VALUE } GlowArity;
GlowArity glow_option_arity(const GlowOption *o);
static inline const char *glow_option_dashes(const GlowOption *o) {
  return o->two_dashes ? "--" : "-";
}

/* These print to stdout. `hidden`: hidden options too. */
void glow_cmdline_print_help(const GlowOptionTables *t, bool hidden);
void glow_cmdline_print_version(GlowContext *ctx, const GlowCommand *cmd);
/* A script that tells bash how to complete the tool's command line. */
void glow_cmdline_print_completion(const GlowOptionTables *t);

/* Splits the text of a response file into words at white space. White space within "..." or '...'
 * belongs to the word, and a backslash outside '...' keeps the next character as it is. Returns
 * false after a diagnostic. The words live in the context. */
bool glow_response_split(GlowContext *ctx, const char *path, const char *text, size_t size,
                         GlowStrList *words);

#endif
