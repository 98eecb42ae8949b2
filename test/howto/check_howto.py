#!/usr/bin/env python3
"""Applies the worked examples of the pages docs/HowTo-add-*.md.

A fenced block whose first line is a comment that names a file is a change to a copy of the tree:

    ; lib/ops/elementwise.ops: append        the block is added at the end of the file
    /* lib/transforms/graph/x.c */           the block is the whole new file
    ; lib/x.map: after Tanh                  the block is added behind the first line that starts so, blanks aside
    ; lib/x.map: replace Relu                the block takes the place of the first line that starts so

All pages share one copy and one build. The lit tests that the pages add must pass there, and fail with
the tools of this build, which lack the changes. Kernels with a case of random shapes must pass these, and so
must derivatives with theirs.
"""
import argparse
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from copies import Copy, run  # noqa: E402

PAGES = ("docs/HowTo-add-an-operator.md", "docs/HowTo-add-a-pass.md", "docs/HowTo-add-a-backend.md",
         "docs/HowTo-add-an-optimizer.md")
LLVM_PAGES = ("docs/HowTo-add-a-kernel.md", "docs/HowTo-add-a-machine.md")  # for builds with the CPU backend
NAME = re.compile(r"^\s*(?:/\*|;|#|//)\s*([\w./-]+\.[a-z]+)(?::\s*(append|(?:after|replace)\s+(.*?)))?\s*(?:\*/)?\s*$")


def changes(page):
    block, inside = [], False
    for line in open(page, encoding="utf-8").read().split("\n"):
        if line.startswith("```"):
            if inside and block:
                match = NAME.match(block[0])
                if match:
                    yield match.group(1), match.group(2), match.group(3), block
            block, inside = [], not inside
        elif inside:
            block.append(line)


def apply(root, path, how, anchor, block):
    target = os.path.join(root, path)
    if not how:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        body = block
    else:
        lines = open(target, encoding="utf-8").read().rstrip("\n").split("\n")
        start = end = len(lines)
        if anchor:
            start = next(i for i, l in enumerate(lines) if l.strip().startswith(anchor))
            end = start + 1
            start += how.startswith("after")
        body = lines[:start] + block[1:] + lines[end:]
    with open(target, "w", encoding="utf-8") as f:
        f.write("\n".join(body) + "\n")


def lit(folder, tests, *options):
    lit_py = next(p for p in ("/usr/lib/llvm-19/build/utils/lit/lit.py",) if os.path.exists(p))
    return run([sys.executable, lit_py, "-sv", *options] + [os.path.join(folder, t) for t in tests])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", required=True)
    parser.add_argument("--scratch", required=True)
    parser.add_argument("--tools", required=True, help="folder of the tools without the changes")
    parser.add_argument("--llvm", action="store_true", help="whether this build has the CPU backend")
    options = parser.parse_args()
    pages = PAGES + (LLVM_PAGES if options.llvm else ())
    copy = Copy(options.source, options.scratch)
    tests, cases, derivatives = [], [], []
    for page in pages:
        for path, how, anchor, block in changes(os.path.join(options.source, page)):
            apply(copy.root, path, how, anchor, block)
            print(f"{page}: {path} {how or 'new'}")
            if path.startswith("test/") and path.endswith((".gg", ".gir", ".test")):
                tests.append(path)
            if path.endswith(".cases"):
                derivatives.append(path)
            if path.endswith("cases.def"):
                cases += re.findall(r"^CASE\((\w+)\)", "\n".join(block), re.M)
    programs = ["library_test"] if cases else []
    programs += ["autodiff-check"] if derivatives else []
    copy.make("glow-opt", "glow-irgen", "glow-import", "glow-run", *programs, llvm=options.llvm)
    before = lit(copy.build, tests, "-v", f"-Dtools={options.tools}")
    if len(tests) < len(pages) or before.stdout.count("FAIL: ") < len(tests):
        sys.exit("the tests that the pages add must fail without the changes\n" + before.stdout)
    result = lit(copy.build, tests)
    for case in cases:
        shapes = run([os.path.join(copy.build, "test/unit/library_test"), "--shapes", "100", "--kernel", case])
        print(shapes.stdout)
        result.returncode |= shapes.returncode
    for path in derivatives:
        check = run([os.path.join(copy.build, "test/autodiff/autodiff-check"), os.path.join(copy.root, path)])
        print(check.stdout)
        result.returncode |= check.returncode
    print(result.stdout)
    print(f"{len(tests) if not result.returncode else 0} passed, {len(tests) if result.returncode else 0} failed")
    copy.remove()
    return result.returncode != 0


sys.exit(main())
