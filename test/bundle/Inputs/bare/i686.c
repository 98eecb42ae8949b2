/* stdio.h of this folder on Linux for i686, and what runs before main. */
#include <stdint.h>
#include <stdio.h>

__asm__(".globl _start\n_start:\n  movl (%esp), %eax\n  leal 4(%esp), %ecx\n  andl $-16, %esp\n"
        "  subl $8, %esp\n  pushl %ecx\n  pushl %eax\n  call start\n");

int main(int argc, char **argv);

static int call(int number, int a, int b, int c) {
  int result;
  __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(a), "c"(b), "d"(c) : "memory");
  return result;
}
enum { EXIT = 1, READ = 3, WRITE = 4, OPEN = 5, CLOSE = 6, CREATE = 01101 /* and truncate */ };

void exit(int status) {
  for (;;)
    call(EXIT, status, 0, 0);
}
void start(int argc, char **argv);
void start(int argc, char **argv) { exit(main(argc, argv)); }

/* ---- Files: their descriptors and 1 ---------------------------------------------------------- */

FILE *fopen(const char *path, const char *mode) {
  return (FILE *)(call(OPEN, (int)path, mode[0] == 'w' ? CREATE : 0, 0644) + 1);
}
int fclose(FILE *f) { return call(CLOSE, (int)f - 1, 0, 0); }

static size_t transfer(int number, int file, char *at, size_t size) {
  size_t done = 0;
  for (int n = 1; done < size && n > 0; done += n > 0 ? (size_t)n : 0)
    n = call(number, file, (int)(at + done), (int)(size - done));
  return done;
}
size_t fread(void *to, size_t size, size_t count, FILE *f) {
  return transfer(READ, (int)f - 1, to, size * count) / size;
}
size_t fwrite(const void *from, size_t size, size_t count, FILE *f) {
  return transfer(WRITE, (int)f - 1, (char *)(uintptr_t)from, size * count) / size;
}
int printf(const char *format, ...) {
  size_t n = 0;
  while (format[n])
    n++;
  return call(WRITE, 1, (int)format, (int)n);
}

/* ---- Memory ---------------------------------------------------------------------------------- */

void *aligned_alloc(size_t align, size_t size) {
  static _Alignas(4096) char memory[1 << 26];
  static size_t used;
  size_t at = (used + align - 1) & ~(align - 1);
  if (size > sizeof memory - at)
    return NULL;
  used = at + size;
  return memory + at;
}
void *memmove(void *to, const void *from, size_t n) {
  char *t = to;
  const char *f = from;
  for (size_t i = 0; i < n; i++) {
    size_t k = t < f ? i : n - 1 - i;
    t[k] = f[k];
  }
  return to;
}
void *memcpy(void *to, const void *from, size_t n) { return memmove(to, from, n); }
void *memset(void *to, int byte, size_t n) {
  for (size_t i = 0; i < n; i++)
    ((char *)to)[i] = (char)byte;
  return to;
}
int strcmp(const char *a, const char *b) {
  while (*a && *a == *b)
    a++, b++;
  return (unsigned char)*a - (unsigned char)*b;
}
int memcmp(const void *a, const void *b, size_t n) {
  const unsigned char *x = a, *y = b;
  for (size_t i = 0; i < n; i++) {
    if (x[i] != y[i])
      return x[i] - y[i];
  }
  return 0;
}
