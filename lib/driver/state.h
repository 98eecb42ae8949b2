/* Values of variables in safetensors files, under their names and in the plain layout; kinds that
 * the format lacks are U8 bytes. What --state of glow-run and the checkpoints of glow-train share.
 */
#ifndef GLOW_DRIVER_STATE_H
#define GLOW_DRIVER_STATE_H

#include "driver/session.h"
#include "tensor/blob.h"

/* Opens such a file, which belongs to the context. NULL after a diagnostic. */
const GlowBlob *glow_state_open(GlowContext *ctx, const char *path);
/* Gives variables of a session the values that a file has: copies. The other variables keep theirs.
 * False after diagnostics at `at`: an entry that names no variable, or has another type. */
bool glow_state_take(GlowSession *s, const GlowBlob *blob, GlowLoc at);

/* The values of a file that will be written. */
typedef struct GlowStateFile {
  GlowContext *ctx;
  GlowArena *arena; /* of the list, and of values in another layout */
  GLOW_VEC(GlowNamedTensor) values;
} GlowStateFile;

/* Adds the value of a variable, which is borrowed. False after a diagnostic: no file can hold it.
 */
bool glow_state_put(GlowStateFile *f, GlowStr name, const GlowTensor *value);
/* Writes the file with these metadata. `sync`: it survives a loss of power. IO after a diagnostic.
 */
GlowStatus glow_state_write(const GlowStateFile *f, const char *path, const GlowBlobText *metadata,
                            uint32_t nmetadata, bool sync);

#endif
