"""What the benchmark scripts share: the machine's name, and time and peak memory of a command."""
import os
import platform
import subprocess
import sys
import time


def machine():
    with open("/proc/cpuinfo") as f:
        name = next((line.split(":")[1].strip() for line in f if line.startswith("model name")), "?")
    return f"{name}, {os.cpu_count()} cores, {platform.system()} {platform.release()}"


def has_flag(*names):
    """Whether the processor has one of these features, as Linux names them."""
    with open("/proc/cpuinfo") as f:
        flags = next((line.split() for line in f if line.startswith(("flags", "Features"))), [])
    return any(name in flags for name in names)


def run(command, stdin=None, stdout=None, stderr=None):
    """(seconds, peak MiB) of one run. The peak is the kernel's account of the finished process
    (wait4): it counts mapped pages of weight files, and what a forked script had before it started."""
    with open(stdin or os.devnull, "rb") as source, open(stdout or os.devnull, "wb") as sink:
        errors = open(stderr, "wb") if stderr else None
        start = time.monotonic()
        process = subprocess.Popen(command, stdin=source, stdout=sink, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if errors:
            errors.close()
    if process.returncode:
        sys.exit(f"{' '.join(command)}: status {process.returncode}")
    return seconds, usage.ru_maxrss / 1024


def measure(command, stdin=None, stdout=None, repeat=3):
    """(best seconds, peak MiB) of a command over some runs."""
    runs = [run(command, stdin, stdout) for _ in range(repeat)]
    return min(r[0] for r in runs), max(r[1] for r in runs)
