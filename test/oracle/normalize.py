"""Oracles of normalization, softmax and attention."""
import warnings

import numpy as np

from oracle import FLOATS, Case, Result, Tensor, oracle

warnings.filterwarnings("ignore", message="Mean of empty slice")


def moderate(g, kind, shape, special=True):
    """Values whose squares and exponentials do not overflow; at times zeros, NaN and infinities."""
    t = g.tensor(kind, shape, low=-3.0, high=3.0)
    if special and t.data.size and g.integer(0, 3) == 0:
        flat = t.data.reshape(-1)
        for _ in range(g.integer(1, 3)):
            flat[g.integer(0, flat.size - 1)] = g.pick([0.0, -0.0, np.nan, np.inf, -np.inf])
    return t


def factor(g, kind, shape):
    """None, or something that broadcasts to shape without changing it."""
    if g.integer(0, 3) == 0:
        return None
    shape = shape[g.integer(0, len(shape)):]
    return moderate(g, kind, [1 if g.integer(0, 3) == 0 else d for d in shape], special=False)


def wide(t, otherwise):
    return otherwise if t is None else t.wide()


def quotient(d, s):
    with np.errstate(all="ignore"):
        return d / s


@oracle("LayerNormalization")
def layer_normalization(g):
    for kind in FLOATS:
        shape = g.shape(low=1, high=4, extent=9)
        axis = g.integer(-len(shape), len(shape) - 1)
        stash = "double" if kind == "double" else g.pick(["float", "float", "double"])
        x, scale, bias = moderate(g, kind, shape), factor(g, kind, shape), factor(g, kind, shape)
        axes = tuple(range(axis % len(shape), len(shape)))
        with np.errstate(all="ignore"):
            v = x.wide()
            mean = v.mean(axes, keepdims=True)
            s = np.sqrt(((v - mean)**2).mean(axes, keepdims=True) + np.float32(1e-3))
            norm = (v - mean) / s
            y = norm * wide(scale, 1) + wide(bias, 0)
            top = np.abs(v).max(axes, keepdims=True, initial=0)
            size = ((1 + np.abs(norm)) * top / s + np.abs(norm)) * np.abs(wide(scale, 1))
            size = size + np.abs(wide(bias, 0))
            spread = top / s
        yield Case([x, scale, bias],
                   [Result(kind, y, scale=size), Result(stash, mean, scale=top),
                    Result(stash, 1 / s, scale=(1 + spread) / s)],
                   members=f"axis = {axis}, epsilon = 1e-3, stash_type = {stash}", ulps=4)
    x = Tensor("float", np.zeros((2, 3)))
    yield Case([x], [Result("float", x.data)], members="axis = 2", error="axis 2 is out of range")
    yield Case([x, Tensor("float", np.zeros((2, 2)))], [Result("float", x.data)],
               error="Scale has type .* does not broadcast")


@oracle("RMSNormalization")
def rms_normalization(g):
    for kind in FLOATS:
        shape = g.shape(low=1, high=4, extent=9)
        axis = g.integer(-len(shape), len(shape) - 1)
        axes = tuple(range(axis % len(shape), len(shape)))
        stash = "double" if kind == "double" else g.pick(["float", "float", "double"])
        x, scale = moderate(g, kind, shape), factor(g, g.pick(FLOATS), shape)
        with np.errstate(all="ignore"):
            s = np.sqrt((x.wide()**2).mean(axes, keepdims=True) + np.float32(1e-3))
            y = x.wide() / s * wide(scale, 1)
        # The quotient is rounded to X's kind, whatever Scale's is.
        out = kind if scale is None else scale.kind
        coarse = max(2.0 ** {"double": 0, "float": 29, "float16": 42, "bfloat16": 45}[k]
                     for k in (kind, stash))
        fine = 2.0 ** {"double": 0, "float": 29, "float16": 42, "bfloat16": 45}[out]
        yield Case([x, scale], [Result(out, y, scale=np.abs(y) * max(1, coarse / fine))],
                   members=f"axis = {axis}, epsilon = 1e-3, stash_type = {stash}", ulps=4)
    x = Tensor("float", np.zeros((2, 3)))
    yield Case([x], [Result("float", x.data)], members="axis = -3", error="axis -3 is out of range")


@oracle("Softmax", "LogSoftmax")
def softmax(g, op):
    for kind in FLOATS:
        x = moderate(g, kind, g.shape(low=1, extent=20))
        axis = g.integer(-len(x.shape), len(x.shape) - 1)
        with np.errstate(all="ignore"):
            v = x.wide()
            top = v.max(axis, keepdims=True, initial=-np.inf)
            e = np.exp(v - top)
            total = e.sum(axis, keepdims=True)
            y = e / total if op == "Softmax" else (v - top) - np.log(total)
            scale = np.abs(y) * (1 + np.abs(v - top)) if op == "Softmax" else \
                np.abs(v - top) + np.abs(np.log(total)) + 1
        yield Case([x], [Result(kind, y, scale=np.nan_to_num(scale, posinf=0))],
                   members=f"axis = {axis}", ulps=4)
    yield Case([Tensor("float", np.zeros(3))], [Result("float", np.zeros(3))], members="axis = 1",
               error="axis 1 is out of range")


@oracle("BatchNormalization")
def batch_normalization(g):
    for kind in FLOATS:
        shape = g.shape(low=2, high=5)
        c = shape[1:2]
        x, scale, bias, mean = (moderate(g, kind, s) for s in (shape, c, c, c))
        var = g.tensor(kind, c, low=0.0, high=4.0)
        along = c + (1,) * (len(shape) - 2)
        scale_, bias_, mean_, var_ = (t.wide().reshape(along) for t in (scale, bias, mean, var))
        with np.errstate(all="ignore"):
            s = np.sqrt(var_ + np.float32(0.125))
            y = (x.wide() - mean_) / s * scale_ + bias_
            size = (np.abs(x.wide()) + np.abs(mean_)) / s * np.abs(scale_) + np.abs(bias_)
        yield Case([x, scale, bias, mean, var], [Result(kind, y, scale=np.nan_to_num(size, posinf=0))],
                   members="epsilon = 0.125", ulps=4)
    x = Tensor("float", np.zeros((2, 3)))
    yield Case([x] + [Tensor("float", np.zeros(2))] * 4, [Result("float", x.data)],
               error="one for each channel")


# ---- attention -----------------------------------------------------------------------------------


class Heads:
    """The extents of one attention."""

    def __init__(self, g):
        self.batch, self.kv, self.shared = g.integer(1, 2), g.integer(1, 3), g.integer(1, 3)
        self.queries, self.keys = g.integer(0, 5), g.integer(1, 5)
        self.size, self.v_size = g.integer(1, 9), g.integer(1, 6)
        self.past = g.pick([0, 0, 3])
        self.q = self.kv * self.shared
        self.total = self.past + self.keys


def attention_mask(g, kind, h):
    """None, or a mask that broadcasts to the scores; its last axis may be too short."""
    if g.integer(0, 1):
        return None
    shape = [h.batch, h.q, h.queries, h.total]
    shape = [1 if g.integer(0, 3) == 0 else d for d in shape[:3]] + [h.total]
    if h.total > 2 and g.integer(0, 2) == 0:
        shape[3] -= 1
    shape = shape[g.integer(0, 3):]
    if g.integer(0, 1):
        return Tensor("bool", g.rng.integers(0, 3, shape) > 0)
    t = moderate(g, kind, shape, special=False)
    t.data[g.rng.integers(0, 4, shape) == 0] = -np.inf
    return t


def attention_bias(h, mask, causal, left, right, lengths):
    """What is added to the scores."""
    bias = np.zeros((h.batch, h.q, h.queries, h.total))
    if mask is not None:
        m = np.where(mask.data, 0, -np.inf) if mask.kind == "bool" else mask.wide()
        short = h.total - m.shape[-1] if m.shape[-1] > 1 else 0
        m = np.pad(m, [(0, 0)] * (m.ndim - 1) + [(0, short)], constant_values=-np.inf)
        bias = bias + m
    for b in range(h.batch):
        first = h.past if lengths is None else lengths[b] - h.queries
        for i in range(h.queries):
            for j in range(h.total):
                hidden = causal and j > i + first
                hidden |= left >= 0 and j < i + first - left
                hidden |= right >= 0 and j > i + first + right
                hidden |= lengths is not None and j >= lengths[b]
                if hidden:
                    bias[b, :, i, j] = -np.inf
    return bias


def attention_answer(h, q, k, v, bias, scale, cap):
    """Y, the four kinds of scores, and S of all of these."""
    k, v = (np.repeat(t, h.shared, axis=1) for t in (k, v))
    with np.errstate(all="ignore"):
        plain = np.einsum("bhqd,bhkd->bhqk", q, k) * scale
        size = np.einsum("bhqd,bhkd->bhqk", np.abs(q), np.abs(k)) * scale
        capped = np.tanh(plain / cap) * cap if cap else plain
        masked = capped + bias
        top = masked.max(-1, keepdims=True, initial=-np.inf)
        e = np.where(top == -np.inf, 0, np.exp(masked - top))
        total = e.sum(-1, keepdims=True)
        weights = np.where(total == 0, 0, e / total)
        finite = size + np.where(np.isinf(bias), 0, np.abs(bias))
        error = 1 + finite.max(-1, keepdims=True, initial=0)
        y = np.einsum("bhqk,bhkd->bhqd", weights, v)
        y_size = np.einsum("bhqk,bhkd->bhqd", weights, np.abs(v)) * error
    return y, y_size, [(plain, size), (capped, size), (masked, finite), (weights, weights * error)]


@oracle("Attention")
def attention(g):
    for kind in FLOATS:
        h, flat = Heads(g), g.integer(0, 1)
        q = moderate(g, kind, (h.batch, h.q, h.queries, h.size), special=False)
        k = moderate(g, kind, (h.batch, h.kv, h.keys, h.size), special=False)
        v = moderate(g, kind, (h.batch, h.kv, h.keys, h.v_size), special=False)
        pk = pv = None
        if h.past:
            pk = moderate(g, kind, (h.batch, h.kv, h.past, h.size), special=False)
            pv = moderate(g, kind, (h.batch, h.kv, h.past, h.v_size), special=False)
        mask, causal = attention_mask(g, kind, h), g.integer(0, 1)
        left, right = g.pick([-1, -1, 0, 2]), g.pick([-1, -1, 0, 1])
        lengths = None
        if not h.past and g.integer(0, 2) == 0:
            lengths = [g.integer(0, h.total) for _ in range(h.batch)]
        scale, cap, mode = g.pick([0, 0.5]), g.pick([0, 2.0]), g.integer(0, 3)
        all_k, all_v = (t.wide() if p is None else np.concatenate([p.wide(), t.wide()], 2)
                        for t, p in ((k, pk), (v, pv)))
        y, y_size, scores = attention_answer(
            h, q.wide(), all_k, all_v, attention_bias(h, mask, causal, left, right, lengths),
            scale or h.size**-0.5, cap)
        members = f"scale = {float(scale)}, softcap = {float(cap)}, " \
                  f"is_causal = {'true' if causal else 'false'}, left_window_size = {left}, " \
                  f"right_window_size = {right}, " \
                  f"scores = {['product', 'capped', 'masked', 'weights'][mode]}"
        if flat:
            join = lambda a: a.transpose(0, 2, 1, 3).reshape(
                a.shape[0], a.shape[2], a.shape[1] * a.shape[3]).copy()
            q, k, v = (Tensor(kind, join(t.data)) for t in (q, k, v))
            y, y_size = join(y), join(y_size)
            members += f", q_num_heads = {h.q}, kv_num_heads = {h.kv}"
        if g.integer(0, 1):
            members += f", softmax_precision = [{kind}]"
        given = None if lengths is None else Tensor("i64", lengths)
        yield Case([q, k, v, mask, pk, pv, given],
                   [Result(kind, y, scale=y_size), Result(kind, all_k), Result(kind, all_v),
                    Result(kind, scores[mode][0], scale=scores[mode][1])],
                   members=members, ulps=12)
    t = lambda *s: Tensor("float", np.zeros(s))
    y = [Result("float", np.zeros((1, 2, 3, 4)))]
    yield Case([t(1, 2, 3, 4), t(1, 2, 3, 4), t(1, 3, 3, 4)], y, error="number of heads 2 and 3")
    yield Case([t(1, 3, 3, 4), t(1, 2, 3, 4), t(1, 2, 3, 4)], y, error="3 heads of Q cannot share 2")
    yield Case([t(1, 3, 4), t(1, 3, 4), t(1, 3, 4)], y, error="need q_num_heads")
    yield Case([t(1, 3, 5), t(1, 3, 4), t(1, 3, 4)], y, members="q_num_heads = 2, kv_num_heads = 2",
               error="size 5, which 2 heads do not divide")
    yield Case([t(1, 2, 3, 4)] * 3 + [t(3, 5)], y, error="Mask has type .* does not broadcast")
    yield Case([t(1, 2, 3, 4)] * 3 + [None, t(1, 2, 3, 4)], y, error="together or not at all")
    yield Case([t(1, 2, 3, 4)] * 3, y, members="scale = -1.0", error="scale must be")


@oracle("TiledAttention")
def tiled_attention(g):
    for _ in range(3):
        h, tile = Heads(g), 16 * g.integer(1, 3)
        keys = g.pick([h.keys, 15 + h.keys, 40])
        q = moderate(g, "float", (h.batch, h.q, h.queries, h.size), special=False)
        k = moderate(g, "float", (h.batch, h.kv, keys, h.size), special=False)
        v = moderate(g, "float", (h.batch, h.kv, keys, h.v_size), special=False)
        h.past, h.total = 0, keys
        mask, scale = attention_mask(g, "float", h), g.pick([1.0, 0.25])
        if mask is not None and (mask.kind == "bool" or mask.shape[-1:] not in ((keys,), (1,))):
            mask = None
        y, y_size, _ = attention_answer(h, q.wide(), k.wide(), v.wide(),
                                        attention_bias(h, mask, False, -1, -1, None), scale, 0)
        yield Case([q, k, v, mask], [Result("float", y, scale=y_size)],
                   members=f"scale = {scale}, kv_tile = {tile}", ulps=16)
    t = lambda *s: Tensor("float", np.zeros(s))
    x, y = t(1, 2, 3, 4), [Result("float", np.zeros((1, 2, 3, 4)))]
    yield Case([x] * 3, y, members="kv_tile = 24", error="multiple of 16")
    yield Case([x, x, t(2, 3, 4)], y, error="V must have rank 4")
    yield Case([x, t(1, 3, 3, 4), t(1, 3, 3, 4)], y, error="2 heads of Q cannot share 3")
    yield Case([x] * 3 + [t(2, 2)], y, error="Mask has type .* does not broadcast")


# ---- groups and windows ----------------------------------------------------------------------------


def standardized(v, axes, epsilon):
    """(v - mean) / sqrt(variance + epsilon), and S of that."""
    with np.errstate(all="ignore"):
        mean = v.mean(axes, keepdims=True)
        s = np.sqrt(((v - mean)**2).mean(axes, keepdims=True) + epsilon)
        top = np.abs(v).max(axes, keepdims=True, initial=0)
        norm = (v - mean) / s
        return norm, (1 + np.abs(norm)) * top / s + np.abs(norm)


def scale_and_bias(g, kind, channels, rank):
    """Two operands or None, and both as arrays that broadcast along axis 1."""
    given = [g.tensor(kind, (channels,), low=-2.0, high=2.0) if g.integer(0, 3) else None
             for _ in range(2)]
    along = lambda t: t if np.isscalar(t) else t.reshape((channels,) + (1,) * (rank - 2))
    return given, along(wide(given[0], 1.0)), along(wide(given[1], 0.0))


@oracle("InstanceNormalization")
def instance_normalization(g):
    for kind in FLOATS:
        shape = g.shape(low=2, high=5)
        x = moderate(g, kind, shape)
        given, scale, bias = scale_and_bias(g, kind, shape[1], len(shape))
        norm, size = standardized(x.wide().reshape(shape + (1,)), tuple(range(2, len(shape) + 1)),
                                  np.float32(1e-3))
        norm, size = norm.reshape(shape), size.reshape(shape)
        yield Case([x] + given, [Result(kind, norm * scale + bias,
                                        scale=size * np.abs(scale) + np.abs(bias))],
                   members="epsilon = 1e-3", ulps=4)
    x = Tensor("float", np.zeros((2, 3, 4)))
    yield Case([x, Tensor("float", np.zeros(4))], [Result("float", x.data)],
               error="expected 3 elements: one for each channel")


@oracle("GroupNormalization")
def group_normalization(g):
    for kind in FLOATS:
        groups, each = g.integer(1, 3), g.integer(1, 3)
        shape = (g.integer(0, 2), groups * each) + g.shape(low=0, high=2)
        stash = "double" if kind == "double" else "float"
        x = moderate(g, kind, shape)
        given, scale, bias = scale_and_bias(g, kind, shape[1], len(shape))
        rest = (shape[0], groups, int(np.prod(shape[1:])) // groups)
        norm, size = standardized(x.wide().reshape(rest), (2,), np.float32(1e-3))
        norm, size = norm.reshape(shape), size.reshape(shape)
        yield Case([x] + given, [Result(kind, norm * scale + bias,
                                        scale=size * np.abs(scale) + np.abs(bias))],
                   members=f"num_groups = {groups}, epsilon = 1e-3, stash_type = {stash}", ulps=4)
    x = Tensor("float", np.zeros((2, 3, 4)))
    for n, why in ((2, "3 channels cannot be divided into 2 groups"), (0, "num_groups is 0")):
        yield Case([x], [Result("float", x.data)], members=f"num_groups = {n}", error=why)


@oracle("MeanVarianceNormalization")
def mean_variance_normalization(g):
    for kind in FLOATS:
        shape = g.shape(low=1, high=4, extent=6, zero=False)
        axes = sorted(set(g.integer(0, len(shape) - 1) for _ in range(g.integer(1, len(shape)))))
        x = moderate(g, kind, shape)
        if any(shape[a] == 1 for a in axes):
            continue  # 0 / 1e-9 or a rounding error above it
        with np.errstate(all="ignore"):
            v = x.wide()
            mean = v.mean(tuple(axes), keepdims=True)
            s = np.sqrt(((v - mean)**2).mean(tuple(axes), keepdims=True)) + 1e-9
            top = np.abs(v).max(tuple(axes), keepdims=True)
            norm = (v - mean) / s
            size = (1 + np.abs(norm)) * top / s + np.abs(norm)
        yield Case([x], [Result(kind, norm, scale=size)], members=f"axes = {axes}", ulps=4)
    x = Tensor("float", np.zeros((2, 3)))
    for axes, why in (([2], "axis 2 is out of range"), ([0, -2], "named twice")):
        yield Case([x], [Result("float", x.data)], members=f"axes = {axes}", error=why)


@oracle("LpNormalization")
def lp_normalization(g):
    for kind in FLOATS:
        x = moderate(g, kind, g.shape(low=1, high=4))
        if x.data.size and g.integer(0, 3) == 0:
            x.data[:1] = 0
        axis, p = g.integer(-len(x.shape), len(x.shape) - 1), g.integer(1, 2)
        with np.errstate(all="ignore"):
            v = x.wide()
            n = np.abs(v).sum(axis, keepdims=True) if p == 1 else \
                np.sqrt((v**2).sum(axis, keepdims=True))
            y = v / np.where(n == 0, 1, n)
        yield Case([x], [Result(kind, y)], members=f"axis = {axis}, p = {p}", ulps=5)
    x = Tensor("float", np.zeros((2, 3)))
    yield Case([x], [Result("float", x.data)], members="p = 3", error="p is 3, expected 1 or 2")
    yield Case([x], [Result("float", x.data)], members="axis = 2", error="axis 2 is out of range")


@oracle("LRN")
def lrn(g):
    for kind in FLOATS:
        shape = g.shape(low=2, high=5)
        x = moderate(g, kind, shape, special=False)
        size, alpha, beta, bias = g.integer(1, 6), 0.5, g.pick([0.75, 0.5, 1.0]), 1.5
        v, square = x.wide(), np.zeros(shape, x.wide().dtype)
        for c in range(shape[1]):
            first = max(0, c - (size - 1) // 2)
            square[:, c] = (v[:, first:c + (size - 1) - (size - 1) // 2 + 1]**2).sum(1)
        y = v / (bias + alpha / size * square)**beta
        yield Case([x], [Result(kind, y)],
                   members=f"size = {size}, alpha = {alpha}, beta = {beta}, bias = {bias}", ulps=8)
    x = Tensor("float", np.zeros((2, 3)))
    yield Case([x], [Result("float", x.data)], members="size = 0", error="size is 0")


@oracle("RotaryEmbedding")
def rotary_embedding(g):
    for kind in FLOATS:
        batch, heads, length = g.integer(0, 2), g.integer(1, 3), g.integer(0, 4)
        half, interleaved, flat = g.integer(1, 4), bool(g.integer(0, 1)), g.integer(0, 1)
        size = 2 * half + g.pick([0, 0, 1, 3])
        x = moderate(g, kind, (batch, length, heads, size))
        chosen = g.integer(0, 1)
        shape = (5, half) if chosen else (batch, length, half)
        cos, sin = moderate(g, kind, shape), moderate(g, kind, shape)
        at = g.tensor("i64", (batch, length), low=0, high=4) if chosen else None
        c, s = (t.wide()[at.data] if chosen else t.wide() for t in (cos, sin))
        c, s = c[:, :, None], s[:, :, None]
        v = x.wide().copy()
        pairs = [slice(0, 2 * half, 2), slice(1, 2 * half, 2)] if interleaved else \
            [slice(0, half), slice(half, 2 * half)]
        a, b = (v[..., p].copy() for p in pairs)
        scale = np.zeros_like(v)
        with np.errstate(all="ignore"):
            v[..., pairs[0]], v[..., pairs[1]] = c * a - s * b, s * a + c * b
            scale[..., pairs[0]] = np.abs(c * a) + np.abs(s * b)
            scale[..., pairs[1]] = np.abs(s * a) + np.abs(c * b)
        scale = np.nan_to_num(scale, posinf=0)
        if flat:
            give = lambda t: t.reshape(batch, length, heads * size)
        else:
            give = lambda t: t.transpose(0, 2, 1, 3)
        members = f"interleaved = {str(interleaved).lower()}" + \
            (f", num_heads = {heads}" if flat else "") + \
            (f", rotary_embedding_dim = {2 * half}" if size > 2 * half or g.integer(0, 1) else "")
        yield Case([Tensor(kind, give(x.data)), cos, sin, at],
                   [Result(kind, give(v), scale=give(scale))], members=members, ulps=3)
    t = lambda *s: Tensor("float", np.zeros(s))
    yield Case([t(1, 2, 6), t(1, 2, 3), t(1, 2, 3)], error="num_heads is 0")
    yield Case([t(1, 1, 2, 5), t(1, 2, 2), t(1, 2, 2)], error="5 elements of a head make no pairs")
    yield Case([t(1, 1, 2, 4), t(3, 2), t(3, 2), Tensor("i64", [[0, 3]])],
               [Result("float", np.zeros((1, 1, 2, 4)))], error="Indices is out of range: 3")


@oracle("LinearAttention")
def linear_attention(g):
    for kind, rule in zip(FLOATS, g.rng.permutation(["linear", "gated", "delta", "gated_delta"])):
        batch, tokens, heads, shared = g.integer(0, 2), g.integer(0, 4), g.integer(1, 2), g.pick([1, 2])
        dk, dv = g.integer(1, 4), g.integer(1, 3)
        small = lambda *s: g.tensor(kind, s, low=-1.0, high=1.0)
        q, k = small(batch, tokens, heads * shared * dk), small(batch, tokens, heads * dk)
        v = small(batch, tokens, heads * dv)
        state_kind = "double" if kind == "double" else g.pick(["float", kind])
        past = g.tensor(state_kind, (batch, heads, dk, dv), low=-1.0, high=1.0) \
            if g.integer(0, 1) else None
        decay = small(batch, tokens, heads * g.pick([1, dk])) if "gated" in rule else None
        beta = small(batch, tokens, g.pick([1, heads])) if "delta" in rule else None
        scale = np.float32(0.75) if g.integer(0, 1) else None
        wide = np.longdouble if kind == "double" else np.float64

        def run(absolute):
            """Y and the state; over absolute values, and with every sum, as a bound of errors."""
            get = lambda t: np.abs(t.wide()) if absolute else t.wide()
            s = get(past).astype(wide) if past else np.zeros((batch, heads, dk, dv), wide)
            y = np.zeros((batch, tokens, heads * shared, dv), wide)
            for t in range(tokens):
                kt = get(k)[:, t].reshape(batch, heads, dk)
                vt = get(v)[:, t].reshape(batch, heads, dv)
                if decay:
                    each = decay.shape[2] // heads
                    s = s * np.exp(decay.wide()[:, t].reshape(batch, heads, each))[..., None]
                if beta:
                    held = np.einsum("bhdm,bhd->bhm", s, kt)
                    vt = get(beta)[:, t, :, None] * (vt + held if absolute else vt - held)
                s = s + kt[..., None] * vt[:, :, None]
                qt = get(q)[:, t].reshape(batch, heads * shared, dk)
                y[:, t] = np.einsum("bhd,bhdm->bhm", qt, np.repeat(s, shared, 1))
            y = y * (wide(scale) if scale else 1 / np.sqrt(wide(dk)))
            return y.reshape(batch, tokens, heads * shared * dv), s
        (y, s), (ys, ss) = run(False), run(True)
        kind_out = state_kind if past else kind
        yield Case([q, k, v, past, decay, beta],
                   [Result(kind, y, scale=ys), Result(kind_out, s, scale=ss)], ulps=24,
                   members=f"q_num_heads = {heads * shared}, kv_num_heads = {heads}, "
                           f"update_rule = {rule}" + (f", scale = {scale}" if scale else ""))
    t = lambda *s: Tensor("float", np.zeros(s))
    both = [Result("float", np.zeros((1, 2, 3))), Result("float", np.zeros((1, 1, 3, 3)))]
    yield Case([t(1, 2, 3)] * 3, both, members="q_num_heads = 1, kv_num_heads = 1",
               error="Decay is missing")
    yield Case([t(1, 2, 3)] * 3, both, error="no multiple",
               members="q_num_heads = 1, kv_num_heads = 2, update_rule = linear")
