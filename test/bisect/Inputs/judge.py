"""Plays a tool of RUNS passes that is bad from run FIRST on: judge.py RUNS FIRST SKIPPED [HOW].

SKIPPED are limits without a verdict, between commas. Bad is exit status 1, `signal` or `hang`.
"""
import os
import signal
import sys
import time

runs, first = int(sys.argv[1]), int(sys.argv[2])
skipped = [int(n) for n in sys.argv[3].split(",")]
how = sys.argv[4] if len(sys.argv) > 4 else "status"
text = os.environ["GLOW_BISECT"]
limit = runs if text == "1-" else int(text)
for number in range(1, runs + 1):
    what = "0 rewrites" if number <= limit else "left out"
    print(f"; bisect: {number} made-up on @f: {what}", file=sys.stderr, flush=True)
if limit and limit in skipped:
    sys.exit(125)
if limit < first:
    sys.exit(0)
if how == "signal":
    os.kill(os.getpid(), signal.SIGSEGV)
if how == "hang":
    time.sleep(60)
sys.exit(1)
