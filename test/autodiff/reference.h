/* Derivatives that another program computed: benchmarks/training/derivatives writes the file. */
#ifndef GLOW_TEST_AUTODIFF_REFERENCE_H
#define GLOW_TEST_AUTODIFF_REFERENCE_H

#include "tensor/tensor.h"

typedef struct Reference {
  char *text; /* malloc'ed; NULL: there is none */
} Reference;

/* Reads the file; false if it cannot be read. */
bool reference_read(Reference *r, const char *path);
/* The numbers by the first operand of a case; those by the next operand follow. NULL: the case is
 * not in the file. */
const char *reference_find(const Reference *r, const char *line);
/* Compares g with the numbers at *at, which moves behind them: they must agree to 1e-10, relative
 * to themselves, where they are small to the largest of them. The index of the first element that
 * does not, or -1; g's number of elements if there are not so many numbers. */
int64_t reference_compare(const char **at, const GlowTensor *g);

#endif
