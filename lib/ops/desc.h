/* GlowOpDesc, the description of an operator. glow-tblgen reads the .ops files in this folder and
 * generates gen/ops/ops.h (enumerators, member structs, port numbers) and gen/ops/ops.c (the table,
 * a row for each operator). Passes ask this table; they never list operators to classify them.
 *
 * A row describes both the node (Convolution) and the instruction (convolution). The operands of a
 * node are the `in` ports in order; its results are the `out` ports. The operands of an instruction
 * are the `out` ports (@out, or @inout for `inout` ports), then the `in` ports, then the extras of
 * the epilogue. */
#ifndef GLOW_OPS_DESC_H
#define GLOW_OPS_DESC_H

#include "ops/kind.h"
#include "support/pointer.h"
#include "support/str.h"

/* All traits. TRAIT(enumerator, spelling in .ops, sentence for the documentation). */
#define GLOW_TRAITS(TRAIT)                                                                         \
  TRAIT(PURE, "pure", "The results depend on the operands and members only; no other effect.")     \
  TRAIT(READS, "reads", "Reads state besides its operands.")                                       \
  TRAIT(WRITES, "writes", "Writes state: must not be removed or duplicated.")                      \
  TRAIT(CONTROL, "control", "Runs regions, or ends a block or the run.")                           \
  TRAIT(ELEMENTWISE, "elementwise",                                                                \
        "Each element of the result depends on the same element of "                               \
        "the operands, after broadcasting.")                                                       \
  TRAIT(COMMUTATIVE, "commutative", "The first two operands may be swapped.")                      \
  TRAIT(TERMINATOR, "terminator", "Ends a block.")                                                 \
  TRAIT(MOVEMENT, "movement", "Copies elements without computing on them; any element kind.")      \
  TRAIT(ANY_LAYOUT, "layout(any)", "Works on any layout as long as all operands have the same.")   \
  TRAIT(ASSIGN_LAYOUT, "layout(assign)", "Has kernels for blocked layouts; assign-layouts picks.") \
  TRAIT(BLOCKS, "layout(blocks)", "Moves elements in any layout, fast where it cuts no block.")    \
  TRAIT(ROUNDS_ONCE, "rounds(once)",                                                               \
        "Computes on 16-bit floats as on floats, and rounds each result once.")                    \
  TRAIT(ROUNDS_NEVER, "rounds(never)",                                                             \
        "The same, and what it computes is a 16-bit float already.")                               \
  TRAIT(NODE_ONLY, "node", "Exists in graphs only.")                                               \
  TRAIT(INSTR_ONLY, "instruction", "Exists in programs only.")                                     \
  TRAIT(SYNTAX, "syntax", "Has its own syntax in the text (alloc, dealloc, tensorview, yield).")   \
  TRAIT(HEAP, "heap", "Makes sequences, optionals or strings: its kernel may use the heap.")       \
  TRAIT(DYNAMIC, "dynamic", "Result extents depend on the values of operands.")                    \
  TRAIT(RANDOM, "random", "Draws random numbers from a state operand.")                            \
  TRAIT(OPTIMIZING, "optimizing", "Made by optimizations alone: no rule or import makes it.")      \
  TRAIT(LOWERED, "lower", "Defined by its lowering rule; has no kernel of its own.")

typedef enum GlowTraitBit {
#define TRAIT(e, s, d) GLOW_TRAIT_BIT_##e,
  GLOW_TRAITS(TRAIT)
#undef TRAIT
} GlowTraitBit;
typedef uint32_t GlowTraits;
#define GLOW_HAS(desc, TRAIT) (((desc)->traits >> GLOW_TRAIT_BIT_##TRAIT) & 1u)

typedef enum GlowPortFlag {
  GLOW_PORT_OPTIONAL = 1, /* may be `none` (inputs) or `_` (outputs) */
  GLOW_PORT_VARIADIC = 2, /* zero or more; the last port of its side */
  GLOW_PORT_INOUT = 4,    /* instructions: read and written */
  GLOW_PORT_STRIDED = 8   /* the kernel accepts a tensorview with strides here */
} GlowPortFlag;

/* What a port's type must be: a type variable (same kind, and for `elementwise` operators the same
 * quantization class, wherever it appears), or a fixed kind, or anything. */
typedef enum GlowPortTypeKind {
  GLOW_PORT_ANY,  /* `any`: tensor, sequence, optional */
  GLOW_PORT_VAR,  /* `T`: a tensor whose kind is in the variable's set */
  GLOW_PORT_KIND, /* `i64`, `bool<>`: a tensor of this kind; rank 0 if written with <> */
  GLOW_PORT_SEQ,  /* `seq` */
  GLOW_PORT_OPT   /* `opt` */
} GlowPortTypeKind;

typedef struct GlowOpPort {
  const char *name;
  uint8_t flags;      /* of GlowPortFlag */
  uint8_t type;       /* GlowPortTypeKind */
  uint8_t var;        /* GLOW_PORT_VAR: index into GlowOpDesc.vars; GLOW_PORT_KIND: the GlowKind */
  uint8_t scalar;     /* GLOW_PORT_KIND with <>: rank 0 */
  GlowKindSet narrow; /* kinds that the operands with such a set may have together; then the type
                         variable of these ports is i32. 0: none */
  GlowKindSet stored; /* kinds that the operand may have where the operator's `verify` hook allows
                         that, whatever its type variable is. 0: none */
} GlowOpPort;

/* A type variable of an operator and the kinds that it may stand for. */
typedef struct GlowTypeVar {
  const char *name;
  GlowKindSet kinds;
} GlowTypeVar;

/* Members: attributes of a node, typed fields of its generated struct. A field has the C type
 * below; an array is a GlowArray of such items. */
typedef enum GlowMemberType {
  GLOW_MEMBER_BOOL,   /* bool */
  GLOW_MEMBER_U32,    /* uint32_t */
  GLOW_MEMBER_I64,    /* int64_t */
  GLOW_MEMBER_FLOAT,  /* float */
  GLOW_MEMBER_STR,    /* GlowStr; a default is plain text instead: no glow_str_length */
  GLOW_MEMBER_KIND,   /* GlowKind */
  GLOW_MEMBER_TYPE,   /* const GlowType * */
  GLOW_MEMBER_SYMBOL, /* GlowStr: the name of a function */
  GLOW_MEMBER_SCALAR, /* GlowScalar */
  GLOW_MEMBER_SIZE,   /* GlowSize */
  GLOW_MEMBER_ENUM    /* int: a value of a generated enum */
} GlowMemberType;

/* One number that may be an integer of 64 bits or a floating point value. */
typedef struct GlowScalar {
  bool is_int;
  int64_t i; /* valid if is_int; a u64 over INT64_MAX wraps */
  double f;  /* always valid: the value rounded to double */
} GlowScalar;

/* A number, or the extent of a symbol with a range (tensor/type.h). */
typedef struct GlowSize {
  int64_t size;                                  /* of a symbol: the largest extent */
  GLOW_POINTER(const struct GlowExtent, extent); /* NULL: a number */
} GlowSize;

typedef struct GlowArray {
  uint32_t count;
  GLOW_POINTER(const void, data); /* in the module's arena; immutable */
} GlowArray;
#define glow_array_at(a, T, i) (((const T *)(a).data)[i])

typedef struct GlowEnumDesc {
  const char *name;
  const char *const *values;
  uint32_t count;
} GlowEnumDesc;

typedef struct GlowMember {
  const char *name, *doc;
  uint8_t type; /* GlowMemberType */
  bool array;
  bool instr_only; /* `imember` */
  bool required;   /* no default: must be given */
  uint16_t offset; /* in the member struct */
  const GlowEnumDesc *enumeration;
  const void *initial; /* the default: points at a value of the C type (a GlowArray if array) */
} GlowMember;

typedef struct GlowRegionPort {
  const char *name;
  bool optional;
} GlowRegionPort;

typedef struct GlowInplace {
  uint8_t out, in; /* port indices: output `out` may have the buffer of input `in` */
} GlowInplace;

/* What an operator is between quantized values: the clause `quantize`. FORM(enumerator, spelling in
 * .ops, sentence for the documentation). */
#define GLOW_QUANT_FORMS(FORM)                                                                     \
  FORM(NONE, "none", "Stays in floating point.")                                                   \
  FORM(CONTRACTION, "contraction", "Has a form on 8-bit integers, with a result of i32.")          \
  FORM(SAME, "same",                                                                               \
       "Moves or selects elements: works on the stored integers, and the result has the "          \
       "parameters of the operand, as have all operands of its type.")                             \
  FORM(CLAMP, "clamp",                                                                             \
       "Limits elements: the same, with limits that are rounded; rounding keeps the order.")       \
  FORM(TABLE, "table", "A function of one element: 256 results for 8 bits.")                       \
  FORM(FLOAT, "float", "Dequantizes, computes in floating point and quantizes, in one loop.")

typedef enum GlowQuantForm {
#define FORM(e, s, d) GLOW_QUANT_##e,
  GLOW_QUANT_FORMS(FORM)
#undef FORM
} GlowQuantForm;

/* What must hold for a node to have the form of its operator. */
typedef struct GlowQuantLimit {
  bool absent; /* input `index` must be absent; else member `index`, of an enum, must be `value` */
  uint8_t index;
  int value;
} GlowQuantLimit;

typedef enum GlowInferRule {
  GLOW_INFER_SAME,      /* every result has the type of input `infer_arg` */
  GLOW_INFER_BROADCAST, /* result 0: kind of input 0, dims broadcast over all inputs */
  GLOW_INFER_FREE,      /* the annotation decides */
  GLOW_INFER_NONE,      /* no results */
  GLOW_INFER_HOOK       /* glow_infer_<op> */
} GlowInferRule;

typedef struct GlowOpDesc {
  const char *node;  /* "Convolution" */
  const char *instr; /* "convolution" */
  const char *doc;
  const GlowOpPort *in, *out;
  uint8_t nin, nout;
  const GlowTypeVar *vars;
  uint8_t nvars;
  const GlowMember *members;
  uint8_t nmembers;
  uint16_t member_size;
  const void *member_defaults; /* a member struct with every default filled in; NULL if size 0 */
  const GlowRegionPort *regions;
  uint8_t nregions;
  const GlowInplace *inplace;
  uint8_t ninplace;
  int8_t epilogue;       /* output port that an ^epilogue body may transform, or -1 */
  bool body;             /* takes a scalar ^body (stack) */
  uint8_t infer;         /* GlowInferRule */
  uint8_t infer_arg;     /* GLOW_INFER_SAME: index of an input */
  const char *kernel;    /* name of the function that is the reference kernel; NULL: no kernel */
  const uint16_t *lanes; /* by kind: the function on a register of lanes, an index into
                            glow_lane_names, 0: none; NULL: the operator has no scalar body */
  bool has_verify, has_fold, has_lower, has_scratch, has_scalar, has_irgen;
  uint32_t grad;       /* bit i: port i has a gradient rule; see glow_op_has_grad */
  bool grad_lowering;  /* derivatives are those of the nodes that the lowering rule builds */
  const char *no_grad; /* why some operand has no derivative; NULL if nothing is said */
  uint8_t quant;       /* GlowQuantForm; of a node: glow_node_quant_form */
  uint8_t quant_out, quant_in; /* of `same` and `clamp`: the result and the operand that are tied */
  const GlowQuantLimit *quant_limits;
  uint8_t nquant_limits;
  GlowTraits traits;
} GlowOpDesc;

#endif
