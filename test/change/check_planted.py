#!/usr/bin/env python3
"""Plants faults in a copy of the tree, one at a time, and fails unless what check-change picks notices each.

Without a fault, the same tests must pass; of the parser, whose change runs all lit tests, those of lit.ir,
which must notice it."""
import argparse
import glob
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from copies import Copy, run  # noqa: E402

# What the fault is in, the file, a text that it holds once, and the wrong one.
FAULTS = (
    ("pass", "lib/transforms/graph/simplify_transpose.c", ": t->rank - 1 - i;", ": i;"),
    ("kernel", "lib/kernels/ref/pool.c", "include_pad ? limit : w.count[i]", "include_pad ? w.count[i] : limit"),
    ("lowering rule", "lib/lower/response_normalization.c", "before = (size - 1) / 2", "before = size / 2"),
    ("parser", "lib/ir/parse_type.c", "!(q.scale >= FLT_MIN) ||", "!(q.scale >= 0) ||"),
)


def git(copy, *arguments):
    result = run(["git", "-c", "user.name=test", "-c", "user.email=test@localhost", "-C", copy.root, *arguments])
    if result.returncode:
        sys.exit(result.stdout)


def plant(copy, path, right, wrong):
    at = os.path.join(copy.root, path)
    with open(at, encoding="utf-8") as f:
        text = f.read()
    if text.count(right) != 1:
        sys.exit(f"{path}: '{right}' stands there {text.count(right)} times")
    with open(at, "w", encoding="utf-8") as f:
        f.write(text.replace(right, wrong))


def check_change(copy, *changed):
    """Exit status, the test that failed, and what was printed."""
    result = run([os.path.join(copy.root, "utils/check-change"), "--build", copy.build, "--fail-fast", *changed])
    failed = re.search(r"^The following tests FAILED:\n\t(.*)$", result.stdout, re.M)
    return result.returncode, failed and failed.group(1), result.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", required=True)
    parser.add_argument("--scratch", required=True)
    options = parser.parse_args()
    if not shutil.which("git"):
        print("skipped: there is no git")
        return 77
    copy = Copy(options.source, options.scratch)
    git(copy, "init", "-q")
    git(copy, "add", "-A")
    git(copy, "commit", "-qm", "the tree")
    copy.make("tools")
    tests = [os.path.relpath(p, copy.root) for p in sorted(glob.glob(os.path.join(copy.root, "test/ir/*.g*")))]
    right = [path for what, path, _, _ in FAULTS if what != "parser"]
    status, _, output = check_change(copy, "--files", *right, *tests)
    if status:
        sys.exit("without a fault:\n" + output)
    missed = 0
    for what, path, right, wrong in FAULTS:
        plant(copy, path, right, wrong)
        status, failed, output = check_change(copy, "HEAD")
        noticed = status == 1 and failed and (what != "parser" or failed.startswith("lit.ir "))
        print(f"{what}: {path}: " + (f"noticed by {failed}" if noticed else f"MISSED\n{output}"), flush=True)
        missed += not noticed
        git(copy, "checkout", "-q", "--", path)
    print(f"{len(FAULTS) - missed} passed, {missed} failed")
    copy.remove()
    return missed != 0


sys.exit(main())
