#!/usr/bin/env python3
"""Plants faults in models and lets glow-bisect find them.

Each kind of fault is a pass of glow-bisect-faults (faults.def) that spoils one place, which a seed
picks. The tool gets a pipeline of thirteen or more passes with the wrong one among them, a model
and an input, and no hint. It must name that pass, the rewrite that is marked as planted, the node
of the mark, and write a test of at most ten nodes that fails. A place that moves no output beyond
the tolerance is drawn again; a kind without a place in a model is left out there, but must have one
in some model.
"""
import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import slices  # noqa: E402

GRAPH = "constant-fold,cse,simplify-cast,{},algebraic,eliminate-noop,dce,simplify-reshape,lower,cse,dce,irgen,plan-memory"
PROGRAM = ("constant-fold,simplify-cast,drop-expand,algebraic,simplify-reshape,fold-mul-add,lower,cse,dce,irgen,"
           "fuse-epilogue,eliminate-copies,share-buffers,{},shrink-lifetimes,plan-memory")
KINDS = {
    "wrong-pad": GRAPH, "swapped-operands": GRAPH, "shifted-slice": GRAPH, "wrong-epsilon": GRAPH,
    "nan-edge": GRAPH, "wrong-axis": GRAPH, "wrong-constant": GRAPH, "missed-broadcast": GRAPH,
    "lost-bits": GRAPH, "wrong-clip": GRAPH, "dropped-activation": GRAPH, "wrong-reduction": GRAPH,
    "dropped-epilogue": PROGRAM, "stale-buffer": PROGRAM,
}
DRAWS = 12  # places tried until one moves an output
MOST_NODES = 10


def inputs_of(folder):
    """The model of a case folder, and options that give the inputs of its first case."""
    with open(os.path.join(folder, "case.json"), encoding="utf-8") as f:
        case = json.load(f)
    options = []
    for item in case["cases"][0]["inputs"]:
        options += ["--input", f"{item['name']}={os.path.join(folder, item['file'])}"]
    return os.path.join(folder, case.get("model", "model.onnx")), options


def find(pattern, text):
    match = re.search(pattern, text, re.M)
    return match.groups() if match else None


def problems_of(kind, text, reduced):
    """What is wrong with what the tool printed of a fault that it found."""
    found = find(r"^pass: (\S+?)(?:<seed=\d+>)? on @\w+, run \d+$", text)
    mark = find(r"^rewrite: \d+ of \d+: planted at '(.*)'$", text)
    node = find(r"^node: '(.*)' of ", text)
    nodes = find(r"^reduced: .*, (\d+) nodes$", text)
    if not found or found[0] != f"fault-{kind}":
        yield f"names {found} as the pass"
    if not mark:
        yield "does not name the rewrite"
    # What an instruction that was left out did not write is seen where it is read.
    elif not node or (node[0] != mark[0] and kind != "stale-buffer"):
        yield f"names {node} as the node, planted at {mark[0]}"
    if not nodes or int(nodes[0]) > MOST_NODES:
        yield f"reduces to {nodes} nodes"
    elif not os.path.exists(reduced):
        yield "writes no test"


def run_test(bisect, reduced):
    """Exit status of the RUN line of a test, without its -passes."""
    with open(reduced, encoding="utf-8", errors="replace") as f:
        line = f.readline()
    line = line.removeprefix("; RUN: glow-bisect ").replace("%S", os.path.dirname(reduced))
    words = [reduced if word == "%s" else word for word in shlex.split(line)]
    return subprocess.run([bisect, *words], capture_output=True, check=False).returncode


def check(bisect, folder, kind, seed, scratch):
    """(seed that moved an output or None, problems)."""
    model, options = inputs_of(folder)
    reduced = os.path.join(scratch, f"{os.path.basename(folder)}-{kind}-{seed}.gg")
    for draw in range(DRAWS):
        number = seed * 1000 + draw
        passes = KINDS[kind].format(f"fault-{kind}<seed={number}>")
        command = [bisect, model, f"-passes={passes}", *options, "-o", reduced]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode == 1 and result.stdout.startswith("pass: "):
            problems = list(problems_of(kind, result.stdout, reduced))
            if not problems and run_test(bisect, reduced) != 1:
                problems = ["writes a test that does not fail"]
            if problems:
                problems += [shlex.join(command), result.stdout, result.stderr]
            return number, problems
        if result.returncode != 0:
            return number, [f"exits with {result.returncode}", shlex.join(command), result.stderr]
        if not re.search(rf"^glow-bisect: \d+ fault-{kind}: [1-9]", result.stderr, re.M):
            break  # nothing that it could spoil
    return None, []


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bisect", required=True)
    parser.add_argument("--scratch", required=True)
    parser.add_argument("--places", type=int, default=1)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--need-all", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("folders", nargs="+")
    slices.add_argument(parser)
    args = parser.parse_args()
    os.makedirs(args.scratch, exist_ok=True)
    failed = found = 0
    for kind in slices.part(args.kinds.split(","), args.slice):
        anywhere = False
        for folder in args.folders:
            for seed in range(1, args.places + 1):
                start = time.monotonic()
                number, problems = check(args.bisect, folder, kind, seed, args.scratch)
                anywhere |= number is not None
                what = "no place" if number is None else "FAILED" if problems else "found"
                print(f"{kind:20} {os.path.basename(folder):20} {what:8} "
                      f"{time.monotonic() - start:6.1f} s", flush=True)
                for problem in problems:
                    print(f"  {problem}")
                failed += bool(problems)
                found += number is not None and not problems
                if number is None:
                    break
        if not anywhere and args.need_all:
            print(f"FAILED {kind}: no model has a place for it")
            failed += 1
    print(f"{found} found, {failed} failed")
    sys.exit(failed != 0)


main()
