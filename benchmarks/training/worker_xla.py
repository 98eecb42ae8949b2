"""XLA's CPU backend, through jax: the whole step is one function, images in NHWC, weights updated in place."""
import serve  # first: engines print when they are imported
import os

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402


class Engine:
    """`p` has convolutions' filters as HWIO; `seen` gets the running statistics."""
    relu, add = staticmethod(jax.nn.relu), staticmethod(jnp.add)

    def __init__(self, p):
        self.p, self.seen = p, {}

    def gelu(self, x):
        return jax.nn.gelu(x, approximate=False)

    def conv(self, x, name, stride, pad):
        y = jax.lax.conv_general_dilated(x, self.p[name + ".weight"], (stride, stride), ((pad, pad), (pad, pad)),
                                         dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return y + self.p[name + ".bias"] if name + ".bias" in self.p else y

    def batch_norm(self, x, name):
        mean = x.mean((0, 1, 2))
        variance = ((x - mean) ** 2).mean((0, 1, 2))
        n = x.size // x.shape[-1]
        for key, value in ("mean", mean), ("var", variance * (n / (n - 1))):
            key = f"{name}.running_{key}"
            self.seen[key] = 0.9 * self.p[key] + 0.1 * value
        return (x - mean) * (jax.lax.rsqrt(variance + 1e-5) * self.p[name + ".weight"]) + self.p[name + ".bias"]

    def max_pool(self, x, window=2, pad=0):
        pads = (0, 0), (pad, pad), (pad, pad), (0, 0)
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, window, window, 1), (1, 2, 2, 1), pads)

    def mean_space(self, x):
        return x.mean((1, 2))

    def flatten(self, x):
        return x.transpose(0, 3, 1, 2).reshape(x.shape[0], -1)

    def linear(self, x, name):
        return x @ self.p[name + ".weight"].T + self.p[name + ".bias"]

    def layer_norm(self, x, name):
        x = x - x.mean(-1, keepdims=True)
        x = x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5)
        return x * self.p[name + ".weight"] + self.p[name + ".bias"]

    def lstm(self, x, name):
        p = {key: self.p[f"{name}.{key}"] for key in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")}
        inputs = x @ p["weight_ih"].T + (p["bias_ih"] + p["bias_hh"])

        def cell(state, row):
            h, c = state
            i, f, g, o = jnp.split(row + h @ p["weight_hh"].T, 4, axis=1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h
        zero = jnp.zeros((x.shape[0], p["weight_hh"].shape[1]))
        return jax.lax.scan(cell, (zero, zero), inputs.swapaxes(0, 1))[1].swapaxes(0, 1)

    def last(self, x):
        return x[:, -1]

    def embed(self, ids, name):
        return self.p[name + ".weight"][ids]

    def place(self, x, name):
        return x + self.p[name + ".weight"]

    def attention(self, x, heads):
        n, t, c = x.shape
        q, k, v = (part.reshape(n, t, heads, c // 3 // heads).transpose(0, 2, 1, 3) for part in jnp.split(x, 3, 2))
        scores = q @ k.swapaxes(2, 3) * (q.shape[-1] ** -0.5)
        scores = jnp.where(jnp.tril(jnp.ones((t, t), bool)), scores, -jnp.inf)
        return (jax.nn.softmax(scores) @ v).transpose(0, 2, 1, 3).reshape(n, t, c // 3)


def updates(step):
    """update(parameter, gradient, slots, count) and how many slots there are; PyTorch's formulas."""
    s = step.settings
    rate, momentum, decay = s["rate"], s.get("momentum", 0), s.get("decay", 0)
    if step.optimizer == "sgd":
        return lambda w, g, slots, count: (w - rate * g, slots), 0
    if step.optimizer == "momentum":
        def with_momentum(w, g, slots, count):
            v = momentum * slots[0] + g
            return w - rate * v, (v,)
        return with_momentum, 1

    def adam(w, g, slots, count):
        m, v = 0.9 * slots[0] + 0.1 * g, 0.999 * slots[1] + 0.001 * g * g
        w = w * (1 - rate * decay)
        scale = jnp.sqrt(1 - 0.999 ** count)
        return w - rate / (1 - 0.9 ** count) * m / (jnp.sqrt(v) / scale + 1e-8), (m, v)
    return adam, 2


def start(step, weights, batches):
    p = {k: jnp.asarray(w.transpose(2, 3, 1, 0) if w.ndim == 4 else w) for k, w in weights.items()}
    fixed = {k: w for k, w in p.items() if "running" in k}
    trained = {k: w for k, w in p.items() if k not in fixed}
    update, slots = updates(step)

    def loss(trained, fixed, x, label):
        engine = Engine({**trained, **fixed})
        logits = jax.nn.log_softmax(step.network(engine, x).reshape(-1, step.classes))
        return -jnp.take_along_axis(logits, label.reshape(-1, 1), 1).mean(), engine.seen

    def train(state, x, label):
        trained, fixed, moments, count = state
        (value, seen), gradients = jax.value_and_grad(loss, has_aux=True)(trained, fixed, x, label)
        count = count + 1
        new = {k: update(w, gradients[k], moments[k], count) for k, w in trained.items()}
        state = {k: v[0] for k, v in new.items()}, {**fixed, **seen}, {k: v[1] for k, v in new.items()}, count
        return state, value

    moments = {k: tuple(jnp.zeros_like(w) for _ in range(slots)) for k, w in trained.items()}
    state = [(trained, fixed, moments, jnp.zeros((), jnp.float32))]
    given = [(jnp.asarray(x.transpose(0, 2, 3, 1) if x.ndim == 4 else x), jnp.asarray(label)) for x, label in batches]
    compiled = jax.jit(train, donate_argnums=0).lower(state[0], *given[0]).compile()

    def run(b):
        state[0], value = compiled(state[0], *given[b])
        return value.block_until_ready()
    return run, f"xla-jax{jax.__version__}"


serve.serve(start)
