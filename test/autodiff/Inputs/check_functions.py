"""check_functions.py FILE.gg [NAME...]: derivatives of the functions of a module, or of those named, in double.

For random values x, directions v and u, and weights w of the results, with f the sum of the results times w:

  J'w . v     by the gradient, against Richardson differences of f along v, to 1e-8
  J'w . v     the same with each Call left to a gradient of its own
  Jv . w      by `forward`, to 1e-12 of the gradient's
  J'(2w)      twice J'w, and J'0 = 0, to 1e-13
  Hv . u      of the gradient's gradient, against Hu . v, to 1e-12, and against differences of J'w . v, to 1e-7
  (Tv)v . v   of its gradient, against differences of Hv . v, to 1e-6

Parameters that are not double are bound as a comment above the function says: `; with n = 3 | n = 0`; each alternative
is a case. The third derivative is left out under `; twice`. A function whose name begins with _ is called by others
only."""
import os
import random
import re
import subprocess
import sys
import tempfile

HEAD = re.compile(r"((?:^; twice\n)?)((?:^; with .*\n)?)^func @([A-Za-z0-9]\w*)\(([^)]*)\) -> \(([^)]*)\)", re.M)
STEPS = [0.0078125, 0.00390625, 0.001953125]


def extents(kind):
    inside = kind[kind.index("<") + 1:kind.index(">")].strip()
    return [int(d) for d in inside.split("x")] if inside else []


def elements(kind):
    count = 1
    for d in extents(kind):
        count *= d
    return count


class Text:
    """A function under construction, and the constants that it reads."""

    def __init__(self):
        self.constants, self.nodes, self.count = [], [], 0

    def constant(self, kind, values):
        name = "@test.c%d" % len(self.constants)
        items = [repr(float(v)) for v in values]
        for extent in reversed(extents(kind)):
            items = ["[%s]" % ", ".join(items[i:i + extent]) for i in range(0, len(items), extent)]
        self.constants.append("  constant %s : %s = %s" % (name, kind, items[0]))
        return name

    def node(self, text):
        self.count += 1
        self.nodes.append("  %%t%d = %s" % (self.count, text))
        return "%%t%d" % self.count

    def call(self, callee, operands, kinds):
        names = ["%%t%d" % (self.count + i + 1) for i in range(len(kinds))]
        self.count += len(kinds)
        self.nodes.append("  %s = Call(%s) {callee = @%s} : %s" % (", ".join(names), ", ".join(operands), callee,
                                                                 ", ".join(kinds)))
        return names

    def dot(self, xs, ys):
        """The sum of all products."""
        total = None
        for x, y in zip(xs, ys):
            part = self.node("ReduceSum(%s) {keep = false}" % self.node("Mul(%s, %s)" % (x, y)))
            total = part if total is None else self.node("Add(%s, %s)" % (total, part))
        return total


def case_text(text, name, params, results, fixed, rng, third):
    """The module with what checks function `name`, whose entry is @test.main, and the names of its results."""
    t, real = Text(), [i for i, (_, kind) in enumerate(params) if kind.startswith("double")]
    kinds, out = [params[i][1] for i in real], [k for k in results if k.startswith("double")]
    first = [i for i, k in enumerate(results) if k.startswith("double")]
    draw = lambda kind, low, high: t.constant(kind, [rng.uniform(low, high) for _ in range(elements(kind))])
    x = [draw(k, -1, 1) for k in kinds]
    v, u = [draw(k, -1, 1) for k in kinds], [draw(k, -1, 1) for k in kinds]
    w = [draw(k, 0.5, 1.5) for k in out]
    places = []
    for pname, kind in params:
        if kind.startswith("double"):
            places.append(x[len([p for p in places if p in x])])
        else:
            t.constants.append("  constant @test.%s : %s = %s" % (pname, kind, fixed[pname]))
            places.append("@test.%s" % pname)

    def operands(values):
        values = iter(values)
        return [next(values) if kind.startswith("double") else place for (_, kind), place in zip(params, places)]

    def moved(h):
        scale = t.constant("double<>", [h])
        return [t.node("Add(%s, %s)" % (a, t.node("Mul(%s, %s)" % (scale, b)))) for a, b in zip(x, v)]

    def richardson(f):
        central = []
        for h in STEPS:
            both = [f(operands(moved(s * h))) for s in (1, -1)]
            central.append(t.node("Mul(%s, %s)" % (t.constant("double<>", [1 / (2 * h)]), t.node("Sub(%s, %s)" % tuple(both)))))
        third, fifteenth = t.constant("double<>", [3]), t.constant("double<>", [15])
        finer = [t.node("Div(%s, %s)" % (t.node("Sub(%s, %s)" % (
            t.node("Mul(%s, %s)" % (b, t.constant("double<>", [4]))), a)), third)) for a, b in zip(central, central[1:])]
        return t.node("Div(%s, %s)" % (t.node("Sub(%s, %s)" % (
            t.node("Mul(%s, %s)" % (finer[1], t.constant("double<>", [16]))), finer[0])), fifteenth))

    value = lambda ops: t.dot([r for r, k in zip(t.call(name, ops, results), results) if k in out and k.startswith("double")], w)
    slope = lambda ops: t.dot(t.call("test.grad", ops + w, kinds), v)
    bend = lambda ops: t.dot(t.call("test.second", ops + w + v, kinds), v)
    at = operands(x)
    grad = t.call("test.grad", at + w, kinds)
    double_w = [t.node("Add(%s, %s)" % (a, a)) for a in w]
    zero_w = [t.node("Sub(%s, %s)" % (a, a)) for a in w]
    found = {
        "reverse": t.dot(grad, v),
        "difference": richardson(value),
        "forward": t.dot(t.call("test.tangent", at + v, out), w),
        "doubled": t.dot(t.call("test.grad", at + double_w, kinds), v),
        "zero": t.dot(t.call("test.grad", at + zero_w, kinds), v),
        "Hv.u": t.dot(t.call("test.second", at + w + v, kinds), u),
        "Hu.v": t.dot(t.call("test.second", at + w + u, kinds), v),
        "Hv.v": t.dot(t.call("test.second", at + w + v, kinds), v),
        "difference of reverse": richardson(slope),
    }
    if third:
        found["Tvv.v"] = t.dot(t.call("test.third", at + w + v + v, kinds), v)
        found["difference of Hv.v"] = richardson(bend)
    wrt = ", ".join("%" + params[i][0] for i in real)
    declared = [
        "gradient @test.grad of @%s from %s wrt %s seedable" % (name, ", ".join(map(str, first)), wrt),
        "gradient @test.tangent of @%s from %s wrt %s forward" % (name, ", ".join(map(str, first)), wrt),
        "gradient @test.second of @test.grad from %s wrt %s seedable" % (", ".join(map(str, range(len(kinds)))), wrt),
    ] + ["gradient @test.third of @test.second from %s wrt %s seedable" % (", ".join(map(str, range(len(kinds)))), wrt)
         for _ in range(third)]
    body = "func @test.main() -> (%s) {\n%s\n  return %s\n}\n" % (
        ", ".join(["double<>"] * len(found)), "\n".join(t.nodes), ", ".join(found.values()))
    return "%s\ndeclare {\n%s\n}\n%s\n%s" % (text, "\n".join(t.constants), "\n".join(declared), body), list(found)


def near(a, b, tolerance):
    return abs(a - b) <= tolerance * (1 + max(abs(a), abs(b)))


def failures_of(found):
    checks = [("reverse", "difference", 1e-8), ("reverse", "forward", 1e-12), ("Hv.u", "Hu.v", 1e-12),
              ("Hv.v", "difference of reverse", 1e-7), ("Tvv.v", "difference of Hv.v", 1e-6)]
    bad = ["%s is %.15g, %s %.15g" % (a, found[a], b, found[b]) for a, b, eps in checks
           if a in found and not near(found[a], found[b], eps)]
    if not near(found["doubled"], 2 * found["reverse"], 1e-13):
        bad.append("twice the seed gives %.15g" % found["doubled"])
    if found["zero"] != 0:
        bad.append("a zero seed gives %.15g" % found["zero"])
    if abs(found["difference"]) < 1e-3 and "zero" not in found.get("name", ""):
        bad.append("the derivative is too small to be checked: %g" % found["difference"])
    return bad


def run(module, options):
    with tempfile.NamedTemporaryFile("w", suffix=".gg", delete=False) as f:
        f.write(module)
    try:
        opt = subprocess.run(["glow-opt"] + options + [f.name], capture_output=True, text=True)
        if opt.returncode:
            return None, opt.stderr
        ran = subprocess.run(["glow-run", "-", "--backend=interp", "--entry", "test.main"], input=opt.stdout,
                             capture_output=True, text=True)
        return (ran.stdout, None) if ran.returncode == 0 else (None, ran.stderr)
    finally:
        os.unlink(f.name)


def main(path, names):
    with open(path) as f:
        text = f.read()
    cases = bad = 0
    for twice, with_line, name, params, results in HEAD.findall(text):
        if names and name not in names:
            continue
        params = [tuple(part.strip() for part in p.strip()[1:].split(":")) for p in params.split(",") if p.strip()]
        results = [r.strip() for r in results.split(",")]
        for fixed in (with_line[len("; with "):].split("|") if with_line else [""]):
            bound = dict(tuple(side.strip() for side in b.split("=")) for b in fixed.split(",") if b.strip())
            cases += 1
            ways = [["-grad"], ["-grad", "-dce", "-cse"], ["-grad", "-lower=all"], ["-grad", "-O2"]]
            kept = re.findall(r"^func @(_\w+)", text, re.M)
            for options in ways + ([["-grad=keep=" + ",".join(kept)]] if kept else []):
                module, labels = case_text(text, name, params, results, bound, random.Random(7),
                                           third=not twice and options is ways[0])
                out, error = run(module, options)
                numbers = [float(line.split("=")[1]) for line in out.splitlines()] if out else []
                wrong = [error] if error else failures_of(dict(zip(labels, numbers)))
                for line in wrong:
                    print("%s, %s %s: %s" % (name, fixed.strip() or "alone", " ".join(options), line))
                bad += bool(wrong)
    print("%d cases, %d failures" % (cases, bad))
    return bad or not cases


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]) != 0)
