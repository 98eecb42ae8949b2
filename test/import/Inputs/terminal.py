"""terminal.py COMMAND...: runs it with a terminal as its standard output; prints status and stderr."""
import os
import pty
import subprocess
import sys

master, slave = pty.openpty()
run = subprocess.run(sys.argv[1:], stdout=slave, stderr=subprocess.PIPE, text=True)
os.close(slave)
print("status", run.returncode)
print(run.stderr)
