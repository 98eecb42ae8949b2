"""Runs a command with a terminal as its stdout and stderr, and prints what it wrote there."""
import os
import pty
import sys

pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
text = b""
while True:
    try:
        part = os.read(terminal, 65536)
    except OSError:  # the other side is closed
        break
    if not part:
        break
    text += part
os.waitpid(pid, 0)
sys.stdout.buffer.write(text)
