/* Every limit on input, in one table. Parsers and builders check them; docs/LangRef lists them. */
#ifndef GLOW_SUPPORT_LIMITS_H
#define GLOW_SUPPORT_LIMITS_H

#define GLOW_MAX_RANK 8
#define GLOW_MAX_REGION_DEPTH 64      /* nested regions, in text and in models */
#define GLOW_MAX_LIST_DEPTH 16        /* nested [ ] */
#define GLOW_MAX_LIST_ITEMS (1 << 20) /* values in the lists of one statement */
#define GLOW_MAX_TYPE_DEPTH 8         /* seq<opt<...>> */
#define GLOW_MAX_ELEMENTS (INT64_C(1) << 40)
#define GLOW_MAX_NAME 4096                      /* bytes in one name */
#define GLOW_MAX_TEXT (UINT32_MAX - (1u << 24)) /* bytes of a text before its payload */
#define GLOW_MAX_BLOCK (1 << 22)                /* product of the block sizes of a layout */
#define GLOW_MAX_PIXELS (INT64_C(1) << 26)
#define GLOW_MAX_PROTO_DEPTH 64           /* nested ONNX messages */
#define GLOW_MAX_PROTO_ATTRIBUTES 256     /* of one ONNX node */
#define GLOW_MAX_PROTO_OPERANDS (1 << 20) /* of one ONNX node, and results */
#define GLOW_MAX_PROTO_CALLS 32           /* nested calls of functions of an ONNX model */
#define GLOW_MAX_GAPS 1000                /* unsupported operators of a model listed one by one */
#define GLOW_MAX_INLINE_BYTES 128         /* initializers printed as lists whatever their kind */
#define GLOW_MAX_FOLDED_BYTES 1024        /* folded integers and booleans printed as lists */
#define GLOW_MAX_CALL_DEPTH 64            /* nested functions and Loop bodies at run time */
#define GLOW_MAX_JSON_DEPTH 16
#define GLOW_MAX_SAFETENSORS_HEADER (INT64_C(100) << 20)

/* Added to one bounds check of every reader and to the check of indices in kernels. It is 1 only in
 * the build that tests whether the fuzz targets notice. */
#ifndef GLOW_OFF_BY_ONE
#define GLOW_OFF_BY_ONE 0
#endif

#endif
