"""check_wrong.py TEST FOLDER: imports each model that a line `WRONG NAME: TEXT` of TEST names, and
expects exit status 1, no output file, and TEXT in the messages, within a second."""
import os
import re
import subprocess
import sys
import time

test, folder = sys.argv[1:]
failed = passed = 0
for line in open(test, encoding="utf-8"):
    match = re.match(r"WRONG (\S+): (.*)", line)
    if not match:
        continue
    name, text = match.groups()
    output = os.path.join(folder, "wrong.gg")
    start = time.monotonic()
    run = subprocess.run(["glow-import", os.path.join(folder, name + ".onnx"), "-o", output],
                         capture_output=True, text=True)
    seconds = time.monotonic() - start
    slow = seconds > 1 and "GLOW_UNBOUNDED" not in os.environ
    if run.returncode != 1 or os.path.exists(output) or text not in run.stderr or slow:
        failed += 1
        print(f"{name}: status {run.returncode}, {seconds:.2f} s, expected '{text}', found:\n{run.stderr}")
    passed += 1
print(f"{passed} models, {failed} failed")
sys.exit(failed != 0 or passed == 0)
