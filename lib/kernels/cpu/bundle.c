/* The checked entry of a bundle: refuses what does not fit, finds the memory of every storage, and
 * runs the program. */
#include "bundle.h"

#include "rt/walk.h"

/* What stands before the buffers in GlowBundleArguments, for `detail`. */
enum { MEMBER_ARENA = 0, MEMBER_WEIGHTS = 2, MEMBER_VARIABLES = 4, MEMBER_BUFFERS = 5 };

/* Linux must be asked once by a process that uses the tiles of AMX: arch_prctl with
 * ARCH_REQ_XCOMP_PERM and XFEATURE_XTILEDATA. That it is refused is no case on a machine that has
 * them. */
static void ask_for_tiles(void) {
#if defined(__AMX_INT8__) && defined(__linux__)
  int64_t result = 158;
  __asm__ volatile("syscall" : "+a"(result) : "D"(0x1023), "S"(18) : "rcx", "r11", "memory");
#endif
}

/* Called by the functions of bundles. */
int64_t glow_bundle_enter(const GlowBundleParams *p, const GlowBundleSlot *slots,
                          const char *linked, const GlowProgram *program, void **storage,
                          void **pointers, int64_t *rounds, const GlowBundleArguments *a,
                          const GlowParallel *parallel, GlowFault *fault);
int64_t glow_bundle_reset(const GlowBundleParams *p, const char *linked, void *variables,
                          const void *weights, int64_t weights_size);

static int64_t fail(GlowFault *fault, int64_t error, int64_t detail) {
  if (fault)
    *fault = (GlowFault){error, -1, detail};
  return error;
}

static int is_aligned_to(const void *p, int64_t align) {
  return p && ((uintptr_t)p & ((uintptr_t)align - 1)) == 0;
}
static int is_aligned(const void *p) { return is_aligned_to(p, GLOW_BUNDLE_ALIGN); }

static int same_weights(const GlowWeightsHeader *a, const GlowWeightsHeader *b) {
  return a->magic == b->magic && a->size == b->size && a->identity[0] == b->identity[0] &&
         a->identity[1] == b->identity[1];
}

/* Weights come from the caller unless they are linked in or there are none. */
static int64_t check_weights(const GlowBundleParams *p, const void *linked,
                             const GlowBundleArguments *a, GlowFault *fault) {
  if (linked || !p->weights.size)
    return GLOW_FAULT_NONE;
  if (!is_aligned(a->weights))
    return fail(fault, GLOW_FAULT_BUFFER, MEMBER_WEIGHTS);
  if (a->weights_size != p->weights.size || !same_weights(a->weights, &p->weights))
    return fail(fault, GLOW_FAULT_WEIGHTS, a->weights_size);
  return GLOW_FAULT_NONE;
}

static int64_t check(const GlowBundleParams *p, const void *linked, const GlowBundleArguments *a,
                     const GlowParallel *parallel, GlowFault *fault) {
  int64_t need = p->arena + p->worker * (parallel ? parallel->workers : 1);
  if (need && !is_aligned_to(a->arena, p->align))
    return fail(fault, GLOW_FAULT_BUFFER, MEMBER_ARENA);
  if (a->arena_size < need)
    return fail(fault, GLOW_FAULT_ARENA, need);
  if (p->variables && !is_aligned(a->variables))
    return fail(fault, GLOW_FAULT_BUFFER, MEMBER_VARIABLES);
  for (int64_t i = 0; i < p->nbuffers; i++) {
    if (!is_aligned(a->buffers[i]))
      return fail(fault, GLOW_FAULT_BUFFER, MEMBER_BUFFERS + i);
  }
  return check_weights(p, linked, a, fault);
}

/* `storage` has room for every storage of the program, `pointers` and `rounds` as GlowRunContext
 * says. */
int64_t glow_bundle_enter(const GlowBundleParams *p, const GlowBundleSlot *slots,
                          const char *linked, const GlowProgram *program, void **storage,
                          void **pointers, int64_t *rounds, const GlowBundleArguments *a,
                          const GlowParallel *parallel, GlowFault *fault) {
  GlowFault local;
  if (!a)
    return fail(fault, GLOW_FAULT_BUFFER, MEMBER_ARENA);
  int64_t error = check(p, linked, a, parallel, fault);
  if (error)
    return error;
  ask_for_tiles();
  const char *weights = linked ? linked : a->weights;
  for (int64_t i = 0; i < p->nstorage; i++) {
    int64_t source = slots[i] % GLOW_BUNDLE_SOURCES, offset = slots[i] / GLOW_BUNDLE_SOURCES;
    storage[i] = source == GLOW_BUNDLE_WEIGHTS     ? (void *)(uintptr_t)(weights + offset)
                 : source == GLOW_BUNDLE_VARIABLES ? (char *)a->variables + offset
                 : source == GLOW_BUNDLE_BUFFER    ? a->buffers[offset]
                                                   : (void *)0;
  }
  GlowRunContext run = {.arena = a->arena,
                        .storage = storage,
                        .parallel = parallel,
                        .fault = fault ? fault : &local,
                        .pointers = pointers,
                        .rounds = rounds};
  return glow_walk(program, &run);
}

/* Gives variables their first values. */
int64_t glow_bundle_reset(const GlowBundleParams *p, const char *linked, void *variables,
                          const void *weights, int64_t weights_size) {
  const GlowBundleArguments a = {.weights = weights, .weights_size = weights_size};
  if (!is_aligned(variables))
    return GLOW_FAULT_BUFFER;
  int64_t error = check_weights(p, linked, &a, (GlowFault *)0);
  const char *from = linked ? linked : weights;
  if (!error)
    __builtin_memcpy(variables, from + p->weights.variables, (uint64_t)p->weights.variables_size);
  return error;
}
