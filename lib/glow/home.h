/* Executables of the public API: what their parts share. */
#ifndef GLOW_GLOW_HOME_H
#define GLOW_GLOW_HOME_H

#include "backend/interp/values.h"
#include "exec/execution.h"
#include "glow/store.h"

/* A value of a program or state as callers know it. */
typedef struct GlowHomePort {
  GlowPort port;
  uint32_t value; /* its number among those of the program; of a variable: of the storage */
} GlowHomePort;

typedef struct GlowHomeEntry {
  GlowHomePort *ports;
  uint32_t nports;
  size_t hosted; /* steps */
} GlowHomeEntry;

/* What the public API knows of an executable, whose private context has it. */
struct GlowHome {
  GlowContext *ctx;
  GlowModule *module;
  const char *backend, *target;
  double load, passes;    /* seconds */
  int threads;            /* of executions that bring none */
  GlowHomeEntry *entries; /* as many as the executable has */
  GlowHomePort *variables;
  uint32_t nvariables;
  GlowStoreUse *stored; /* by storage: its value is in a store; data NULL: it is not */
  uint32_t nstored;
};

/* Fills in e->home for an executable that is complete otherwise. Throws NO_MEMORY. */
void glow_home_describe(struct GlowHome *home, const GlowExecutable *e);

/* Copies a struct without its first field, a size_t: the number of bytes that `to` has room for.
 * False, and nothing is copied, if that is less than the field itself. */
bool glow_fill(void *to, const void *from, size_t size);
/* Whether the caller's struct has a field. */
#define GLOW_HAS_FIELD(o, field)                                                                   \
  ((o) && (o)->size >= offsetof(__typeof__(*(o)), field) + sizeof(o)->field)

/* The program that an option names (NULL: the only one), and what is known of it. NULL if there is
 * none. */
GlowEntry *glow_home_entry(const GlowExecutable *e, const char *name, const GlowHomeEntry **entry);
/* How the first program that touches storage i describes it; NULL: none does. */
const GlowExecValue *glow_home_value(const GlowExecutable *e, uint32_t i);

/* Whether values of a type are elements as bytes: a tensor of known rank, and not of strings. */
bool glow_type_is_bytes(const GlowType *type);
/* Bytes of elements with these extents; NULL: those of the type, if they are exact. -1: the extents
 * do not fit the type, or are not known. */
int64_t glow_port_bytes(const GlowType *type, const int64_t *extents);
/* The alignment of elements. */
size_t glow_port_align(const GlowType *type);
/* The type with these extents, which fit. Locks the executable unless it is the type itself. NULL:
 * out of memory. */
const GlowType *glow_port_type(GlowExecutable *e, const GlowType *type, const int64_t *extents);

/* ---- execution.c ----------------------------------------------------------------------------- */
/* Bytes that an execution needs besides, for GlowExecutionSetup.extra. */
int64_t glow_run_extra(const GlowEntry *e, const GlowHomeEntry *entry);
/* Hears messages to the executable's context: those about a run become its fault. */
void glow_run_hear(void *executable, const GlowDiagnostic *d);

#endif
