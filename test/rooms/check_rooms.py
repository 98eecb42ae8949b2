#!/usr/bin/env python3
"""Who uses whom below lib/ and tools/ is what the table of docs/Design.md says.

    check_rooms.py --source ROOT --gen BUILD/gen [--planted SCRATCH]

A room is a folder with a row in the table; what lies deeper belongs to the nearest row above. A room may use what
its row names, and what that may use; `room/file.h` names one header. Read against this are all #include lines and
all libraries that a CMakeLists.txt links (a generated header is what it includes, a generated source belongs to the
library that compiles it): no edge that no row allows, no cycle, no folder without a row, no include of what is not
linked, no llvm-c outside of `codegen`, no command line in a library but `driver`. Passes include no header of a CPU:
they ask a target. Code generation includes no header of the IR. With --planted, such mistakes are made in a copy,
one at a time, and each must be found."""
import argparse
import os
import re
import shutil
import sys

SOURCES = (".c", ".h", ".def", ".inc", ".re", ".y")
COMMAND_LINES = "support/cmdline.h"
PASSES, CPU = ("transforms", "irgen", "lower"), ("target/cpu/", "kernels/", "backend/cpu/")
PUBLIC = "include"  # the headers of the installed library: anybody may include them
TABLE = "## Libraries"


def read(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read()


def table(text, heading):
    """The rows below a heading, as lists of cells."""
    section = re.split(r"\n##", text.split(f"\n{heading}\n", 1)[1], maxsplit=1)[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def quoted(cell):
    return re.findall(r"`([^`]+)`", re.sub(r"\([^)]*\)", "", cell))


class Tree:
    def __init__(self, root, gen):
        self.root, self.gen, self.wrong = root, gen, []
        text = read(os.path.join(root, "docs/Design.md"))
        self.uses = {quoted(row[0])[0]: quoted(row[2]) for row in table(text, TABLE)}
        self.seen = set()  # generated headers that are being read
        self.files, self.owners, self.links = {}, {}, {}  # path -> room; target -> room; target -> [target]
        for top in ("lib", "tools"):
            for folder, _, names in os.walk(os.path.join(root, top)):
                for name in names:
                    self._add(os.path.relpath(os.path.join(folder, name), root))

    def _add(self, path):
        if path.endswith(SOURCES):
            self.files[path] = self.room(path)
            if not self.files[path]:
                self.wrong.append(f"{path}: its folder has no row in docs/Design.md")
        elif path.endswith("CMakeLists.txt"):
            text = re.sub(r"#.*", "", read(os.path.join(self.root, path)))
            for command, target, rest in re.findall(
                    r"(glow_library|glow_tool|add_library|target_link_libraries)\((\S+)([^()]*)\)", text):
                self.owners.setdefault(target, self.room(path))
                names = re.findall(r"\bglow_\w+", rest) if command != "add_library" else []
                self.links.setdefault(target, set()).update(names)
                for ops, name in re.findall(r"\$\{GLOW_(OPS_)?GEN_DIR\}/([\w/]+\.c)", rest):
                    generated = os.path.join(self.gen, "ops" if ops else "", name)
                    if os.path.exists(generated):  # a build without LLVM does not make all
                        self.files[generated] = self.room(path)

    def room(self, path):
        """The room of a file, by its path from the root or below lib/. None if there is none."""
        path = re.sub(r"^lib/", "", path)
        if path.startswith("tools/"):
            return "tools"
        while path and path not in self.uses:
            path = os.path.dirname(path)
        return path or None

    def includes(self, path):
        """The files that a file includes: from the root those that lie there, below lib/ those that do not."""
        for name in re.findall(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', read(os.path.join(self.root, path)), re.M):
            places = [os.path.join(d, name) for d in (os.path.dirname(path), "lib", "", PUBLIC)]
            found = [p for p in map(os.path.normpath, places) if os.path.exists(os.path.join(self.root, p))]
            generated = os.path.join(self.gen, name)
            if not found and generated not in self.seen and os.path.exists(generated):
                self.seen.add(generated)
                yield from self.includes(generated)
                self.seen.remove(generated)
            yield found[0] if found else name

    def reach(self, room):
        """All rooms and headers that a room may use."""
        found, queue = set(), [room]
        while queue:
            for name in self.uses.get(queue.pop(), []):
                if name not in found:
                    found.add(name)
                    queue.append(name)
        return found

    def linked(self, target):
        """All rooms whose libraries come with a target."""
        seen, queue = set(), [target]
        while queue:
            for name in self.links.get(queue.pop(), ()):
                if name not in seen:
                    seen.add(name)
                    queue.append(name)
        return {self.owners.get(name) for name in seen}

    def _edge(self, where, room, used, what, header=None):
        """Reports an edge that the table does not allow."""
        if used in (room, None) or used in self.reach(room) or header in self.reach(room):
            return
        self.wrong.append(f"{where}: {what}, but `{room}` may not use `{used}`")

    def check_rows(self):
        for room, used in self.uses.items():
            if room != "tools" and not os.path.isdir(os.path.join(self.root, "lib", room)):
                self.wrong.append(f"docs/Design.md: there is no folder lib/{room}")
            for name in used:
                if not (name in self.uses or name.endswith(".h") and
                        os.path.exists(os.path.join(self.root, "lib", name))):
                    self.wrong.append(f"docs/Design.md: `{room}` uses `{name}`, which is neither a row nor a header")

    def check_cycles(self):
        arrows = {room: [self.room(name) for name in used] for room, used in self.uses.items()}
        done = set()

        def walk(room, path):
            if room in path:
                self.wrong.append("docs/Design.md: a cycle: " + " -> ".join(path[path.index(room):] + [room]))
            elif room not in done:
                for used in arrows.get(room, []):
                    if used != room:
                        walk(used, path + [room])
                done.add(room)

        for room in arrows:
            walk(room, [])

    def check_includes(self):
        libraries = {}  # room -> what its libraries link
        for target, room in self.owners.items():
            libraries.setdefault(room, set()).update(self.linked(target))
        for path, room in sorted(self.files.items()):
            if "<llvm-c/" in read(os.path.join(self.root, path)) and room != "codegen":
                self.wrong.append(f"{path}: includes llvm-c, which is for `codegen` alone")
            for name in self.includes(path):
                used = None if name.startswith(PUBLIC + "/") else self.room(name)
                header = re.sub(r"^lib/", "", name)
                self._edge(path, room, used, f"includes {header}", header)
                if header == COMMAND_LINES and room not in ("support", "driver", "tools"):
                    self.wrong.append(f"{path}: includes {header}, but command lines are for `driver` and tools alone")
                if room in PASSES and header.startswith(CPU):
                    self.wrong.append(f"{path}: includes {header}, but passes know no CPU: they ask target/target.h")
                if room == "codegen" and used == "ir":
                    self.wrong.append(f"{path}: includes {header}, but code generation knows no IR: it gets lists of work")
                linked = self.linked(path.split("/")[1]) if room == "tools" else libraries.get(room, ())
                if used not in linked and used in libraries and used != room and header not in self.uses[room]:
                    self.wrong.append(f"{path}: includes {header}, but nothing of `{used}` is linked")

    def check_links(self):
        for target, names in sorted(self.links.items()):
            room = self.owners[target]
            for name in sorted(names):
                if name not in self.owners:
                    self.wrong.append(f"{target}: links {name}, which no CMakeLists.txt defines")
                else:
                    headers = [h for h in self.reach(room) if h.endswith(".h") and self.room(h) == self.owners[name]]
                    self._edge(target, room, self.owners[name], f"links {name}", (headers or [None])[0])

    def check(self):
        self.check_rows()
        self.check_cycles()
        self.check_includes()
        self.check_links()
        return self.wrong


def write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


# What is planted, in which file, in place of what; and what must be said of it.
PLANTED = (
    ("an include", "lib/memplan/memplan.h", r"\Z", '#include "ir/ir.h"\n',
     "lib/memplan/memplan.h: includes ir/ir.h, but `memplan` may not use `ir`"),
    ("a generated header", "lib/memplan/memplan.h", r"\Z", '#include "ops/lower.h"\n',
     "lib/memplan/memplan.h: includes ir/ir.h, but `memplan` may not use `ir`"),
    ("a library", "lib/memplan/CMakeLists.txt", r"DEPS ", "DEPS glow_onnx ",
     "glow_memplan: links glow_onnx, but `memplan` may not use `import/onnx`"),
    ("a library that is not linked", "lib/lower/CMakeLists.txt", r"DEPS .*\)", "DEPS glow_ops)",
     "includes ir/ir.h, but nothing of `ir` is linked"),
    ("a library that a tool does not link", "tools/glow-diff/CMakeLists.txt", r"DEPS .*\)", "DEPS glow_onnx)",
     "includes diff/diff.h, but nothing of `diff` is linked"),
    ("a cycle", "docs/Design.md", r"^\| `tensor` \|(.*)\|(.*)\|$", r"| `tensor` |\1|\2, `lower` |",
     "a cycle: tensor -> lower -> ir -> tensor"),
    ("a cycle by one header", "docs/Design.md", r"^\| `support` \|(.*)\|.*\|$", r"| `support` |\1| `ir/ir.h` |",
     "a cycle: support -> ir -> tensor"),
    ("a folder", "lib/planted/planted.h", None, "", "lib/planted/planted.h: its folder has no row"),
    ("a row", "docs/Design.md", r"^\| `memplan`", "| `planted` | - | - |\n| `memplan`",
     "there is no folder lib/planted"),
    ("a name", "docs/Design.md", r"^\| `memplan` \|(.*)\|.*\|$", r"| `memplan` |\1| `suport` |",
     "`memplan` uses `suport`, which is neither a row nor a header"),
    ("a command line", "lib/pass/pass.h", r"\Z", '#include "support/cmdline.h"\n',
     "lib/pass/pass.h: includes support/cmdline.h, but command lines are for"),
    ("the IR in code generation", "lib/codegen/emit.h", r"\Z", '#include "ir/ir.h"\n',
     "lib/codegen/emit.h: includes ir/ir.h, but code generation knows no IR"),
    ("a row of a CPU in a pass", "lib/transforms/relayout.h", r"\Z", '#include "target/cpu/isa.h"\n',
     "lib/transforms/relayout.h: includes target/cpu/isa.h, but passes know no CPU"),
    ("a table of kernels in irgen", "lib/irgen/irgen_internal.h", r"\Z", '#include "kernels/isa.def"\n',
     "lib/irgen/irgen_internal.h: includes kernels/isa.def, but passes know no CPU"),
    ("a generated header of a CPU in a rule", "lib/lower/lower.h", r"\Z", '#include "target/cpu/rows.h"\n',
     "lib/lower/lower.h: includes target/cpu/rows.h, but passes know no CPU"),
    ("llvm-c", "lib/ir/ir.h", r"\Z", "#include <llvm-c/Core.h>\n", "lib/ir/ir.h: includes llvm-c"),
)


def plant(root, gen, scratch):
    """Makes each mistake in a copy; returns those that were not found."""
    missed = []
    shutil.rmtree(scratch, ignore_errors=True)
    for part in ("lib", "tools", PUBLIC):
        shutil.copytree(os.path.join(root, part), os.path.join(scratch, part), ignore=lambda d, names: [
            n for n in names if os.path.isfile(os.path.join(d, n)) and not n.endswith(SOURCES + ("CMakeLists.txt",))])
    os.mkdir(os.path.join(scratch, "docs"))
    shutil.copy(os.path.join(root, "docs/Design.md"), os.path.join(scratch, "docs"))
    for what, path, pattern, new, message in PLANTED:
        file = os.path.join(scratch, path)
        text = read(file) if pattern else None
        if pattern:
            changed = re.sub(pattern, new, text, count=1, flags=re.M)
            if changed == text:
                missed.append(f"{path} has nothing that matches {pattern!r}")
            write(file, changed)
        else:
            os.makedirs(os.path.dirname(file))
            write(file, new)
        found = Tree(scratch, gen).check()
        if not any(message in f for f in found):
            missed.append(f"{what} was planted in {path}, not found; found instead: {found}")
        if pattern:
            write(file, text)
        else:
            shutil.rmtree(os.path.dirname(file))
    shutil.rmtree(scratch, ignore_errors=True)
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", required=True)
    parser.add_argument("--gen", required=True, help="the folder of generated files")
    parser.add_argument("--planted", metavar="SCRATCH", help="a folder for copies, removed at the end")
    options = parser.parse_args()
    if not os.path.isdir(options.gen):
        parser.error(f"there is no folder {options.gen}")
    tree = Tree(options.source, os.path.abspath(options.gen))
    wrong = tree.check()
    if options.planted and not wrong:
        wrong = plant(options.source, tree.gen, options.planted)
    for message in wrong:
        print("FAILED", message)
    edges = sum(len(list(tree.includes(path))) for path in tree.files)
    print(f"{len(tree.uses)} rooms, {edges} includes, {len(tree.links)} libraries and tools: "
          f"{len(wrong)} wrong" + (f"; {len(PLANTED)} mistakes planted" if options.planted else ""))
    return bool(wrong) or not tree.files


if __name__ == "__main__":
    sys.exit(main())
