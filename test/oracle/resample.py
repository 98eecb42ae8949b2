"""Oracles of resampling, in double."""
import numpy as np

from oracle import DATA, FLOATS, Case, Result, Tensor, oracle

# ---- Resize --------------------------------------------------------------------------------------


def source(mode, i, n, out, scale, length, roi, nearest):
    """Where place i of the result lies along an axis of n elements."""
    def unscaled(v):
        return float(np.float32(v / scale)) if nearest else v / scale
    if mode == "half_pixel":
        return unscaled(i + 0.5) - 0.5
    if mode == "half_pixel_symmetric":
        return n / 2 * (1 - out / length) + unscaled(i + 0.5) - 0.5
    if mode == "pytorch_half_pixel":
        return unscaled(i + 0.5) - 0.5 if out > 1 else 0.0
    if mode == "align_corners":
        return 0.0 if length == 1 else i * (n - 1) / (length - 1)
    if mode == "asymmetric":
        return unscaled(i)
    if mode == "tf_half_pixel_for_nn":
        return unscaled(i + 0.5)
    start, end = roi
    if out == 1:
        return 0.5 * (start + end) * (n - 1)
    return start * (n - 1) + i * (end - start) * (n - 1) / (out - 1)


def kernel(mode, d, a):
    d = abs(d)
    if mode == "linear":
        return max(0.0, 1 - d)
    if d <= 1:
        return (a + 2) * d**3 - (a + 3) * d**2 + 1
    return a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a if d < 2 else 0.0


def matrix(o, n, out, scale, length, roi):
    """Weights [out, n] along an axis, and the places that lie outside a crop."""
    w, outside = np.zeros((out, n)), np.zeros(out, bool)
    if o["coordinates"] != "tf_crop_and_resize" and out == n and scale == 1:
        return np.eye(n), outside
    for i in range(out):
        x = source(o["coordinates"], i, n, out, scale, length, roi, o["mode"] == "nearest")
        outside[i] = o["coordinates"] == "tf_crop_and_resize" and not 0 <= x <= n - 1
        if o["mode"] == "nearest":
            x = float(np.float32(x))
            k = {"round_prefer_floor": np.ceil(x - 0.5), "round_prefer_ceil": np.floor(x + 0.5),
                 "floor": np.floor(x), "ceil": np.ceil(x)}[o["nearest"]]
            w[i, int(np.clip(k, 0, n - 1))] = 1
            continue
        shrink = min(scale, 1.0) if o["antialias"] else 1.0
        reach = (1 if o["mode"] == "linear" else 2) / shrink
        taps = np.arange(np.floor(x - reach), np.ceil(x + reach) + 1)
        weights = np.array([kernel(o["mode"], (t - x) * shrink, o["a"]) for t in taps])
        if o["exclude"]:
            weights[(taps < 0) | (taps > n - 1)] = 0
        if o["exclude"] or shrink < 1:
            weights = weights / weights.sum()
        for t, v in zip(taps, weights):
            w[i, int(np.clip(t, 0, n - 1))] += v
    return w, outside


def resized(o, x, axes):
    """x with a matrix along each of `axes`: (axis, out, scale, length, roi); and its scale S."""
    y, s, outside = x, np.abs(x), np.zeros(x.shape, bool)
    for axis, out, scale, length, roi in reversed(axes):
        w, beyond = matrix(o, x.shape[axis], out, scale, length, roi)
        y = np.moveaxis(np.tensordot(w, y, (1, axis)), 0, axis)
        s = np.moveaxis(np.tensordot(np.abs(w), s, (1, axis)), 0, axis)
        outside = np.take(outside, np.zeros(out, int), axis)
        outside = outside | beyond.reshape([-1 if a == axis else 1 for a in range(x.ndim)])
    return np.where(outside, o["extrapolation"], y), s


SCALES = [0.5, 2.0, 1.0, 3.0, 1.5, 0.75, 2.7, 0.6]
COORDINATES = ["half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
               "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"]


def resize_case(g, kind, mode):
    coordinates = g.pick(COORDINATES)
    if mode != "nearest" and coordinates == "tf_half_pixel_for_nn":
        coordinates = "asymmetric"
    if kind == "bool" and coordinates == "tf_crop_and_resize":
        coordinates = "half_pixel"  # a crop is filled with a number
    crop = coordinates == "tf_crop_and_resize"
    o = {"mode": mode, "coordinates": coordinates, "antialias": False, "exclude": False, "a": -0.75,
         "extrapolation": 0.0, "nearest": "round_prefer_floor"}
    members = [f"mode = {mode}", f"coordinate_transformation_mode = {coordinates}"]
    if mode == "nearest" and g.integer(0, 2):
        o["nearest"] = g.pick(["round_prefer_ceil", "floor", "ceil"])
        members.append("nearest_mode = " + o["nearest"])
    if mode != "nearest" and not crop and g.integer(0, 1):
        o["antialias"] = True
        members.append("antialias = true")
    if mode != "nearest" and g.integer(0, 1):
        o["exclude"] = True
        members.append("exclude_outside = true")
    if mode == "cubic" and g.integer(0, 1):
        o["a"] = -0.5
        members.append("cubic_coeff_a = -0.5")
    if crop and g.integer(0, 1):
        o["extrapolation"] = 7.0
        members.append("extrapolation_value = 7.0")
    shape = tuple(g.integer(1, 6) for _ in range(g.integer(1, 4)))
    chosen = list(range(len(shape)))
    if g.integer(0, 1):
        g.rng.shuffle(chosen)
        chosen = chosen[:g.integer(1, len(chosen))]
        signed = [c - len(shape) * g.integer(0, 1) for c in chosen]
        members.append(f"axes = [{', '.join(map(str, signed))}]")
    extents = [shape[c] for c in chosen]
    rois = [(round(g.rng.uniform(-0.25, 0.5), 2), round(g.rng.uniform(0.6, 1.25), 2)) for _ in chosen]
    rois = [tuple(map(float, np.float32(r))) for r in rois]
    roi = Tensor("float", [r[0] for r in rois] + [r[1] for r in rois]) if crop else None
    scales = sizes = None
    policy = "stretch"
    if g.integer(0, 1):
        scales = np.array([g.pick(SCALES) for _ in chosen], np.float32)
        outs = [int(np.floor(np.float32(e) * s)) for e, s in zip(extents, scales)]
        steps = [(o_, float(s), float(s) * e) for o_, s, e in zip(outs, scales, extents)]
        scales = Tensor("float", scales)
    else:
        wanted = [g.integer(1, 8) for _ in chosen]
        ratios = [w / e for w, e in zip(wanted, extents)]
        policy = "stretch" if crop else g.pick(["stretch", "stretch", "not_larger", "not_smaller"])
        sizes = Tensor("i64", wanted)
        if policy == "stretch":
            steps = [(w, r, float(w)) for w, r in zip(wanted, ratios)]
        else:
            members.append(f"keep_aspect_ratio_policy = {policy}")
            r = min(ratios) if policy == "not_larger" else max(ratios)
            steps = [(int(np.floor(r * e + 0.5)), r, r * e) for e in extents]
    run_time = g.integer(0, 1)
    operands = [t and (t if run_time else t.const()) for t in (roi, scales, sizes)]
    x = g.tensor(kind, shape, special=mode == "nearest")
    axes = [(c, *s, r) for c, s, r in zip(chosen, steps, rois)]
    if mode == "nearest":
        index = [np.arange(e) for e in shape]
        outside = [np.zeros(e, bool) for e in shape]
        for c, out, scale, length, r in axes:
            w, outside[c] = matrix(o, shape[c], out, scale, length, r)
            index[c] = w.argmax(1)
        y = x.data[np.ix_(*index)].copy()
        y[np.logical_or.reduce(np.meshgrid(*outside, indexing="ij"))] = o["extrapolation"]
        return Case([x, *operands], [Result(kind, y)], members=", ".join(members), ulps=0,
                    graph_only=bool(run_time))
    v, s = resized(o, x.data.astype(np.float64), sorted(axes))
    if kind in ("i8", "u8", "i32"):
        info = np.iinfo(x.data.dtype)
        near = np.abs(v - np.rint(v)) < 1e-9  # the last bits decide what truncation gives
        if near.any() and not np.array_equal(v, np.rint(v)):
            return None
        v = np.clip(np.trunc(np.rint(v) if near.all() else v), info.min, info.max).astype(x.data.dtype)
        return Case([x, *operands], [Result(kind, v)], members=", ".join(members),
                    graph_only=bool(run_time))
    if kind == "double":
        s = s + np.abs(x.data).sum()  # coordinates are rounded, so weights have absolute errors
    return Case([x, *operands], [Result(kind, v, scale=s)], members=", ".join(members),
                ulps=64 if kind == "double" else 1, graph_only=bool(run_time))


@oracle("Resize")
def resize(g):
    for mode, kinds in (("nearest", DATA), ("linear", FLOATS + ["u8", "i8", "i32"]),
                        ("cubic", FLOATS)):
        for _ in range(4):
            case = resize_case(g, g.pick(kinds), mode)
            if case:
                yield case
    words = g.tensor("string", (2, 3)).const()
    yield Case([words, None, None, Tensor("i64", [3, 6]).const()],
               [Result("string", words.data[[0, 0, 1]][:, [0, 0, 1, 1, 2, 2]])],
               members="coordinate_transformation_mode = asymmetric, nearest_mode = floor")
    x = g.tensor("float", (2, 3))
    for bad, why in (([-1.0, 2.0], "a scale is -1"), ([0.0, 1.0], "a scale is 0"),
                     ([np.nan, 1.0], "a scale is"), ([2.0], "Scales has 1 values, expected 2"),
                     ([1e30, 1.0], "too many")):
        t = Tensor("float", bad)
        yield Case([x, None, t if g.integer(0, 1) else t.const()], error=why)
    yield Case([x, None, None, g.ints([2, -3])], error="size 1 is -3")
    yield Case([x, None, Tensor("float", [1, 1]), g.ints([2, 3])], error="both given")
    yield Case([x, None, None, g.ints([2, 3])], error="needs Roi",
               members="coordinate_transformation_mode = tf_crop_and_resize")
    empty = g.tensor("float", (0, 3))
    yield Case([empty, None, None, g.ints([1, 3]).const()], error="no elements to make 1 from")
    yield Case([empty, None, Tensor("float", [2, 2]).const()], [Result("float", np.zeros((0, 6)))],
               members="mode = linear")
    yield Case([x, None, None, g.ints([0, 2]).const()], [Result("float", np.zeros((0, 2)))],
               members=f"mode = {g.pick(['nearest', 'linear', 'cubic'])}")
