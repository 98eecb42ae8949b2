/* Prepares a file for the Magika model: writes the int32[1,2048] input as .npy to stdout.
 *
 *   magika-prepare FILE >input.npy
 *
 * The first 1024 bytes after leading white space (within the first 4096), padded behind with 256;
 * then the last 1024 bytes before trailing white space (within the last 4096), padded in front. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { HALF = 1024, BLOCK = 4096, PAD = 256 };

static int is_space(unsigned char c) { return (c >= 9 && c <= 13) || c == 32; }

int main(int argc, char **argv) {
  FILE *f = argc == 2 ? fopen(argv[1], "rb") : NULL;
  if (!f) {
    fprintf(stderr, "usage: magika-prepare FILE >input.npy\n");
    return 2;
  }
  static unsigned char head[BLOCK], tail[BLOCK];
  size_t nhead = fread(head, 1, BLOCK, f);
  if (fseek(f, 0, SEEK_END) || ftell(f) < 0)
    return 1;
  long size = ftell(f);
  fseek(f, size > BLOCK ? size - BLOCK : 0, SEEK_SET);
  size_t ntail = fread(tail, 1, BLOCK, f);
  fclose(f);

  int32_t values[2 * HALF];
  for (int i = 0; i < 2 * HALF; i++)
    values[i] = PAD;
  size_t first = 0;
  while (first < nhead && is_space(head[first]))
    first++;
  for (size_t i = 0; i < HALF && first + i < nhead; i++)
    values[i] = head[first + i];
  while (ntail && is_space(tail[ntail - 1]))
    ntail--;
  for (size_t i = 0; i < HALF && i < ntail; i++)
    values[2 * HALF - 1 - i] = tail[ntail - 1 - i];

  char header[128];
  memset(header, ' ', sizeof header);
  memcpy(header, "\x93NUMPY\x01\x00\x76\x00", 10);
  const char *dict = "{'descr': '<i4', 'fortran_order': False, 'shape': (1, 2048), }";
  memcpy(header + 10, dict, strlen(dict));
  header[sizeof header - 1] = '\n';
  fwrite(header, 1, sizeof header, stdout);
  fwrite(values, sizeof *values, 2 * HALF, stdout);
  return fflush(stdout) || ferror(stdout);
}
