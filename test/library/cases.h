/* Cases (cases.def): each appends one random instruction to a program, which the kernel of that
 * name has a part in, as a rule: a case may draw a shape that has no elements, or that the kernel
 * refuses.
 */
#ifndef GLOW_TEST_LIBRARY_CASES_H
#define GLOW_TEST_LIBRARY_CASES_H

#include "test/library/program.h"

typedef void Case(Program *p);
#define CASE(row) Case case_##row;
#include "test/library/cases.def"
#undef CASE

#endif
