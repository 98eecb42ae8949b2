"""OpenVINO, one stream, fp32 (it would take bf16 where the processor has it)."""
import serve  # first: engines print when they are imported
import openvino


def start(model, x, threads):
    options = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "ENABLE_CPU_PINNING": False,
               "INFERENCE_PRECISION_HINT": "f32"}
    request = openvino.Core().compile_model(model, "CPU", options).create_infer_request()
    request.set_input_tensor(openvino.Tensor(x, shared_memory=True))
    version = openvino.__version__.split("-")[0]
    return request.infer, lambda: request.get_output_tensor().data, f"openvino-{version}"


serve.serve(start)
