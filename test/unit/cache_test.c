/* The cache of entries by key: what was stored is found; damaged, cut short, foreign, linked,
 * renamed and older entries are not, and are replaced; old entries go first; processes share a
 * folder. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/cache.h"
#include "test/unit/unit.h"

static char dir[] = "/tmp/glow-cache-XXXXXX", folder[64];
static GlowCache cache = {.dir = folder, .limit = 1 << 30};

static GlowBytes bytes(const char *s) { return (GlowBytes){s, strlen(s)}; }

/* Contents that follow from a key. */
static bool store(const char *key, const char *head, char fill, size_t size) {
  char *body = malloc(size + 1);
  memset(body, fill, size);
  GlowBytes parts[] = {{body, size / 3}, {body, size - size / 3}};
  bool stored = glow_cache_store(&cache, bytes(key), bytes(head), parts, 2);
  free(body);
  return stored;
}

/* 1 if the entry is there and holds this, 0 if it is absent, -1 if it holds something else. */
static int find(const char *key, const char *head, char fill, size_t size) {
  GlowCacheEntry e;
  if (!glow_cache_find(&cache, bytes(key), &e))
    return e.map ? -1 : 0;
  const char *body = e.body.data;
  int found = e.head.size == strlen(head) && memcmp(e.head.data, head, e.head.size) == 0 &&
                      e.body.size == size && (uintptr_t)body % 4096 == 0
                  ? 1
                  : -1;
  for (size_t i = 0; found == 1 && i < size; i++)
    found = body[i] == fill ? 1 : -1;
  glow_cache_close(&e);
  return found;
}

/* Names in the folder, or of the only entry. */
static int list(char *name) {
  DIR *d = opendir(folder);
  int count = 0;
  for (const struct dirent *e; d && (e = readdir(d));) {
    if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
      continue;
    if (name)
      snprintf(name, 400, "%s/%s", folder, e->d_name);
    count++;
  }
  if (d)
    closedir(d);
  return count;
}

static void clear(void) {
  char name[400];
  while (list(name) && unlink(name) == 0)
    ;
}

static void test_round_trip(void) {
  CHECK(find("key", "head", 'b', 10000) == 0);
  CHECK(store("key", "head", 'b', 10000));
  CHECK(find("key", "head", 'b', 10000) == 1);
  CHECK(find("Key", "head", 'b', 10000) == 0);
  CHECK(find("key2", "head", 'b', 10000) == 0);
  CHECK(store("key", "other", 'c', 5)); /* replaced */
  CHECK(find("key", "other", 'c', 5) == 1 && list(NULL) == 1);
  CHECK(store("", "", 'x', 0)); /* empty in every way */
  CHECK(find("", "", 'x', 0) == 1 && list(NULL) == 2);
  struct stat st;
  CHECK(stat(folder, &st) == 0 && (st.st_mode & 0777) == 0700);
  clear();
}

/* Each byte of header, key and head is changed in turn, and the file is cut at each length. */
static void test_damage(void) {
  char name[400];
  CHECK(store("the key", "the head", 'b', 100));
  CHECK(list(name) == 1);
  struct stat st;
  CHECK(stat(name, &st) == 0);
  int fd = open(name, O_RDWR);
  int wrong = 0;
  for (off_t i = 0; i < 48 + 7 + 8; i++) {
    char old, new;
    wrong += pread(fd, &old, 1, i) != 1;
    new = (char)(old ^ 1 << i % 8);
    wrong += pwrite(fd, &new, 1, i) != 1 || find("the key", "the head", 'b', 100) != 0;
    wrong += pwrite(fd, &old, 1, i) != 1;
  }
  CHECK(wrong == 0);
  CHECK(find("the key", "the head", 'b', 100) == 1);
  for (off_t size = st.st_size - 1; size >= 0; size -= size > 300 ? 97 : 1)
    wrong += ftruncate(fd, size) != 0 || find("the key", "the head", 'b', 100) != 0;
  wrong += ftruncate(fd, st.st_size) != 0 || find("the key", "the head", 'b', 100) != 0; /* zeros */
  CHECK(wrong == 0);
  CHECK(store("the key", "the head", 'b', 100)); /* replaced */
  CHECK(find("the key", "the head", 'b', 100) == 1);
  close(fd);
  fd = open(name, O_WRONLY | O_APPEND);
  CHECK(write(fd, "x", 1) == 1 && find("the key", "the head", 'b', 100) == 0); /* longer */
  close(fd);
  clear();
}

/* Another key's entry under this name, a link, a folder, a pipe, and files that others may write.
 */
static void test_foreign(void) {
  char mine[400], other[400], moved[420];
  CHECK(store("mine", "head", 'm', 100) && list(mine) == 1);
  snprintf(moved, sizeof moved, "%s/../moved", folder);
  CHECK(rename(mine, moved) == 0);
  CHECK(store("other", "head", 'o', 100) && list(other) == 1);
  CHECK(rename(other, mine) == 0 && find("mine", "head", 'm', 100) == 0);
  CHECK(store("mine", "head", 'm', 100) && find("mine", "head", 'm', 100) == 1);
  CHECK(unlink(mine) == 0 && symlink(moved, mine) == 0 && find("mine", "head", 'm', 100) == 0);
  CHECK(unlink(mine) == 0 && mkfifo(mine, 0600) == 0 && find("mine", "head", 'm', 100) == 0);
  CHECK(unlink(mine) == 0 && mkdir(mine, 0700) == 0 && find("mine", "head", 'm', 100) == 0);
  CHECK(!store("mine", "head", 'm', 100) && rmdir(mine) == 0);
  CHECK(rename(moved, mine) == 0 && find("mine", "head", 'm', 100) == 1);
  CHECK(chmod(mine, 0620) == 0 && find("mine", "head", 'm', 100) == 0);
  CHECK(chmod(mine, 0602) == 0 && find("mine", "head", 'm', 100) == 0);
  CHECK(chmod(mine, 0600) == 0 && find("mine", "head", 'm', 100) == 1);
  if (geteuid() == 0) {
    CHECK(chown(mine, 1, 1) == 0 && find("mine", "head", 'm', 100) == 0);
    CHECK(store("mine", "head", 'm', 100) && find("mine", "head", 'm', 100) == 1);
  }
  clear();
}

static void age(const char *name, long seconds) {
  struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = time(NULL) - seconds}};
  CHECK(utimensat(AT_FDCWD, name, times, 0) == 0);
}

static void test_limit(void) {
  char name[400], stale[500], fresh[500];
  cache.limit = 40000; /* three entries of 4096 + 8000 bytes */
  CHECK(store("a", "", 'a', 8000) && list(name) == 1);
  age(name, 300);
  for (const char *key = "b"; key; key = *key == 'b' ? "c" : NULL) {
    CHECK(store(key, "", *key, 8000));
    usleep(20000);
  }
  CHECK(find("a", "", 'a', 8000) == 1); /* and so it was used last */
  CHECK(store("d", "", 'd', 8000));
  CHECK(find("a", "", 'a', 8000) == 1 && find("b", "", 'b', 8000) == 0);
  CHECK(find("c", "", 'c', 8000) == 1 && find("d", "", 'd', 8000) == 1 && list(NULL) == 3);
  CHECK(!store("e", "", 'e', 40000) && list(NULL) == 3); /* it alone is too large */
  snprintf(stale, sizeof stale, "%s/.00.glow.12-0", folder);
  snprintf(fresh, sizeof fresh, "%s/.00.glow.12-1", folder);
  close(open(stale, O_CREAT | O_WRONLY, 0600));
  close(open(fresh, O_CREAT | O_WRONLY, 0600));
  age(stale, 7200);
  CHECK(store("d", "", 'd', 8000));
  CHECK(access(stale, F_OK) != 0 && access(fresh, F_OK) == 0);
  cache.limit = 0;
  CHECK(!store("f", "", 'f', 1));
  cache.limit = 1 << 30;
  clear();
}

/* A mapped entry stays when it is removed and replaced. */
static void test_held(void) {
  GlowCacheEntry e;
  CHECK(store("held", "head", 'h', 50000));
  CHECK(glow_cache_find(&cache, bytes("held"), &e));
  clear();
  CHECK(store("held", "HEAD", 'H', 50000));
  CHECK(((const char *)e.body.data)[49999] == 'h' && memcmp(e.head.data, "head", 4) == 0);
  glow_cache_close(&e);
  glow_cache_close(&e); /* harmless */
  clear();
}

/* Processes that write and read the same keys see whole entries only. */
static void test_processes(void) {
  enum { PROCESSES = 4, ROUNDS = 100 };
  for (int p = 0; p < PROCESSES; p++) {
    if (fork())
      continue;
    int wrong = 0;
    for (int i = 0; i < ROUNDS; i++) {
      const char *key = i % 2 ? "one" : "two";
      wrong += !store(key, "head", *key, 20000);
      wrong += find(key, "head", *key, 20000) != 1;
    }
    _exit(wrong != 0);
  }
  for (int p = 0, status; p < PROCESSES; p++)
    CHECK(wait(&status) > 0 && status == 0);
  CHECK(list(NULL) == 2);
  clear();
}

static void test_choice(void) {
  GlowContext *ctx = glow_context_create();
  GlowCacheFlags flags = GLOW_CACHE_DEFAULTS;
  setenv("GLOW_CACHE_DIR", "glow's", 1);
  setenv("XDG_CACHE_HOME", "/x/cache", 1);
  setenv("HOME", "/home/me", 1);
  const GlowCache *c = glow_cache_choose(ctx, &flags);
  CHECK(c && strcmp(c->dir, "glow's") == 0);
  unsetenv("GLOW_CACHE_DIR");
  c = glow_cache_choose(ctx, &flags);
  CHECK(c && strcmp(c->dir, "/x/cache/glow") == 0 && c->limit == (int64_t)4096 << 20);
  setenv("XDG_CACHE_HOME", "relative", 1);
  c = glow_cache_choose(ctx, &flags);
  CHECK(c && strcmp(c->dir, "/home/me/.cache/glow") == 0);
  unsetenv("XDG_CACHE_HOME");
  unsetenv("HOME");
  CHECK(!glow_cache_choose(ctx, &flags));
  flags.dir = "here";
  c = glow_cache_choose(ctx, &flags);
  CHECK(c && strcmp(c->dir, "here") == 0);
  flags.off = true;
  CHECK(!glow_cache_choose(ctx, &flags));
  glow_context_destroy(ctx);
}

/* Places where nothing can be stored. */
static void test_no_place(void) {
  GlowCache saved = cache;
  cache.dir = "/proc/glow/cache";
  CHECK(!store("key", "", 'x', 1) && find("key", "", 'x', 1) == 0);
  cache.dir = "/dev/null";
  CHECK(!store("key", "", 'x', 1) && find("key", "", 'x', 1) == 0);
  char longest[5000];
  memset(longest, 'x', sizeof longest - 1);
  longest[sizeof longest - 1] = '\0';
  cache.dir = longest;
  CHECK(!store("key", "", 'x', 1) && find("key", "", 'x', 1) == 0);
  cache = saved;
}

int main(void) {
  CHECK(mkdtemp(dir));
  snprintf(folder, sizeof folder, "%s/a/b", dir);
  test_round_trip();
  test_damage();
  test_foreign();
  test_limit();
  test_held();
  test_processes();
  test_choice();
  test_no_place();
  char above[80];
  rmdir(folder);
  snprintf(above, sizeof above, "%s/a", dir);
  rmdir(above);
  CHECK(rmdir(dir) == 0);
  return unit_finish();
}
