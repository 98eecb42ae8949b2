#!/usr/bin/env python3
"""Plants faults in models and lets glow-bisect find them.

Each kind of fault is a pass of glow-bisect-faults (faults.def) that spoils one place, which a seed
picks. The tool gets a pipeline of thirteen or more passes with the wrong one among them, a model
and an input, and no hint. It must name that pass, the rewrite that is marked as planted, the node
of the mark, and write a test of at most ten nodes that fails with the fault, and with nothing else. Two
backends of which one is wrong are compared, too. A place that moves no output beyond
the tolerance is drawn again; a kind without a place in a model is left out there, but must have one
in some model.
"""
import argparse
import json
import os
import re
import resource
import shlex
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import slices  # noqa: E402

GRAPH = "constant-fold,cse,simplify-cast,{},algebraic,eliminate-noop,dce,simplify-reshape,lower,cse,dce,irgen,plan-memory"
PROGRAM = ("constant-fold,simplify-cast,drop-expand,algebraic,simplify-reshape,fold-mul-add,lower,cse,dce,irgen,"
           "fuse-epilogue,eliminate-copies,share-buffers,{},shrink-lifetimes,plan-memory")
VIEWS = ("constant-fold,lower,cse,dce,irgen,fuse-epilogue,view-extracts,view-strides,view-inserts,"
         "eliminate-copies,share-buffers,{},shrink-lifetimes,plan-memory")
KINDS = {
    "wrong-pad": GRAPH, "swapped-operands": GRAPH, "shifted-slice": GRAPH, "wrong-epsilon": GRAPH,
    "nan-edge": GRAPH, "wrong-axis": GRAPH, "wrong-constant": GRAPH, "missed-broadcast": GRAPH,
    "lost-bits": GRAPH, "wrong-clip": GRAPH, "dropped-activation": GRAPH, "wrong-reduction": GRAPH,
    "moved-name": GRAPH, "wrong-fold": GRAPH, "unsound": GRAPH, "failing": GRAPH,
    "dropped-epilogue": PROGRAM, "stale-buffer": PROGRAM, "stale-view": VIEWS,
}
PASSES = {"stale-view": "stale-buffer"}  # kinds that are another's pass in another pipeline
NO_VALUES = {"unsound": "it leaves a module that does not verify", "failing": "it fails"}
DRAWS = 12  # places tried until one moves an output
MOST_NODES = 10
MORE_NODES = {"stale-view": 24}  # the fault counts places from the first, so many of them must stay


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
    lost = find(r"^outputs: none; (.*)$", text)
    mark = find(r"^rewrite: \d+ of \d+: planted at '(.*)'$", text)
    node = find(r"^node: '(.*)' of ", text)
    nodes = find(r"^reduced: .*, (\d+) nodes$", text)
    if not found or found[0] != f"fault-{PASSES.get(kind, kind)}":
        yield f"names {found} as the pass"
    if (lost[0] if lost else None) != NO_VALUES.get(kind):
        yield f"says of the outputs: {lost}"
    if not mark:
        yield "does not name the rewrite"
    elif kind in NO_VALUES:
        if node:
            yield f"names {node} as the node, without values"
    # What an instruction that was left out did not write is seen where it is read.
    elif not node or (node[0] != mark[0] and PASSES.get(kind, kind) != "stale-buffer"
                      and kind != "wrong-fold"):
        yield f"names {node} as the node, planted at {mark[0]}"
    if kind == "wrong-fold":
        yield from problems_of_fold(node, text)
    if not nodes or int(nodes[0]) > MORE_NODES.get(kind, MOST_NODES):
        yield f"reduces to {nodes} nodes"
    elif not os.path.exists(reduced):
        yield "writes no test"


def problems_of_fold(node, text):
    """The merged node has the name of its operand, and its figures are those of what it replaced."""
    figures = find(r"^node: '.*' of Mul.*\n.*\n  worst at .*: got (\S+), want (\S+)$", text)
    if not node or not figures:
        yield f"names {node} as the merged node"
    elif abs(float(figures[0].rstrip(",")) - 1.5 * float(figures[1])) > 1e-3 * abs(float(figures[0].rstrip(","))):
        yield f"compares {figures}, which are not 1.5 to 1"


def run_test(bisect, reduced, other=None):
    """Exit status of the RUN line of a test; `other` takes the place of its -passes."""
    with open(reduced, encoding="utf-8", errors="replace") as f:
        line = f.readline()
    line = line.removeprefix("; RUN: glow-bisect ").replace("%S", os.path.dirname(reduced))
    words = [reduced if word == "%s" else word for word in shlex.split(line)]
    if other:
        words = [other if word.startswith(("-passes=", "--backends=")) else word for word in words]
    return subprocess.run([bisect, *words], capture_output=True, check=False).returncode


def problems_of_test(bisect, reduced):
    """A test fails as long as the fault is there, and passes on tools that are right, whatever bytes
    memory holds before it is written."""
    if run_test(bisect, reduced) != 1:
        yield "writes a test that does not fail"
    with open(reduced, encoding="utf-8", errors="replace") as f:
        program = re.search(r"^program @", f.read(), re.M)
    if program and run_test(bisect, reduced, "--backends=interp,poisoned") != 0:
        yield "writes a test that fails on right tools"


def leaks(text):
    """Lines on stderr that are not the tool's own: what rejected candidates had to say."""
    return [line for line in text.splitlines() if not line.startswith("glow-bisect: ")]


def check(bisect, folder, kind, seed, scratch):
    """(seed that moved an output or None, problems)."""
    model, options = inputs_of(folder)
    reduced = os.path.join(scratch, f"{os.path.basename(folder)}-{kind}-{seed}.gg")
    for draw in range(DRAWS):
        number = seed * 1000 + draw
        passes = KINDS[kind].format(f"fault-{PASSES.get(kind, kind)}<seed={number}>")
        command = [bisect, model, f"-passes={passes}", *options, "-o", reduced]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode == 1 and result.stdout.startswith("pass: "):
            problems = list(problems_of(kind, result.stdout, reduced))
            if not problems:
                problems = list(problems_of_test(bisect, reduced))
            if kind not in NO_VALUES and leaks(result.stderr):
                problems += ["lets messages of candidates through"]
            if problems:
                problems += [shlex.join(command), result.stdout, result.stderr]
            return number, problems
        if result.returncode != 0:
            return number, [f"exits with {result.returncode}", shlex.join(command), result.stderr]
        if not re.search(rf"^glow-bisect: \d+ fault-{PASSES.get(kind, kind)}: [1-9]", result.stderr, re.M):
            break  # nothing that it could spoil
    return None, []


def check_backends(bisect, folder, scratch):
    """Problems with a test of a backend that forgets epilogues, and seconds of the processor."""
    model, options = inputs_of(folder)
    reduced = os.path.join(scratch, f"{os.path.basename(folder)}-backends.gir")
    command = [bisect, model, "-O2", "--backends=interp,flawed-cpu", *options, "-o", reduced, "--quiet"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    problems = []
    nodes = find(r"^reduced: .*, (\d+) nodes$", result.stdout)
    if result.returncode != 1 or not nodes or int(nodes[0]) > MOST_NODES or result.stderr:
        problems = [f"ends with {result.returncode}", shlex.join(command), result.stdout, result.stderr]
    elif run_test(bisect, reduced) != 1 or run_test(bisect, reduced, "--backends=interp,cpu") != 0:
        problems = ["writes a test that does not fail, or fails with right backends", shlex.join(command)]
    return seconds, problems


def check_all_backends(bisect, folders, scratch):
    failed = 0
    for folder in folders:
        seconds, problems = check_backends(bisect, folder, scratch)
        print(f"{'backends':20} {os.path.basename(folder):20} {'FAILED' if problems else 'found':8} "
              f"{seconds:6.1f} s of the processor", flush=True)
        for problem in problems:
            print(f"  {problem}")
        failed += bool(problems)
    return failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bisect", required=True)
    parser.add_argument("--scratch", required=True)
    parser.add_argument("--places", type=int, default=1)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--need-all", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("folders", nargs="+")
    slices.add_argument(parser)
    parser.add_argument("--cpu", action="store_true", help="the tool has the backend of machine code")
    args = parser.parse_args()
    os.makedirs(args.scratch, exist_ok=True)
    failed = found = 0
    kinds = args.kinds.split(",") + (["backends"] if args.cpu else [])
    for kind in slices.part(kinds, args.slice):
        if kind == "backends":
            failed += check_all_backends(args.bisect, args.folders, args.scratch)
            continue
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
