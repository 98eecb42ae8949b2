/* Messages of the private context of an executable. */
#ifndef GLOW_GLOW_MESSAGES_H
#define GLOW_GLOW_MESSAGES_H

#include "support/context.h"

/* From now on what is reported to `from` is reported to `to`, in whose strings it then lies. Where
 * memory is exhausted a message is lost. */
void glow_messages_forward(GlowContext *from, GlowContext *to);

#endif
