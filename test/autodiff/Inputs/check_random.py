"""check_random.py COUNT [SEED]: derivatives of random functions, in double, by check_functions.py.

A function has up to three parameters and some ten nodes, smooth where its values lie, so that differences tell the
derivatives. Each value is drawn from operators that change shapes, contract, reduce and compute element by element."""
import os
import random
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import check_functions  # noqa: E402

UNARY = ["Tanh(%s)", "Sigmoid(%s)", "Sin(%s)", "Cos(%s)", "Erf(%s)", "Softplus(%s)", "Exp(%s)", "Neg(%s)", "Gelu(%s)",
         "Atan(%s)", "Asinh(%s)", "Sinh(%s)", "Softsign(%s)", "Mul(%s, 0.5)", "Pow(%s, 2.0)", "Pow(%s, 3.0)"]


class Function:
    def __init__(self, rng):
        self.rng, self.lines, self.values, self.constants, self.count = rng, [], [], [], 0

    def node(self, text, shape):
        name = "%%v%d" % self.count
        self.count += 1
        self.lines.append("  %s = %s : %s" % (name, text, kind(shape)))
        self.values.append((name, shape))
        return name, shape

    def ints(self, values):
        return "[%s]" % ", ".join(map(str, values))

    def constant(self, values):
        name = "@i%d" % len(self.constants)
        self.constants.append("  constant %s : i64<%d> = %s" % (name, len(values), self.ints(values)))
        return name

    def calm(self, value):
        """A value between -1 and 1, so that what follows has moderate derivatives."""
        return self.node("Tanh(%s)" % value[0], value[1])

    def grow(self):
        rng = self.rng
        x, shape = rng.choice(self.values)
        choice = rng.randrange(12)
        if choice < 4:
            text = rng.choice(UNARY) % x
            self.calm(self.node(text, shape))
        elif choice < 7:
            y, other = rng.choice([v for v in self.values if len(v[1]) <= len(shape) and fits(shape, v[1])])
            op = rng.choice(["Add(%s, %s)", "Sub(%s, %s)", "Mul(%s, %s)", "Mul(%s, %s)"])
            self.calm(self.node(op % (x, y), shape))
        elif choice == 7 and len(shape) == 2:
            y, other = rng.choice([v for v in self.values if len(v[1]) == 2] or [(x, shape)])
            if other[0] != shape[1]:
                y, other = self.node("Transpose(%s) {perm = [1, 0]}" % x, shape[::-1])
            self.calm(self.node("MatMul(%s, %s)" % (x, y), (shape[0], other[1])))
        elif choice == 8 and shape:
            axis = rng.randrange(len(shape))
            op = rng.choice(["ReduceSum", "ReduceMean", "ReduceProd"])
            kept = tuple(1 if i == axis else d for i, d in enumerate(shape))
            self.calm(self.node("%s(%s, %s)" % (op, x, self.constant([axis])), kept))
        elif choice == 9 and shape:
            op = rng.choice(["Softmax(%s) {axis = -1}", "LogSoftmax(%s) {axis = -1}"])
            self.node(op % x, shape)
        elif choice == 10 and shape:
            perm = list(range(len(shape)))
            rng.shuffle(perm)
            self.node("Transpose(%s) {perm = %s}" % (x, self.ints(perm)), tuple(shape[i] for i in perm))
        elif shape:
            axis = rng.randrange(len(shape))
            joined = tuple(2 * d if i == axis else d for i, d in enumerate(shape))
            if joined[axis] <= 6:
                self.node("Concat(%s, %s) {axis = %d}" % (x, x, axis), joined)


def kind(shape):
    return "double<%s>" % " x ".join(map(str, shape))


def fits(shape, other):
    return all(d in (1, s) for d, s in zip(other[::-1], shape[::-1]))


def function(name, rng):
    f = Function(rng)
    shapes = [tuple(rng.choice([2, 3]) for _ in range(rng.choice([1, 2, 2, 3]))) for _ in range(rng.choice([2, 3]))]
    f.values = [("%%x%d" % i, s) for i, s in enumerate(shapes)]
    for _ in range(rng.randrange(6, 14)):
        f.grow()
    last = f.values[-1]
    total = f.node("Tanh(%s)" % f.values[0][0], shapes[0])
    for v, s in f.values[1:len(shapes)]:
        total = f.node("Add(%s, %s)" % (total[0], f.node("ReduceMean(%s) {keep = false}" % v, ())[0]), shapes[0])
    return "%s\nfunc @%s(%s) -> (%s, %s) {\n%s\n  return %s, %s\n}\n" % (
        "declare {\n%s\n}" % "\n".join(f.constants) if f.constants else "", name,
        ", ".join("%s : %s" % (v, kind(s)) for v, s in f.values[:len(shapes)]), kind(last[1]), kind(total[1]),
        "\n".join(f.lines), last[0], total[0])


def main(count, seed):
    bad = 0
    for i in range(count):
        with tempfile.NamedTemporaryFile("w", suffix=".gg") as f:
            f.write(function("random%d" % (seed + i), random.Random(seed + i)))
            f.flush()
            wrong = check_functions.main(f.name, [])
            if wrong:
                print(open(f.name).read())
            bad += bool(wrong)
    return bad


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1) != 0)
