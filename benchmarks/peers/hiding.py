"""How `--isa avx2` hides AVX-512 and AMX from an engine, `--isa vnni` AMX alone: without_avx512.so is loaded first
and answers for the processor.

Linux traps CPUID where the processor can (Intel's). Elsewhere engines run from copies in which each CPUID is
UD2, an instruction of the same length that always traps. Copies lie in DIR/without-cpuid and are made again
when what they were made from is newer.
"""
import os
import shutil
import subprocess

from environments import Failed

CPUID, UD2 = b"\x0f\xa2", b"\x0f\x0b"


def find_library(tools):
    """The library that hides AVX-512; it is built beside Glow's tools."""
    path = os.path.abspath(os.path.join(tools, "..", "lib", "without_avx512.so"))
    if not os.path.exists(path):
        raise Failed(f"--isa needs {path}, which is built on x86-64 Linux")
    return path


def can_trap(tools):
    """Whether the processor traps CPUID for a process: the library ends one where it does not."""
    limits = {**os.environ, "LD_PRELOAD": find_library(tools)}
    return subprocess.run(["true"], env=limits, capture_output=True).returncode == 0


def places(path):
    """Where in the file CPUID instructions begin, as binutils disassemble it."""
    sections = []  # (address, size, offset in the file)
    for line in subprocess.run(["objdump", "-hw", path], capture_output=True, text=True).stdout.splitlines():
        words = line.split()
        if words and words[0].isdigit() and "CODE" in line:
            size, address, _, offset = (int(word, 16) for word in words[2:6])
            sections.append((address, size, offset))
    command = subprocess.Popen(["objdump", "-d", "--no-show-raw-insn", path], stdout=subprocess.PIPE, text=True)
    for line in command.stdout:
        if line.rstrip().endswith("cpuid"):
            at = int(line.split(":")[0], 16)
            yield next(offset + at - address for address, size, offset in sections if address <= at < address + size)
    command.wait()


def replace(path):
    """Makes UD2 of each CPUID of a program or library."""
    with open(path, "rb") as f:
        data = bytearray(f.read())
    if not data.startswith(b"\x7fELF") or CPUID not in data:
        return
    for at in places(path):
        if data[at:at + 2] != CPUID:
            raise ValueError(f"{path}: no CPUID at {at:#x}")
        data[at:at + 2] = UD2
    mode = os.stat(path).st_mode
    os.remove(path)  # the file may be linked from elsewhere
    with open(path, "wb") as f:
        f.write(data)
    os.chmod(path, mode)


def fresh(target, source):
    """Whether the copy is complete and no older than what it was made from."""
    stamp = target + ".complete"
    return os.path.exists(stamp) and os.path.getmtime(stamp) >= os.path.getmtime(source)


def copy_file(source, target):
    """A program or library without CPUID; a link stays one."""
    if os.path.lexists(target):
        os.remove(target)
    shutil.copy2(source, target, follow_symlinks=False)
    if not os.path.islink(target):
        replace(target)


def python(folder, original, tools):
    """The Python of a virtual environment as it may be run; of a copy of it where CPUID does not trap."""
    if can_trap(tools):
        return original
    source = os.path.dirname(os.path.dirname(original))
    target = os.path.join(folder, "without-cpuid", os.path.basename(source))
    if not fresh(target, os.path.join(source, "complete")):
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(source, target, symlinks=True)
        for at, _, names in os.walk(target):
            for path in (os.path.join(at, name) for name in names if ".so" in name):
                if not os.path.islink(path):
                    replace(path)
        open(target + ".complete", "w").close()
    return os.path.join(target, "bin", "python")


def glow(folder, tools, program, isa="avx2"):
    """(the folder of the program as it may be run, the environment of processes that know no more than `isa`)."""
    limits = {"LD_PRELOAD": find_library(tools), **({"CPUID_HIDES": "amx"} if isa == "vnni" else {})}
    if can_trap(tools):
        return tools, limits
    target = os.path.join(folder, "without-cpuid", "glow")
    for part, names in ("bin", [program]), ("lib", os.listdir(os.path.join(tools, "..", "lib"))):
        os.makedirs(os.path.join(target, part), exist_ok=True)
        for name in names:
            source, copied = os.path.join(tools, "..", part, name), os.path.join(target, part, name)
            if (part == "bin" or ".so" in name) and not fresh(copied, source):
                copy_file(source, copied)
                open(copied + ".complete", "w").close()
    return os.path.join(target, "bin"), {**limits, "CPUID_IS_UD2": "1", "LD_LIBRARY_PATH": os.path.join(target, "lib")}
