/* Sessions: a model from any stage, its inputs from files, one run, its outputs. What glow-run and
 * the test drivers share; nothing here knows about command lines. */
#ifndef GLOW_DRIVER_SESSION_H
#define GLOW_DRIVER_SESSION_H

#include "driver/backend.h"
#include "driver/written.h"
#include "pass/pass.h"
#include "tensor/formats.h"

typedef GLOW_VEC(GlowStr) GlowNameList;

typedef struct GlowSession {
  GlowContext *ctx;
  GlowInput file; /* the context closes it: the module may borrow from it */
  GlowModule *module;
  const GlowWritten *written; /* the module is that of a written executable; or NULL */
  GlowFunction *entry;
  GlowNameList others;    /* functions that are run, too: with the entry they alone are kept */
  GlowBindings inputs;    /* owned tensors */
  GlowBindings outputs;   /* owned tensors, after glow_session_run */
  GlowBindings variables; /* owned values that the next run gives to variables */
  GlowValues *values;     /* what runs leave in variables; NULL: there was none */
} GlowSession;

/* How a model is loaded. */
typedef struct GlowLoadOptions {
  const char *entry;        /* function to run; NULL: the only one */
  const char *const *binds; /* 'N=8' */
  uint32_t nbinds;
  const char *const *carries; /* 'past.*=present.*' */
  uint32_t ncarries;
} GlowLoadOptions;

/* Opens .onnx, .gg, .gir or a written executable (or "-"), recognised by content, verifies it and
 * binds the dimensions that `binds` names, then makes variables of the inputs that `carries` names.
 * BAD_INPUT or IO after a diagnostic. */
GlowStatus glow_session_load(GlowSession *s, GlowContext *ctx, const char *path,
                             const GlowLoadOptions *options);
/* The same without choosing an entry. */
GlowStatus glow_session_open(GlowSession *s, GlowContext *ctx, const char *path,
                             const GlowLoadOptions *options);
/* The same of an input that is open already, which goes to the context, also after a failure. */
GlowStatus glow_session_take(GlowSession *s, GlowContext *ctx, GlowInput *input,
                             const GlowLoadOptions *options);
void glow_session_close(GlowSession *s);
void glow_session_close_fn(void *session); /* for glow_defer_push */

/* Adds an input, or the value of a variable: NAME=SOURCE, or SOURCE alone when the model has one
 * input. SOURCE is a file (.npy, .pb, PNG, JPEG, PGM or PPM, recognised by content; anything else
 * is raw bytes in the declared type), `splat:VALUE`, or `random:SEED` (floats uniform in [0, 1),
 * integers 0 to 9). These two have the input's shape, with the largest extents of symbols that have
 * ranges, or the shape behind another `:`, as `random:1:4x768`. */
GlowStatus glow_session_add_input(GlowSession *s, const char *spec, const GlowImageOptions *image);
/* What follows the name of an input or variable in NAME=SOURCE, and sets *name; the name is the
 * longest that there is. SOURCE alone means the only input. NULL after a diagnostic. */
const char *glow_session_split(GlowSession *s, const char *spec, GlowStr *name);
/* Reads the file of one named value as glow_session_add_input does. NULL after a diagnostic. */
GlowTensor *glow_session_read(GlowSession *s, const char *path, const GlowType *declared,
                              const GlowImageOptions *image);

/* Gives variables the values that a safetensors file has under their names, in the plain layout;
 * kinds that the format lacks are U8 bytes. The other variables keep theirs. BAD_INPUT or IO after
 * diagnostics: an entry that names no variable, or has another type. */
GlowStatus glow_session_read_state(GlowSession *s, const char *path);
/* Writes such a file with the value now of each variable that the entry touches or that was given.
 * BAD_INPUT for strings, which it cannot hold. */
GlowStatus glow_session_write_state(GlowSession *s, const char *path);
/* The values of variables before the next run, for GlowRunOptions: those that were added, else what
 * the run before left. Passes must not change the module from then on. glow_session_run does this
 * itself. */
GlowValues *glow_session_values(GlowSession *s);

/* Binds open dimensions by the shapes of the inputs that were added. */
GlowStatus glow_session_bind(GlowSession *s);

/* Gives the open first dimension of each input an extent. BAD_INPUT if an input has another one, or
 * none that can be bound. */
GlowStatus glow_session_bind_batch(GlowSession *s, int64_t batch);

/* Gives symbols that are the first dimension of these inputs an extent. BAD_INPUT after a
 * diagnostic. */
GlowStatus glow_session_bind_first(GlowSession *s, const GlowNameList *inputs, int64_t extent);

/* Adds inputs of random numbers (random:1) for those that were not given. */
GlowStatus glow_session_fill_inputs(GlowSession *s);

/* Deletes the functions that neither the entry, a graph, nor the others call: nothing is made of
 * them. */
GlowStatus glow_session_keep_entry(GlowSession *s);

/* Runs one pass without options. */
GlowStatus glow_session_pass(GlowSession *s, const char *pass);

/* Makes the module one for another target, as glow-opt -target does. */
GlowStatus glow_session_retarget(GlowSession *s, const char *target);

/* Runs -O<level> on the module and, on graphs, irgen; level < 0 leaves the module as it is. */
GlowStatus glow_session_optimize(GlowSession *s, int level, GlowMath math);

/* Lowers a graph to primitives. */
GlowStatus glow_session_lower_all(GlowSession *s);

GlowStatus glow_session_run(GlowSession *s, GlowBackendFn backend, const GlowRunOptions *options);

/* The declared type of an input or output; NULL if the entry has none of that name. An input is a
 * parameter or placeholder that the entry reads or does not use; an output is one that it writes,
 * or a result. A parameter of a program and a placeholder can be both. */
const GlowType *glow_session_input_type(const GlowSession *s, GlowStr name);
const GlowType *glow_session_output_type(const GlowSession *s, GlowStr name);
/* Their names, placeholders first, in the order of the declarations; into the context. */
void glow_session_names(const GlowSession *s, bool written, GlowNameList *names);
/* The variable of that name, NULL if there is none. */
GlowStorage *glow_session_variable(const GlowSession *s, GlowStr name);

/* NAME.npy (or NAME.pb for what .npy cannot hold) in `dir` for each output; characters outside
 * [A-Za-z0-9_.-] of names become '_'. */
GlowStatus glow_session_write_outputs(GlowSession *s, const char *dir);

#endif
