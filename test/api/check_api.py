#!/usr/bin/env python3
"""Checks the public interface: the headers in include/glow and what libglow.so exports.

- The functions that the headers declare, the list in lib/glow/glow.map, and the symbols that
  `nm -D` finds in the library are the same, in the version that the list says.
- Each header compiles alone, as C99 and as C++11, without a warning.
- Each function stands with its prototype in the page docs/Api/glow-HEADER.3 of its header, which
  mandoc can read where mandoc is installed, and the page has no other function.
- A header that breaks a rule is noticed: planted ones are.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

WARNINGS = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only"]


def declared(text):
    """{function: prototype with single spaces} of what a header declares with GLOW_API."""
    text = re.sub(r"/\*.*?\*/|^#[^\n]*", "", text, flags=re.S | re.M)
    prototypes = (" ".join(d.split()) for d in re.findall(r"GLOW_API\s+([^;{]*\));", text))
    return {re.search(r"\b(glow_\w+)\s*\(", p).group(1): p for p in prototypes}


def listed(path):
    with open(path, encoding="utf-8") as f:
        text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
    version = re.match(r"\s*(\w[\w.]*) {\s*global:(.*?)local:\s*\*;\s*};\s*$", text, re.S)
    return version.group(1), version.group(2).replace(";", " ").split()


def exported(library):
    """{symbol: version} of what a shared library defines, without the names of versions."""
    out = subprocess.run(["nm", "-D", "--defined-only", "--with-symbol-versions", library], check=True,
                         capture_output=True, text=True).stdout
    symbols = [(line.split()[1], line.split()[2]) for line in out.splitlines()]
    return {s.split("@")[0]: s.rpartition("@")[2] for kind, s in symbols if kind != "A"}


def compiles(header, compilers):
    """What is wrong with a header that is included alone; [] if nothing is."""
    folder, name = os.path.split(header)
    problems = []
    for compiler, language, standard in compilers:
        result = subprocess.run(
            [compiler, "-x", language, "-std=" + standard, *WARNINGS, "-I" + os.path.dirname(folder), "-"],
            input=f"#include <{os.path.basename(folder)}/{name}>\n", capture_output=True, text=True)
        if result.returncode:
            problems.append(f"{name} as {standard}: {result.stderr}")
    return problems


def page_prototypes(path):
    """{function: prototype} of the lines of a page's SYNOPSIS."""
    with open(path, encoding="utf-8") as f:
        synopsis = f.read().split(".Sh SYNOPSIS")[1].split(".Sh ")[0]
    text = re.sub(r"^\..*$", "", synopsis, flags=re.M)
    return {re.search(r"\b(glow_\w+)\s*\(", p).group(1): " ".join(p.split())
            for p in text.split(";") if p.strip()}


def check_page(path, functions):
    if not os.path.exists(path):
        return [f"{path}: there is no such page"]
    page = page_prototypes(path)
    problems = [f"{path}: '{p}' is '{page.get(n)}' there" for n, p in functions.items() if page.get(n) != p]
    problems += [f"{path}: {n} is in no header" for n in page if n not in functions]
    if shutil.which("mandoc"):
        lint = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", path], capture_output=True, text=True)
        problems += [lint.stdout] if lint.returncode else []
    return problems


def planted(compilers, folder):
    """Whether headers with faults of several kinds are refused, and a good one is not."""
    os.makedirs(os.path.join(folder, "glow"))
    texts = {"good.h": "int glow_f(void);\n", "cxx.h": "int glow_f(int class);\n",
             "c99.h": "#ifndef __cplusplus\nstruct S { struct { int x; }; };\n#endif\nint glow_f(void);\n",
             "needs.h": "size_t glow_f(void);\n"}
    ok = True
    for name, text in texts.items():
        path = os.path.join(folder, "glow", name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        ok &= bool(compiles(path, compilers)) == (name != "good.h")
    return ok


def main():
    parser = argparse.ArgumentParser()
    for option in ("source", "library", "cc", "cxx"):
        parser.add_argument("--" + option)
    args = parser.parse_args()
    compilers = [(args.cc, "c", "c99")] + ([(args.cxx, "c++", "c++11")] if args.cxx else [])
    include = os.path.join(args.source, "include/glow")
    problems, functions = [], {}
    for name in sorted(os.listdir(include)):
        with open(os.path.join(include, name), encoding="utf-8") as f:
            own = declared(f.read())
        functions.update(own)
        problems += compiles(os.path.join(include, name), compilers)
        problems += check_page(os.path.join(args.source, "docs/Api", f"glow-{name[:-2]}.3"), own)
    version, names = listed(os.path.join(args.source, "lib/glow/glow.map"))
    problems += [] if names == sorted(set(names)) else ["glow.map is not sorted"]
    problems += [f"{n} is in the headers or in glow.map, not in both"
                 for n in sorted(set(names) ^ set(functions))]
    symbols = exported(args.library)
    problems += [f"{n} is exported or in glow.map, not both" for n in sorted(set(names) ^ set(symbols))]
    problems += [f"{n} has the version {v}" for n, v in symbols.items() if v != version]
    with tempfile.TemporaryDirectory() as scratch:
        if not planted(compilers, scratch):
            problems.append("the headers with planted faults are not told from the good one")
    for problem in problems:
        print("FAILED", problem)
    print(f"{len(functions)} functions, {len(problems)} problems")
    return bool(problems) or not functions


sys.exit(main())
