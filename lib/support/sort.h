/* Sorting in place: qsort may ask malloc for memory. */
#ifndef GLOW_SUPPORT_SORT_H
#define GLOW_SUPPORT_SORT_H

#include <stddef.h>

/* What qsort does, for elements of which no two compare as equal, or may change places. Allocates
 * nothing. */
void glow_sort(void *data, size_t count, size_t size, int (*compare)(const void *, const void *));

#endif
