"""ONNX Runtime for ../first-result: what it makes of a model, and how long until it has made it.

    first_onnxruntime.py prepare MODEL FOLDER INPUT=SOURCE...
    first_onnxruntime.py time MODEL THREADS INPUT=FILE...

A SOURCE is a .npy file, a shape such as 1x3x224x224 (random values), or splat:VALUE (a scalar). `prepare` writes
inputs and outputs to FOLDER and prints lines of JSON: what, name, file, largest magnitude. `time` prints the
seconds that loading MODEL and its first run take in this process, and the process's peak of resident MiB.
"""
import json
import os
import resource
import sys
import time

import numpy as np
import onnxruntime

KINDS = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32}


def load(model, threads):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", str(int(threads > 1)))
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def elements(source, kind, random):
    if source.endswith(".npy"):
        return np.load(source)
    if source.startswith("splat:"):
        return np.array(float(source[6:])).astype(kind)
    return random.standard_normal([int(d) for d in source.split("x")], dtype=np.float32).astype(kind)


def prepare(model, folder, inputs):
    session, random, feed = load(model, 1), np.random.default_rng(7), {}
    kinds = {i.name: KINDS[i.type] for i in session.get_inputs()}
    os.makedirs(folder, exist_ok=True)
    for name, source in inputs:
        feed[name] = elements(source, kinds[name], random)
    outputs = zip((o.name for o in session.get_outputs()), session.run(None, feed))
    for what, values in (("input", feed.items()), ("output", outputs)):
        for i, (name, value) in enumerate(values):
            file = os.path.join(folder, f"{what}{i}.npy")
            np.save(file, value)
            print(json.dumps([what, name, file, float(np.abs(value).max(initial=0))]))


def measure(model, threads, inputs):
    feed = {name: np.load(file) for name, file in inputs}
    start = time.monotonic()
    load(model, threads).run(None, feed)
    print(time.monotonic() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main():
    what, model, third, *inputs = sys.argv[1:]
    inputs = [tuple(text.rsplit("=", 1)) for text in inputs]
    if what == "prepare":
        prepare(model, third, inputs)
    else:
        measure(model, int(third), inputs)


main()
