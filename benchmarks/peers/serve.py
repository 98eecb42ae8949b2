"""What the workers in Python share: the command line, and the protocol of `glow-bench --worker`.

    WORKER MODEL INPUT OUTPUT THREADS

loads MODEL, runs it once on INPUT (raw fp32 in the shape that MODEL's .json says, or the .npy files of the
inputs that it names), writes OUTPUT in the same form and prints `ready key=value ...`; for each line `run N` it prints the seconds of N inferences.
"""
import json
import os
import resource
import sys
import time

# Engines print what they like: only this file may write to the driver's pipe.
pipe = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)

import numpy as np  # noqa: E402


def artefact(model, suffix):
    """Where a compiled form of the model is kept."""
    return os.path.splitext(model)[0] + suffix


def serve(start):
    """start(model, input, threads) returns (run, output, engine): run() is one inference that is over
    when it returns, output() the last result, engine a name with a version. Of models with several inputs,
    the input is a dictionary and the result a list."""
    model, source, target, threads = sys.argv[1:5]
    with open(os.path.splitext(model)[0] + ".json") as f:
        about = json.load(f)
    x = ({name: np.load(path) for name, path in about["inputs"].items()} if "inputs" in about
         else np.fromfile(source, "<f4").reshape(about["input"]))
    begin = time.perf_counter()
    run, output, engine = start(model, x, int(threads))
    loaded = time.perf_counter()
    run()
    first = time.perf_counter() - loaded
    with open(target, "wb") as f:
        for result in output() if isinstance(x, dict) else [np.asarray(output(), dtype="<f4")]:
            f.write(np.ascontiguousarray(result).tobytes())
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(f"ready load={loaded - begin:.3f} first={first:.3f} rss={rss} engine={engine}", file=pipe)
    for line in sys.stdin:
        count = int(line.split()[1])
        begin = time.perf_counter()
        for _ in range(count):
            run()
        print(f"{time.perf_counter() - begin:.9f}", file=pipe)
