"""stopped.py SIGNAL COMMAND...: a command of glow-train that gets a signal when it has written its first line of
log.jsonl ends by the signal after the step, with a checkpoint a.st of the last step in the log. Resumed for 1000 steps
more, it leaves the checkpoint of a run without a break. The command has no --steps: the run that is stopped would take
hours, so the signal always meets it."""
import json
import os
import signal
import struct
import subprocess
import sys
import time

number, command = getattr(signal, sys.argv[1]), sys.argv[2:]
for name in ("a.st", "log.jsonl"):
    if os.path.exists(name):
        os.unlink(name)
# A shell in the background may have told us to ignore it.
p = subprocess.Popen(command + ["--steps", "1000000000", "--checkpoint", "a.st", "--log", "log.jsonl"],
                     stdout=subprocess.PIPE, preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))
while p.poll() is None and not (os.path.exists("log.jsonl") and os.path.getsize("log.jsonl")):
    time.sleep(0.001)
p.send_signal(number)
out = p.communicate()[0].decode()
if p.returncode != -number:
    sys.exit(f"status {p.returncode}")
data = open("a.st", "rb").read()
step = int(json.loads(data[8:8 + struct.unpack("<Q", data[:8])[0]])["__metadata__"]["step"])
last = json.loads(open("log.jsonl").read().splitlines()[-1])["step"]
if step != last or not out.startswith(f"step {step}  loss "):
    sys.exit(f"the checkpoint is of step {step}, the log ends with {last}: {out}")
more = command + ["--steps", str(step + 1000), "--checkpoint"]
subprocess.run(more + ["whole.st"], check=True, stdout=subprocess.DEVNULL)
subprocess.run(more + ["a.st", "--resume", "a.st"], check=True, stdout=subprocess.DEVNULL)
if open("a.st", "rb").read() != open("whole.st", "rb").read():
    sys.exit("the checkpoints differ")
