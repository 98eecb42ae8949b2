/* Preloaded into an engine's process, makes the processor say that it has no AVX-512 and no AMX:
 * every engine alike then chooses the code that it would run on a machine that ends at AVX2. With
 * CPUID_HIDES=amx in the environment it has no AMX alone.
 * Linux lets a process have its CPUID instructions trapped (arch_prctl, ARCH_SET_CPUID; threads
 * inherit it); the handler executes them in its place and clears bits of the answer. What the
 * dynamic loader has asked before (the C library's choice of memcpy) stays as it was.
 *
 * Where the processor cannot trap CPUID, programs and libraries must have UD2 in its place, an
 * instruction of the same length that always traps (hiding.py makes such copies, and sets
 * CPUID_IS_UD2). Otherwise the process ends at once rather than measure something else. */
#include <cpuid.h>
#include <dlfcn.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { ARCH_SET_CPUID = 0x1012 };

/* Bits cleared in the answer of a leaf, by Intel's Software Developer's Manual, volume 2A, CPUID.
 */
typedef struct Bits {
  uint32_t leaf, subleaf, eax, ebx, ecx, edx;
} Bits;
static const Bits beyond_avx2[] = {
    /* AVX-512 F, DQ, IFMA, PF, ER, CD, BW, VL; VBMI, VBMI2, VNNI, BITALG, VPOPCNTDQ; 4VNNIW,
     * 4FMAPS, VP2INTERSECT, AMX-BF16, FP16, AMX-TILE, AMX-INT8 */
    {7, 0, 0, 0xdc230000, 0x00005842, 0x03c0010c},
    /* AVX-VNNI, AVX512-BF16, AMX-FP16, AVX-IFMA; AVX-VNNI-INT8, AVX-NE-CONVERT, AMX-COMPLEX, AVX10
     */
    {7, 1, 0x00a00030, 0, 0, 0x00080130},
    /* the states of AVX-512 and AMX that XSAVE would hold */
    {13, 0, 0x000600e0, 0, 0, 0},
    {0}};
static const Bits amx[] = {
    /* AMX-BF16, AMX-TILE, AMX-INT8; AMX-FP16, AMX-COMPLEX; the states of AMX */
    {7, 0, 0, 0, 0, 0x03400000},
    {7, 1, 0x00200000, 0, 0, 0x00000100},
    {13, 0, 0x00060000, 0, 0, 0},
    {0}};
static const Bits *hidden = beyond_avx2; /* ends with leaf 0 */

static int trap = SIGSEGV; /* the signal of CPUID, or of UD2 */
static uint8_t second_byte = 0xa2;

static long set_cpuid(long allowed) { return syscall(SYS_arch_prctl, ARCH_SET_CPUID, allowed); }

static int real_sigaction(int number, const struct sigaction *to, struct sigaction *from) {
  return ((int (*)(int, const struct sigaction *, struct sigaction *))dlsym(
      RTLD_NEXT, "sigaction"))(number, to, from);
}

static void answer(int number, siginfo_t *info, void *context) {
  greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
  const uint8_t *at = (const uint8_t *)r[REG_RIP];
  (void)info;
  if (at[0] != 0x0f || at[1] != second_byte) { /* a fault of the program's own */
    real_sigaction(number, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    return;
  }
  uint32_t leaf = (uint32_t)r[REG_RAX], subleaf = (uint32_t)r[REG_RCX], eax, ebx, ecx, edx;
  if (trap == SIGSEGV)
    set_cpuid(1);
  __cpuid_count(leaf, subleaf, eax, ebx, ecx, edx);
  if (trap == SIGSEGV)
    set_cpuid(0);
  for (const Bits *b = hidden; b->leaf; b++)
    if (b->leaf == leaf && b->subleaf == subleaf) {
      eax &= ~b->eax;
      ebx &= ~b->ebx;
      ecx &= ~b->ecx;
      edx &= ~b->edx;
    }
  r[REG_RAX] = eax;
  r[REG_RBX] = ebx;
  r[REG_RCX] = ecx;
  r[REG_RDX] = edx;
  r[REG_RIP] += 2;
}

/* The program may not take the signal away: it would end at its next CPUID. */
int sigaction(int number, const struct sigaction *to, struct sigaction *from) {
  return real_sigaction(number, number == trap ? NULL : to, from);
}

sighandler_t signal(int number, sighandler_t handler) {
  struct sigaction to = {.sa_handler = handler, .sa_flags = SA_RESTART}, from;
  return sigaction(number, &to, &from) ? SIG_ERR : from.sa_handler;
}

/* Constructors have the arguments of main; the C library does not know the environment yet. */
__attribute__((constructor)) static void hide(int argc, char **argv, char **environment) {
  (void)argc;
  (void)argv;
  struct sigaction action = {.sa_sigaction = answer,
                             .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};
  static const char complaint[] = "this processor cannot trap CPUID: nothing can be hidden\n";
  for (; *environment; environment++) {
    if (strcmp(*environment, "CPUID_HIDES=amx") == 0)
      hidden = amx;
    if (strcmp(*environment, "CPUID_IS_UD2=1") == 0) {
      trap = SIGILL;
      second_byte = 0x0b;
    }
  }
  if (real_sigaction(trap, &action, NULL) == 0 && (trap == SIGILL || set_cpuid(0) == 0))
    return;
  (void)!write(2, complaint, sizeof complaint - 1);
  _exit(1);
}
