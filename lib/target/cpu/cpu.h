/* The family `cpu`: a target for each row of isa.def. */
#ifndef GLOW_TARGET_CPU_CPU_H
#define GLOW_TARGET_CPU_CPU_H

#include "target/cpu/isa.h"
#include "target/target.h"

/* The row of a target; NULL: it is of another family. */
const GlowIsa *glow_cpu_isa(const GlowTarget *t);

#endif
