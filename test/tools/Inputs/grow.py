"""Runs a cache of three runs, each of which begins with the state that the one before has written: grow.py FOLDER TEXT"""
import subprocess
import sys

import numpy as np

folder, text = sys.argv[1:]
random = np.random.default_rng(1)
parts = [random.standard_normal((1, 2, rows, 3), dtype=np.float32) for rows in (3, 1, 4)]
for i, part in enumerate(parts):
    np.save(f"{folder}/x{i}.npy", part)
for options in (["--backend=interp"], ["--backend=interp", "-O1"], ["--tier=library"], ["--tier=compiled"], ["-O0"],
                ["--tier=library", "--threads=2"], ["--tier=compiled", "--threads=2"]):
    for i in range(len(parts)):
        state = [f"--state={folder}/state"] if i else []
        subprocess.run(["glow-run", text, *options, "--no-cache", "--input", f"x={folder}/x{i}.npy", *state,
                        f"--save-state={folder}/state", f"--output-dir={folder}"], check=True)
        want = np.maximum(np.concatenate(parts[:i + 1], axis=2), 0)
        assert np.array_equal(np.load(f"{folder}/y.npy"), want), (options, i)
