"""killed.py KILLS COMMAND...: a command of glow-train that is killed (SIGKILL) at random moments and resumed leaves the
checkpoint of a run without a break, byte by byte; the file is a whole one after each kill. COMMAND names the checkpoint
by %c. Each kill meets a running process: one that ended before is run once more, and the times to wait become shorter,
so other work on the machine does not matter."""
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
met, runs, path = 0, 0, f"{folder}/killed.st"
while met < kills:
    runs += 1
    if runs > 20 * kills:
        sys.exit(f"only {met} of {runs} runs are long enough to be killed")
    resume = os.path.exists(path)
    if resume and open(path, "rb").read() == whole:  # it came to its end: once more from the start
        os.unlink(path)
        resume = False
    p = start(path, resume)
    time.sleep(random.uniform(0, seconds))
    p.send_signal(signal.SIGKILL)
    if p.wait() == -signal.SIGKILL:
        met += 1
    elif p.returncode == 0:
        seconds *= 0.9
    else:
        sys.exit(f"run {runs}: status {p.returncode}")
if start(path, os.path.exists(path)).wait():
    sys.exit("the last run fails")
if open(path, "rb").read() != whole:
    sys.exit("the checkpoints differ")
if sorted(os.listdir(folder)) != ["killed.st", "whole.st"]:
    sys.exit(f"beside them there are {os.listdir(folder)}")
shutil.rmtree(folder)
print(f"{met} of {runs} runs killed")
