/* Options in one text, as on a command line: words, what stands in them, and where. Every
 * diagnostic has a place in the text, which is called "options". */
#ifndef GLOW_GLOW_OPTIONS_H
#define GLOW_GLOW_OPTIONS_H

#include "support/diag.h"

typedef struct GlowOptionText {
  GlowContext *ctx;
  const char *text, *at; /* all options, and what is still to be read */
  const char *word;      /* where the option began that is read now */
  bool failed;           /* after a diagnostic */
} GlowOptionText;

/* Begins to read a text, which is copied. */
void glow_options_begin(GlowOptionText *o, GlowContext *ctx, const char *text);
GlowLoc glow_options_place(const GlowOptionText *o, const char *at);
/* Where the option that is read now begins. */
GlowLoc glow_options_here(const GlowOptionText *o);
/* The next word without its quotes, in the context. NULL at the end, or after a diagnostic. */
GlowStr glow_options_word(GlowOptionText *o);
/* The next option: its name without dashes, and the value behind `=` or NULL. False at the end, or
 * after a diagnostic. */
bool glow_options_next(GlowOptionText *o, GlowStr *name, const char **value);
/* The value of an option that must have one: *value, or the next word. False after a diagnostic. */
bool glow_options_value(GlowOptionText *o, GlowStr name, const char **value);
/* Of an option that has none. False after a diagnostic. */
bool glow_options_no_value(GlowOptionText *o, GlowStr name, const char *value);
/* "unknown option", with the nearest of the names that there are. Returns false. */
bool glow_options_unknown(GlowOptionText *o, GlowStr name, const char *const *names, size_t count);

#endif
