#!/usr/bin/env python3
"""bounded.py STATUS FILE COMMAND...: runs COMMAND and requires the exit status (or 0/1 for `any`),
less than 1 s of processor time and 64 MB plus four times FILE of memory, and no crash. Passes the output on.
Under the sanitizers (GLOW_UNBOUNDED set) only the status counts."""
import os
import subprocess
import sys

status, path, command = sys.argv[1], sys.argv[2], sys.argv[3:]
process = subprocess.Popen(command)
_, raw, usage = os.wait4(process.pid, 0)
process.returncode = code = os.waitstatus_to_exitcode(raw)
problems = []
if code not in ((0, 1) if status == "any" else (int(status),)):
    problems.append(f"exit status {code}, expected {status}")
limit = 64 * 1024 + 4 * (os.path.getsize(path) if os.path.isfile(path) else 0) / 1024
if not os.environ.get("GLOW_UNBOUNDED"):
    if usage.ru_utime + usage.ru_stime >= 1:
        problems.append(f"{usage.ru_utime + usage.ru_stime:.2f} s of processor time")
    if usage.ru_maxrss >= limit:
        problems.append(f"{usage.ru_maxrss} kB of memory, more than {limit:.0f}")
for problem in problems:
    print("bounded.py:", " ".join(command), ":", problem)
sys.exit(1 if problems else 0)
