"""What the workers in Python share: the command line, and a protocol after that of `glow-bench --worker`.

    WORKER STEP FOLDER

runs the first steps from FOLDER's weights and data and prints `ready key=value ...`, among them their losses and
the bytes of its own that the process had in memory at most, less those that it had before it read the weights; for each line `run N` it prints the seconds of N more steps. Seconds are those that processors spent
on the process (all its threads), so other processes count only by what they do to caches.
"""
import os
import sys
import time

# Engines print what they like: only this file may write to the driver's pipe.
pipe = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from networks import STEPS  # noqa: E402
from start import BATCHES, make  # noqa: E402


def resident(row):
    """Bytes of this process in memory: RssAnon for its own, RssFile for mapped files, VmHWM for the most of both since
    reset_peak."""
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) << 10 for line in f if line.startswith(row))


def reset_peak():
    with open("/proc/self/clear_refs", "w") as f:
        f.write("5")


def serve(start):
    """start(step, weights, batches) returns (run, engine): run(b) is one step on batch b, over when it
    returns the loss; engine a name with a version."""
    from safetensors.numpy import load_file
    name, folder = sys.argv[1:3]
    step, path = STEPS[name], make(folder, name)
    rows, n = load_file(path + ".data.safetensors"), step.batch
    batches = [(rows["x"][b * n:b * n + n], rows["label"][b * n:b * n + n]) for b in range(BATCHES)]
    begin, before = time.perf_counter(), resident("RssAnon")
    run, engine = start(step, load_file(path + ".safetensors"), batches)
    reset_peak()
    losses = [float(run(b)) for b in range(BATCHES)]
    first, memory = time.perf_counter() - begin, resident("VmHWM") - resident("RssFile") - before
    print(f"ready first={first:.2f} engine={engine} memory={memory} losses={','.join(f'{loss:.6f}' for loss in losses)}", file=pipe)
    for line in sys.stdin:
        count = int(line.split()[1])
        begin = time.process_time()
        for i in range(count):
            run(i % BATCHES)
        print(f"{time.process_time() - begin:.9f}", file=pipe)
