"""From what changed to the tests that can notice.

A changed function leads through its users to the tables of operators and passes, to the tools and
to the unit tests. Folders lead to the lit tests that mirror them; names of passes and operators to
the lit tests that mention them, to their oracles, and to the cases that hold them."""
import json
import os
import re
import subprocess

MANY_OPERATORS = 40  # a change that reaches more is one of all operators
MANY_PASSES = 20
MANY_MENTIONS = 60  # lit tests that mention an operator: above, those in its own folders
CODE = (".c", ".h", ".inc", ".re", ".y", ".def")
CPU_LAYERS = ("lib/backend/cpu", "lib/codegen", "lib/exec", "lib/kernels", "lib/num", "lib/rt", "lib/target")
# Folders whose lit tests have another name.
MIRRORS = {"autodiff": "import", "backend": "codegen", "rt": "bundle", "glow-tblgen": "tblgen"}


class Tables:
    """What the generated tables and the lists of the tree say."""

    def __init__(self, root, gen):
        self.names = {}  # enumerator -> (node, instruction), either may be None
        self.hooks = {}  # function -> enumerators
        self.passes = {}  # function -> names
        self.onnx = set()  # functions that read a node
        with open(os.path.join(gen, "ops", "ops.c"), encoding="utf-8") as f:
            rows = f.read().split("glow_op_desc[", 1)[1].split("\n};", 1)[0]
            for entry in re.split(r"\n    \[GLOW_OP_(?=\w+\] = \{)", rows)[1:]:
                op = entry[:entry.index("]")]
                field = {k: re.search(rf'\.{k} = "(\w+)"', entry) for k in ("node", "instr")}
                self.names[op] = tuple(m and m.group(1) for m in field.values())
                if ".has_scalar = 1" in entry:  # what native.h says besides its rows
                    self.hooks.setdefault("glow_select_stack", set()).add(op)
        for table in ("infer", "lower", "kernels", "fold", "grad", "irgen"):
            with open(os.path.join(gen, "ops", table + ".c"), encoding="utf-8") as f:
                for op, value in re.findall(r"\[GLOW_OP_(\w+)\] = ([^\n]*)", f.read()):
                    for function in re.findall(r"[a-z]\w+", value):
                        self.hooks.setdefault(function, set()).add(op)
        with open(os.path.join(root, "lib/target/cpu/native.h"), encoding="utf-8") as f:
            for op, function in re.findall(r"NATIVE\((\w+), (\w+)\)", f.read()):
                self.hooks.setdefault("glow_select_" + function, set()).add(op)
        for folder in ("lib/transforms", "lib/irgen"):
            with open(os.path.join(root, folder, "passes.def"), encoding="utf-8") as f:
                for name, function in re.findall(r'PASS\("([^"]+)", (\w+)', f.read()):
                    self.passes.setdefault("glow_pass_" + function, set()).add(name)
        with open(os.path.join(root, "lib/import/onnx/onnx.map"), encoding="utf-8") as f:
            self.onnx = {"glow_onnx_" + name for name in re.findall(r"= hook (\w+)", f.read())}


class Reached:
    """Where a change can be noticed."""

    def __init__(self):
        self.operators, self.passes = set(), set()  # enumerators, names
        self.units, self.tools, self.ctests = set(), set(), set()
        self.lit_files, self.lit_folders = set(), set()
        self.onnx = False  # how models are read
        self.cpu = self.lower = False  # machine code, lowering rules
        self.every_operator = False  # more than MANY_OPERATORS
        self.wide = []  # why all lit tests, unit tests and the corpus run


class Followed:
    def __init__(self):
        self.operators, self.passes, self.onnx = set(), set(), False
        self.tools = set()  # by a way that meets no row of a table

    def __bool__(self):
        return bool(self.operators or self.passes or self.onnx)


def follow(source, tables, items, reached):
    """Goes from items to their users until a row of a table, a test or a tool is met."""
    seen, queue, found = set(map(id, items)), list(items), Followed()
    while queue:
        item = queue.pop()
        rows = [n for n in item.names if n in tables.hooks or n in tables.passes or n in tables.onnx]
        for n in rows:
            found.operators |= tables.hooks.get(n, set())
            found.passes |= tables.passes.get(n, set())
            found.onnx |= n in tables.onnx
        if item.path.startswith("test/unit/"):
            reached.units.add(re.sub(r"_test\.c$", "", os.path.basename(item.path)))
        elif item.path.startswith("tools/"):
            found.tools.add(item.path.split("/")[1])
        elif not rows and not item.path.startswith("test/") and "[GLOW_OP_" not in item.text:
            for user in source.users_of(item):
                if id(user) not in seen:
                    seen.add(id(user))
                    queue.append(user)
    reached.tools |= found.tools
    return found


def blocks(text, lines, begins):
    """Names of the blocks of a list that these lines belong to; `begins` matches the first line of
    one, its name in group 1."""
    names, name, out = [], None, set()
    for line in text.split("\n"):
        match = re.match(begins, line)
        name = match.group(1) if match else name
        names.append(name)
    for n in lines:
        if 1 <= n <= len(names) and names[n - 1]:
            out.add(names[n - 1])
    return out


class Chooser:
    def __init__(self, root, build, source, tables):
        self.root, self.build, self.source, self.tables = root, build, source, tables
        shown = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], check=True,
                               capture_output=True, text=True).stdout
        self.ctests = {t["name"]: t for t in json.loads(shown)["tests"] if "command" in t}
        for test in self.ctests.values():
            if test["command"][0].endswith("/test/launch.sh"):
                del test["command"][:4]
        self.lit = {}  # path below test/ -> text
        for folder, _, files in os.walk(os.path.join(root, "test")):
            if re.search(r"/(Inputs|models|unit|fuzz)(/|$)", folder[len(root):]):
                continue
            for name in files:
                if name.endswith((".gg", ".gir", ".test")):
                    with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as f:
                        self.lit[os.path.relpath(os.path.join(folder, name), root)] = f.read()
        self.folders = {p.split("/")[1] for p in self.lit}
        self.units = {}  # name -> text
        for name in sorted(os.listdir(os.path.join(root, "test/unit"))):
            if name.endswith("_test.c"):
                with open(os.path.join(root, "test/unit", name), encoding="utf-8") as f:
                    self.units[name[:-len("_test.c")]] = f.read()

    # ---- One file -----------------------------------------------------------------------------

    def add(self, path, lines, reached):
        """Adds what can notice a change of these lines of a file; all lines where `lines` is None."""
        text = ""
        if os.path.exists(os.path.join(self.root, path)):
            with open(os.path.join(self.root, path), encoding="utf-8", errors="replace") as f:
                text = f.read()
        lines = range(1, text.count("\n") + 2) if lines is None else lines
        if path.startswith(("lib/", "tools/")) or path == "docs/Design.md":
            reached.ctests.add("rooms")
        if path.endswith(".ops"):
            self._add_descriptions(text, lines, reached)
        elif path.endswith("passes.def"):
            reached.passes |= blocks(text, lines, r'PASS\("([^"]+)"')
            reached.ctests.add("docs.passes")
        elif path.endswith("onnx.map"):
            reached.onnx = True
            reached.lit_folders |= {"import", "tblgen"}
        elif path.startswith("test/"):
            self._add_test(path, reached)
        elif path.endswith(CODE) and path.startswith(("lib/", "tools/", "utils/glow-tblgen/")):
            self._add_source(path, lines, reached)
        elif path.endswith(".md"):
            reached.ctests |= {n for n in self.ctests if re.match(r"docs(\.|$)", n)}
        else:
            self._add_mentioned(path, reached)

    def _add_descriptions(self, text, lines, reached):
        names = blocks(text, lines, r"op (\w+)")
        reached.operators |= {op for op, row in self.tables.names.items() if names & set(row)}
        reached.lit_folders |= {"ops", "infer", "tblgen"}
        reached.cpu = reached.lower = True
        if not names:
            reached.wide.append("a description outside of any operator")

    def _add_test(self, path, reached):
        folder, name = path.split("/")[1], os.path.basename(path)
        if path in self.lit:
            reached.lit_files.add(path)
        elif folder == "unit" and name.endswith("_test.c"):
            reached.units.add(name[:-len("_test.c")])
        elif "/Inputs/" in path:
            self._add_mentioned(path, reached)
        else:
            found = {n for n, t in self.ctests.items() if not n.startswith("lit.") and
                     any(f"/test/{folder}/" in word for word in t["command"])}
            reached.ctests |= found
            if not found:
                reached.wide.append(f"{path}: no test is known to use it")

    def _add_mentioned(self, path, reached):
        """Scripts and the like: tests whose text or command names the file."""
        name = os.path.basename(path)
        files = {p for p, text in self.lit.items() if name in text}
        found = {n for n, t in self.ctests.items() if any(name in word for word in t["command"])}
        reached.lit_files |= files
        reached.ctests |= found
        if not files and not found:
            reached.wide.append(f"{path}: no rule knows it")

    def _add_source(self, path, lines, reached):
        stem = os.path.splitext(os.path.basename(path))[0]
        for word in path.split("/")[1:-1] + [stem]:
            reached.lit_folders |= {word, MIRRORS.get(word)} & self.folders
        reached.lit_files |= {p for p in self.lit
                              if os.path.basename(p).split(".")[0] == stem.replace("_", "-")}
        found = follow(self.source, self.tables, self.source.changed_items(path, lines), reached)
        if not found or path.startswith("lib/kernels/cpu/"):  # which are called by strings
            near = [i for p in {path, *self.source.including(os.path.splitext(path)[0] + ".h")}
                    for i in self.source.by_file.get(p, [])]
            more = follow(self.source, self.tables, near, reached)
            found.operators |= more.operators
            found.passes |= more.passes
        # Machine code is tested through its entries.
        below = os.path.dirname(path)[len("lib/"):] + "/"
        reached.units |= {u for u, text in self.units.items() if f'#include "{below}' in text}
        reached.onnx |= found.onnx
        reached.lit_folders |= {"import"} if found.onnx else set()
        reached.cpu |= path.startswith(CPU_LAYERS)
        reached.lower |= path.startswith("lib/lower/")
        reached.every_operator |= len(found.operators) > MANY_OPERATORS
        if len(found.operators) > MANY_OPERATORS or len(found.passes) > MANY_PASSES:
            reached.wide.append(f"{path}: {len(found.operators)} operators and {len(found.passes)} "
                                "passes use it")
        elif not found and not path.startswith("tools/"):
            reached.wide.append(f"{path}: neither an operator nor a pass is known to use it")
        elif found.tools and not path.startswith("tools/"):
            reached.wide.append(f"{path}: tools use it, and not through operators and passes alone")
        else:
            reached.operators |= found.operators
            reached.passes |= found.passes

    # ---- Tests that mention what was reached ---------------------------------------------------

    def unit_tests(self, reached):
        """Names of the unit tests that a change needs."""
        words = [w for op in reached.operators for w in (f"GLOW_OP_{op}", self.tables.names[op][1]) if w]
        mention = re.compile(rf"\b(?:{'|'.join(words)})\b")
        return reached.units | {u for u, text in self.units.items() if words and mention.search(text)}

    def lit_tests(self, reached):
        """Paths of the lit tests that a change needs."""
        if reached.wide:
            return set(self.lit)
        chosen = {p for p in self.lit if p.split("/")[1] in reached.lit_folders} | reached.lit_files
        for name in reached.passes:
            chosen |= {p for p, text in self.lit.items()
                       if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text)}
        for op in reached.operators:
            words = [w for w in self.tables.names[op] if w]
            mention = re.compile(rf"\b(?:{'|'.join(words)})\b[ (]")
            found = {p for p, text in self.lit.items() if mention.search(text)}
            near = {p for p in found if p.split("/")[1] in ("ops", "lower", "infer", "import")}
            chosen |= found if len(found) <= MANY_MENTIONS else near
        narrow = not reached.operators and not reached.passes
        for tool in reached.tools if narrow else ():
            chosen |= {p for p, text in self.lit.items() if re.search(rf"RUN:.*\b{tool}\b", text)}
        return chosen
