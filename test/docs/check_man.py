#!/usr/bin/env python3
"""Compares each tool's --help with its man page docs/CommandGuide/TOOL.1.

Every option that --help-hidden lists must have an entry in the page's OPTIONS with the same spelling and
the same sentence, and the page may have no other. Pages mark an option by a line
`.It Fl NAME...` (mdoc) and give the sentence on the next line.
"""
import os
import re
import subprocess
import sys


def help_options(tool):
    """{option as written: sentence} from the OPTIONS part of --help-hidden, headings left out."""
    text = subprocess.run([tool, "--help-hidden"], capture_output=True, text=True, check=True).stdout
    options, in_options = {}, False
    for line in text.splitlines():
        if re.match(r"^[A-Z]+:", line):
            in_options = line.startswith("OPTIONS")
            continue
        if not line.startswith(" "):
            continue
        match = re.match(r"^\s+(-\S.*?)(?:\s{2,}(\S.*))?$", line)
        if in_options and match:
            options[match.group(1).strip()] = (match.group(2) or "").strip()
            last = match.group(1).strip()
        elif in_options and line.strip():
            options[last] = (options[last] + " " + line.strip()).strip()
    return options


def man_options(page):
    """The same from the page: `.It` lines hold the option in plain text behind `Cm`-style macros."""
    options, current = {}, None
    with open(page, encoding="utf-8") as f:
        for line in f:
            line = line.rstrip("\n")
            if line.startswith(".It -") or line.startswith(".It \\-"):
                current = line[4:].replace("\\-", "-").strip()
                options[current] = None
            elif current and options[current] is None and not line.startswith("."):
                options[current] = line.replace("\\-", "-").replace("\\e", "\\").strip()
    return options


def main():
    folder, tools = sys.argv[1], sys.argv[2]
    passed = failed = 0
    for page in sorted(os.listdir(folder)):
        if not page.endswith(".1"):
            continue
        want, got = help_options(os.path.join(tools, page[:-2])), man_options(os.path.join(folder, page))
        problems = [f"'{o}' is in --help-hidden only" for o in want if o not in got]
        problems += [f"'{o}' is in the page only" for o in got if o not in want]
        problems += [f"'{o}': --help-hidden says '{want[o]}', the page '{got[o]}'"
                     for o in want if o in got and want[o] != got[o]]
        for problem in problems:
            print(f"FAILED {page}: {problem}")
        passed += not problems
        failed += bool(problems)
    print(f"{passed} passed, {failed} failed")
    return failed != 0 or passed == 0


sys.exit(main())
