#!/usr/bin/env python3
"""Runs each version of each row of onnx.map: ONNX's cases stamped with other versions, and old forms.

    versions.py --driver BUILD/bin/glow-onnx-corpus --cases cases.txt --map onnx.map [--keep DIR] [--data DIR]

Where a row names several versions, the operator means the same in all of them. So a case of ONNX's
corpus that is one node of that operator is written again with the number of each other version of the
row as its operator set, one for each combination of attributes and operands, and must give what the corpus
expects. What has another form in older versions stands in old_forms.py, with values from numpy. The cases run in
one process of the driver. Fails as well if a version of a row, or an attribute that a row names, is
in no case; what stands in ELSEWHERE is tested there. Exit status 77 without a corpus."""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "utils"))
from onnx_bytes import f  # noqa: E402
import old_forms  # noqa: E402

# Rows that are tested with values of their own.
ELSEWHERE = {"com.microsoft": "test/import/qlinear.test", "Gradient": "test/import/Inputs/check_gradient.py"}


class Row:
    def __init__(self, domain, op, versions, target):
        self.domain, self.op, self.versions = domain, op, versions
        self.hook = target.startswith("hook ")
        self.supported = not target.startswith("unsupported ")
        members = re.search(r"\{(.*)\}", target)
        self.attributes = [m.split("=")[-1].strip() for m in members[1].split(",")] if members else []


def rows_of(path):
    """The rows of the map, in order."""
    domain, rows = "", []
    for line in open(path, encoding="utf-8"):
        line = line.split(";")[0].strip()
        m = re.match(r'domain "(.*?)"', line)
        if m:
            domain = m[1]
            continue
        m = re.match(r"(\w+) ([\d, ]+) = (.*)", line)
        if m:
            rows.append(Row(domain, m[1], [int(v) for v in m[2].split(",")], m[3]))
    return rows


# ---- models --------------------------------------------------------------------------------------


def fields(data):
    """(number, value) of each field of a message."""
    at = 0

    def varint():
        nonlocal at
        v = shift = 0
        while True:
            b = data[at]
            at += 1
            v |= (b & 127) << shift
            shift += 7
            if b < 128:
                return v
    while at < len(data):
        tag = varint()
        wire = tag & 7
        if wire == 0:
            yield tag >> 3, varint()
        elif wire == 2:
            n = varint()
            yield tag >> 3, data[at:at + n]
            at += n
        else:
            n = 4 if wire == 5 else 8
            yield tag >> 3, data[at:at + n]
            at += n


class Model:
    """A case of the corpus: its only node, and the operator sets that it imports."""

    def __init__(self, data):
        self.data, self.sets, nodes = data, {}, []
        for number, value in fields(data):
            if number == 7:
                nodes = [v for k, v in fields(value) if k == 1]
            elif number == 8:
                entry = dict(fields(value))
                self.sets[entry.get(1, b"").decode().replace("ai.onnx.ml", "ml")] = entry.get(2, 0)
        self.op = None
        if len(nodes) == 1:
            node = list(fields(nodes[0]))
            self.op = next(v for k, v in node if k == 4).decode()
            self.domain = next((v for k, v in node if k == 7), b"").decode()
            self.attributes = sorted(dict(fields(v))[1].decode() for k, v in node if k == 5)
            self.operands = tuple(bool(v) for k, v in node if k == 1), sum(k == 2 for k, _ in node)

    def stamped(self, version):
        """The model with another version of the node's operator set."""
        out = b""
        for number, value in fields(self.data):
            if number == 8 and dict(fields(value)).get(1, b"").decode() == self.domain:
                value = (f(1, self.domain) if self.domain else b"") + f(2, version)
            out += f(number, value)
        return out


def corpus_models(data, listed):
    """(name, mode, model) of each listed case that is one node."""
    for name, mode in listed:
        path = os.path.join(data, name, "model.onnx")
        if os.path.exists(path) and name.startswith("node/"):
            with open(path, "rb") as file:
                model = Model(file.read())
            if model.op and model.domain in model.sets:
                yield name, mode, model


def listed_cases(path):
    for line in open(path, encoding="utf-8"):
        words = line.split()
        if words and words[0][0] != "#":
            yield words[0], words[1] if len(words) > 1 else ""


# ---- the cases -----------------------------------------------------------------------------------


class Cases:
    """What is written for the driver, and what it covers: attributes by (domain, operator, version)."""

    def __init__(self, folder):
        self.folder, self.lines, self.covered = os.path.join(folder, "node"), [], {}

    def cover(self, domain, op, version, attributes):
        self.covered.setdefault((domain, op, version), set()).update(attributes)

    def add(self, name, mode, model, sets):
        """A case: its model, and a folder with its inputs and outputs or their contents."""
        folder = os.path.join(self.folder, name)
        os.makedirs(folder)
        with open(os.path.join(folder, "model.onnx"), "wb") as file:
            file.write(model)
        target = os.path.join(folder, "test_data_set_0")
        if isinstance(sets, str):
            os.symlink(sets, target)
        else:
            os.makedirs(target)
            for file_name, data in sets.items():
                with open(os.path.join(target, file_name), "wb") as file:
                    file.write(data)
        self.lines.append(f"node/{name} {mode}")


def stamp(cases, rows, data, listed):
    """Writes the cases of the corpus with the other versions of their rows."""
    by_op = {}
    for row in rows:
        by_op.setdefault((row.domain, row.op), []).append(row)
    seen = set()
    for name, mode, model in corpus_models(data, listed):
        candidates = by_op.get((model.domain, model.op), [])
        version = max((v for r in candidates for v in r.versions if v <= model.sets[model.domain]), default=None)
        row = next((r for r in candidates if version in r.versions), None)
        if row is None:
            continue
        for v in row.versions:
            if old_forms.other_form(model, v):
                continue
            if v != version:
                key = (model.domain, model.op, v, tuple(model.attributes), model.operands)
                if key in seen:
                    continue
                seen.add(key)
                cases.add(f"{model.op}_{v}_{name.split('/')[1]}", mode, model.stamped(v),
                          os.path.join(data, name, "test_data_set_0"))
            cases.cover(model.domain, model.op, v, model.attributes)


def missing(cases, rows):
    """What no case covers."""
    for row in rows:
        if not row.supported or row.domain in ELSEWHERE or row.op in ELSEWHERE:
            continue
        for v in row.versions:
            covered = cases.covered.get((row.domain, row.op, v))
            if covered is None:
                yield f"{row.op} {v}: in no case"
            else:
                for a in sorted(set(row.attributes) - covered - old_forms.newer_attributes(row.op, v)):
                    yield f"{row.op} {v}: its attribute {a} is in no case"


def main():
    parser = argparse.ArgumentParser(description="run each version of each row of onnx.map")
    for name in ("driver", "cases", "map"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--data", default="/usr/share/libonnx-testdata/data")
    parser.add_argument("--keep", help="write the cases below this folder, which must not exist")
    options = parser.parse_args()
    if not os.path.isdir(options.data):
        print("no corpus")
        return 77
    rows = rows_of(options.map)
    folder = options.keep or tempfile.mkdtemp()
    try:
        cases = Cases(folder)
        stamp(cases, rows, options.data, listed_cases(options.cases))
        for case in old_forms.cases():
            cases.add(*case.written())
            for op, version, attributes in case.covers:
                cases.cover("", op, version, attributes)
        listing = os.path.join(folder, "cases.txt")
        with open(listing, "w", encoding="utf-8") as file:
            file.write("\n".join(cases.lines) + "\n")
        problems = list(missing(cases, rows))
        print("\n".join(problems + [f"{len(cases.lines)} cases, {len(problems)} rows without one"]), flush=True)
        run = subprocess.run([options.driver, "--data", folder, listing])
        return 1 if problems or run.returncode else 0
    finally:
        if not options.keep:
            shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
