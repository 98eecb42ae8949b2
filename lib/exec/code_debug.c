/* Code for gdb, through its registration interface, and for perf, as a dump of its functions: see
 * gdb's manual, "JIT Compilation Interface", and Linux, tools/perf/Documentation/jitdump-spec.txt.
 */
#include "exec/code_debug.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ---- gdb ------------------------------------------------------------------------------------- */

/* Names and layout are gdb's. */
typedef struct Entry {
  struct Entry *next, *prev;
  const char *object;
  uint64_t size;
} Entry;
struct jit_descriptor {
  uint32_t version, action; /* action: 1 register, 2 unregister */
  Entry *relevant, *first;
};
extern struct jit_descriptor __jit_debug_descriptor;
extern void __jit_debug_register_code(void);

__attribute__((weak)) struct jit_descriptor __jit_debug_descriptor = {1, 0, NULL, NULL};
/* gdb stops here. */
__attribute__((weak, noinline)) void __jit_debug_register_code(void) { __asm__ volatile(""); }

static pthread_mutex_t registering = PTHREAD_MUTEX_INITIALIZER;

struct GlowCodeDebug {
  Entry entry;
  GlowCodeDebug *next; /* of the same image */
  _Alignas(16) char object[];
};

static void tell_debugger(Entry *e, uint32_t action) {
  struct jit_descriptor *d = &__jit_debug_descriptor;
  pthread_mutex_lock(&registering);
  if (action == 1) {
    e->next = d->first;
    if (d->first)
      d->first->prev = e;
    d->first = e;
  } else {
    if (e->next)
      e->next->prev = e->prev;
    if (e->prev)
      e->prev->next = e->next;
    else
      d->first = e->next;
  }
  d->relevant = e;
  d->action = action;
  __jit_debug_register_code();
  pthread_mutex_unlock(&registering);
}

/* Adds the place of the image to the addresses of sections. False: the object is damaged. */
static bool give_addresses(char *object, size_t size, const char *base) {
  Elf64_Ehdr head;
  if (size < sizeof head)
    return false;
  memcpy(&head, object, sizeof head);
  if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_shentsize != sizeof(Elf64_Shdr) ||
      head.e_shoff > size || head.e_shnum > (size - head.e_shoff) / sizeof(Elf64_Shdr))
    return false;
  for (uint32_t i = 0; i < head.e_shnum; i++) {
    char *at = object + head.e_shoff + i * sizeof(Elf64_Shdr);
    Elf64_Shdr section;
    memcpy(&section, at, sizeof section);
    if (section.sh_flags & SHF_ALLOC)
      section.sh_addr += (uint64_t)(uintptr_t)base;
    memcpy(at, &section, sizeof section);
  }
  return true;
}

GlowCodeDebug *glow_code_show(const void *objects, size_t size, const char *base) {
  GlowCodeDebug *all = NULL;
  const char *at = objects;
  GlowCodeObject head;
  for (size_t left = size; left >= sizeof head;) {
    memcpy(&head, at, sizeof head);
    at += sizeof head;
    left -= sizeof head;
    if (head.size > left)
      break;
    GlowCodeDebug *d = calloc(1, sizeof *d + head.size);
    if (!d)
      break;
    memcpy(d->object, at, head.size);
    if (!give_addresses(d->object, head.size, base)) {
      free(d);
      break;
    }
    d->entry.object = d->object;
    d->entry.size = head.size;
    d->next = all;
    all = d;
    tell_debugger(&d->entry, 1);
    size_t padded = (head.size + 7) / 8 * 8;
    padded = padded < left ? padded : left;
    at += padded;
    left -= padded;
  }
  return all;
}

void glow_code_hide(GlowCodeDebug *debug) {
  while (debug) {
    GlowCodeDebug *next = debug->next;
    tell_debugger(&debug->entry, 2);
    free(debug);
    debug = next;
  }
}

/* ---- perf ------------------------------------------------------------------------------------ */

typedef struct DumpHead {
  uint32_t magic, version, size, machine, unused, process;
  uint64_t time, flags;
} DumpHead;
typedef struct DumpRecord {
  uint32_t kind, size;
  uint64_t time;
} DumpRecord;
typedef struct DumpLine { /* the name of the file follows */
  uint64_t address;
  uint32_t line, discriminator;
} DumpLine;
typedef struct DumpLines {
  DumpRecord record;
  uint64_t address, count;
} DumpLines;
typedef struct DumpCode { /* the name follows, then the instructions */
  DumpRecord record;
  uint32_t process, thread;
  uint64_t moved_to, address, size, number;
} DumpCode;
enum { DUMP_CODE = 0, DUMP_LINES = 2 };

static pthread_mutex_t dumping = PTHREAD_MUTEX_INITIALIZER;
static FILE *dump; /* as long as the process runs */

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* $JITDUMPDIR/.debug/jit/glow-PID/jit-PID.dump. perf sees the file because a page of it is mapped
 * as if it were executed. */
static FILE *open_dump(uint32_t machine) {
  const char *dir = getenv("JITDUMPDIR");
  char path[PATH_MAX - 64], file[PATH_MAX];
  if (!dir || !*dir || strlen(dir) > sizeof path - 64)
    return NULL;
  size_t n = (size_t)snprintf(path, sizeof path, "%s", dir);
  mkdir(path, 0755);
  char own[32];
  snprintf(own, sizeof own, "/glow-%d", (int)getpid());
  const char *const folders[] = {"/.debug", "/jit", own};
  for (int i = 0; i < 3; i++) {
    n += (size_t)snprintf(path + n, sizeof path - n, "%s", folders[i]);
    mkdir(path, 0755);
  }
  snprintf(file, sizeof file, "%s/jit-%d.dump", path, (int)getpid());
  int fd = open(file, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  FILE *out = fd < 0 ? NULL : fdopen(fd, "wb");
  if (!out) {
    if (fd >= 0)
      close(fd);
    return NULL;
  }
  DumpHead head = {0x4A695444, 1, sizeof head, machine, 0, (uint32_t)getpid(), now(), 0};
  fwrite(&head, sizeof head, 1, out);
  fflush(out);
  mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
  return out;
}

static void dump_function(const GlowCodeFunction *f, const char *names, const char *base) {
  static uint64_t number;
  const char *name = names + f->name, *file = names + f->file;
  size_t file_size = strlen(file) + 1, name_size = strlen(name) + 1;
  uint64_t address = (uint64_t)(uintptr_t)(base + f->at);
  DumpLine line = {address, (uint32_t)f->line, 0};
  DumpLines lines = {
      {DUMP_LINES, (uint32_t)(sizeof lines + sizeof line + file_size), now()}, address, 1};
  fwrite(&lines, sizeof lines, 1, dump);
  fwrite(&line, sizeof line, 1, dump);
  fwrite(file, file_size, 1, dump);
  DumpCode code = {{DUMP_CODE, (uint32_t)(sizeof code + name_size + f->size), now()},
                   (uint32_t)getpid(),
                   (uint32_t)syscall(SYS_gettid),
                   address,
                   address,
                   f->size,
                   number++};
  fwrite(&code, sizeof code, 1, dump);
  fwrite(name, name_size, 1, dump);
  fwrite(base + f->at, f->size, 1, dump);
}

void glow_code_dump(const GlowCodeHead *head, const GlowCodeFunction *functions, const char *names,
                    const char *base) {
  pthread_mutex_lock(&dumping);
  if (!dump)
    dump = open_dump(head->machine);
  for (uint64_t i = 0; dump && i < head->functions; i++) {
    GlowCodeFunction f;
    memcpy(&f, (const char *)functions + i * sizeof f, sizeof f);
    if (f.at <= head->text && f.size <= head->text - f.at && f.name < head->names &&
        f.file < head->names)
      dump_function(&f, names, base);
  }
  if (dump)
    fflush(dump);
  pthread_mutex_unlock(&dumping);
}
