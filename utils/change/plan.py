"""What was chosen, as commands."""
import os
import re
import shlex

MANY_LIT = 12  # tests: above, a folder is cut into parts, which run beside each other
MANY = 8  # operators or passes: above, each gets fewer rounds


class Check:
    """A command that notices faults. The first ones are those most likely to."""

    def __init__(self, name, command, folder, first, needs=()):
        self.name, self.command, self.folder, self.first = name, command, folder, first
        self.needs = set(needs)  # paths in the build that are perhaps to be built

    def text(self):
        return f"(cd {shlex.quote(self.folder)} && GLOW_CACHE_DIR=/dev/null {shlex.join(self.command)})"

    def programs(self, build):
        """What must be built for the check, as paths below the build, perhaps with others."""
        return self.needs | {os.path.relpath(w, build) for w in self.command
                if w.startswith(build + "/") and (os.access(w, os.X_OK) and os.path.isfile(w) or
                                                  re.search(r"/(bin|test/unit)/[\w-]+$", w))}


class Planner:
    """Makes the checks of what was reached, from the commands of the ctest entries."""

    def __init__(self, chooser, reached):
        self.chooser, self.reached, self.checks = chooser, reached, []
        names = (self.chooser.tables.names[op] for op in reached.operators)
        self.nodes = sorted(node for node, _ in names if node)
        self.named = sorted(node or instr for node, instr in
                            (self.chooser.tables.names[op] for op in reached.operators))

    def make(self):
        reached = self.reached
        self._add_lit()
        units = self.chooser.unit_tests(reached)
        for name in sorted(self.chooser.ctests):
            if name.startswith("unit.") and (reached.wide or name.split(".")[1] in units):
                self._add(name, first=not reached.wide)
        for name in sorted(reached.ctests):
            self._add(name)
        if reached.wide or reached.operators or reached.passes or reached.onnx:
            self._add("onnx.corpus", first=True)
            self._add("onnx.corpus.primitives")
        if reached.wide or reached.onnx:
            self._add("onnx.versions", first=reached.onnx)
        self._add_operators()
        self._add_passes()
        return sorted(self.checks, key=lambda c: not c.first)

    def _add(self, name, *more, what="", first=False):
        """A ctest entry with further arguments; nothing where this build has no such test."""
        test = self.chooser.ctests.get(name)
        title = f"{name} ({what})" if what else name
        if test and all(c.name != title for c in self.checks):
            where = [p["value"] for p in test["properties"] if p["name"] == "WORKING_DIRECTORY"]
            self.checks.append(Check(title, test["command"] + list(more),
                                     (where or [self.chooser.build])[0], first))

    def _add_lit(self):
        folders = {}
        for path in sorted(self.chooser.lit_tests(self.reached)):
            folders.setdefault(path.split("/")[1], []).append(path)
        for folder, paths in folders.items():
            test = self.chooser.ctests.get("lit." + folder)
            for i in range(0, len(paths) if test else 0, MANY_LIT):
                part = paths[i:i + MANY_LIT]
                self.checks.append(Check(
                    f"lit.{folder} ({i + 1}-{i + len(part)})" if len(paths) > len(part)
                    else f"lit.{folder} ({len(part)} tests)",
                    test["command"][:2] + ["-sv", "-j1"] +
                    [os.path.join(self.chooser.build, p) for p in part], self.chooser.build,
                    folder in self.reached.lit_folders,
                    [n for p in part for n in re.findall(r"%obj/([\w./-]+)", self.chooser.lit[p])]))

    def _add_operators(self):
        reached, count = self.reached, len(self.nodes)
        if self.nodes:
            picked = [word for node in self.nodes for word in ("--op", node)]
            self._add("oracle", "--cases", "3" if count <= MANY else "1", *picked,
                      what=f"{count} operators", first=True)
            self._add("oracle.unknown", *picked, what=f"{count} operators", first=True)
            if reached.cpu:
                self._add("oracle.cpu", *picked, what=f"{count} operators", first=True)
        if self.named and reached.cpu:
            for tier in ("library", "compiled"):
                self._add("onnx.corpus.cpu." + tier, "--operators", ",".join(self.named),
                          what=f"{len(self.named)} operators")
        if reached.every_operator:
            self._add("oracle", "--cases", "1", what="1 round")
            self._add("oracle.unknown", what="all operators")
            if reached.cpu:
                self._add("onnx.corpus.cpu.library")
                self._add("onnx.corpus.cpu.compiled", "--slice", "0/4", what="a quarter")
                self._add("metamorphic", "--seeds", "1000", "--pass", "library code", what="library code")

    def _add_passes(self):
        reached = self.reached
        passes = sorted(reached.passes) + ["lower<all>"] * reached.lower
        if reached.wide or len(passes) > MANY:
            self._add("metamorphic", "--seeds", "200", what="200 modules")
        else:
            for name in passes:
                self._add("metamorphic", "--pass", name, what=name, first=True)
        if reached.passes:
            self._add("passes.digits-cnn")
            self._add("onnx.corpus.cpu.compiled", "--backend", "interp", "--references", "", what="-O2 on interp")
