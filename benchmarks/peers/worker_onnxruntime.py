"""ONNX Runtime, all of its graph optimizations."""
import serve  # first: engines print when they are imported
import onnxruntime


def start(model, x, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", str(int(threads > 1)))
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    feed, last = x if isinstance(x, dict) else {session.get_inputs()[0].name: x}, []

    def run():
        last[:] = session.run(None, feed)
    return run, lambda: last if isinstance(x, dict) else last[0], f"onnxruntime-{onnxruntime.__version__}"


serve.serve(start)
