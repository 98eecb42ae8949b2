"""late.py PATTERN COMMAND...: runs the command with growing --time-limits until one is enough to get to where the
time should run out, as the regular expression says that its only error does."""
import re
import subprocess
import sys

for limit in (0.2, 1, 5, 25):
    p = subprocess.run([*sys.argv[2:], f"--time-limit={limit}s"], capture_output=True, text=True)
    if p.returncode != 1:
        sys.exit(f"exit status {p.returncode} with {limit} s:\n{p.stderr}")
    if len(re.findall("error: ", p.stderr)) != 1 or not re.search(r"time (limit of \S+ s ran out|is over)", p.stderr):
        sys.exit(f"with {limit} s:\n{p.stderr}")
    if re.search(sys.argv[1], p.stderr):
        sys.exit(0)
sys.exit(f"never where it should:\n{p.stderr}")
