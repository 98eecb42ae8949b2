/* Entries are files NAME.glow, where NAME is a hash of the key; the key itself is in the file. */
#include "support/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "support/checksum.h"

#define SUFFIX ".glow"
#define MAGIC UINT64_C(0x32656863616357) /* changes with this format */
#define BODY_ALIGN 4096
#define MAX_BODY_PARTS 65536
#define STALE_SECONDS 3600 /* the writer of a temporary file of this age is gone */

typedef struct Header {
  uint64_t magic, total, key, head, body; /* but for magic: sizes in bytes; total: of the file */
  uint64_t checksum;                      /* of the fields above, the key and the head */
} Header;

/* ---- Hashes ---------------------------------------------------------------------------------- */

static uint64_t checksum(const Header *h, const void *key, const void *head) {
  uint64_t sum = glow_checksum(1, h, offsetof(Header, checksum));
  return glow_checksum(glow_checksum(sum, key, h->key), head, h->head);
}

static bool entry_path(const GlowCache *c, GlowBytes key, char *path, size_t size) {
  int n = snprintf(path, size, "%s/%016llx%016llx" SUFFIX, c->dir,
                   (unsigned long long)glow_checksum(2, key.data, key.size),
                   (unsigned long long)glow_checksum(3, key.data, key.size));
  return n > 0 && (size_t)n < size;
}

static size_t body_offset(const Header *h) {
  return (size_t)((sizeof *h + h->key + h->head + BODY_ALIGN - 1) / BODY_ALIGN * BODY_ALIGN);
}

/* ---- Finding --------------------------------------------------------------------------------- */

static GlowStr default_dir(GlowContext *ctx) {
  const char *dir = getenv("GLOW_CACHE_DIR");
  if (dir && *dir)
    return glow_str(ctx, dir);
  dir = getenv("XDG_CACHE_HOME");
  if (dir && dir[0] == '/')
    return glow_str_printf(ctx, "%s/glow", dir);
  dir = getenv("HOME");
  return dir && dir[0] == '/' ? glow_str_printf(ctx, "%s/.cache/glow", dir) : NULL;
}

const GlowCache *glow_cache_choose(GlowContext *ctx, const GlowCacheFlags *flags) {
  const char *dir = flags->dir ? flags->dir : default_dir(ctx);
  if (flags->off || !dir || !*dir)
    return NULL;
  GlowCache *c = GLOW_NEW(ctx->arena, GlowCache);
  *c = (GlowCache){.dir = dir, .limit = flags->mib << 20};
  return c;
}

/* Entries hold machine code, so a file that another user can write is refused. */
static bool is_ours(const struct stat *st) {
  return S_ISREG(st->st_mode) && st->st_uid == geteuid() && !(st->st_mode & (S_IWGRP | S_IWOTH)) &&
         (uint64_t)st->st_size >= sizeof(Header);
}

/* Whether a mapped file is the whole entry of the key. */
static bool is_entry(const char *map, size_t size, GlowBytes key) {
  Header h;
  memcpy(&h, map, sizeof h);
  if (h.magic != MAGIC || h.total != size || h.key != key.size || h.key > size || h.head > size ||
      h.body > size)
    return false;
  size_t offset = body_offset(&h);
  return offset + h.body == size && memcmp(map + sizeof h, key.data, key.size) == 0 &&
         h.checksum == checksum(&h, map + sizeof h, map + sizeof h + h.key);
}

static bool map_entry(int fd, GlowBytes key, GlowCacheEntry *e) {
  struct stat st;
  if (fstat(fd, &st) != 0 || !is_ours(&st))
    return false;
  size_t size = (size_t)st.st_size;
  char *map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (map == MAP_FAILED)
    return false;
  if (!is_entry(map, size, key)) {
    munmap(map, size);
    return false;
  }
  Header h;
  memcpy(&h, map, sizeof h);
  *e = (GlowCacheEntry){.map = map, .map_size = size};
  e->head = (GlowBytes){map + sizeof h + h.key, (size_t)h.head};
  e->body = (GlowBytes){map + body_offset(&h), (size_t)h.body};
  return true;
}

bool glow_cache_find(const GlowCache *c, GlowBytes key, GlowCacheEntry *e) {
  char path[PATH_MAX];
  *e = (GlowCacheEntry){0};
  if (!entry_path(c, key, path, sizeof path))
    return false;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0)
    return false;
  bool found = map_entry(fd, key, e);
  if (found)
    futimens(fd, NULL); /* marks as used; on failure the entry is only removed earlier */
  close(fd);
  return found;
}

void glow_cache_close(GlowCacheEntry *e) {
  if (e->map)
    munmap(e->map, e->map_size);
  *e = (GlowCacheEntry){0};
}

/* ---- Removing -------------------------------------------------------------------------------- */

typedef struct File {
  char name[64];
  struct timespec used;
  int64_t size;
} File;

static int by_use(const void *a, const void *b) {
  const struct timespec *x = &((const File *)a)->used, *y = &((const File *)b)->used;
  return x->tv_sec != y->tv_sec ? (x->tv_sec > y->tv_sec) - (x->tv_sec < y->tv_sec)
                                : (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

static bool ends_with_suffix(const char *name) {
  size_t n = strlen(name);
  return n > strlen(SUFFIX) && strcmp(name + n - strlen(SUFFIX), SUFFIX) == 0;
}

/* Lists the entries of the folder, and removes temporary files that dead writers left. The caller
 * frees the list. */
static File *list_files(DIR *dir, size_t *count) {
  File *files = NULL;
  size_t capacity = 0;
  time_t now = time(NULL);
  *count = 0;
  for (const struct dirent *d; (d = readdir(dir));) {
    struct stat st;
    if (fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
      continue;
    if (d->d_name[0] == '.' && strstr(d->d_name, SUFFIX ".") && now - st.st_mtime > STALE_SECONDS)
      unlinkat(dirfd(dir), d->d_name, 0);
    if (d->d_name[0] == '.' || !ends_with_suffix(d->d_name) ||
        strlen(d->d_name) >= sizeof files->name)
      continue;
    if (*count == capacity) {
      capacity = capacity ? 2 * capacity : 64;
      File *more = realloc(files, capacity * sizeof *files);
      if (!more)
        break;
      files = more;
    }
    File *f = &files[(*count)++];
    *f = (File){.used = st.st_mtim, .size = st.st_size};
    strcpy(f->name, d->d_name);
  }
  return files;
}

static void remove_old(const GlowCache *c) {
  DIR *dir = opendir(c->dir);
  if (!dir)
    return;
  size_t count;
  File *files = list_files(dir, &count);
  int64_t total = 0;
  for (size_t i = 0; i < count; i++)
    total += files[i].size;
  if (total > c->limit)
    qsort(files, count, sizeof *files, by_use);
  for (size_t i = 0; i < count && total > c->limit; i++) {
    if (unlinkat(dirfd(dir), files[i].name, 0) == 0 || errno == ENOENT)
      total -= files[i].size;
  }
  free(files);
  closedir(dir);
}

/* ---- Storing --------------------------------------------------------------------------------- */

/* Creates the folder and its missing parents. */
static bool make_dir(const char *dir) {
  char path[PATH_MAX];
  size_t n = strlen(dir);
  if (n >= sizeof path)
    return false;
  memcpy(path, dir, n + 1);
  for (size_t i = 1; i < n; i++) {
    if (path[i] != '/')
      continue;
    path[i] = '\0';
    mkdir(path, 0700); /* a failure shows when the last folder is made */
    path[i] = '/';
  }
  return mkdir(path, 0700) == 0 || errno == EEXIST;
}

bool glow_cache_store(const GlowCache *c, GlowBytes key, GlowBytes head, const GlowBytes *body,
                      size_t nbody) {
  static const char zeros[BODY_ALIGN];
  char path[PATH_MAX];
  Header h = {.magic = MAGIC, .key = key.size, .head = head.size};
  for (size_t i = 0; i < nbody; i++)
    h.body += body[i].size;
  size_t offset = body_offset(&h);
  h.total = offset + h.body;
  h.checksum = checksum(&h, key.data, head.data);
  if ((int64_t)h.total > c->limit || nbody > MAX_BODY_PARTS ||
      !entry_path(c, key, path, sizeof path) || !make_dir(c->dir))
    return false;
  GlowBytes *parts = malloc((nbody + 4) * sizeof *parts);
  if (!parts)
    return false;
  parts[0] = (GlowBytes){&h, sizeof h};
  parts[1] = key;
  parts[2] = head;
  parts[3] = (GlowBytes){zeros, offset - sizeof h - key.size - head.size};
  for (size_t i = 0; i < nbody; i++)
    parts[i + 4] = body[i];
  bool stored = glow_file_replace(path, 0600, parts, nbody + 4) == 0;
  free(parts);
  if (stored)
    remove_old(c);
  return stored;
}
