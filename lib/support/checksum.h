/* Checksums of bytes: they find damage, and do not resist attacks. */
#ifndef GLOW_SUPPORT_CHECKSUM_H
#define GLOW_SUPPORT_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { GLOW_CHECKSUM_BLOCK = 32 };

/* The sum of bytes that come in parts. */
typedef struct GlowChecksum {
  uint64_t lanes[4]; /* lane i: of word i of each block; a machine works on all four at a time */
  unsigned char rest[GLOW_CHECKSUM_BLOCK]; /* of the parts so far: less than a block */
  size_t nrest;
} GlowChecksum;

static inline GlowChecksum glow_checksum_begin(uint64_t seed) {
  return (GlowChecksum){.lanes = {seed, seed + 1, seed + 2, seed + 3}};
}

static inline uint64_t glow_checksum_word(uint64_t sum, uint64_t word) {
  sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
  return sum ^ sum >> 32;
}

/* Adds whole blocks. */
static inline void glow_checksum_blocks(GlowChecksum *c, const unsigned char *p, size_t count) {
  uint64_t a = c->lanes[0], b = c->lanes[1], d = c->lanes[2], e = c->lanes[3], words[4];
  for (; count; count--, p += GLOW_CHECKSUM_BLOCK) {
    memcpy(words, p, sizeof words);
    a = glow_checksum_word(a, words[0]);
    b = glow_checksum_word(b, words[1]);
    d = glow_checksum_word(d, words[2]);
    e = glow_checksum_word(e, words[3]);
  }
  c->lanes[0] = a, c->lanes[1] = b, c->lanes[2] = d, c->lanes[3] = e;
}

static inline void glow_checksum_add(GlowChecksum *c, const void *data, size_t size) {
  const unsigned char *p = data;
  while (size && c->nrest) {
    c->rest[c->nrest++] = *p++;
    size--;
    if (c->nrest == GLOW_CHECKSUM_BLOCK) {
      glow_checksum_blocks(c, c->rest, 1);
      c->nrest = 0;
    }
  }
  glow_checksum_blocks(c, p, size / GLOW_CHECKSUM_BLOCK);
  for (size_t i = size / GLOW_CHECKSUM_BLOCK * GLOW_CHECKSUM_BLOCK; i < size; i++)
    c->rest[c->nrest++] = p[i];
}

static inline uint64_t glow_checksum_end(const GlowChecksum *c) {
  uint64_t sum = c->nrest;
  for (int i = 0; i < 4; i++)
    sum = glow_checksum_word(sum, c->lanes[i]);
  for (size_t i = 0; i < c->nrest; i++)
    sum = glow_checksum_word(sum, c->rest[i]);
  return sum;
}

static inline uint64_t glow_checksum(uint64_t seed, const void *data, size_t size) {
  GlowChecksum c = glow_checksum_begin(seed);
  glow_checksum_add(&c, data, size);
  return glow_checksum_end(&c);
}

#endif
