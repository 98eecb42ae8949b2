/* Machine code as bytes that know nothing of where they will lie, and what maps such bytes.
 *
 * An image is a GlowCodeHead, then what the head counts, in this order: instructions, data, places
 * to rebase, imports, functions, names, objects. In memory data follow instructions at once: `at` 0
 * is the first instruction, and both are `text + data` bytes. lib/codegen/link.c makes images. */
#ifndef GLOW_EXEC_CODE_H
#define GLOW_EXEC_CODE_H

#include "rt/walk.h"
#include "support/context.h"

/* A function that code may call by name. */
typedef struct GlowSymbol {
  const char *name;
  const void *address;
} GlowSymbol;

#define GLOW_CODE_MAGIC "glowcode"
#define GLOW_CODE_PAGE 4096 /* `text` is a multiple of this */

typedef struct GlowCodeHead {
  char magic[8];
  uint32_t version, machine; /* machine: a number of ELF's, EM_X86_64 */
  uint64_t text, data;       /* bytes; multiples of GLOW_CODE_PAGE and of 8 */
  uint64_t used;             /* bytes of instructions, without padding */
  uint64_t program;          /* where the GlowProgram is, in the data */
  uint64_t rebases;          /* places in the data, of 8 bytes: the address of the image is added */
  uint64_t imports, functions; /* how many */
  uint64_t names;              /* bytes of texts, each with its NUL */
  uint64_t objects;            /* bytes of object files, for debuggers */
} GlowCodeHead;
enum { GLOW_CODE_VERSION = 1 };

/* The address of a function is added to 8 bytes of the data. */
typedef struct GlowCodeImport {
  uint64_t at, name; /* name: where it begins in the names */
} GlowCodeImport;

/* A function with a line, for profilers. */
typedef struct GlowCodeFunction {
  uint64_t at, size, line, name, file;
} GlowCodeFunction;

/* An object file among the objects: its size, then its bytes, padded to 8. Sections that lie in
 * the image say where as their address. */
typedef struct GlowCodeObject {
  uint64_t size;
} GlowCodeObject;

/* Machine code in memory. */
typedef struct GlowCode GlowCode;

/* Maps an image, which is copied: data are read-only and instructions executable afterwards. The
 * image may import `symbols` and what functions of memory libc has. NULL after a diagnostic: memory
 * may not become executable, a name is missing, or a number of the image is wrong. Whatever the
 * bytes are, none outside of them is read; that instructions do what they should is not checked.
 * The code stays valid until glow_code_destroy, also after the context is gone. */
GlowCode *glow_code_load(GlowContext *ctx, const void *image, size_t size,
                         const GlowSymbol *symbols, uint32_t count);
/* What glow_walk runs. */
const GlowProgram *glow_code_program(const GlowCode *code);
/* The functions of the program's pieces, NULL for those that the image has no code for; NULL if the
 * program has not `count` pieces. */
GlowPieceFn *const *glow_code_pieces(const GlowCode *code, uint32_t count);
int64_t glow_code_size(const GlowCode *code); /* bytes of instructions */
void glow_code_destroy(GlowCode *code);       /* NULL is ignored */

#endif
