"""Compares what examples/decoder generates with what the model says of all tokens at once: decoder.py FOLDER MODEL ID..."""
import subprocess
import sys

import numpy as np

folder, model, *prompt = sys.argv[1:]
HEADS, SIZE, LAYERS, COUNT = 6, 16, 2, 12
printed = subprocess.run(["decoder", model, str(COUNT), *prompt], check=True, capture_output=True, text=True).stdout
chosen = [int(line) for line in printed.split()]
assert len(chosen) == COUNT, printed

tokens = np.array([[int(i) for i in prompt] + chosen[:-1]], np.int64)
names = subprocess.run(["glow-import", "--quiet", model], check=True, capture_output=True, text=True).stdout
inputs = {"input_ids": tokens, "attention_mask": np.ones_like(tokens), "position_ids": np.arange(tokens.size)[None]}
for layer in range(LAYERS):
    for part in ("key", "value"):
        heads = int(names.split(f"@past_key_values.{layer}.{part} : float<1 x ")[1].split()[0])
        inputs[f"past_key_values.{layer}.{part}"] = np.zeros((1, heads, 0, SIZE), np.float32)
options = [f"-bind=past_sequence_length=0;sequence_length={tokens.size}", "--backend=interp", f"--output-dir={folder}"]
for name, array in inputs.items():
    if f"@{name} :" in names:
        np.save(f"{folder}/{name}.npy", array)
        options += ["--input", f"{name}={folder}/{name}.npy"]
subprocess.run(["glow-run", model, *options], check=True, stdout=subprocess.DEVNULL)
logits = np.load(f"{folder}/logits.npy")[0, len(prompt) - 1:]
assert np.array_equal(logits.argmax(axis=1), chosen), (logits.argmax(axis=1), chosen)
