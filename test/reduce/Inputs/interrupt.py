"""interrupt.py FILE COMMAND...: runs COMMAND, interrupts it once FILE exists, prints its stderr and status."""
import os
import signal
import subprocess
import sys
import time

process = subprocess.Popen(sys.argv[2:], stderr=subprocess.PIPE, text=True)
for _ in range(600):
    if os.path.exists(sys.argv[1]):
        break
    time.sleep(0.05)
process.send_signal(signal.SIGINT)
print(process.communicate()[1], end="")
print("status", process.returncode)
