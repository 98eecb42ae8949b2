/* The inside of lib/ir: name spaces, raw nodes, and the checks that builder, parser and verifier
 * share. */
#ifndef GLOW_IR_IR_INTERNAL_H
#define GLOW_IR_IR_INTERNAL_H

#include "ir/infer.h"
#include "ir/ir.h"

/* ---- Name spaces ----------------------------------------------------------------------------- */
/* Each function, eval block and scalar body has a name space. A module has two: for its storage and
 * for its functions. */
typedef struct GlowNames GlowNames;
GlowNames *glow_names_create(GlowArena *arena);
void *glow_names_find(const GlowNames *names, GlowStr name); /* NULL if free */
/* Takes `name` for `owner`; false if it is taken. */
bool glow_names_add(GlowNames *names, GlowStr name, void *owner);
/* Takes and returns the name `wanted`. If that is taken, a suffix .N is added, in place of an
 * earlier suffix. NULL: the next free number. */
GlowStr glow_names_add_unique(GlowNames *names, GlowStr wanted, void *owner);
/* Makes the name free again if it belongs to `owner`. */
void glow_names_remove(GlowNames *names, GlowStr name, const void *owner);
/* The taken name nearest to `word`, or NULL. */
GlowStr glow_names_nearest(const GlowNames *names, const char *word);

/* The name space that a value's name lives in; NULL if its node is detached. */
GlowNames *glow_value_names(const GlowValue *v);

/* ---- Raw nodes ------------------------------------------------------------------------------- */
typedef struct GlowNodeShape {
  uint32_t nouts, nins, nextra, nresults, nregions;
} GlowNodeShape;
/* A detached node. Its operands are `none`, its results have the error type and no names, its
 * members are the operator's defaults. */
GlowNode *glow_node_new(GlowModule *m, GlowOp op, GlowNodeShape shape);
/* Inserts n into b before `before` (NULL: at the end). */
void glow_node_insert(GlowNode *n, GlowBlock *b, GlowNode *before);
void glow_node_attach_region(GlowNode *n, uint32_t index, GlowBlock *region);
/* The number of region slots of a node of `d`: one for each region port, and one for its ^epilogue
 * or scalar ^body if `scalar_body`. */
uint32_t glow_op_region_slots(const GlowOpDesc *d, bool scalar_body);
/* The slot of the region `label`, or UINT32_MAX. */
uint32_t glow_op_region_slot(const GlowOpDesc *d, const char *label, bool scalar_body);
/* The label of the scalar body that an instruction of `d` may have, or NULL. */
const char *glow_op_scalar_label(const GlowOpDesc *d);
/* The number of inputs, not counting trailing `none` at optional ports. */
uint32_t glow_trim_inputs(const GlowOpDesc *d, GlowValue *const *ins, uint32_t count);

/* ---- Checks ---------------------------------------------------------------------------------- */
/* Checks the numbers of operands, results and regions, and the types of operands, against the
 * operator's ports. Reports and returns false on error; an operand of the error type gives false
 * without a report. */
bool glow_node_check(const GlowNode *n);
/* Checks n, infers the types of its results and sets them. Where claimed[i], results[i].type is a
 * claim: it is compared with the inferred type and stays. On error, reports and gives the other
 * results the error type. */
bool glow_node_resolve(GlowNode *n, const bool *claimed);
/* Compares the types of the buffers that instruction n writes with the inferred types, up to layout
 * and bounds. Reports. */
bool glow_instr_check_outputs(const GlowNode *n);
bool glow_type_is_error(const GlowType *t);

/* Adds a note to an error about n: the place where v is defined. */
void glow_note_value(const GlowNode *n, const GlowValue *v);

/* ---- Verifier -------------------------------------------------------------------------------- */
/* Variables with one symbol as their rows get as many rows by f. False after a diagnostic. */
bool glow_verify_rows(const GlowFunction *f);
/* What programs may do with buffers (verify_program.c). Sets *ok to false after a report. */
void glow_verify_buffers(GlowFunction *f, bool *ok);
/* Whether planned offsets keep live buffers apart (verify_plan.c). */
void glow_verify_plan(GlowFunction *f, bool *ok);

/* ---- Initializers ---------------------------------------------------------------------------- */
/* A tensor that borrows `data`, in the context's arena: lives as long as the context. */
GlowTensor *glow_tensor_in_context(GlowContext *ctx, const GlowType *type, const void *data,
                                   size_t bytes);
bool glow_init_equal(const GlowStorage *a, const GlowStorage *b);

#endif
