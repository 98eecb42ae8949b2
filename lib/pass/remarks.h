/* -remarks=REGEX outside of the runner: what is no pass but speaks as one. */
#ifndef GLOW_PASS_REMARKS_H
#define GLOW_PASS_REMARKS_H

#include <regex.h>

#include "support/context.h"

/* Compiles the option's value, which is not empty. False after a diagnostic. */
bool glow_remarks_compile(GlowContext *ctx, const char *value, regex_t *filter);

/* Whether the option ("": it has no value) asks for the remarks of `name`. False after a
 * diagnostic. */
bool glow_remarks_wanted(GlowContext *ctx, const char *value, const char *name, bool *wanted);

#endif
