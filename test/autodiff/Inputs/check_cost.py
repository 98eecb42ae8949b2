"""check_cost.py MODEL.onnx[:-bind=...]...: what gradients of models take, and where their nodes come from.

The gradient by all weights has at most 3.3 times the multiply-accumulates of the function, the tangent by the inputs
at most 2.1 times. Each derived node has a location, but the seed, which stands for no node of the function."""
import os
import re
import subprocess
import sys
import tempfile

REAL = r"(@\S+) : (?:float|double|float16|bfloat16)<"


def run(*words):
    ran = subprocess.run(words, capture_output=True, text=True)
    if ran.returncode:
        sys.exit(f"{' '.join(words)}\n{ran.stderr}")
    return ran.stderr


def declare(path):
    """Appends the gradient and the tangent to the text; returns the name of its function."""
    with open(path, "rb") as f:
        whole = f.read()
    head = whole[:whole.rfind(b"\npayload ") + 1 or len(whole)].decode()
    saved = re.findall(r"^  Save\([^,]*, (@[^)]*)\)", head, re.M)
    ports = re.findall("^  placeholder " + REAL, head, re.M)
    outs, ins = ", ".join(p for p in ports if p in saved), ", ".join(p for p in ports if p not in saved)
    weights = ", ".join(re.findall("^  variable " + REAL, head, re.M))
    name = re.search(r"^func @([^( ]+)", head, re.M).group(1)
    text = (f"gradient @test.grad of @{name} from {outs} wrt {weights}\n"
            f"gradient @test.tangent of @{name} from {outs} wrt {ins} forward\n")
    with open(path, "wb") as f:
        f.write(head.encode() + text.encode() + whole[len(head.encode()):])
    return name


def check(model, folder):
    path, *bind = model.split(":")
    text, derived = (os.path.join(folder, name) for name in ("model.gg", "derived.gg"))
    run("glow-import", "--quiet", *bind, path, "-o", text)
    run("glow-opt", "-unfreeze=*", "-constant-fold", text, "-o", text)
    name = declare(text)
    costs = run("glow-opt", "-grad", "-cse", "-print=cost", text, "-o", derived)
    found = {f: int(n) for f, n in re.findall(r"^; cost of @(\S+)\n(?:;   %.*\n)*;   (\d+) multiply-accumulates", costs, re.M)}
    gradient, tangent = (found[f] / found[name] for f in ("test.grad", "test.tangent"))
    with open(derived, "rb") as f:
        body = re.search(rb"^func @test\.grad.*?^}", f.read(), re.M | re.S).group(0).decode()
    nowhere = [n for n in re.findall(r"^  (%.*)$", body, re.M) if " loc(" not in n]
    print(f"{os.path.basename(path)}: gradient {gradient:.3f}, tangent {tangent:.3f}, {body.count(' loc(')} locations")
    return gradient > 3.3 or tangent > 2.1 or len(nowhere) > 1 or not nowhere[0].startswith(f"{nowhere[0].split()[0]} = Splat()")


with tempfile.TemporaryDirectory() as scratch:
    sys.exit(sum(check(model, scratch) for model in sys.argv[1:]))
