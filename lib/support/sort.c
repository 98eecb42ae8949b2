/* Heap sort; insertion where elements are few. See sort.h. */
#include "support/sort.h"

#include <string.h>

enum { FEW = 16, PART = 64 };

typedef int Compare(const void *, const void *);

static void swap(char *a, char *b, size_t size) {
  char part[PART];
  for (size_t at = 0, n; at < size; at += n) {
    n = size - at < PART ? size - at : PART;
    memcpy(part, a + at, n);
    memcpy(a + at, b + at, n);
    memcpy(b + at, part, n);
  }
}

/* Each element moves down past those that are larger. */
static void insert(char *data, size_t count, size_t size, Compare *compare) {
  for (size_t i = 1; i < count; i++)
    for (char *at = data + i * size; at > data && compare(at - size, at) > 0; at -= size)
      swap(at - size, at, size);
}

/* Element i of a heap moves down until none below is larger. */
static void sink(char *data, size_t i, size_t count, size_t size, Compare *compare) {
  for (size_t child; (child = 2 * i + 1) < count; i = child) {
    if (child + 1 < count && compare(data + child * size, data + (child + 1) * size) < 0)
      child++;
    if (compare(data + i * size, data + child * size) >= 0)
      return;
    swap(data + i * size, data + child * size, size);
  }
}

void glow_sort(void *data, size_t count, size_t size, Compare *compare) {
  if (count <= FEW) {
    insert(data, count, size, compare);
    return;
  }
  for (size_t i = count / 2; i-- > 0;)
    sink(data, i, count, size, compare);
  for (size_t last = count; last-- > 1;) {
    swap(data, (char *)data + last * size, size);
    sink(data, 0, last, size, compare);
  }
}
