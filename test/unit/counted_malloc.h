/* Counts allocations and their bytes at the level of malloc, whoever asks, in any thread: for one
 * file of a program. Sanitizers have allocators of their own, which nobody may replace; then the
 * counts stay 0. */
#ifndef GLOW_TEST_COUNTED_MALLOC_H
#define GLOW_TEST_COUNTED_MALLOC_H

#include <stdatomic.h>
#include <stdlib.h>

static atomic_ulong allocations, allocated; /* how many, and their bytes */

static inline void count_allocation(size_t bytes) {
  atomic_fetch_add(&allocations, 1);
  atomic_fetch_add(&allocated, bytes);
}

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define HAS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif

#ifndef HAS_SANITIZER
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

/* Shared libraries find these functions in place of libc's only if they are not hidden; libc's
 * qsort does, too. */
#pragma GCC visibility push(default)
void *malloc(size_t size) {
  count_allocation(size);
  return __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
  count_allocation(count * size);
  return __libc_calloc(count, size);
}
void *realloc(void *old, size_t size) {
  count_allocation(size);
  return __libc_realloc(old, size);
}
void *aligned_alloc(size_t alignment, size_t size) {
  count_allocation(size);
  return __libc_memalign(alignment, size);
}
int posix_memalign(void **result, size_t alignment, size_t size) {
  count_allocation(size);
  *result = __libc_memalign(alignment, size);
  return *result ? 0 : 12;
}
#pragma GCC visibility pop
#endif

#endif
