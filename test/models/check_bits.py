#!/usr/bin/env python3
"""Compares the bits of whole models: a program at batch 8 in the interpreter and as machine code, by compiled
code and by library code, on one and two threads; at batch 1 row by row, by both in turns, and as a bundle.

check_bits.py --tools DIR FOLDER [FOLDER ...]

A folder holds case.json, as for check_models.py, or such folders. Rows of the batch are those of the first
case's inputs, each shifted by another amount. A model whose batch is fixed to 1 gets another one in its text.
Prints a line per model and `N passed, N failed`; exit status 77 if no folder holds a case.
"""
import argparse
import json
import os
import platform
import re
import subprocess
import sys

import numpy as np

import cases

BATCH = 8
TIERS = "compiled", "library"
ROWS = {"x86_64": "x86-64-v3", "aarch64": "aarch64", "riscv64": "rv64gc"}
BUNDLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../bundle/Inputs/run_bundle.py")


def run(*command):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if result.returncode:
        raise RuntimeError(f"{' '.join(command)} failed ({result.returncode}):\n{result.stdout.decode()[-2000:]}")


def same(a, b):
    """Equal bits, any NaN for a NaN."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    equal = a.view(f"u{a.itemsize}") == b.view(f"u{b.itemsize}")
    return bool(np.all(equal | (np.isnan(a) & np.isnan(b)) if a.dtype.kind == "f" else equal))


def with_batch(text):
    """A graph of batch 1 for more images: every shape, and what Reshape is given."""
    return re.sub(r"(: i64<2> = \[)1, -1\]", rf"\g<1>{BATCH}, -1]", text.replace("<1 x ", f"<{BATCH} x "))


class Model:
    def __init__(self, folder, scratch):
        with open(os.path.join(folder, "case.json"), encoding="utf-8") as f:
            spec = json.load(f)
        self.scratch, self.name = scratch, spec["name"]
        self.model = os.path.join(folder, spec["model"])
        self.outputs = [re.sub(r"[^A-Za-z0-9_.-]", "_", o["name"]) for o in spec["cases"][0]["outputs"]]
        self.inputs = {}
        for i in spec["cases"][0]["inputs"]:
            rows = np.load(os.path.join(folder, i["file"]))
            rows = [np.roll(rows[k % len(rows)], 5 * k, -1) for k in range(BATCH)]
            self.inputs[i["name"]] = np.ascontiguousarray(np.stack(rows))

    def path(self, name):
        return os.path.join(self.scratch, name)

    def graph(self, batch):
        path = self.path(f"{batch}.gg")
        binds = [f"-bind-input={k}=" + "x".join(map(str, (batch, *v.shape[1:]))) for k, v in self.inputs.items()]
        try:
            run("glow-import", self.model, *binds, "-o", path)
        except RuntimeError as error:
            if batch == 1 or "does not fit" not in str(error):
                raise
            with open(self.path("1.gg"), encoding="utf-8") as f:
                text = with_batch(f.read())
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
        return path

    def program(self, batch):
        optimized, program, path = self.path("opt.gg"), self.path("model.gir"), self.path(f"{batch}.gir")
        run("glow-opt", "-O2", self.graph(batch), "-o", optimized)
        run("glow-irgen", optimized, "-o", program)
        run("glow-opt", "-O2", program, "-o", path)
        return path

    def results(self, program, rows, *options):
        """The outputs of a run on some rows of the inputs."""
        given = []
        for k, v in self.inputs.items():
            np.save(self.path(f"in{len(given)}.npy"), v[rows])
            given += ["--input", f"{k}={self.path(f'in{len(given)}.npy')}"]
        run("glow-run", program, *given, "--output-dir", self.path("out"), *options)
        return [np.load(self.path(f"out/{name}.npy")) for name in self.outputs]

    def check(self):
        """Pairs of what was compared and whether it is equal."""
        one, many = self.program(1), self.program(BATCH)
        machine = "--backend=cpu", "--cache-dir", self.path("cache")
        want = self.results(many, slice(None), "--backend=interp")
        for tier in TIERS:
            for threads in (1, 2):
                got = self.results(many, slice(None), *machine, f"--tier={tier}", f"--threads={threads}")
                yield f"{tier} code, threads {threads}", all(map(same, got, want))
        for i in range(BATCH):
            tier = TIERS[i % 2]
            got = self.results(one, slice(i, i + 1), *machine, f"--tier={tier}")
            yield f"row {i} alone by {tier} code", all(map(same, got, [w[i:i + 1] for w in want]))
        with open(one, encoding="utf-8") as f:  # without blocked layouts there is no target
            target = re.match(r'module .*target = "([^"]+)"', f.readline())
        row = target.group(1) if target else ROWS[platform.machine()]
        run(sys.executable, BUNDLE, one, "--scratch", self.path("bundle"), "--row", row)
        yield "bundle", True


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    cases.add_arguments(parser)
    options = parser.parse_args()
    os.environ["PATH"] = os.path.abspath(options.tools) + os.pathsep + os.environ["PATH"]

    def check(folder, scratch):
        model = Model(folder, scratch)
        passed, bad = 0, []
        try:
            for what, equal in model.check():
                passed += equal
                bad += [] if equal else [f"{what} differs from the interpreter's batch of {BATCH}"]
        except RuntimeError as error:
            bad.append(str(error))
        return model.name, passed, bad

    return cases.run(options.folders, check)


sys.exit(main())
