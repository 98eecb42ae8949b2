/* An allocator that can fail, in place of malloc's functions for the whole process: one allocation
 * after `countdown` others. For a program of one source file. */
#ifndef GLOW_TEST_OOM_FAILING_H
#define GLOW_TEST_OOM_FAILING_H

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

/* Shared libraries find these functions in place of libc's only if they are not hidden. */
#pragma GCC visibility push(default)

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *p);

static long countdown = -1; /* allocations until one fails; negative: never */
static bool fired;
static long live;

static bool fails(void) {
  if (countdown < 0 || countdown-- > 0)
    return false;
  countdown = -1;
  fired = true;
  errno = ENOMEM;
  return true;
}

void *malloc(size_t size) {
  void *p = fails() ? NULL : __libc_malloc(size);
  live += p != NULL;
  return p;
}
void *calloc(size_t count, size_t size) {
  void *p = fails() ? NULL : __libc_calloc(count, size);
  live += p != NULL;
  return p;
}
void *realloc(void *old, size_t size) {
  if (size && fails())
    return NULL;
  void *p = __libc_realloc(old, size);
  live += (p != NULL) - (old != NULL);
  return p;
}
int posix_memalign(void **result, size_t alignment, size_t size) {
  *result = fails() ? NULL : __libc_memalign(alignment, size);
  live += *result != NULL;
  return *result ? 0 : ENOMEM;
}
void *aligned_alloc(size_t alignment, size_t size) {
  void *p = NULL;
  return posix_memalign(&p, alignment, size) ? NULL : p;
}
void free(void *p) {
  live -= p != NULL;
  __libc_free(p);
}

#pragma GCC visibility pop

#endif
