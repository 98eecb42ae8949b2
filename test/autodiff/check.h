/* What the files of autodiff-check share. */
#ifndef GLOW_TEST_AUTODIFF_CHECK_H
#define GLOW_TEST_AUTODIFF_CHECK_H

#include "test/autodiff/derived.h"

typedef struct Place {
  const char *file, *text;
  unsigned line;
} Place;

/* Counts a failure, and says it with the case, if not quiet. */
void complain(const Place *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
extern bool quiet;

/* A number from [0, 1). */
double draw(void);

enum { KINDS = 3 }; /* float, float16, bfloat16 */

/* The function of a case, and its derivatives: d[i] is of order i. */
typedef struct Orders {
  Derived d[3];      /* d[2] only if the case says `twice` */
  Derived through;   /* of order 1, of the nodes that the last node's lowering builds; without a
                        module if it has no lowering, or one with nodes that have no derivative */
  Derived primitive; /* of order 1, of primitives; without a module if one has no derivative */
  /* Of order 1, in other kinds; without a module where an operator has no such kind. */
  Derived narrow[KINDS];
} Orders;

/* What must hold of any derivatives: see properties.c. The inputs are changed. */
void check_properties(const Place *p, const Case *c, const Orders *o, GlowBindings *inputs);

#endif
