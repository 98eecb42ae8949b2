/* Files. Input is mapped where possible. Output goes to a temporary file in the same folder, which
 * is renamed when complete, so that a reader sees the old file or the whole new one. A signal that
 * would end the process waits until the temporary file is gone (signals.h).
 *
 * Limit: if another process truncates a mapped file, reading it raises SIGBUS, as with any
 * mapping. */
#include "support/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/diag.h"
#include "support/signals.h"

/* Reports `cannot VERB PATH: REASON` at `loc`. If `loc` is no place, reports `cannot VERB: REASON`
 * at the path. */
static bool fail(GlowContext *ctx, GlowLoc loc, const char *verb, const char *path,
                 const char *reason) {
  if (loc.file || loc.node)
    glow_error(ctx, loc, "cannot %s '%s': %s", verb, path, reason);
  else
    glow_error(ctx, glow_loc_file(ctx, path), "cannot %s: %s", verb, reason);
  return false;
}

static bool fail_errno(GlowContext *ctx, GlowLoc loc, const char *verb, const char *path,
                       int code) {
  char buf[128];
  return fail(ctx, loc, verb, path,
              code == EINTR ? "a signal interrupts it" : strerror_r(code, buf, sizeof buf));
}

static void close_fd(void *fd) { close(*(int *)fd); }

static void close_input(void *in) { glow_input_close(in); }

bool glow_stdout_is_closed(void) {
  struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
  return poll(&out, 1, 0) == 1 && (out.revents & POLLERR);
}

/* Reads fd to its end into in->heap. */
static int read_all(GlowContext *ctx, int fd, GlowInput *in) {
  size_t capacity = 0;
  GlowDefer release;
  glow_defer_push(ctx, &release, close_input, in);
  int code = 0;
  for (;;) {
    if (capacity - in->size < 2) { /* one byte stays for the NUL */
      capacity = capacity ? 2 * capacity : 1 << 16;
      in->heap = glow_realloc(ctx, in->heap, capacity);
      in->data = in->heap;
    }
    ssize_t n = read(fd, (char *)in->heap + in->size, capacity - in->size - 1);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0) {
      code = n < 0 ? errno : 0;
      break;
    }
    in->size += (size_t)n;
  }
  ((char *)in->heap)[in->size] = '\0';
  glow_defer_pop(ctx, &release, code != 0);
  return code;
}

/* Maps a regular file with at least one zero byte after it: anonymous pages are reserved first and
 * the file is put over their beginning. Returns 0 or an errno. */
static int map_file(int fd, size_t size, GlowInput *in) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  if (size > SIZE_MAX / 2)
    return EFBIG;
  size_t reserved = size / page * page + page;
  void *base = mmap(NULL, reserved, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED)
    return errno;
  if (mmap(base, size, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED) {
    int code = errno;
    munmap(base, reserved);
    return code;
  }
  in->data = in->map = base;
  in->map_size = reserved;
  in->size = size;
  return 0;
}

static bool read_stdin(GlowContext *ctx, GlowLoc loc, GlowInput *in) {
  *in = (GlowInput){.name = "<stdin>"};
  int code = read_all(ctx, STDIN_FILENO, in);
  if (code != 0)
    return fail_errno(ctx, loc, "read", in->name, code);
  if (in->size > 0)
    return true;
  glow_input_close(in);
  glow_error(ctx, glow_loc_file(ctx, in->name), "there is nothing to read");
  return false;
}

static int64_t nanoseconds(const struct timespec *t) {
  return t->tv_sec * INT64_C(1000000000) + t->tv_nsec;
}

/* Fills *in from an open descriptor. */
static bool load(GlowContext *ctx, const char *path, bool regular, GlowLoc loc, int fd,
                 GlowInput *in) {
  struct stat st;
  if (fstat(fd, &st) != 0)
    return fail_errno(ctx, loc, "open", path, errno);
  if (S_ISDIR(st.st_mode))
    return fail_errno(ctx, loc, "open", path, EISDIR);
  if (regular && !S_ISREG(st.st_mode))
    return fail(ctx, loc, "open", path, "not a regular file");
  if (S_ISREG(st.st_mode)) {
    in->device = (uint64_t)st.st_dev;
    in->inode = (uint64_t)st.st_ino;
    in->modified = nanoseconds(&st.st_mtim);
    in->changed = nanoseconds(&st.st_ctim);
  }
  /* Read instead of mapped: files of size 0, which may have content (/proc), and files on file
   * systems that cannot map. */
  if (S_ISREG(st.st_mode) && st.st_size > 0) {
    int code = map_file(fd, (size_t)st.st_size, in);
    if (code != ENODEV)
      return code == 0 || fail_errno(ctx, loc, "map", path, code);
  }
  int code = read_all(ctx, fd, in);
  return code == 0 || fail_errno(ctx, loc, "read", path, code);
}

bool glow_input_open(GlowContext *ctx, const char *path, bool regular, GlowLoc loc, GlowInput *in) {
  if (strcmp(path, "-") == 0)
    return read_stdin(ctx, loc, in);
  *in = (GlowInput){.name = glow_str(ctx, path)};
  /* O_NONBLOCK: opening a FIFO without a writer must not hang where it is refused anyway. */
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | (regular ? O_NONBLOCK : 0));
  if (fd < 0)
    return fail_errno(ctx, loc, "open", path, errno);
  GlowDefer release;
  glow_defer_push(ctx, &release, close_fd, &fd);
  bool ok = load(ctx, path, regular, loc, fd, in);
  glow_defer_pop(ctx, &release, true);
  return ok;
}

void glow_input_close(GlowInput *in) {
  if (in->map)
    munmap(in->map, in->map_size);
  free(in->heap);
  in->map = in->heap = NULL;
  in->data = NULL;
  in->size = 0;
}

enum { PIECE = 4 << 20 }; /* bytes that are written between two checks for signals */

/* Writes all parts. Returns 0 or an errno. With `held`, a waiting signal among these ends the
 * writing with EINTR. */
static int write_parts(int fd, const GlowBytes *parts, size_t nparts, const GlowSignals *held) {
  for (size_t i = 0; i < nparts; i++) {
    const char *p = parts[i].data;
    size_t left = parts[i].size;
    while (left) {
      if (held && glow_signals_pending(held))
        return EINTR;
      ssize_t n = write(fd, p, left < PIECE ? left : PIECE);
      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        return errno;
      p += n;
      left -= (size_t)n;
    }
  }
  return 0;
}

/* `held`: as for write_parts. `sync`: the bytes are on the disk, not in the system's memory alone.
 */
static int write_and_close(int fd, const GlowBytes *parts, size_t nparts, const GlowSignals *held,
                           bool sync) {
  int code = write_parts(fd, parts, nparts, held);
  while (sync && code == 0 && fsync(fd) != 0)
    code = errno == EINTR ? 0 : errno;
  if (close(fd) != 0 && code == 0)
    code = errno;
  return code;
}

/* The folder of a path, cut off at `size`. */
static void folder_of(const char *path, char *folder, size_t size) {
  const char *base = glow_path_base(path);
  snprintf(folder, size, "%.*s", base == path ? 1 : (int)(base - path), base == path ? "." : path);
}

/* Creates the file `DIR/.NAME.PID-N` with the first N that is free, and stores this path in `name`.
 * Returns its descriptor, or -1 with errno set. */
static int create_beside(const char *path, char *name, size_t size) {
  const char *base = glow_path_base(path);
  for (unsigned n = 0; n < 1000; n++) {
    int length = snprintf(name, size, "%.*s.%.200s.%ld-%u", (int)(base - path), path, base,
                          (long)getpid(), n);
    if (length < 0 || (size_t)length >= size) {
      errno = ENAMETOOLONG;
      return -1;
    }
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 || errno != EEXIST)
      return fd;
  }
  return -1;
}

/* Whether a name is that of a temporary file that create_beside made for `base` in a process that
 * has ended. */
static bool is_orphan(const char *name, const char *base) {
  size_t length = strlen(base) < 200 ? strlen(base) : 200;
  long pid;
  unsigned n;
  int end = 0;
  if (name[0] != '.' || strncmp(name + 1, base, length) != 0 ||
      sscanf(name + 1 + length, ".%ld-%u%n", &pid, &n, &end) != 2 || name[1 + length + (size_t)end])
    return false;
  return pid > 0 && kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

void glow_output_clean(const char *path) {
  char folder[PATH_MAX], orphan[PATH_MAX];
  const char *base = glow_path_base(path);
  folder_of(path, folder, sizeof folder);
  DIR *dir = opendir(folder);
  for (const struct dirent *e; dir && (e = readdir(dir));)
    if (is_orphan(e->d_name, base) &&
        snprintf(orphan, sizeof orphan, "%s/%s", folder, e->d_name) < (int)sizeof orphan)
      unlink(orphan);
  if (dir)
    closedir(dir);
}

/* A complete file under a temporary name, and the path that it will get. */
typedef struct Fresh {
  char path[PATH_MAX], temporary[PATH_MAX];
} Fresh;

/* Writes the temporary file that will replace the regular file at `path`, or become a new file.
 * Signals are held. `old` describes the present file; NULL if there is none. Returns 0 or an
 * errno. */
static int prepare(Fresh *f, const char *path, const struct stat *old, const GlowBytes *parts,
                   size_t nparts, const GlowSignals *held, bool sync) {
  /* A symbolic link stays; the file that it names is replaced. */
  if ((!old || !realpath(path, f->path)) &&
      snprintf(f->path, sizeof f->path, "%s", path) >= PATH_MAX)
    return ENAMETOOLONG;
  int fd = create_beside(f->path, f->temporary, sizeof f->temporary);
  if (fd < 0)
    return errno;
  if (old)
    (void)!fchmod(fd, old->st_mode & 0777);
  int code = write_and_close(fd, parts, nparts, held, sync);
  if (code != 0)
    unlink(f->temporary);
  return code;
}

static int publish(const Fresh *f) {
  if (rename(f->temporary, f->path) == 0)
    return 0;
  int code = errno;
  unlink(f->temporary);
  return code;
}

/* Lets the names in the folder of a file reach the disk. A folder that cannot be synced is no
 * failure: the file is complete under its name. */
static void sync_folder(const char *path) {
  char folder[PATH_MAX];
  folder_of(path, folder, sizeof folder);
  int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return;
  (void)!fsync(fd);
  close(fd);
}

static int replace(const char *path, const struct stat *old, const GlowBytes *parts, size_t nparts,
                   bool sync) {
  Fresh f;
  GlowSignals held;
  glow_signals_hold(&held);
  int code = prepare(&f, path, old, parts, nparts, &held, sync);
  code = code ? code : publish(&f);
  if (sync && code == 0)
    sync_folder(f.path);
  glow_signals_release(&held);
  return code;
}

int glow_file_replace(const char *path, unsigned permissions, const GlowBytes *parts,
                      size_t nparts) {
  struct stat like = {.st_mode = permissions};
  return replace(path, &like, parts, nparts, false);
}

static bool output(GlowContext *ctx, const char *path, const GlowBytes *parts, size_t nparts,
                   bool sync) {
  int code;
  struct stat st;
  if (!path || strcmp(path, "-") == 0) {
    path = "<stdout>";
    code = fflush(stdout) == 0 ? write_parts(STDOUT_FILENO, parts, nparts, NULL) : errno;
    if (code == EPIPE && glow_stdout_is_closed())
      return false;
  } else if (stat(path, &st) != 0) {
    code = replace(path, NULL, parts, nparts, sync);
  } else if (S_ISREG(st.st_mode)) {
    code = replace(path, &st, parts, nparts, sync);
  } else { /* a device or FIFO is written directly; for a folder, open fails */
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    code = fd < 0 ? errno : write_and_close(fd, parts, nparts, NULL, false);
  }
  return code == 0 || fail_errno(ctx, GLOW_NOWHERE, "write", path, code);
}

bool glow_output_write(GlowContext *ctx, const char *path, const GlowBytes *parts, size_t nparts) {
  return output(ctx, path, parts, nparts, false);
}

bool glow_output_sync(GlowContext *ctx, const char *path, const GlowBytes *parts, size_t nparts) {
  return output(ctx, path, parts, nparts, true);
}

bool glow_outputs_write(GlowContext *ctx, const GlowOutput *outputs, size_t count) {
  Fresh *fresh = GLOW_NEW_ARRAY(ctx->arena, Fresh, count);
  GlowSignals held;
  size_t ready = 0, done = 0;
  int code = 0;
  glow_signals_hold(&held);
  for (; ready < count && code == 0; ready += code == 0) {
    const GlowOutput *o = &outputs[ready];
    struct stat st;
    bool there = stat(o->path, &st) == 0;
    code = there && !S_ISREG(st.st_mode)
               ? EEXIST
               : prepare(&fresh[ready], o->path, there ? &st : NULL, &o->part, 1, &held, false);
  }
  for (; done < count && code == 0; done += code == 0)
    code = publish(&fresh[done]);
  for (size_t i = done; code != 0 && i < ready; i++)
    unlink(fresh[i].temporary);
  glow_signals_release(&held);
  return code == 0 ||
         fail_errno(ctx, GLOW_NOWHERE, "write", outputs[ready < count ? ready : done].path, code);
}

const char *glow_path_base(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

GlowStr glow_path_dir(GlowContext *ctx, const char *path) {
  const char *slash = strrchr(path, '/');
  if (!slash)
    return glow_str(ctx, ".");
  while (slash > path && slash[-1] == '/')
    slash--;
  return slash == path ? glow_str(ctx, "/") : glow_str_n(ctx, path, (size_t)(slash - path));
}

GlowStr glow_path_join(GlowContext *ctx, const char *dir, const char *rel) {
  if (rel[0] == '/' || dir[0] == '\0' || strcmp(dir, ".") == 0)
    return glow_str(ctx, rel);
  const char *separator = dir[strlen(dir) - 1] == '/' ? "" : "/";
  return glow_str_printf(ctx, "%s%s%s", dir, separator, rel);
}

/* Appends the components of `path` to the absolute path `out` of *size bytes. Resolves . and .. by
 * the text alone and follows no links, so the result names the file through the same links as
 * `path`. */
static void normalize(char *out, size_t *size, const char *path) {
  while (*path) {
    size_t n = strcspn(path, "/");
    if (n == 2 && path[0] == '.' && path[1] == '.') {
      while (*size > 0 && out[--*size] != '/') {
      }
    } else if (n > 0 && !(n == 1 && path[0] == '.')) {
      out[(*size)++] = '/';
      memcpy(out + *size, path, n);
      *size += n;
    }
    path += n + (path[n] == '/');
  }
}

GlowStr glow_path_absolute(GlowContext *ctx, const char *path) {
  char cwd[PATH_MAX];
  if (path[0] == '/' || !getcwd(cwd, sizeof cwd))
    cwd[0] = '\0';
  size_t size = 0, n = strlen(cwd), m = strlen(path);
  char *out = glow_malloc(ctx, n + m + 3);
  GlowDefer release;
  glow_defer_push(ctx, &release, free, out);
  normalize(out, &size, cwd);
  normalize(out, &size, path);
  GlowStr result = size ? glow_str_n(ctx, out, size) : glow_str(ctx, "/");
  glow_defer_pop(ctx, &release, true);
  return result;
}

GlowStr glow_path_relative(GlowContext *ctx, const char *path, const char *dir) {
  const char *to = glow_path_absolute(ctx, path), *from = glow_path_absolute(ctx, dir);
  if (strcmp(from, "/") == 0)
    from = "";
  /* The common part ends where both paths have a separator or end. */
  size_t common = 0;
  for (size_t i = 0;; i++) {
    bool ends = (to[i] == '/' || !to[i]) && (from[i] == '/' || !from[i]);
    if (ends)
      common = i;
    if (to[i] != from[i] || !to[i])
      break;
  }
  size_t up = 0;
  for (const char *s = from + common; *s; s++)
    up += *s == '/';
  const char *rest = to + common + (to[common] == '/');
  char *out = glow_malloc(ctx, 3 * up + strlen(rest) + 2), *p = out;
  GlowDefer release;
  glow_defer_push(ctx, &release, free, out);
  for (; up; up--)
    p = stpcpy(p, "../");
  p = stpcpy(p, rest);
  if (!*rest && p > out)
    p--; /* "../.." rather than "../../" */
  GlowStr result = p > out ? glow_str_n(ctx, out, (size_t)(p - out)) : glow_str(ctx, ".");
  glow_defer_pop(ctx, &release, true);
  return result;
}
