/* Targets: the machines that this build of Glow can make programs for. All strings are constants of
 * the library. Any thread may call these functions at any time. */
#ifndef GLOW_TARGET_H
#define GLOW_TARGET_H

#include "glow/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The name of target i of all families, as glow_module_apply's -target takes it: "x86-64-v3". The
 * best target of a family comes last. NULL beyond the last one. */
GLOW_API const char *glow_target_name(size_t i);

/* The best target of a family ("cpu") for the machine that calls; family NULL: of the first family
 * that has one. NULL: there is no such family, or it has no target for this machine. */
GLOW_API const char *glow_target_host(const char *family);

/* Why this process cannot run programs for a target: what the machine lacks. NULL: it can. For a
 * name that is NULL or not known, the text says that there is no such target. */
GLOW_API const char *glow_target_absent(const char *name);

#ifdef __cplusplus
}
#endif
#endif
