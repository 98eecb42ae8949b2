"""ONNX Runtime for compare: the same runs as glow-bench-decoder's, by IO binding.

    onnxruntime_decoder.py MODEL WORDS PROMPT TOKENS FOLDER [TOKEN...]

The present of a run is bound as the past of the next one, so nothing is copied between runs.
"""
import sys
import time

import numpy as np
import onnxruntime


def main():
    model, words, prompt, tokens, folder, *wanted = sys.argv[1:]
    start = time.perf_counter()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    print((time.perf_counter() - start) * 1e3)
    names = {i.name for i in session.get_inputs()}
    shapes = {i.name: i.shape for i in session.get_inputs()}
    outputs = [o.name for o in session.get_outputs()]
    pasts = [n for n in shapes if n.startswith("past")]
    caches = {n: onnxruntime.OrtValue.ortvalue_from_numpy(
        np.zeros([d if isinstance(d, int) else 0 for d in shapes[n]], np.float32)) for n in pasts}
    past, binding = 0, session.io_binding()
    for token in range(int(tokens) + 1):
        start, count = time.perf_counter(), 1 if token else int(prompt)
        positions = np.arange(past, past + count, dtype=np.int64)[None]
        feed = {"input_ids": positions * 7919 % int(words), "position_ids": positions,
                "attention_mask": np.ones((1, past + count), np.int64), "write_indices": np.array([past]),
                "nonpad_kv_seqlen": np.array([past + count])}
        for name in names & feed.keys():
            binding.bind_cpu_input(name, feed[name])
        for name in pasts:
            binding.bind_ortvalue_input(name, caches[name])
        for name in outputs:
            binding.bind_output(name)
        session.run_with_iobinding(binding)
        values = dict(zip(outputs, binding.get_outputs()))
        for name in pasts:
            caches[name] = values[name.replace("past_key_values", "present")]
        past += count
        print((time.perf_counter() - start) * 1e3)
        if str(token) in wanted:
            values["logits"].numpy()[0, -1].tofile(f"{folder}/{token}.f32")


if __name__ == "__main__":
    main()
