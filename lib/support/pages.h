/* Memory that is read in long streams, and the pages that it lies in. */
#ifndef GLOW_SUPPORT_PAGES_H
#define GLOW_SUPPORT_PAGES_H

#include <stddef.h>

/* Zeros at a multiple of 4096 bytes, and of the size of a large page if they fill one, which the system gets back at once when they are freed: memory
 * of malloc may stay with the process, and did for constants that are needed for a moment. NULL:
 * there is no memory. */
void *glow_pages_alloc(size_t bytes);
void glow_pages_free(void *data, size_t bytes);

/* Asks the system to back memory of several megabytes with large pages, where it has them and the
 * memory was not touched yet. Weights that do not fit into the cache then come almost twice as fast
 * (measured with those of a 3x3 convolution of 512 channels). A hint: nothing depends on it. */
void glow_prefer_large_pages(void *data, size_t bytes);
/* Gives back the memory of whole pages of a mapped file that nobody has written. Who reads them
 * again gets them from the file. */
void glow_let_pages_go(const void *data, size_t bytes);

#endif
