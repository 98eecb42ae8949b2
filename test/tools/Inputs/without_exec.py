"""without_exec.py COMMAND...: runs COMMAND where memory cannot be made executable, as on a hardened system: mprotect
with PROT_EXEC, and mmap of anonymous memory with it, fail with EACCES. For Linux on x86-64; needs no privileges."""
import ctypes
import os
import struct
import sys

LOAD, AND, EQUAL, SET, RETURN = 0x20, 0x54, 0x15, 0x45, 0x06  # BPF: ld abs, and, jeq, jset, ret
ARCH, NUMBER, PROTECTION, FLAGS = 4, 0, 32, 40  # offsets in struct seccomp_data
X86_64, MMAP, MPROTECT, PKEY_MPROTECT = 0xC000003E, 9, 10, 329
EXEC, ANONYMOUS = 4, 0x20
ALLOW, REFUSE = 0x7FFF0000, 0x00050000 | 13
PROGRAM = [
    (LOAD, 0, 0, ARCH), (EQUAL, 0, 9, X86_64),  # another: allow
    (LOAD, 0, 0, NUMBER), (EQUAL, 4, 0, MPROTECT), (EQUAL, 3, 0, PKEY_MPROTECT), (EQUAL, 0, 5, MMAP),
    (LOAD, 0, 0, FLAGS), (SET, 0, 3, ANONYMOUS),
    (LOAD, 0, 0, PROTECTION), (SET, 2, 1, EXEC),  # mprotect comes here
    (LOAD, 0, 0, PROTECTION),
    (RETURN, 0, 0, ALLOW), (RETURN, 0, 0, REFUSE),
]


class Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_char_p)]


code = b"".join(struct.pack("HBBI", *i) for i in PROGRAM)
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(Filter(len(PROGRAM), code)), 0, 0):
    sys.exit(f"no filter of system calls: {os.strerror(ctypes.get_errno())}")
os.execvp(sys.argv[1], sys.argv[1:])
