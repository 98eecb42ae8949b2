/* What the unit tests share: facts that are counted, and the closing line. */
#ifndef GLOW_TEST_UNIT_H
#define GLOW_TEST_UNIT_H

#include <stdio.h>

static unsigned passed, failed;

#define CHECK(cond)                                                                                \
  ((cond) ? (void)++passed                                                                         \
          : (void)(++failed, printf("%s:%d: failed: %s\n", __FILE__, __LINE__, #cond)))

/* The same with a message of its own. */
#define EXPECT(cond, ...)                                                                          \
  ((cond) ? (void)++passed                                                                         \
          : (void)(++failed, printf("%s:%d: failed: ", __FILE__, __LINE__), printf(__VA_ARGS__),   \
                   printf("\n")))

/* Prints the counts; the exit status of main. */
static inline int unit_finish(void) {
  printf("%u passed, %u failed\n", passed, failed);
  return failed != 0 || passed == 0;
}

#endif
