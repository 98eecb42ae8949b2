/* Lets allocations of our own code fail: a test that includes this is linked with wrapped malloc
 * functions (see CMakeLists.txt). libc's and other libraries' allocations are not affected. */
#ifndef GLOW_TEST_FAILING_MALLOC_H
#define GLOW_TEST_FAILING_MALLOC_H

#include <stdbool.h>
#include <stdlib.h>

/* Allocations left before one fails; negative: none fails. */
static long allowance = -1;
static unsigned long refused; /* allocations that have failed */

static bool may_allocate(void) {
  if (allowance == 0) {
    refused++;
    return false;
  }
  if (allowance > 0)
    allowance--;
  return true;
}

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t bytes);

void *__wrap_malloc(size_t bytes) { return may_allocate() ? __real_malloc(bytes) : NULL; }
void *__wrap_calloc(size_t count, size_t size) {
  return may_allocate() ? __real_calloc(count, size) : NULL;
}
void *__wrap_realloc(void *old, size_t bytes) {
  return may_allocate() ? __real_realloc(old, bytes) : NULL;
}

#endif
