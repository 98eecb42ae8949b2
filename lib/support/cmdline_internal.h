/* What parsing and printing of command lines share. */
#ifndef GLOW_SUPPORT_CMDLINE_INTERNAL_H
#define GLOW_SUPPORT_CMDLINE_INTERNAL_H

#include "support/cmdline.h"

/* The options of one tool, then those that every tool has. */
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

/* To stdout. */
void glow_cmdline_print_help(const GlowOptionTables *t, bool hidden);
void glow_cmdline_print_version(const GlowCommand *cmd);
/* A script that tells bash how to complete the tool's command line. */
void glow_cmdline_print_completion(const GlowOptionTables *t);

/* The words of a response file: separated by white space; "..." and '...' keep it, and a backslash
 * outside '...' keeps the next character. False after a diagnostic. The words live in the context.
 */
bool glow_response_split(GlowContext *ctx, const char *path, const char *text, size_t size,
                         GlowStrList *words);

#endif
