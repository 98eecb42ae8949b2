/* Remarks: messages of passes and code generation about nodes, for -remarks and -remarks-output. */
#ifndef GLOW_IR_REMARKS_H
#define GLOW_IR_REMARKS_H

#include "ir/ir.h"

/* The options -remarks and -remarks-output of a command line. A speaker is a pass or "codegen". */
typedef struct GlowRemarkFlags {
  const char *speakers; /* a POSIX extended regular expression: remarks of speakers whose names it
                           matches are shown and written; "": all. NULL: none is shown */
  const char *output;   /* the file to write, lines of JSON; or NULL */
} GlowRemarkFlags;

/* Starts to show and collect remarks as the flags say, until glow_remarks_end. `flags` must live
 * until then. False after a diagnostic. */
bool glow_remarks_begin(GlowContext *ctx, const GlowRemarkFlags *flags);
/* Stops, and writes the file. `status` is that of the work since glow_remarks_begin. Returns
 * `status`; if that is OK but writing fails, IO after a diagnostic. */
GlowStatus glow_remarks_end(GlowContext *ctx, GlowStatus status);

typedef struct GlowRemark {
  const char *speaker;          /* a pass, or "codegen" */
  bool rewrite;                 /* tells of a rewrite; else of a figure, or of code not changed */
  const GlowFunction *function; /* NULL: the node's */
  const GlowNode *node;         /* or NULL */
  GlowLoc loc;
  const char *text;
} GlowRemark;
/* Whether remarks are shown or collected; if not, no remark needs to be made. */
bool glow_remarks_heard(const GlowContext *ctx);
/* Shows the remark and keeps it for the file, if the flags want its speaker. */
void glow_remarks_take(GlowContext *ctx, const GlowRemark *r);
/* A remark of code generation about a node. */
void glow_codegen_remark(const GlowNode *n, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
