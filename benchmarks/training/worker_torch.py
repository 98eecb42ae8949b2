"""PyTorch on the CPU, one thread: eager, or the loss compiled by torch.compile ($TORCH_MODE=compile). Images are in
channels_last where that is the faster one ($TORCH_LAYOUT=nhwc); optimizers are the fused ones."""
import serve  # first: engines print when they are imported
import os

os.environ["TORCHINDUCTOR_FORCE_DISABLE_CACHES"] = "1"

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

MODE, NHWC = os.environ.get("TORCH_MODE", "eager"), os.environ.get("TORCH_LAYOUT") == "nhwc"
FORMAT = torch.channels_last if NHWC else torch.contiguous_format


class Engine:
    relu, gelu, add = staticmethod(F.relu), staticmethod(F.gelu), staticmethod(torch.add)

    def __init__(self, p):
        self.p = p

    def conv(self, x, name, stride, pad):
        return F.conv2d(x, self.p[name + ".weight"], self.p.get(name + ".bias"), stride, pad)

    def batch_norm(self, x, name):
        p = self.p
        return F.batch_norm(x, p[name + ".running_mean"], p[name + ".running_var"], p[name + ".weight"],
                            p[name + ".bias"], True)

    def max_pool(self, x, window=2, pad=0):
        return F.max_pool2d(x, window, 2, pad)

    def mean_space(self, x):
        return x.mean((2, 3))

    def flatten(self, x):
        return torch.flatten(x, 1)

    def linear(self, x, name):
        return F.linear(x, self.p[name + ".weight"], self.p[name + ".bias"])

    def layer_norm(self, x, name):
        w = self.p[name + ".weight"]
        return F.layer_norm(x, w.shape, w, self.p[name + ".bias"])

    def lstm(self, x, name):
        w = [self.p[f"{name}.{kind}_{which}"] for kind in ("weight", "bias") for which in ("ih", "hh")]
        state = torch.zeros(1, x.shape[0], w[1].shape[1])
        return torch.lstm(x, (state, state), w, True, 1, 0.0, True, False, True)[0]

    def last(self, x):
        return x[:, -1]

    def embed(self, ids, name):
        return F.embedding(ids, self.p[name + ".weight"])

    def place(self, x, name):
        return x + self.p[name + ".weight"]

    def attention(self, x, heads):
        n, t, c = x.shape
        q, k, v = (part.view(n, t, heads, c // 3 // heads).transpose(1, 2) for part in x.chunk(3, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return y.transpose(1, 2).reshape(n, t, c // 3)


def optimizer(step, parameters):
    s = step.settings
    if step.optimizer in ("sgd", "momentum"):
        return torch.optim.SGD(parameters, s["rate"], s.get("momentum", 0), fused=True)
    kind = torch.optim.AdamW if step.optimizer == "adamw" else torch.optim.Adam
    return kind(parameters, s["rate"], weight_decay=s.get("decay", 0), fused=True)


def start(step, weights, batches):
    torch.set_num_threads(1)
    tensors = {}
    for name, w in weights.items():
        t = torch.from_numpy(w)
        t = t.contiguous(memory_format=FORMAT) if t.dim() == 4 else t
        tensors[name] = t if "running" in name else t.requires_grad_()
    engine = Engine(tensors)
    parameters = [t for t in tensors.values() if t.requires_grad]

    def loss(x, label):
        logits = step.network(engine, x)
        return F.cross_entropy(logits.reshape(-1, step.classes), label.reshape(-1))

    update = optimizer(step, parameters)
    if MODE == "compile":
        import torch._inductor.config as config
        config.compile_threads = config.cpp.threads = 1
        loss = torch.compile(loss, dynamic=False)
    given = [(torch.from_numpy(x).contiguous(memory_format=FORMAT if x.ndim == 4 else torch.contiguous_format),
              torch.from_numpy(label).long()) for x, label in batches]

    def run(b):
        update.zero_grad(set_to_none=True)
        value = loss(*given[b])
        value.backward()
        update.step()
        return value.detach()
    return run, f"torch-{torch.__version__}-{MODE}{'-nhwc' * NHWC}"


serve.serve(start)
