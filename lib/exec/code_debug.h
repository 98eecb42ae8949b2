/* What debuggers and profilers are told of code in memory. */
#ifndef GLOW_EXEC_CODE_DEBUG_H
#define GLOW_EXEC_CODE_DEBUG_H

#include <stdbool.h>
#include <stddef.h>

#include "exec/code.h"

typedef struct GlowCodeDebug GlowCodeDebug;

/* Shows the objects of an image to a debugger, and writes the functions for perf where
 * $JITDUMPDIR names a folder. `base` is where the image lies. The objects are copied. NULL: no
 * memory, or an object is damaged; the code runs without. */
GlowCodeDebug *glow_code_show(const void *objects, size_t size, const char *base);
void glow_code_hide(GlowCodeDebug *debug); /* NULL is ignored */
void glow_code_dump(const GlowCodeHead *head, const GlowCodeFunction *functions, const char *names,
                    const char *base);

#endif
