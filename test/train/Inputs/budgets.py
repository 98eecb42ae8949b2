"""The arena of what -recompute leaves is within its budget, and the least budget that an error names is the least.

    budgets.py FILE...     each with the graph of one function

For each share of the arena without the pass, the program of the result is planned again, by the tools."""
import re
import subprocess
import sys

SHARES = (97, 85, 70, 55, 45, 35)


def run(*words, text=None):
    ran = subprocess.run(words, input=text, capture_output=True, text=True)
    return ran.returncode, ran.stdout, ran.stderr


def arena(text):
    code, program, errors = run("glow-irgen", text=text)
    code, _, errors = run("glow-opt", "-O2", "-plan-memory=print", "-o", "/dev/null", text=program)
    if code:
        sys.exit(errors)
    return int(re.search(r"plan-memory: @\S+: bytes (\d+),", errors).group(1))


def kept(path, budget):
    """Whether the budget is kept; if not, the least that is."""
    code, text, said = run("glow-opt", f"-recompute=memory={budget}", "-remarks=recompute", path)
    if code:
        return False, int(re.search(rf"needs more than {budget} bytes; the least budget that it keeps is (\d+)", said).group(1))
    now = arena(text)
    if now > budget or int(re.search(r"an arena of (\d+) bytes", said).group(1)) != now:
        sys.exit(f"{path}: a budget of {budget} bytes, an arena of {now}: {said}")
    return True, now


def check(path):
    with open(path) as f:
        whole = arena(f.read())
    smaller = 0
    for share in SHARES:
        budget = whole * share // 100
        ok, least = kept(path, budget)
        smaller += ok
        if not ok and (least <= budget or not kept(path, least)[0] or kept(path, least - 1)[0]):
            sys.exit(f"{path}: {least} is not the least budget")
        if not ok:
            break
    print(f"{path.rpartition('/')[2]}: {smaller} budgets are kept")


for name in sys.argv[1:]:
    check(name)
