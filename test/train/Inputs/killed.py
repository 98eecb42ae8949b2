"""killed.py KILLS COMMAND...: a command of glow-train that is killed (SIGKILL) at random moments and resumed leaves the
checkpoint of a run without a break, byte by byte; the file is a whole one after each kill. COMMAND names the checkpoint
by %c. Prints how many kills met a running process."""
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

kills, command = int(sys.argv[1]), sys.argv[2:]
folder = tempfile.mkdtemp()
random.seed(int(os.environ.get("GLOW_SEED", "1")))


def start(path, resume):
    words = [w.replace("%c", path) for w in command] + (["--resume", path] if resume else [])
    return subprocess.Popen(words, stdout=subprocess.DEVNULL)


def run(path):
    if start(path, False).wait():
        sys.exit("the whole run fails")
    return open(path, "rb").read()


before = time.monotonic()
whole = run(f"{folder}/whole.st")
seconds = time.monotonic() - before
met, path = 0, f"{folder}/killed.st"
for i in range(kills):
    resume = os.path.exists(path)
    if resume and open(path, "rb").read() == whole:  # it came to its end: once more from the start
        os.unlink(path)
        resume = False
    p = start(path, resume)
    time.sleep(random.uniform(0, seconds))
    p.send_signal(signal.SIGKILL)
    met += p.wait() == -signal.SIGKILL
    if p.returncode not in (0, -signal.SIGKILL):
        sys.exit(f"kill {i}: status {p.returncode}")
if start(path, os.path.exists(path)).wait():
    sys.exit("the last run fails")
if open(path, "rb").read() != whole:
    sys.exit("the checkpoints differ")
if sorted(os.listdir(folder)) != ["killed.st", "whole.st"]:
    sys.exit(f"beside them there are {os.listdir(folder)}")
shutil.rmtree(folder)
print(f"{met} of {kills} killed")
if met < kills / 3:
    sys.exit("the run is too short to be killed")
