/* See pages.h. */
#include "support/pages.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LARGE_PAGE = 2 << 20 };

static char *map(size_t bytes) {
  void *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return data == MAP_FAILED ? NULL : data;
}

/* Unmaps whole pages of ours, at most to the last one. */
static void unmap(char *data, size_t bytes) {
  if (bytes)
    (void)munmap(data, bytes);
}

void *glow_pages_alloc(size_t bytes) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (bytes + page - 1) / page * page;
  if (bytes < LARGE_PAGE)
    return map(bytes);
  char *data = map(whole + LARGE_PAGE);
  if (!data)
    return NULL;
  size_t before = -(uintptr_t)data & (LARGE_PAGE - 1);
  unmap(data, before);
  unmap(data + before + whole, LARGE_PAGE - before);
  return data + before;
}

void glow_pages_free(void *data, size_t bytes) { (void)munmap(data, bytes); }

void glow_prefer_large_pages(void *data, size_t bytes) {
#ifdef MADV_HUGEPAGE
  uintptr_t begin = ((uintptr_t)data + LARGE_PAGE - 1) & -(uintptr_t)LARGE_PAGE;
  uintptr_t end = ((uintptr_t)data + bytes) & -(uintptr_t)LARGE_PAGE;
  if (begin < end)
    (void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
#else
  (void)data;
  (void)bytes;
#endif
}

void glow_let_pages_go(const void *data, size_t bytes) {
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  uintptr_t begin = ((uintptr_t)data + page - 1) & -page, end = ((uintptr_t)data + bytes) & -page;
  if (begin < end)
    (void)madvise((void *)begin, end - begin, MADV_DONTNEED);
}
