"""other_tools.py TOOLS DIR: the tools of another build, in which glow-llc and glow-run change byte 100 of what they
write, and refuse by other words."""
import os
import sys

TOOL = """#!{python}
import glob, os, subprocess, sys
result = subprocess.run(["{tool}", *sys.argv[1:]])
for option, inside in (("-o", ""), ("--output-dir", "*.npy")):
    given = sys.argv[sys.argv.index(option) + 1] if option in sys.argv else ""
    for path in glob.glob(os.path.join(given, inside).rstrip("/")):
        with open(path, "r+b") as f:
            f.seek(100)
            byte = f.read(1)[0]
            f.seek(100)
            f.write(bytes([byte ^ 1]))
if result.returncode:
    print("refused by another build", file=sys.stderr)
sys.exit(result.returncode)
"""

tools, folder = sys.argv[1:]
for name in os.listdir(tools):
    there = os.path.join(folder, name)
    if name in ("glow-llc", "glow-run"):
        with open(there, "w", encoding="utf-8") as f:
            f.write(TOOL.format(python=sys.executable, tool=os.path.join(tools, name)))
        os.chmod(there, 0o755)
    else:
        os.symlink(os.path.join(tools, name), there)
