#!/usr/bin/env python3
"""Runs every case of the models in the given folders through every stage of the toolchain.

A folder holds case.json (the model, its cases, their inputs and reference outputs with tolerances,
and what the outputs mean), as written from ONNX Runtime's results. Each case runs from .onnx, from
.gg, from .gir, through the pipe of tools, at -O0, -O1 and -O2, and lowered to primitives; with --cpu
as machine code too, from .onnx after the passes of -O0 and of -O2 and from .gir, by compiled code and by
library code, where none of its instructions may run as a reference kernel. Prints a line per model and `N passed, N failed`; exit status 77 if no folder holds a case.
"""
import argparse
import json
import os
import subprocess
import sys

import cases

STAGES = ("onnx", "gg", "gir", "pipe", "O0", "O1", "O2", "primitives")
TIERS = ("compiled", "library")
CPU_STAGES = tuple(tier + how for tier in TIERS for how in ("", " -O0", " gir"))
REFERENCE = "runs as its reference kernel"


def sh(command):
    return subprocess.run(["bash", "-c", "set -o pipefail; " + command], capture_output=True, text=True)


def quote(text):
    return "'" + text.replace("'", "'\\''") + "'"


class Model:
    def __init__(self, folder, tools, scratch, extra, stages):
        self.stages = stages
        self.folder, self.tools, self.scratch, self.extra = folder, tools, scratch, extra
        with open(os.path.join(folder, "case.json")) as f:
            self.spec = json.load(f)
        self.model = os.path.join(folder, self.spec["model"])

    def tool(self, name):
        return quote(os.path.join(self.tools, name))

    def binds(self, case):
        """-bind-input for every input, so that one text serves one shape."""
        return " ".join("-bind-input=" + quote(i["name"] + "=" + "x".join(map(str, i["shape"])))
                        for i in case["inputs"])

    def command(self, case, stage):
        inputs = " ".join("--input " + quote(i["name"] + "=" + os.path.join(self.folder, i["file"]))
                          for i in case["inputs"])
        expect = "".join(" --expect " + quote(o["name"] + "=" + os.path.join(self.folder, o["file"]))
                         for o in case["outputs"])
        tolerance = case["outputs"][0]["tolerance"]

        def run(model, how="--backend=interp"):
            return (f"{self.tool('glow-run')} {model} {inputs} {expect} --rtol {tolerance['rtol']} "
                    f"--atol {tolerance['atol']} --output-dir {quote(self.scratch)} {self.extra} {how}")

        imported = f"{self.tool('glow-import')} {quote(self.model)} {self.binds(case)}"
        gg, gir = (quote(os.path.join(self.scratch, "model." + s)) for s in ("gg", "gir"))
        make_gir = (f"{imported} | {self.tool('glow-opt')} -lower -fold-bn | {self.tool('glow-irgen')} "
                    f"-o {gir}")
        by_tier = {}
        for tier in TIERS:
            machine = f"--backend=cpu --tier={tier} --remarks=codegen"
            by_tier[tier] = run(quote(self.model), machine)
            by_tier[tier + " -O0"] = by_tier[tier] + " -O0"
            by_tier[tier + " gir"] = f"{make_gir} && {run(gir, machine)}"
        return {
            "onnx": run(quote(self.model)),
            "primitives": run(quote(self.model)) + " --primitives",
            "gg": f"{imported} -o {gg} && " + run(gg),
            "gir": f"{make_gir} && {run(gir)}",
            "pipe": f"{imported} | {self.tool('glow-opt')} -lower -fold-bn | {self.tool('glow-irgen')} | "
                    f"{self.tool('glow-opt')} - | {run('-')}",
            **by_tier,
        }.get(stage) or run(f"{quote(self.model)} -{stage}")

    def means(self, case):
        """Whether the outputs of the last run mean what the case says: the best class of each row."""
        expected = case["expected"]
        want = expected.get("top1")
        if want is None:
            return True
        want = want if isinstance(want, list) else [want]
        name = "".join(c if c.isalnum() or c in "_.-" else "_" for c in case["outputs"][0]["name"])
        rows = read_npy(os.path.join(self.scratch, name + ".npy"))
        return [max(range(len(r)), key=r.__getitem__) for r in rows] == want

    def run(self):
        passed, failed = 0, []
        for case in self.spec["cases"]:
            for stage in self.stages:
                result = sh(self.command(case, stage))
                slow = result.stderr.count(REFERENCE)
                if result.returncode == 0 and self.means(case) and not slow:
                    passed += 1
                else:
                    failed.append(f"{case['id']} from {stage}: {slow} reference kernels, status "
                                  f"{result.returncode}\n{result.stdout[-2000:]}{result.stderr[-2000:]}")
        return passed, failed


def read_npy(path):
    """A two-dimensional float32 .npy as lists of rows; the standard library is enough for that."""
    import ast
    import struct
    with open(path, "rb") as f:
        data = f.read()
    length = struct.unpack("<H", data[8:10])[0]
    header = ast.literal_eval(data[10:10 + length].decode())
    rows, columns = header["shape"]
    values = struct.unpack(f"<{rows * columns}f", data[10 + length:])
    return [values[i * columns:(i + 1) * columns] for i in range(rows)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    cases.add_arguments(parser)
    parser.add_argument("--cpu", action="store_true", help="machine code too")
    parser.add_argument("--run-options", default="", help="further options for glow-run")
    options = parser.parse_args()
    stages = STAGES + (CPU_STAGES if options.cpu else ())

    def check(folder, scratch):
        model = Model(folder, os.path.abspath(options.tools), scratch, options.run_options, stages)
        return model.spec["name"], *model.run()

    return cases.run(options.folders, check)


sys.exit(main())
