"""Models for versions of operators that no case of ONNX's corpus reaches, with values from numpy.

A form is one operator with its attributes at some versions: form("Concat", [1], [a, b], [wanted]). Its model has
one node, or those that `nodes` gives, and is written like a case of the corpus."""
import numpy as np

from onnx_bytes import f, graph, model, node, tensor, type_of, value

KINDS = {np.dtype(k): n for k, n in ((np.float32, 1), (np.uint8, 2), (np.int8, 3), (np.int32, 6), (np.int64, 7),
                                     (np.bool_, 9), (np.float16, 10), (np.float64, 11))}
STRING = 8
# Attributes that a row reads for all of its versions, and the version that brought each.
NEWER = {("Resize", "antialias"): 18, ("Resize", "axes"): 18, ("Resize", "keep_aspect_ratio_policy"): 18,
         ("ArgMax", "select_last_index"): 12}
# Operators whose regions hold other operators: a stamp changes these too.
REGIONS = {"If", "Loop", "Scan", "SequenceMap"}
# Versions in which the forms of newer cases do not hold, though the row is the same.
OTHER = {"BatchNormalization": {1, 6, 7, 9}, "Dropout": {1, 6}, "TopK": {1}, "Upsample": {1, 7}}


def other_form(model_, version):
    """Whether a case of the corpus cannot be stamped with a version that its row has."""
    return model_.op in REGIONS or version in OTHER.get(model_.op, ())


def newer_attributes(op, version):
    """Attributes of a row that this version of the operator does not have."""
    return {a for (o, a), since in NEWER.items() if o == op and version < since}


def proto(name, a):
    """A TensorProto; lists of strings are arrays of objects."""
    if a.dtype == object:
        return tensor(name, STRING, a.shape, fields=b"".join(f(6, s) for s in a.reshape(-1)))
    return tensor(name, KINDS[a.dtype], a.shape, a.tobytes())


def kind_of(a):
    return STRING if a.dtype == object else KINDS[a.dtype]


class Form:
    def __init__(self, op, version, ins, outs, attributes, nodes=None, judged="", covers=(), tag=""):
        self.op, self.version, self.ins, self.outs = op, version, ins, outs
        self.judged, self.tag = judged, tag
        self.covers = [(op, version, set(attributes))] + [(o, version, set(a)) for o, a in covers]
        names = [f"x{i}" if a is not None else "" for i, a in enumerate(ins)]
        results = [f"y{i}" if a is not None else "" for i, a in enumerate(outs)]
        self.nodes = nodes or [node(op, ",".join(names) or "", ",".join(results), **attributes)]
        if not nodes and "" in names + results:
            self.nodes = [with_gaps(op, names, results, attributes)]
        self.names = [n for n in names if n], [n for n in results if n]

    def written(self):
        """What Cases.add takes."""
        ins = [(n, a) for n, a in zip([n for n in self.names[0]], [a for a in self.ins if a is not None])]
        outs = [a for a in self.outs if a is not None]
        text = model(graph(self.nodes, [value(n, kind_of(a), a.shape) for n, a in ins],
                           [value(n, kind_of(a)) for n, a in zip(self.names[1], outs)]), self.version)
        data = {f"input_{i}.pb": proto(n, a) for i, (n, a) in enumerate(ins)}
        data.update({f"output_{i}.pb": proto(n, a) for i, (n, a) in enumerate(zip(self.names[1], outs))})
        return f"{self.op}_{self.version}_form{self.tag}", self.judged, text, data


def with_gaps(op, names, results, attributes):
    from onnx_bytes import attr
    return (b"".join(f(1, n) for n in names) + b"".join(f(2, n) for n in results) + f(4, op)
            + b"".join(f(5, attr(k, v)) for k, v in attributes.items()))


FORMS = []


def form(op, versions, ins, outs, nodes=None, judged="", covers=(), **attributes):
    for v in versions:
        count = sum(x.op == op and x.version == v for x in FORMS)
        FORMS.append(Form(op, v, ins, outs, attributes, nodes, judged, covers, f"_{count}" if count else ""))


def cases():
    return FORMS


def F(values, *shape):
    """Floats, of a shape or as they are."""
    a = np.array(values, np.float32)
    return a.reshape(shape) if shape else a


def I(values):
    return np.array(values, np.int64)


def S(values):
    return np.array(values, object)


def ramp(*shape):
    """Floats that count up from -3."""
    return (np.arange(np.prod(shape), dtype=np.float32) - 3).reshape(shape)


def sigmoid(v):
    return 1 / (1 + np.exp(-v))


# ---- elementwise ---------------------------------------------------------------------------------

A, B = ramp(2, 3, 4), F([1, 2, 4])
COLUMN = B[:, None]
for name, fn in ("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply), ("Div", np.divide):
    form(name, [1, 6], [A, B], [fn(A, COLUMN)], broadcast=1, axis=1)
    form(name, [1, 6], [A, A[1] + 9], [fn(A, A[1] + 9)], broadcast=1)
    form(name, [1, 6], [A, A + 9], [fn(A, A + 9)])
for name, fn in ("Greater", np.greater), ("Less", np.less):
    form(name, [1], [A, B], [fn(A, COLUMN)], broadcast=1, axis=1)
form("Equal", [1], [I([[0, 1, 4], [2, 2, 2]]), I([2, 1])], [np.array([[0, 0, 0], [0, 0, 0]], bool)], broadcast=1, axis=0)
form("Pow", [1], [A, B], [np.power(A, COLUMN)], broadcast=1, axis=1)
P, Q = np.array([[0, 1, 1], [0, 0, 1]], bool), np.array([1, 0], bool)
for name, fn in ("And", np.logical_and), ("Or", np.logical_or), ("Xor", np.logical_xor):
    form(name, [1], [P, Q], [fn(P, Q[:, None])], broadcast=1, axis=0)
U, W = np.array([12, 10, 255], np.uint8), np.array([10, 6, 15], np.uint8)
for name, fn in ("And", np.bitwise_and), ("Or", np.bitwise_or), ("Xor", np.bitwise_xor):
    form("Bitwise" + name, [18], [U, W], [fn(U, W)])
form("BitwiseNot", [18], [U], [~U])
form("BitCast", [26], [F([1, -2])], [F([1, -2]).view(np.int32)], to=6)
form("Cast", [1], [F([1.7, -1.7])], [np.array([1, -1], np.int32)], to="INT32")
form("Clip", [1, 6], [A], [np.clip(A, -1, 5)], min=-1.0, max=5.0)
form("Clip", [1, 6], [A], [A])
form("Dropout", [1, 6], [A], [A], is_test=1, ratio=0.5)
form("PRelu", [1, 6], [A, B], [np.where(A < 0, A * COLUMN, A)])
form("Selu", [1], [A], [F(1.0507 * np.where(A > 0, A, 1.6732 * np.expm1(A)))])
form("Selu", [1], [A], [F(2 * np.where(A > 0, A, 3 * np.expm1(A)))], alpha=3.0, gamma=2.0)
ERF = F([-0.84270079, 0, 0.84270079])  # of -1, 0, 1
form("Gelu", [20], [F([-1, 0, 1]) * F(np.sqrt(2))], [F([-1, 0, 1]) * F(np.sqrt(2)) * (1 + ERF) / 2])
form("Gelu", [20], [A], [F(A / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (A + 0.044715 * A ** 3))))], approximate="tanh")
INF = F([np.inf, -np.inf, 1, np.nan])
form("IsInf", [20], [INF], [np.array([0, 1, 0, 0], bool)], detect_positive=0)
form("IsInf", [20], [INF], [np.array([1, 0, 0, 0], bool)], detect_negative=0)
form("IsNaN", [20], [INF], [np.isnan(INF)])
form("Mish", [18, 22], [A], [F(A * np.tanh(np.log1p(np.exp(A))))])
form("Swish", [24], [A], [F(A * sigmoid(0.5 * A))], alpha=0.5)
form("SwiGLU", [28], [A, A + 1], [F(A * sigmoid(0.5 * A) * (A + 1))], alpha=0.5)
form("Range", [27], [F(1), F(9), F(2.5)], [F([1, 3.5, 6, 8.5])])
# 16-bit: 2049 * 0.5 is rounded once where the sum is a float.
form("Range", [27], [np.float16(1).reshape(()), np.float16(2).reshape(()), np.float16(0.25).reshape(())],
     [np.array([1, 1.25, 1.5, 1.75], np.float16)], stash_type=11)

# ---- contractions and pools ----------------------------------------------------------------------

X4 = ramp(1, 1, 4, 4)
form("MaxRoiPool", [1, 22], [X4, F([[0, 0, 0, 6, 6]])], [F([[[[2, 4], [10, 12]]]])], pooled_shape=[2, 2], spatial_scale=0.5)
LINE = F([[[3, -4, 0, 5]]])
for v, p in (1, 2.0), (2, 2), (11, 2), (18, 2), (22, 2):
    form("LpPool", [v], [LINE], [F([[[5, 4, 5]]])], kernel_shape=[2], p=p)
    form("LpPool", [v], [LINE], [F([[[3, 4, 5]]])], kernel_shape=[2], strides=[2], pads=[1, 1], p=p)
    form("GlobalLpPool", [v] if v in (1, 2, 22) else [], [LINE], [F([[[12]]])], p=1.0 if v == 1 else 1)
    form("GlobalLpPool", [v] if v in (1, 2, 22) else [], [LINE], [F([[[np.sqrt(50)]]])])
form("LpPool", [18, 22], [LINE], [F([[[3, np.sqrt(41)]]])], kernel_shape=[2], dilations=[2], p=2)
form("LpPool", [18, 22], [LINE], [F([[[7, 5]]])], kernel_shape=[3], strides=[2], ceil_mode=1, p=1)
form("Col2Im", [18], [F([[[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]]]), I([4, 4]), I([2, 2])],
     [F([[[[1, 5, 2, 6], [9, 13, 10, 14], [3, 7, 4, 8], [11, 15, 12, 16]]]])], strides=[2, 2])
form("Col2Im", [18], [F([[[1, 2, 3], [5, 6, 7]]]), I([1, 4]), I([1, 2])], [F([[[[1, 2, 8, 6]]]])],
     dilations=[1, 2], pads=[0, 0, 0, 1])
form("Col2Im", [18], [F([[[1, 2, 3], [5, 6, 7]]]), I([1, 2]), I([1, 2])], [F([[[[7, 9]]]])], pads=[0, 1, 0, 1])
K22 = F([[[[1, 2], [3, 4]]]])
form("DeformConv", [19, 22], [F(np.arange(9), 1, 1, 3, 3), K22, np.zeros((1, 8, 2, 2), np.float32)],
     [F([[[[27, 37], [57, 67]]]])], kernel_shape=[2, 2])
# All taps one row and one column further, where the image may have ended; halves by the mask.
NINE = np.arange(9.0).reshape(3, 3)
FURTHER = np.pad(NINE, ((0, 1), (0, 1)))[1:, 1:]
form("DeformConv", [19, 22], [F(NINE, 1, 1, 3, 3), F([[[[1, 3]]]]), F(np.ones((1, 4, 3, 2))), F([10]), F(np.full((1, 2, 3, 2), 0.5))],
     [F(10 + (FURTHER[:, :2] + 3 * FURTHER[:, 1:]) / 2, 1, 1, 3, 2)], kernel_shape=[1, 2])
form("CausalConvWithState", [27], [F([[[1, 2, 3]]]), F([[[10, 1]]])], [F([[[1, 12, 23]]]), F([[[3]]])])
form("CausalConvWithState", [27], [F([[[1, 2, 3]]]), F([[[10, 1]]]), F([5]), F([[[4]]])],
     [F([[[46, 17, 28]]]) * F(sigmoid(np.array([46, 17, 28]))), F([[[3]]])], activation="silu")

# ---- normalization and attention -----------------------------------------------------------------

C3 = ramp(2, 3, 2, 2)


def along(v, rank=4):
    return np.array(v, np.float64).reshape([1, -1] + [1] * (rank - 2))


SCALE, SHIFT, MEAN, VAR = F([1, 2, 3]), F([0.5, 0, -1]), F([1, 0, 2]), F([4, 1, 0.25])
NORMAL = F((C3 - along(MEAN)) / np.sqrt(along(VAR) + 0.01) * along(SCALE) + along(SHIFT))
form("BatchNormalization", [1, 6], [C3, SCALE, SHIFT, MEAN, VAR], [NORMAL], is_test=1, epsilon=0.01)
form("BatchNormalization", [7, 9], [C3, SCALE, SHIFT, MEAN, VAR], [NORMAL], epsilon=0.01)
OWN_MEAN = C3.astype(np.float64).mean((0, 2, 3))
OWN_VAR = C3.astype(np.float64).var((0, 2, 3))
TRAINED = F((C3 - along(OWN_MEAN)) / np.sqrt(along(OWN_VAR) + 0.01) * along(SCALE) + along(SHIFT))
RUNNING = [F(0.75 * MEAN + 0.25 * OWN_MEAN), F(0.75 * VAR + 0.25 * OWN_VAR)]
form("BatchNormalization", [1, 6, 7, 9], [C3, SCALE, SHIFT, MEAN, VAR],
     [TRAINED, *RUNNING, F(OWN_MEAN), F(OWN_VAR)], epsilon=0.01, momentum=0.75)
form("BatchNormalization", [14, 15], [C3, SCALE, SHIFT, MEAN, VAR], [TRAINED, *RUNNING], epsilon=0.01, momentum=0.75,
     training_mode=1)
# spatial = 0: statistics of each element of a sample.
EACH = [a * np.ones((3, 2, 2), np.float32) for a in (2, 1, 0.5, 4)]
EACH_NORMAL = F((C3 - 0.5) / np.sqrt(4.01) * 2 + 1)
form("BatchNormalization", [1, 6], [C3, *EACH], [EACH_NORMAL], epsilon=0.01, spatial=0, is_test=1)
form("BatchNormalization", [7], [C3, *EACH], [EACH_NORMAL], epsilon=0.01, spatial=0)
G4 = ramp(2, 4, 3)


def grouped(x):
    y = x.astype(np.float64).reshape(2, 2, -1)
    return ((y - y.mean(-1, keepdims=True)) / np.sqrt(y.var(-1, keepdims=True) + 0.01)).reshape(x.shape)


form("GroupNormalization", [18], [G4, F([1, 2]), F([0, 5])],
     [F(grouped(G4) * along([1, 1, 2, 2], 3) + along([0, 0, 5, 5], 3))], num_groups=2, epsilon=0.01)
form("GroupNormalization", [21], [G4, F([1, 2, 3, 4]), F([0, 5, 0, 1])],
     [F(grouped(G4) * along([1, 2, 3, 4], 3) + along([0, 5, 0, 1], 3))], num_groups=2, epsilon=0.01, stash_type=1)
D3 = A.astype(np.float64)
form("LayerNormalization", [17], [A, F(np.ones((3, 4)))],
     [F((D3 - D3.mean((1, 2), keepdims=True)) / np.sqrt(D3.var((1, 2), keepdims=True) + 0.01))],
     axis=1, epsilon=0.01, stash_type=1)
form("RMSNormalization", [23], [A, F(np.ones((3, 4)))],
     [F(D3 / np.sqrt((D3 * D3).mean((1, 2), keepdims=True) + 0.01))], axis=1, epsilon=0.01, stash_type=1)
form("MeanVarianceNormalization", [9, 13], [A], [F((D3 - D3.mean((0, 2), keepdims=True)) / D3.std((0, 2), keepdims=True))],
     axes=[0, 2])
form("LpNormalization", [1, 22], [A], [F(D3 / np.abs(D3).sum(0))], axis=0, p=1)
form("LpNormalization", [1, 22], [A], [F(D3 / np.sqrt((D3 * D3).sum(2, keepdims=True)))])
FLAT = D3.reshape(2, 12)
EXP = np.exp(FLAT - FLAT.max(1, keepdims=True))
SOFT = EXP / EXP.sum(1, keepdims=True)
ONE = np.zeros((2, 12))
ONE[:, 11] = 1
for name, want in ("Softmax", SOFT), ("LogSoftmax", np.log(SOFT)), ("Hardmax", ONE):
    form(name, [1, 11], [A], [F(want, 2, 3, 4)])  # as a matrix with the axes from 1 on in a row
    rows = D3.reshape(6, 4)
    e = np.exp(rows - rows.max(1, keepdims=True))
    last = {"Softmax": e / e.sum(1, keepdims=True), "LogSoftmax": np.log(e / e.sum(1, keepdims=True)),
            "Hardmax": np.tile([0, 0, 0, 1], (6, 1))}[name]
    form(name, [1, 11], [A], [F(last, 2, 3, 4)], axis=2)
QKV = [F([[[[1, 0], [0, 2]]]]), F([[[[1, 1], [0, 1]]]]), F([[[[1, 2], [3, 5]]]])]
q, k, v = (a[0, 0].astype(np.float64) for a in QKV)
scores = 0.5 * q @ k.T
weights = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
form("Attention", [23, 24, 25], QKV, [F(weights @ v, 1, 1, 2, 2)], scale=0.5)
weights = np.tril(np.exp(scores)) / np.tril(np.exp(scores)).sum(1, keepdims=True)
form("Attention", [23, 24, 25], QKV, [F(weights @ v, 1, 1, 2, 2)], scale=0.5, is_causal=1)
# S is k v' summed over the tokens so far; each result is q' S.
form("LinearAttention", [27], [F([[[1, 2], [3, 4]]]), F([[[1, 0], [0, 1]]]), F([[[5], [7]]])],
     [F([[[5 * 0.5], [(15 + 28) * 0.5]]]), F([[[[5], [7]]]])], q_num_heads=1, kv_num_heads=1, scale=0.5,
     update_rule="linear")
R4, COS, SIN = F([[[[1, 2, 3, 4]]]]), F([[[0.5, 0.25]]]), F([[[2, 1]]])
form("RotaryEmbedding", [23], [R4, COS, SIN], [F([[[[0.5 - 6, 0.5 - 4, 1.5 + 2, 1 + 2]]]])])
form("RotaryEmbedding", [23], [F([[[1, 2, 3, 4, 5, 6, 7, 8]]]), COS[:, :, :1], SIN[:, :, :1]],
     [F([[[0.5 - 4, 1 + 2, 3, 4, 2.5 - 12, 3 + 10, 7, 8]]])], num_heads=2, rotary_embedding_dim=2, interleaved=1)

# ---- selection and movement ----------------------------------------------------------------------

form("TopK", [1], [F([[1, 4, 2], [7, 0, 9]])], [F([[4, 2], [9, 7]]), I([[1, 2], [2, 0]])], k=2)
form("TopK", [1], [F([[1, 4, 2], [7, 0, 9]])], [F([[7, 4, 9]]), I([[1, 0, 1]])], k=1, axis=0)
form("CumProd", [26], [F([1, 2, 3, 4]), I(0)], [F([24, 12, 4, 1])], exclusive=1, reverse=1)
form("Concat", [1], [A, A + 50], [np.concatenate([A, A + 50], 1)])  # the axis was optional, and 1
form("Concat", [1], [A, A + 50], [np.concatenate([A, A + 50], 2)], axis=2)
form("ConcatFromSequence", [11], [F([1, 2]), F([3, 4])], [F([[1, 3], [2, 4]])], axis=1, new_axis=1,
     nodes=[node("SequenceConstruct", "x0,x1", "s"), node("ConcatFromSequence", "s", "y0", axis=1, new_axis=1)],
     covers=[("SequenceConstruct", ())])
form("SequenceAt", [11], [F([1, 2]), F([3, 4]), I(0), I(1)], [F([1, 2]), I(2)],
     nodes=[node("SequenceEmpty", "", "e", dtype=1), node("SequenceInsert", "e,x0", "a"), node("SequenceInsert", "a,x1,x2", "b"),
            node("SequenceInsert", "b,x1", "c"), node("SequenceErase", "c,x2", "d"), node("SequenceAt", "d,x2", "y0"),
            node("SequenceLength", "d", "y1")],
     covers=[(op, ()) for op in ("SequenceEmpty", "SequenceInsert", "SequenceErase", "SequenceLength")])
for version in 11, 24:
    form("SplitToSequence", [version], [A, I(2)], [A[:, 2]], axis=1, keepdims=0,
         nodes=[node("SplitToSequence", "x0", "s", axis=1, keepdims=0), node("SequenceAt", "s,x1", "y0")])
form("Optional", [15, 28], [A], [A], nodes=[node("Optional", "x0", "o"), node("OptionalGetElement", "o", "y0")])
form("CenterCropPad", [18], [F([[1, 2, 3], [4, 5, 6]]), I([4, 1])], [F([[0], [2], [5], [0]])], axes=[0, 1])
form("DepthToSpace", [1], [F(np.arange(4), 1, 4, 1, 1)], [F([[[[0, 1], [2, 3]]]])], blocksize=2)
form("SpaceToDepth", [28], [F([[[[0, 1], [2, 3]], [[4, 5], [6, 7]]]])], [F([0, 1, 2, 3, 4, 5, 6, 7], 1, 8, 1, 1)],
     blocksize=2, mode="CRD")
form("GatherND", [11], [A, I([[0, 1], [1, 2]])], [A[[0, 1], [1, 2]]])
form("Pad", [1], [F([[1, 2], [3, 4]])], [F([[9, 9, 9], [1, 2, 9], [3, 4, 9]])], paddings=[1, 0, 0, 1], value=9.0)
form("Pad", [1], [F([[1, 2], [3, 4]])], [F([[1, 2, 2], [3, 4, 4]])], paddings=[0, 0, 0, 1], mode="edge")
form("Pad", [2], [F([[1, 2, 3], [4, 5, 6]])], [F([[2, 3, 9], [5, 6, 9], [9, 9, 9]])], pads=[0, -1, 1, 1], value=9.0)
form("Pad", [2], [F([[1, 2, 3]])], [F([[3, 2, 1, 2, 3]])], pads=[0, 2, 0, 0], mode="reflect")
form("Reshape", [1], [A], [A.reshape(4, 6)], shape=[4, -1])
form("Reshape", [5, 13], [A, I([0, -1])], [A.reshape(2, 12)])
form("ScatterElements", [11, 13], [A, I([[[1]], [[0]]]), F([[[50]], [[60]]])],
     [F([50 if i == 4 else 60 if i == 12 else x for i, x in enumerate(A.reshape(-1))], 2, 3, 4)], axis=1)
form("ScatterND", [11, 13], [F([1, 2, 3]), I([[2], [0]]), F([7, 8])], [F([8, 2, 7])])
form("Shape", [1, 13], [A], [I([2, 3, 4])])
form("Slice", [1], [A], [A[:, 1:, :2]], axes=[1, 2], starts=[1, -9], ends=[9, -2])
form("Slice", [1], [A], [A[1:, :2]], starts=[1, 0], ends=[2, 2])
form("Squeeze", [1, 11], [A.reshape(2, 1, 12, 1)], [A.reshape(2, 12, 1)], axes=[1])
form("Squeeze", [1, 11], [A.reshape(2, 1, 12, 1)], [A.reshape(2, 12)])
form("TensorScatter", [24], [F(np.zeros((2, 3, 1))), F([[[1], [2]], [[3], [4]]]), I([1, 2])],
     [F([[[0], [1], [2]], [[4], [0], [3]]])], axis=1, mode="circular")
form("Tile", [1], [A, F(2), F(1)], [np.tile(A, (1, 2, 1))])

# ---- resampling ----------------------------------------------------------------------------------

TWICE = F([[1, 1, 2, 2], [3, 3, 4, 4]], 1, 1, 2, 4)
SQUARE = F([[1, 2], [3, 4]], 1, 1, 2, 2)
form("Upsample", [1], [SQUARE], [TWICE], width_scale=2.0, height_scale=1.0, mode="nearest")
form("Upsample", [7], [SQUARE], [TWICE], scales=[1.0, 1.0, 1.0, 2.0])
LINEAR = F([[1, 1.5, 2, 2], [3, 3.5, 4, 4]], 1, 1, 2, 4)
form("Upsample", [7], [SQUARE], [LINEAR], scales=[1.0, 1.0, 1.0, 2.0], mode="linear")
form("Upsample", [9, 10], [SQUARE, F([1, 1, 1, 2])], [LINEAR], mode="linear")
form("Resize", [10], [SQUARE, F([1, 1, 1, 2])], [TWICE])
form("Resize", [10], [SQUARE, F([1, 1, 1, 2])], [LINEAR], mode="linear")
WIDE = F(np.arange(8), 1, 1, 2, 4)
form("Resize", [18, 19], [WIDE, None, None, I([6, 8])], [WIDE.repeat(2, 2).repeat(2, 3)], axes=[2, 3],
     keep_aspect_ratio_policy="not_larger", coordinate_transformation_mode="asymmetric", nearest_mode="floor", mode="nearest")
# A triangle as wide as two input pixels on each side: weights 3/4, 3/4, 1/4 of the pixels that exist.
form("Resize", [18, 19], [F([[[[1, 2, 3, 4]]]]), None, F([1, 1, 1, 0.5])], [F([[[[3 / 1.75, 5 - 3 / 1.75]]]])],
     mode="linear", antialias=1, exclude_outside=1)
form("AffineGrid", [20], [F([[[1, 0, 0], [0, 1, 0]]]), I([1, 1, 2, 3])],
     [F([[[[-1, -1], [0, -1], [1, -1]], [[-1, 1], [0, 1], [1, 1]]]])], align_corners=1)
form("GridSample", [20, 22], [SQUARE, F([[[[0, 0], [-1, 1]]]])], [F([[[[2.5, 3]]]])], mode="linear", align_corners=1)
# One sample in the middle of each bin, on a pixel; before version 16 pixels had their centres at whole numbers.
form("RoiAlign", [10], [F(np.arange(16), 1, 1, 4, 4), F([[0, 0, 4, 4]]), I([0])], [F([[[[5, 7], [13, 15]]]])],
     output_height=2, output_width=2, sampling_ratio=1, spatial_scale=1.0)
form("RoiAlign", [16, 22], [F(np.arange(16), 1, 1, 4, 4), F([[0.5, 0.5, 4.5, 4.5]]), I([0])], [F([[[[5, 7], [13, 15]]]])],
     output_height=2, output_width=2, sampling_ratio=1, spatial_scale=1.0, mode="max")
form("RoiAlign", [16, 22], [F(np.arange(16), 1, 1, 4, 4), F([[0, 0, 8, 8]]), I([0])], [F([[[[5, 7], [13, 15]]]])],
     output_height=2, output_width=2, sampling_ratio=1, spatial_scale=0.5, mode="max",
     coordinate_transformation_mode="output_half_pixel")

# ---- signals, strings, random numbers ------------------------------------------------------------

SIGNAL = F([1, 2, 0, -1, 3, 1])
FRAMES = np.fft.fft(np.stack([SIGNAL[:4], SIGNAL[2:]]), axis=1)
form("STFT", [17], [SIGNAL.reshape(1, 6, 1), I(2), None, I(4)], [F(np.stack([FRAMES.real, FRAMES.imag], -1))[None]], onesided=0)
# Its axis is an operand, and the one before the last if there is none.
GRID = ramp(1, 3, 4, 1)
for axis in 1, 2, -3, None:
    LINES = np.fft.fft(GRID[..., 0], axis=1 if axis in (1, -3) else 2)
    nodes = [node("Constant", "", "axis", value_int=axis)] if axis is not None else []
    form("DFT", [20], [GRID], [F(np.stack([LINES.real, LINES.imag], -1))],
         nodes=nodes + [with_gaps("DFT", ["x0", "", "axis"] if nodes else ["x0"], ["y0"], {})])
# Edges of one filter at bins 0, 2 and 4 of a transform of 8 samples: 700 * expm1 of even steps in mel.
HIGH = F(2000.0)
MELS = np.linspace(0, np.log1p(2000 / 700), 4)[:3]
EDGES = np.floor(9 * 700 * np.expm1(MELS) / 4000).astype(int)
BANK = np.zeros((5, 1))
for i in range(5):
    left, middle, right = EDGES
    if left <= i < middle:
        BANK[i] = (i - left) / (middle - left)
    elif middle <= i < right:
        BANK[i] = (right - i) / (right - middle)
form("MelWeightMatrix", [17], [I(1), I(8), I(4000), F(0.0), HIGH], [BANK], output_datatype=11)
form("StringConcat", [20], [S(["a", "b"]), S(["x", "yz"])], [S(["ax", "byz"])])
form("StringSplit", [20], [S(["a,b,c", "d"])], [S([["a", "b,c"], ["d", ""]]), I([2, 1])], delimiter=",", maxsplit=1)
form("TfIdfVectorizer", [9], [S(["a", "b", "a"])], [F([1, 0.5])], mode="TFIDF", min_gram_length=1, max_gram_length=1,
     max_skip_count=0, ngram_counts=[0], ngram_indexes=[0, 1], pool_strings=["a", "b"], weights=[0.5, 0.5])
DRAWN = np.zeros((2, 3), np.float32)
for name, more in ("RandomNormal", {"mean": 1.0, "scale": 2.0}), ("RandomUniform", {"low": 1.0, "high": 2.0}):
    form(name, [1, 22], [], [DRAWN.astype(np.float64)], judged="shape", shape=[2, 3], dtype=11, seed=3.0, **more)
    form(name + "Like", [1, 22], [DRAWN], [DRAWN], judged="shape", seed=3.0, **more)
form("Multinomial", [7, 22], [DRAWN], [np.zeros((2, 4), np.int64)], judged="shape", sample_size=4, dtype=7)

# ---- control flow --------------------------------------------------------------------------------

YES = graph([node("Neg", "x1", "t")], outs=[value("t", 1, [2, 3, 4])])
NO = graph([node("Identity", "x1", "e")], outs=[value("e", 1, [2, 3, 4])])
CONTROL = [1, 11, 13, 16, 19, 21, 23, 24, 25]
IF = [node("If", "x0", "y0", then_branch=YES, else_branch=NO)]
form("If", CONTROL, [np.array(True), A], [-A], nodes=IF)
form("If", CONTROL, [np.array(False), A], [A], nodes=IF)
BODY = graph([node("Identity", "go", "again"), node("Neg", "v", "w"), node("Identity", "w", "scanned")],
             [value("i", 7, []), value("go", 9, []), value("v", 1, [2])],
             [value("again", 9, []), value("w", 1, [2]), value("scanned", 1, [2])])
PAIR = F([1, 2])
form("Loop", CONTROL, [I(3), np.array(True), PAIR], [-PAIR, np.stack([-PAIR, PAIR, -PAIR])], body=BODY)
STEP = graph([node("Neg", "s", "n"), node("Neg", "e", "o")], [value("s", 1, [2]), value("e", 1, [2])],
             [value("n", 1, [2]), value("o", 1, [2])])
ROWS = ramp(3, 2)
form("Scan", [9, 11, 16, 19, 21, 23, 24, 25], [PAIR, ROWS], [-PAIR, -ROWS], num_scan_inputs=1, body=STEP)
form("Scan", [9, 11, 16, 19, 21, 23, 24, 25], [PAIR, ROWS.T.copy()], [-PAIR, -ROWS[::-1]], num_scan_inputs=1, body=STEP,
     scan_input_axes=[1], scan_input_directions=[1])
form("Scan", [8], [None, np.stack([PAIR, PAIR + 1]), np.stack([ROWS, ROWS + 1])],
     [-np.stack([PAIR, PAIR + 1]), -np.stack([ROWS, ROWS + 1])], num_scan_inputs=1, body=STEP)
EACH_BODY = graph([node("Neg", "p", "n")], [value("p", 1, [2])], [value("n", 1, [2])])
form("SequenceMap", [17], [PAIR, PAIR + 1, I(1)], [-PAIR - 1], body=EACH_BODY,
     nodes=[node("SequenceConstruct", "x0,x1", "s"), node("SequenceMap", "s", "m", body=EACH_BODY), node("SequenceAt", "m,x2", "y0")])
