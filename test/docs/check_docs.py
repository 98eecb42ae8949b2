#!/usr/bin/env python3
"""Runs the code blocks of README.md and docs/*.md.

    ```glow         a complete module: must parse, verify and round-trip
    ```glow-error   must be refused, with a message that holds the text of its first line's comment
    ```console      `$ command` lines run in order in one scratch folder, with the tools on PATH and
                    examples/, test/, docs/ and utils/ linked; the lines below each are its output (`...`
                    stands for any lines)

Other blocks are not run; the two commands of README's "Quick start" are run by .ci/run.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

FENCE = re.compile(r"^```([a-z-]*)\s*$")


def blocks(path):
    """(language, line number of the first content line, content lines) of each fenced block."""
    language, start, lines = None, 0, []
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            line = line.rstrip("\n")
            fence = FENCE.match(line)
            if language is None and fence:
                language, start, lines = fence.group(1), number + 1, []
            elif language is not None and line == "```":
                yield language, start, lines
                language = None
            elif language is not None:
                lines.append(line)


def matches(expected, actual):
    """Whether output lines fit, `...` standing for any number of lines."""
    if not expected:
        return not actual
    if expected[0].strip() == "...":
        return any(matches(expected[1:], actual[i:]) for i in range(len(actual) + 1))
    return bool(actual) and expected[0].rstrip() == actual[0].rstrip() and matches(expected[1:], actual[1:])


def here_document_open(command):
    """Whether the text after <<'END' still lacks its last line."""
    match = re.search(r"<<'(\w+)'", command)
    return bool(match) and ("\n" not in command or command.split("\n")[-1] != match.group(1))


class Checker:
    def __init__(self, source, tools):
        self.source, self.passed, self.failed = source, 0, 0
        self.env = dict(os.environ, PATH=tools + os.pathsep + os.environ["PATH"], LC_ALL="C.UTF-8")

    def report(self, ok, place, message=""):
        self.passed += ok
        self.failed += not ok
        if not ok:
            print(f"FAILED {place}: {message}")

    def run(self, command, folder, text=None):
        return subprocess.run(["bash", "-c", command], cwd=folder, env=self.env, input=text, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def check_glow(self, place, lines, folder):
        result = self.run("glow-opt --verify-roundtrip -", folder, "\n".join(lines) + "\n")
        self.report(result.returncode == 0, place, result.stdout)

    def check_error(self, place, lines, folder):
        want = lines[0].lstrip("; ").strip() if lines and lines[0].startswith(";") else ""
        result = self.run("glow-opt -", folder, "\n".join(lines) + "\n")
        ok = result.returncode == 1 and want != "" and want in result.stdout
        self.report(ok, place, f"expected an error with '{want}', got:\n{result.stdout}")

    def check_console(self, path, start, lines, folder):
        commands, number = [], start
        for offset, line in enumerate(lines):
            if commands and here_document_open(commands[-1][1]):
                commands[-1] = (commands[-1][0], commands[-1][1] + "\n" + line, [])
            elif line.startswith("$ "):
                commands.append((start + offset, line[2:], []))
            elif commands and commands[-1][1].endswith("\\") and not commands[-1][2]:
                commands[-1] = (commands[-1][0], commands[-1][1] + "\n" + line, [])
            elif commands:
                commands[-1][2].append(line)
        for number, command, expected in commands:
            while expected and not expected[-1].strip():
                expected.pop()
            result = self.run(command, folder)
            actual = result.stdout.rstrip("\n").split("\n") if result.stdout.strip() else []
            self.report(matches(expected, actual), f"{path}:{number}",
                        f"$ {command}\nexpected:\n" + "\n".join(expected) + "\ngot:\n" + "\n".join(actual))

    def check(self, path):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("examples", "test", "docs", "lib", "benchmarks", "utils"):
                os.symlink(os.path.join(self.source, name), os.path.join(folder, name))
            for language, start, lines in blocks(path):
                place = f"{os.path.relpath(path, self.source)}:{start}"
                if language == "glow":
                    self.check_glow(place, lines, folder)
                elif language == "glow-error":
                    self.check_error(place, lines, folder)
                elif language == "console":
                    self.check_console(os.path.relpath(path, self.source), start, lines, folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", required=True)
    parser.add_argument("--tools", required=True)
    options = parser.parse_args()
    source = os.path.abspath(options.source)
    checker = Checker(source, os.path.abspath(options.tools))
    pages = [os.path.join(source, "README.md")]
    for folder, _, files in sorted(os.walk(os.path.join(source, "docs"))):
        pages += [os.path.join(folder, f) for f in sorted(files) if f.endswith(".md")]
    for folder in sorted(os.listdir(os.path.join(source, "examples"))):
        page = os.path.join(source, "examples", folder, "README.md")
        pages += [page] if os.path.exists(page) else []
    for page in pages:
        checker.check(page)
    print(f"{checker.passed} passed, {checker.failed} failed")
    return checker.failed != 0 or checker.passed == 0


sys.exit(main())
