/* See plugin.h. */
#include "backend/cpu/plugin.h"

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#include "support/file.h"
#include "support/source_id.h"

/* The path of the running program; NULL: the system does not say. */
static const char *own_program(GlowContext *ctx) {
  char path[4096];
  ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
  return n > 0 ? glow_str_n(ctx, path, (size_t)n) : NULL;
}

/* The path of the library or program that this function is in. */
static const char *own_file(GlowContext *ctx) {
  Dl_info info;
  if (dladdr((const void *)(uintptr_t)own_file, &info) && info.dli_fname &&
      strstr(info.dli_fname, ".so"))
    return info.dli_fname;
  return own_program(ctx);
}

const char *glow_find_beside(GlowContext *ctx, const char *file, const char *const *places) {
  const char *own = own_file(ctx), *folder = own ? glow_path_dir(ctx, own) : ".";
  for (; *places; places++) {
    const char *path = glow_str_printf(ctx, "%s/%s/%s", folder, *places, file);
    if (!access(path, R_OK))
      return path;
  }
  return NULL;
}

const GlowCodegenPlugin *glow_codegen_open(GlowContext *ctx) {
  static const char *const places[] = {".", "../lib", "../" GLOW_LIBDIR, NULL};
  const char *path = glow_find_beside(ctx, GLOW_CODEGEN_PLUGIN_FILE, places);
  void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  const GlowCodegenPlugin *plugin = library ? dlsym(library, GLOW_CODEGEN_PLUGIN_TABLE) : NULL;
  if (plugin && !strcmp(plugin->source, GLOW_SOURCE_ID))
    return plugin;
  if (!path)
    glow_error(ctx, GLOW_NOWHERE, "machine code is made by %s, which is not beside %s",
               GLOW_CODEGEN_PLUGIN_FILE, own_file(ctx) ? own_file(ctx) : "this program");
  else if (!plugin)
    glow_error(ctx, GLOW_NOWHERE, "%s cannot be opened: %s", path, dlerror());
  else
    glow_error(ctx, GLOW_NOWHERE, "%s belongs to another build of Glow", path);
  glow_note(ctx, GLOW_NOWHERE, "--tier=library runs code that was made when Glow was built");
  return NULL;
}
