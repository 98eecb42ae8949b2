"""digits.py data YARDSTICK FOLDER: the images and classes of the yardstick's batches, one behind the other.
digits.py losses YARDSTICK LOG OPTIMIZER KIND BOUND: the losses in a log against the yardstick's.
digits.py accuracy YARDSTICK LOG KIND IMAGES: how many images lie between accuracies after epochs.
digits.py near LOG LOG IMAGES: how many images lie between the last accuracies of two logs.
digits.py gradients YARDSTICK FOLDER BOUND: gradients of the first batch against the yardstick's."""
import json
import os
import sys

import numpy as np


def tensors(path):
    with open(path, "rb") as f:
        data = f.read()
    n = int.from_bytes(data[:8], "little")
    kinds = {"F32": "f4", "F64": "f8"}
    return {k: np.frombuffer(data[8 + n:][slice(*v["data_offsets"])], kinds[v["dtype"]]).reshape(v["shape"])
            for k, v in json.loads(data[8:8 + n]).items() if k != "__metadata__"}


def data(yardstick, folder):
    os.makedirs(folder, exist_ok=True)
    batches = np.load(yardstick + "/batches.npy").reshape(-1)
    np.save(folder + "/x.npy", np.load(yardstick + "/images.npy")[batches])
    np.save(folder + "/y.npy", np.load(yardstick + "/labels.npy")[batches])
    np.save(folder + "/x0.npy", np.load(yardstick + "/images.npy")[batches[:32]] / 16)
    np.save(folder + "/y0.npy", np.load(yardstick + "/labels.npy")[batches[:32]].astype("i8"))


def losses(yardstick, log, optimizer, kind, bound):
    want = json.load(open(yardstick + "/losses.json"))["curves"][optimizer]["loss_" + kind]
    got = [e["loss"] for e in map(json.loads, open(log)) if "loss" in e]
    assert len(got) == len(want) == 50, len(got)
    worst = max(abs(a - b) for a, b in zip(got, want))
    print(f"{optimizer} in {kind}: losses differ by {worst:.1e}, allowed {bound}")
    assert worst <= float(bound)


def accuracy(yardstick, log, kind, images):
    want = json.load(open(yardstick + "/losses.json"))["simple_recipe"][kind]["test_accuracy_after_epoch"]
    got = [e["eval"]["accuracy"] for e in map(json.loads, open(log)) if "eval" in e]
    assert len(got) == len(want) == 20, len(got)
    worst = max(abs(round(360 * a) - round(360 * b)) for a, b in zip(got, want))
    print(f"{kind}: {worst} of 360 images, allowed {images}")
    assert worst <= int(images)


# One epoch moves single images; the means of the last five epochs say how well two kinds learn.
def near(first, second, images):
    last = [[e["eval"]["accuracy"] for e in map(json.loads, open(log)) if "eval" in e][-5:] for log in (first, second)]
    assert len(last[0]) == len(last[1]) == 5
    apart = 360 * abs(sum(last[0]) - sum(last[1])) / 5
    print(f"{apart:.1f} of 360 images, allowed {images}")
    assert apart <= float(images)


def gradients(yardstick, folder, bound):
    for name, want in tensors(yardstick + "/gradients.safetensors").items():
        got = np.load(f"{folder}/{name}.grad.npy")
        worst = np.abs(got - want).max() / np.abs(want).max()
        print(f"{name}: {worst:.1e} of the largest element")
        assert worst <= float(bound)


{"data": data, "losses": losses, "accuracy": accuracy, "near": near, "gradients": gradients}[sys.argv[1]](*sys.argv[2:])
