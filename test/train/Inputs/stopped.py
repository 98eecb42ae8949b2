"""stopped.py SIGNAL CHECKPOINT COMMAND...: a command of glow-train that gets a signal when it has written its first line
of log.jsonl ends by the signal after the step, with a checkpoint of the last step in the log."""
import json
import os
import signal
import struct
import subprocess
import sys
import time

number, path, command = getattr(signal, sys.argv[1]), sys.argv[2], sys.argv[3:]
# A shell in the background may have told us to ignore it.
p = subprocess.Popen(command, stdout=subprocess.PIPE, preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))
while p.poll() is None and not (os.path.exists("log.jsonl") and os.path.getsize("log.jsonl")):
    time.sleep(0.001)
p.send_signal(number)
out = p.communicate()[0].decode()
if p.returncode != -number:
    sys.exit(f"status {p.returncode}")
data = open(path, "rb").read()
step = json.loads(data[8:8 + struct.unpack("<Q", data[:8])[0]])["__metadata__"]["step"]
last = json.loads(open("log.jsonl").read().splitlines()[-1])["step"]
if int(step) != last or not out.startswith(f"step {step}  loss "):
    sys.exit(f"the checkpoint is of step {step}, the log ends with {last}: {out}")
