"""Oracles of grids, regions and boxes, in double."""
import itertools

import numpy as np

from oracle import DATA, FLOATS, Case, Result, Tensor, oracle

# ---- GridSample ----------------------------------------------------------------------------------


def folded(v, low, high):
    """v reflected between low and high: a triangle wave."""
    if high <= low or not np.isfinite(v):
        return low
    turn = (v - low) % (2 * (high - low))
    return low + min(turn, 2 * (high - low) - turn)


def taps(o, v, n):
    """What coordinate v takes along an axis of n elements: {index: weight}."""
    x = (v + 1) / 2 * (n - 1) if o["align"] else ((v + 1) * n - 1) / 2
    low, high = (0.0, n - 1.0) if o["align"] else (-0.5, n - 0.5)
    if o["mode"] == "nearest":
        x = float(np.rint(np.float32(x)))
    if not low <= x <= high:
        if o["padding"] == "border" and o["mode"] != "cubic":
            x = 0.0 if np.isnan(x) else float(np.clip(x, 0, n - 1))
        elif o["padding"] == "reflection":
            x = folded(x, low, high)
        elif not -9 < x < n + 9:
            return {} if o["padding"] == "zeros" else {n - 1 if x > 0 else 0: 1.0}
    if o["mode"] == "nearest":
        around = {int(np.rint(x)): 1.0}
    else:
        first, t = int(np.floor(x)), x - np.floor(x)
        if o["mode"] == "linear":
            around = {first: 1 - t, first + 1: t}
        else:
            def keys(d):  # of Keys' cubic, a = -3/4
                d = abs(d)
                return 1.25 * d**3 - 2.25 * d**2 + 1 if d <= 1 else -0.75 * (d**3 - 5 * d**2 + 8 * d - 4)
            around = {first + k: keys(k - t) for k in range(-1, 3)}
    result = {}
    for i, w in around.items():
        if o["padding"] == "zeros" and not 0 <= i < n:
            continue
        if o["padding"] == "reflection":
            i = int(folded(i, low, high))
        i = min(max(i, 0), n - 1)
        result[i] = result.get(i, 0.0) + w
    return result


def sample(o, x, grid):
    """The values, their scale S (coordinates are rounded, so weights have absolute errors), and for
    nearest the element of each place, None where there is none."""
    places = grid.shape[1:-1]
    y = np.zeros(x.shape[:2] + places)
    s = np.zeros_like(y)
    picked = np.full((x.shape[0],) + places, None, object)
    for b in range(x.shape[0]):
        for at in np.ndindex(*places):
            axes = [taps(o, v, n) for v, n in zip(grid[(b, *at)][::-1], x.shape[2:])]
            for steps in itertools.product(*(a.items() for a in axes)):
                weight = np.prod([w for _, w in steps])
                index = tuple(i for i, _ in steps)
                picked[(b, *at)] = index
                if weight != 0:
                    y[(b, slice(None), *at)] += weight * x[(b, slice(None), *index)]
                    s[(b, slice(None), *at)] += np.abs(x[(b, slice(None), *index)])
    return y, s, picked


@oracle("GridSample")
def grid_sample(g):
    for mode in ("nearest", "linear", "cubic"):
        for padding in ("zeros", "border", "reflection"):
            o = {"mode": mode, "padding": padding, "align": bool(g.integer(0, 1))}
            spatial = g.integer(1, 3)
            batch, channels = g.integer(1, 2), g.integer(1, 3)
            dims = tuple(g.integer(1, 4) for _ in range(spatial))
            kind = g.pick(DATA if mode == "nearest" else FLOATS)
            grid_kind = g.pick(["float", "double", "float16"])
            x = g.tensor(kind, (batch, channels, *dims), special=mode == "nearest")
            shape = (batch, *(g.integer(1, 4) for _ in range(spatial)), spatial)
            values = g.rng.integers(-12, 13, shape) / 4.0  # ties and borders are among them
            if g.integer(0, 1):
                values = g.rng.uniform(-1.5, 1.5, shape)
            for at in np.ndindex(*shape):
                if g.integer(0, 15) == 0:
                    values[at] = g.pick([np.nan, np.inf, -np.inf, 1e4, -1e4, -1.0, 1.0])
            grid = Tensor(grid_kind, values)
            members = f"mode = {mode}, padding_mode = {padding}, align_corners = {str(o['align']).lower()}"
            y, s, picked = sample(o, x.data.astype(np.float64), grid.data.astype(np.float64))
            if mode == "nearest":
                want = np.zeros(y.shape, x.data.dtype)
                for place in np.ndindex(*picked.shape):
                    if picked[place] is not None:
                        b, at = place[0], place[1:]
                        want[(b, slice(None), *at)] = x.data[(b, slice(None), *picked[place])]
                yield Case([x, grid], [Result(kind, want)], members=members, ulps=0)
            else:
                yield Case([x, grid], [Result(kind, y, scale=s)], members=members,
                           ulps=64 if kind == "double" else 1)
    x = g.tensor("float", (2, 0, 3))
    yield Case([x, g.tensor("float", (2, 4, 1))], [Result("float", np.zeros((2, 0, 4)))])
    whole = Tensor("i8", [[[100, -100, 3, 6]]])
    places = Tensor("float", [[[-0.75], [0.0], [0.25], [2.0]]])  # 0, 1.5, 2 and beyond: truncated
    yield Case([whole, places], [Result("i8", [[[100, -48, 3, 0]]])])
    yield Case([Tensor("float", np.ones((1, 1, 2, 2))), g.tensor("float", (1, 4, 1))], error="rank")


# ---- AffineGrid ----------------------------------------------------------------------------------


@oracle("AffineGrid")
def affine_grid(g):
    for kind in FLOATS:
        spatial, align = g.integer(1, 3), bool(g.integer(0, 1))
        batch, dims = g.integer(0, 3), [g.integer(0, 4) for _ in range(spatial)]
        theta = g.tensor(kind, (batch, spatial, spatial + 1), special=False)
        axes = [np.linspace(-1, 1, n) if align else (np.arange(n) + 0.5) * 2 / max(n, 1) - 1
                for n in dims]
        if align:
            axes = [a if len(a) != 1 else np.zeros(1) for a in axes]
        points = np.stack(np.meshgrid(*axes, indexing="ij")[::-1] + [np.ones(dims)], -1)
        t = theta.data.astype(np.float64)
        y = np.einsum("...k,bik->b...i", points, t)
        s = np.einsum("...k,bik->b...i", np.abs(points), np.abs(t))
        size = Tensor("i64", [batch, g.integer(0, 9), *dims])
        run_time = g.integer(0, 1)
        yield Case([theta, size if run_time else size.const()], [Result(kind, y, scale=s)],
                   members=f"align_corners = {str(align).lower()}", graph_only=bool(run_time),
                   ulps=16 if kind == "double" else 1)
    theta = g.tensor("float", (2, 2, 3))
    for size, why in (([2, 1, -1, 3], "size 2 is -1"), ([1, 1, 2, 3], "Size says 1"),
                      ([2, 1, 2, 3, 4], "Theta must have type"), ([2, 1], "Size has 2 values")):
        yield Case([theta, g.ints(size)], error=why)


# ---- RoiAlign and MaxRoiPool ---------------------------------------------------------------------


def bilinear(n, v):
    """The two elements around v on an axis of n, with weights; None if v is outside."""
    if v < -1 or v > n:
        return None
    v = min(max(v, 0.0), n - 1.0)
    low = int(v)
    return (low, 1 - (v - low)), (min(low + 1, n - 1), v - low)


def aligned(o, x, box, batch, cells):
    """[channels, *cells] of one region, and the scale S."""
    shift = 0.5 if o["half"] else 0.0
    start = [box[1] * o["scale"] - shift, box[0] * o["scale"] - shift]
    size = [box[3] * o["scale"] - shift - start[0], box[2] * o["scale"] - shift - start[1]]
    if not o["half"]:
        size = [max(s, 1.0) for s in size]
    step = [s / c for s, c in zip(size, cells)]
    counts = [o["ratio"] or max(0, int(np.ceil(s))) for s in step]
    y, scale = np.zeros((x.shape[1], *cells)), np.zeros((x.shape[1], *cells))
    for cell in np.ndindex(*cells):
        samples = []
        for i, j in np.ndindex(*counts):
            at = [start[a] + (cell[a] + (k + 0.5) / counts[a]) * step[a] for a, k in ((0, i), (1, j))]
            rows, columns = bilinear(x.shape[2], at[0]), bilinear(x.shape[3], at[1])
            if rows is None or columns is None:
                samples.append([np.zeros(x.shape[1])])
            else:
                samples.append([r[1] * c[1] * x[batch, :, r[0], c[0]] for r in rows for c in columns])
        if not samples:
            continue
        at = (slice(None), *cell)
        if o["max"]:
            y[at] = np.max([np.max(s, 0) for s in samples], 0)
            scale[at] = np.max([np.max(np.abs(s), 0) for s in samples], 0)
        else:
            y[at] = np.sum([np.sum(s, 0) for s in samples], 0) / len(samples)
            scale[at] = np.sum([np.sum(np.abs(s), 0) for s in samples], 0) / len(samples)
    return y, scale


@oracle("RoiAlign")
def roi_align(g):
    for kind in FLOATS * 2:
        o = {"half": bool(g.integer(0, 1)), "scale": g.pick([1.0, 0.5, 0.25]),
             "ratio": g.pick([0, 0, 1, 2, 3]), "max": bool(g.integer(0, 1))}
        x = g.tensor(kind, (g.integer(1, 3), g.integer(1, 3), g.integer(1, 6), g.integer(1, 6)),
                     special=False)
        count, cells = g.integer(0, 4), (g.integer(1, 3), g.integer(1, 3))
        rois = g.rng.integers(-8, 33, (count, 4)) / 4.0  # empty and reversed ones, and ones outside
        if count:
            rois[0, 2:] = rois[0, :2] + g.pick([0.0, 1.0, 3.0])
        batches = g.rng.integers(0, x.shape[0], count)
        parts = [aligned(o, x.data.astype(np.float64), b, i, cells) for b, i in zip(rois, batches)]
        y, s = (np.array([p[k] for p in parts]).reshape(count, x.shape[1], *cells) for k in (0, 1))
        form = "half_pixel" if o["half"] else "output_half_pixel"
        members = (f"output_height = {cells[0]}, output_width = {cells[1]}, "
                   f"sampling_ratio = {o['ratio']}, spatial_scale = {o['scale']}, "
                   f"mode = {'max' if o['max'] else 'avg'}, coordinate_transformation_mode = {form}")
        yield Case([x, Tensor(kind, rois), Tensor("i64", batches)], [Result(kind, y, scale=s)],
                   members=members, ulps=64 if kind == "double" else 1)
    x, rois = g.tensor("float", (2, 1, 3, 3)), Tensor("float", np.ones((2, 4)))
    for batch in (2, -1, 2**40):
        yield Case([x, rois, g.ints([0, batch])], error=f"Batches is out of range: {batch}")
    for bad in (np.nan, np.inf, 1e30):
        yield Case([x, Tensor("float", [[0, 0, bad, 1], [0, 0, 1, 1]]), g.ints([0, 1])],
                   error="value of an operand is not allowed")
    none = [g.tensor("float", (0, 2, 3, 3)), Tensor("float", np.zeros((0, 4))), Tensor("i64", np.zeros(0))]
    yield Case(none, [Result("float", np.zeros((0, 2, 1, 1)))])


@oracle("MaxRoiPool")
def max_roi_pool(g):
    for kind in FLOATS * 2:
        x = g.tensor(kind, (g.integer(1, 3), g.integer(1, 2), g.integer(1, 6), g.integer(1, 6)))
        count, cells = g.integer(0, 4), (g.integer(1, 3), g.integer(1, 3))
        scale = g.pick([1.0, 0.5, 0.25])
        rois = np.concatenate([g.rng.integers(0, x.shape[0], (count, 1)),
                               g.rng.integers(-6, 20, (count, 4)) / 2.0], 1)
        y = np.zeros((count, x.shape[1], *cells))
        for r, (batch, *box) in enumerate(rois):
            left, top, right, bottom = (int(np.copysign(np.floor(abs(v * scale) + 0.5), v)) for v in box)
            spans = []
            for first, last, n, extent in ((top, bottom, cells[0], x.shape[2]),
                                           (left, right, cells[1], x.shape[3])):
                size = max(last - first + 1, 1)
                edges = [(first + i * size // n, first - (-(i + 1) * size // n)) for i in range(n)]
                spans.append([tuple(np.clip(e, 0, extent)) for e in edges])
            for i, j in np.ndindex(*cells):
                (a, b), (c, d) = spans[0][i], spans[1][j]
                part = x.wide()[int(batch), :, a:b, c:d]
                if part.size:
                    y[r, :, i, j] = part.max((1, 2))  # numpy's maximum propagates NaN
        yield Case([x, Tensor(kind, rois)], [Result(kind, y)], ulps=1,
                   members=f"pooled_shape = [{cells[0]}, {cells[1]}], spatial_scale = {scale}")
    x = g.tensor("float", (2, 1, 3, 3))
    for batch in (2.0, -1.0, np.nan, 1e30):
        yield Case([x, Tensor("float", [[batch, 0, 0, 1, 1]])], error="Rois is out of range",
                   members="pooled_shape = [1, 1]")
    yield Case([x, Tensor("float", [[0, 0, np.inf, 1, 1]])], members="pooled_shape = [1, 1]",
               error="value of an operand is not allowed")


# ---- NonMaxSuppression ---------------------------------------------------------------------------


def corners(box, center):
    a, b = np.array(box[:2], np.float64), np.array(box[2:], np.float64)
    return (a - b / 2, a + b / 2) if center else (np.minimum(a, b), np.maximum(a, b))


def overlap(p, q):
    """Intersection over union, 0 if any of it has no area."""
    sides = np.minimum(p[1], q[1]) - np.maximum(p[0], q[0])
    if not (sides > 0).all():
        return np.float32(0)
    common, areas = np.prod(sides), [np.prod(b[1] - b[0]) for b in (p, q)]
    if not min(areas) > 0 or not sum(areas) - common > 0:
        return np.float32(0)
    return np.float32(common / (sum(areas) - common))


@oracle("NonMaxSuppression")
def non_max_suppression(g):
    for kind in ["float", "float", "float", "double", "float16"]:
        batch, classes, count = g.integer(0, 2), g.integer(0, 3), g.integer(0, 8)
        center = bool(g.integer(0, 1))
        boxes = Tensor(kind, g.rng.integers(-2, 9, (batch, count, 4)) / 2.0)
        scores = np.array([g.pick([0.0, -0.0, 0.25, 0.5, 0.5, 1.0, -1.0, np.nan, np.inf])
                           for _ in range(batch * classes * count)]).reshape(batch, classes, count)
        most = g.pick([None, 0, -3, 1, 2, 100, 2**63 - 1])
        threshold = g.pick([None, 0.0, 1 / 3, 0.5, 1.0])
        least = g.pick([None, 0.0, 0.25])
        rows = []
        for b, c in itertools.product(range(batch), range(classes)):
            places = [corners(v, center) for v in boxes.data[b]]
            line = scores[b, c]
            order = [i for i in range(count) if least is None or line[i] > least]
            order.sort(key=lambda i: (not np.isnan(line[i]), -np.nan_to_num(line[i], posinf=9e9), i))
            kept = []
            for i in order:
                if len(kept) >= (most or 0):
                    break
                limit = np.float32(threshold or 0)
                if all(not overlap(places[i], places[k]) > limit for k in kept):
                    kept.append(i)
            rows += [[b, c, i] for i in kept]
        bound = batch * classes * (0 if most is None else count)

        def scalar(k, v):
            t = None if v is None else Tensor(k, v if g.integer(0, 1) else [v])
            return t and (t.const() if g.integer(0, 1) else t)
        limit = scalar("i64", most)
        if limit is not None and limit.constant:
            bound = batch * classes * min(count, max(most, 0))
        claim = f"<{'..' if bound else ''}{bound} x 3>"
        yield Case([boxes, Tensor(kind, scores), limit, scalar("float", threshold), scalar("float", least)],
                   [Result("i64", np.array(rows, np.int64).reshape(-1, 3), claim=claim)],
                   members=f"center_point_box = {str(center).lower()}")
    boxes, scores = g.tensor("float", (1, 2, 4)), g.tensor("float", (1, 1, 2))
    for bad in (-0.25, 1.5, np.nan):
        yield Case([boxes, scores, g.ints([1]), Tensor("float", bad)], error="not allowed",
                   results=[Result("i64", np.zeros((0, 3)), claim="<..1 x 3>")])
