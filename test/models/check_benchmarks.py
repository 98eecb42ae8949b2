#!/usr/bin/env python3
"""Compiles and runs the networks of benchmarks/peers (batch 1; of BERT one layer, since all are alike)
and fails if an instruction runs as its reference kernel. Names of networks or files with an input x
choose others. Exit status 77 without numpy."""
import argparse
import os
import subprocess
import sys
import tempfile

try:
    import numpy  # noqa: F401  networks.py needs it
except ImportError:
    print("skipped: no numpy")
    sys.exit(77)

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "benchmarks", "peers")
sys.path.insert(0, FOLDER)
import networks  # noqa: E402


def reference_kernels(tool, model, options):
    """The remarks about reference kernels of one model; it must run."""
    result = subprocess.run([tool, model, "--backend=cpu", "--remarks=codegen", "--no-cache", *options],
                            capture_output=True, text=True)
    if result.returncode:
        return [f"status {result.returncode}: {result.stderr[-2000:]}"]
    return [line for line in result.stderr.splitlines() if "runs as its reference kernel" in line]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", required=True, help="folder of the built tools")
    parser.add_argument("models", nargs="*", help="names of networks, or files (default: all networks)")
    options = parser.parse_args()
    tool = os.path.join(options.tools, "glow-run")
    networks.NETWORKS["bert"] = lambda batch: networks.bert(batch, layers=1)
    bad = 0
    with tempfile.TemporaryDirectory() as scratch:
        for model in options.models or networks.NETWORKS:
            path = networks.make(scratch, model + "_b1") if model in networks.NETWORKS else model
            found = reference_kernels(tool, path, ["--input", "x=random:1"])
            print(f"{model}: {len(found)} reference kernels", *found, sep="\n  ")
            bad += len(found)
            if model in networks.NETWORKS:
                os.remove(path)
    return bad != 0


sys.exit(main())
