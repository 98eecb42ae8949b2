/* Reading a module without its text: functions, storage, nodes, members, types.
 *
 * Handles belong to the module, as those of build.h do, and stay valid until the module is changed
 * by passes or released. Indices begin at 0. A handle that is NULL, or an index beyond the last one,
 * gives NULL or 0. Names are UTF-8, without sigils, and live as long as the context. */
#ifndef GLOW_INSPECT_H
#define GLOW_INSPECT_H

#include "glow/build.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct GlowNode GlowNode; /* a node of a graph, or an instruction of a program */

/* ---- Functions and storage, in the order of the text ----------------------------------------- */
/* How many functions there are. */
GLOW_API size_t glow_count_functions(const GlowModule *m);
/* The body of function i. *name gets its name; `name` may be NULL. The body of a gradient has
 * parameters alone. */
GLOW_API GlowBlock *glow_get_function(const GlowModule *m, size_t i, const char **name);
/* "func", "program" or "gradient". */
GLOW_API const char *glow_get_function_kind(const GlowModule *m, size_t i);
/* Placeholders, variables and constants, in one list. */
GLOW_API size_t glow_count_storage(const GlowModule *m);
GLOW_API GlowValue *glow_get_storage(const GlowModule *m, size_t i);

/* ---- Blocks: bodies of functions, and regions ----------------------------------------------- */
/* Parameters of a function or region. */
GLOW_API size_t glow_count_params(const GlowBlock *b);
GLOW_API GlowValue *glow_get_param(const GlowBlock *b, size_t i);
/* Nodes in the order in which they run; the last one may be a `return` or `yield`. */
GLOW_API GlowNode *glow_get_first_node(const GlowBlock *b);
GLOW_API GlowNode *glow_get_next_node(const GlowNode *n);

/* ---- Nodes ---------------------------------------------------------------------------------- */
/* "MaxPool" in a function, "max_pool" in a program. */
GLOW_API const char *glow_get_op(const GlowNode *n);
/* Operands, without the buffers that an instruction writes. An operand that is left out counts, and
 * is NULL. */
GLOW_API size_t glow_count_ins(const GlowNode *n);
GLOW_API GlowValue *glow_get_in(const GlowNode *n, size_t i);
/* Results of a node; the buffers that an instruction writes, or the buffer that it makes. */
GLOW_API size_t glow_count_outs(const GlowNode *n);
GLOW_API GlowValue *glow_get_out(const GlowNode *n, size_t i);
/* Regions, in the order of the operator's description. A region that is left out counts, and is
 * NULL. */
GLOW_API size_t glow_count_regions(const GlowNode *n);
GLOW_API GlowBlock *glow_get_region(const GlowNode *n, size_t i);
/* A member's value as the text has it, also a default: "[2, 2]". On GLOW_OK *text is a string to
 * release with free(), else NULL. BAD_USAGE: the operator has no such member. */
GLOW_API GlowStatus glow_get_member(const GlowNode *n, const char *name, char **text);

/* ---- Values --------------------------------------------------------------------------------- */
/* NULL: the value has no name. */
GLOW_API const char *glow_get_name(const GlowValue *v);
/* "placeholder", "variable", "constant", "parameter" or "result". */
GLOW_API const char *glow_get_value_kind(const GlowValue *v);
/* The type as in the text: "float<8 x 10>". On GLOW_OK *text is a string to release with free(),
 * else NULL. */
GLOW_API GlowStatus glow_get_type(const GlowValue *v, char **text);

#ifdef __cplusplus
}
#endif
#endif
