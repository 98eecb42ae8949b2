#!/usr/bin/env python3
"""Runs programs of the models before and after the passes over programs: the same bits.

For the first case of each folder with case.json: the program that irgen makes after -O0 on the graph is
run as it is, after each pass alone, after -O2, and after -O2 without each of its passes. Prints a line
per model and `N passed, N failed`; exit status 77 if no folder holds a case.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile


def run(command, **kwargs):
    result = subprocess.run(command, capture_output=True, **kwargs)
    if result.returncode:
        raise RuntimeError(f"{' '.join(command)}: status {result.returncode}\n"
                           + result.stderr.decode(errors="replace")[-2000:])
    return result.stdout.decode(errors="replace")


def passes_and_pipeline(opt):
    """The names of the passes over programs, and -O2 on programs as text."""
    text = run([opt, "-print-passes"])
    table = text.split("program passes:\n")[1].split("named pipelines:")[0]
    names = re.findall(r"^  ([a-z][a-z-]*)$", table, re.M)
    return names, re.search(r"O2 on programs\n\s+(\S+)", text).group(1)


def without(pipeline, name):
    """The pipeline less one pass; a group that is empty then goes, too."""
    text = re.sub(rf"(?<=[,(]){name}(?=[,)]|$)|^{name}(?=,|$)", "", pipeline)
    text = re.sub(r",+", ",", text).replace("(,", "(").replace(",)", ")").replace("fixpoint()", "")
    return re.sub(r",+", ",", text).strip(",")


class Program:
    def __init__(self, folder, tools, scratch):
        with open(os.path.join(folder, "case.json")) as f:
            self.spec = json.load(f)
        self.folder, self.tools, self.scratch = folder, tools, scratch
        self.case = self.spec["cases"][0]
        self.text = self.path("model.gir")
        binds = ["-bind-input=" + i["name"] + "=" + "x".join(map(str, i["shape"])) for i in self.case["inputs"]]
        run([tools + "/glow-import", os.path.join(folder, self.spec["model"]), "-o", self.path("model.gg")] + binds)
        run([tools + "/glow-opt", "-passes=O0,irgen", self.path("model.gg"), "-o", self.text])

    def path(self, name):
        return os.path.join(self.scratch, name)

    def outputs(self, pipeline):
        """What the program computes after the passes: the files, by name."""
        text, out = self.text, self.path("out")
        if pipeline:
            text = self.path("changed.gir")
            run([self.tools + "/glow-opt", "-passes=" + pipeline, self.text, "-o", text])
        inputs = [a for i in self.case["inputs"]
                  for a in ("--input", i["name"] + "=" + os.path.join(self.folder, i["file"]))]
        os.makedirs(out, exist_ok=True)
        run([self.tools + "/glow-run", text, "--output-dir", out] + inputs)
        files = {}
        for name in sorted(os.listdir(out)):
            with open(os.path.join(out, name), "rb") as f:
                files[name] = f.read()
            os.remove(os.path.join(out, name))
        return files


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", required=True, help="folder of the built tools")
    parser.add_argument("folders", nargs="+", help="folders of folders with case.json")
    options = parser.parse_args()
    tools = os.path.abspath(options.tools)
    names, o2 = passes_and_pipeline(tools + "/glow-opt")
    pipelines = names + [o2] + [without(o2, n) for n in names]
    folders = [os.path.join(f, d) for f in options.folders if os.path.isdir(f) for d in sorted(os.listdir(f))]
    folders = [f for f in folders if os.path.exists(os.path.join(f, "case.json"))]
    if not folders:
        print("skipped: no models in", *options.folders)
        return 77
    passed = failed = 0
    for folder in folders:
        with tempfile.TemporaryDirectory() as scratch:
            program = Program(folder, tools, scratch)
            want = program.outputs(None)
            good = 0
            for pipeline in pipelines:
                if program.outputs(pipeline) == want and want:
                    good += 1
                else:
                    print(f"FAILED {program.spec['name']}: other bits after -passes='{pipeline}'")
        passed += good
        failed += len(pipelines) - good
        print(f"{program.spec['name']}: {good} of {len(pipelines)}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return failed != 0


sys.exit(main())
