/* As much of a C library as the program of run_bundle.py needs, for machines without one. */
#ifndef BARE_STDIO_H
#define BARE_STDIO_H

#include <stddef.h>

typedef struct FILE FILE;
FILE *fopen(const char *path, const char *mode);
int fclose(FILE *f);
size_t fread(void *to, size_t size, size_t count, FILE *f);
size_t fwrite(const void *from, size_t size, size_t count, FILE *f);
int printf(const char *format, ...); /* the format alone */

_Noreturn void exit(int status);
void *aligned_alloc(size_t align, size_t size); /* never freed */

void *memcpy(void *to, const void *from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int byte, size_t n);
int memcmp(const void *a, const void *b, size_t n);
int strcmp(const char *a, const char *b);

#endif
