"""check_bits.py FILE.gg NAME...: gradients as programs give the bits of the interpreter.

Each function NAME gets a gradient by all floating-point parameters, from all results, with ones as seeds. The results
of the interpreter on the graph are compared, to the bit, with those of its programs: walked, of library code and
compiled, at -O0 and at -O2 -exact, on one thread and on two. Inputs are random."""
import os
import re
import subprocess
import sys
import tempfile

HEAD = re.compile(r"^func @([A-Za-z0-9]\w*)\(([^)]*)\) -> \(([^)]*)\)", re.M)


ENGINES = ["--backend=interp -O0", "--backend=interp -O2 -exact"] + [
    "--backend=cpu --no-cache --tier=%s %s --threads=%d" % (tier, level, threads)
    for tier in ("library", "compiled") for level, threads in (("-O0", 1), ("-O2 -exact", 2))]


def run(words, folder):
    """The bytes of each output by its file's name."""
    ran = subprocess.run(["glow-run"] + words + ["--output-dir", folder], capture_output=True, text=True)
    if ran.returncode:
        sys.exit("%s\n%s" % (" ".join(words), ran.stderr))
    return {name: open(os.path.join(folder, name), "rb").read() for name in sorted(os.listdir(folder))}


def main(path, names):
    with open(path) as f:
        text = f.read()
    heads = {name: (params, results) for name, params, results in HEAD.findall(text)}
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            params, results = heads[name]
            params = [p.strip().split(" ", 1)[0] for p in params.split(", ") if re.search("double|float", p)]
            graph, derived = os.path.join(folder, name + ".gg"), os.path.join(folder, name + ".grad.gg")
            with open(graph, "w") as f:
                f.write("%sgradient @test.grad of @%s from %s wrt %s\n" % (
                    text, name, ", ".join(map(str, range(results.count("<")))), ", ".join(params)))
            subprocess.run(["glow-opt", "-grad", "-inline", "-dce=entry=test.grad", graph, "-o", derived], check=True)
            words = [derived, "--entry", "test.grad"]
            for i, param in enumerate(params):
                words += ["--input", "%s=random:%d" % (param[1:], i)]
            want = run(words + ["--backend=interp"], tempfile.mkdtemp(dir=folder))
            for engine in ENGINES:
                if run(words + engine.split(), tempfile.mkdtemp(dir=folder)) != want:
                    sys.exit("%s: %s gives other bits" % (name, engine))
    print("%d functions, the same bits" % len(names))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
