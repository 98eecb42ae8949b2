/* Remarks: what passes and code generation say of nodes, for -remarks and -remarks-output. */
#ifndef GLOW_IR_REMARKS_H
#define GLOW_IR_REMARKS_H

#include "ir/ir.h"

/* What a command line asks for. */
typedef struct GlowRemarkFlags {
  const char *speakers; /* a POSIX extended regular expression for names of passes and "codegen",
                           whose remarks are wanted; "": all. NULL: none are shown */
  const char *output;   /* a file for the wanted ones as lines of JSON, or NULL */
} GlowRemarkFlags;

/* From here to glow_remarks_end, which takes the status of what ran between them, the context has
 * what the flags ask for. False after a diagnostic. */
bool glow_remarks_begin(GlowContext *ctx, const GlowRemarkFlags *flags);
/* Writes the file, whatever the status. Returns it, or IO after a diagnostic if it was OK. */
GlowStatus glow_remarks_end(GlowContext *ctx, GlowStatus status);

typedef struct GlowRemark {
  const char *speaker;          /* a pass, or "codegen" */
  bool rewrite;                 /* it tells of a rewrite, not of a figure or of what was left */
  const GlowFunction *function; /* NULL: the node's */
  const GlowNode *node;         /* or NULL */
  GlowLoc loc;
  const char *text;
} GlowRemark;
/* Whether anybody listens. */
bool glow_remarks_heard(const GlowContext *ctx);
/* Shows it and keeps it for the file, if its speaker is wanted. */
void glow_remarks_take(GlowContext *ctx, const GlowRemark *r);
/* A remark of code generation about a node. */
void glow_codegen_remark(const GlowNode *n, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
