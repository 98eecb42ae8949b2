"""Gradients of loops within the least memory that -recompute names have the bits that they have without it.

Each function runs in the interpreter, and as code where `compiled` is set, for numbers of trips with and without a
rest. Its Loops are cut into segments: some run again."""
import os
import re
import subprocess
import sys
import tempfile

LOOPS = {
    # What is carried, what the iterations read slices of in both orders, and outputs of all iterations.
    "recurrence": ("x w h", """
func @f(%x : float<STEPS x 1 x 6>, %w : float<6 x 6>, %h : float<4 x 6>) -> (float<4 x 6>, float<STEPS x 4 x 6>) {
  %r, %all = Loop(@trips, none, %h)
    ^body(%i : i64<>, %go : bool<>, %s : float<4 x 6>) {
      %back = Sub(@last, %i)
      %a = Gather(%x, %i)
      %b = Gather(%x, %back)
      %c = Mul(%a, %b)
      %p = MatMul(%s, %w)
      %q = Add(%p, %c)
      %t = Tanh(%q)
      %o = Exp(%t)
      yield %go, %t, %o
    }
  return %r, %all
}"""),
    # Two values that trade places, one of which counts; and a tape that holds a product.
    "trade": ("a b w", """
func @f(%a : float<8 x 8>, %b : float<8 x 8>, %w : float<256 x 8>) -> (float<8 x 8>, float<8 x 8>) {
  %u = Transpose(%w) {perm = [1, 0]}
  %r, %s, %count = Loop(@trips, none, %a, %b, @trips)
    ^body(%i : i64<>, %go : bool<>, %x : float<8 x 8>, %y : float<8 x 8>, %n : i64<>) {
      %more = Add(%n, %i)
      %k = Cast(%n) {to = float}
      %z = Mul(%k, 0.001)
      %p = MatMul(%x, %u)
      %q = Tanh(%p)
      %m = MatMul(%q, %w)
      %g = Mul(%m, %z)
      %e = Sigmoid(%g)
      yield %go, %y, %e, %more
    }
  return %r, %s
}"""),
    "lstm": ("x w r", """
func @f(%x : float<STEPS x 2 x 3>, %w : float<2 x 16 x 3>, %r : float<2 x 16 x 4>) -> (float<STEPS x 2 x 2 x 4>, float<2 x 2 x 4>) {
  %y, %h, %c = LSTM(%x, %w, %r, none, @lengths) {direction = bidirectional}
  return %y, %c
}"""),
    "gru": ("x w r", """
func @f(%x : float<STEPS x 2 x 3>, %w : float<1 x 12 x 3>, %r : float<1 x 12 x 4>) -> (float<1 x 2 x 4>) {
  %y, %h = GRU(%x, %w, %r)
  return %h
}"""),
}


def run(*words, code=0):
    ran = subprocess.run(words, capture_output=True, text=True)
    if ran.returncode != code:
        sys.exit(f"{' '.join(words)}\n{ran.stderr}")
    return ran.stderr


def results(text, inputs, backend, folder):
    out = os.path.join(folder, "out")
    run("glow-run", *backend, "--entry=g", *(f"--input={n}=random:{i}" for i, n in enumerate(inputs)), f"--output-dir={out}", text)
    found = {}
    for name in sorted(os.listdir(out)):
        with open(os.path.join(out, name), "rb") as f:
            found[name] = f.read()
    return found


def check(name, trips, compiled, folder):
    inputs, function = LOOPS[name]
    whole, less = (os.path.join(folder, n) for n in ("whole.gg", "less.gg"))
    with open(whole, "w") as f:
        f.write("declare {\n  constant @trips : i64<> = %d\n  constant @last : i64<> = %d\n  constant @lengths : i32<2> = [%d, %d]\n}\n"
                % (trips, trips - 1, trips, max(trips - 2, 1)) + function.replace("STEPS", str(trips))
                + "\ngradient @g of @f from 0 wrt " + ", ".join("%" + n for n in inputs.split()) + " keeping 0\n")
    run("glow-opt", "-grad", "-dce=entry=g", whole, "-o", whole)
    least = re.search(r"the least budget that it keeps is (\d+)", run("glow-opt", "-recompute=memory=1", whole, code=1)).group(1)
    remark = run("glow-opt", f"-recompute=memory={least}", "-remarks=recompute", "--verify-each", whole, "-o", less)
    with open(less) as f:
        loops = f.read().count("Loop(")
    if not remark:
        sys.exit(f"{name}, {trips} trips: no loop is cut")
    now, before, again = (int(n) for n in re.search(r"an arena of (\d+) bytes instead of (\d+), (\d+) ", remark).groups())
    for backend in [("--backend=interp",)] + [("-O2", "-exact")] * compiled:
        if results(whole, inputs.split(), backend, folder) != results(less, inputs.split(), backend, folder):
            sys.exit(f"{name}, {trips} trips: {' '.join(backend)} has other bits")
    if now >= before or again <= 0 or loops < 5:
        sys.exit(f"{name}, {trips} trips: {now} of {before} bytes, {loops} loops")


with tempfile.TemporaryDirectory() as scratch:
    for loop in LOOPS:
        for number in (61, 64, 79, 90):
            check(loop, number, number == 61, scratch)
