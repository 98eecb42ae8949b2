"""The tree as check-change sees it: top-level items of C files, and who uses whom.

An item is a function, a table, a macro or a type. Files are read line by line in the format that
clang-format gives them: an item begins in the first column and ends where the next one begins."""
import glob
import os
import re

SUFFIXES = (".c", ".h", ".inc", ".re", ".y", ".def")
FOLDERS = ("lib", "tools", "test/unit", "test/random", "test/passes", "test/corpus")
TOKEN = re.compile(r"[A-Za-z_]\w*")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')
FIRST_COLUMN = re.compile(r"[A-Za-z_#]")


class Item:
    """Lines [first, last] of a file, counted from 1; `names` are what others call the item by."""

    def __init__(self, path, first, last, text):
        self.path, self.first, self.last = path, first, last
        plain = STRING.sub('""', text)
        head = re.split(r"[{;]|=(?!=)", plain, maxsplit=1)[0]
        self.names = names_of(plain, head)
        self.common = not any(n.lower().startswith("glow") for n in self.names)
        self.tokens = set(TOKEN.findall(plain)) - self.names
        self.text = text

    def __repr__(self):
        return f"{self.path}:{self.first} {'/'.join(sorted(self.names))}"


def names_of(plain, head):
    """What an item defines: a macro, a type (`} Name;`), enumerators, a function or a table."""
    macro = re.match(r"\s*#\s*define\s+(\w+)", plain)
    if macro:
        return {macro.group(1)}
    if re.match(r"\s*(typedef|enum|struct|union)\b", plain) and "(" not in head:
        names = set(re.findall(r"^(?:typedef\s+)?(?:struct|enum|union)\s+(\w+)", plain.strip()))
        names |= set(re.findall(r"}\s*(\w+)\s*;", plain))
        if re.match(r"\s*(typedef\s+)?enum\b", plain):
            names |= set(re.findall(r"\b(GLOW_\w+)\s*[,=}\n]", plain))
        return names
    called = re.search(r"(\w+)\s*\(", head)
    if called:
        return {called.group(1)}
    words = re.findall(r"(\w+)\s*(?:\[[^\]]*\]\s*)*$", head.strip())
    return set(words[-1:])


def items_of(path, text):
    """The items of a file. Comments are dropped; their lines count for no item."""
    text = COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)), text)
    lines = text.split("\n")
    starts = [i for i, line in enumerate(lines)
              if FIRST_COLUMN.match(line) and not line.startswith("#include")
              and not (i and lines[i - 1].endswith("\\"))]
    for begin, end in zip(starts, starts[1:] + [len(lines)]):
        while end > begin + 1 and not lines[end - 1].strip():
            end -= 1
        yield Item(path, begin + 1, end, "\n".join(lines[begin:end]))


class Source:
    """Every item of the tree and its generated tables."""

    def __init__(self, root, gen):
        self.root, self.items, self.by_file, self.includes = root, [], {}, {}
        for folder in FOLDERS:
            for path in glob.glob(os.path.join(root, folder, "**"), recursive=True):
                if path.endswith(SUFFIXES):
                    self._read(os.path.relpath(path, root), path)
        for path in glob.glob(os.path.join(gen, "ops", "*.c")):
            self._read("gen/ops/" + os.path.basename(path), path)
        self.users = {}  # name -> items that use the name
        for item in self.items:
            for token in item.tokens:
                self.users.setdefault(token, []).append(item)

    def _read(self, path, at):
        with open(at, encoding="utf-8", errors="replace") as f:
            text = f.read()
        found = list(items_of(path, text))
        self.by_file[path] = found
        self.includes[path] = set(re.findall(r'#include "([^"]+)"', text))
        self.items += found

    def changed_items(self, path, lines):
        """The items of a file that these lines belong to; all of them if a line is in none."""
        items = self.by_file.get(path, [])
        hit = [i for i in items if any(i.first <= n <= i.last for n in lines)]
        code = {n for i in items for n in range(i.first, i.last + 1)}
        return items if not hit and not code & set(lines) else hit

    def users_of(self, item):
        """Items that name this one. What lacks the prefix of this project is known in its file and
        where that is included."""
        seen_from = {item.path, *self.including(item.path)} if item.common else None
        for name in item.names:
            for user in self.users.get(name, []):
                if user is not item and (not seen_from or user.path in seen_from):
                    yield user

    def including(self, header):
        """Files that include `header`, a path below the root or below lib."""
        short = header[4:] if header.startswith("lib/") else header
        return [path for path, names in self.includes.items() if short in names]
