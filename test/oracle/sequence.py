"""Oracles of sequences, optionals, strings and n-grams."""
import numpy as np

from oracle import Case, Result, Tensor, literal, oracle


def strings(g, shape, words):
    n = int(np.prod(shape, dtype=int))
    return Tensor("string", np.array([g.pick(words) for _ in range(n)] + [None], object)[:-1].reshape(shape))


@oracle("StringConcat")
def string_concat(g):
    a, b = g.broadcast_pair(high=3)
    x, y = g.tensor("string", a), g.tensor("string", b)
    yield Case([x, y], [Result("string", np.asarray(x.data + y.data, object))])
    yield Case([g.tensor("string", (2,)), g.tensor("string", (3,))], error="do not broadcast")


@oracle("StringSplit")
def string_split(g):
    words = ["", " ", "a", "a,b", ",", "a,,b,", "x y", "  x \ty  ", "aaa", "ab,ab", "ü, ß ", "a" * 30]
    for delimiter in ("", ",", "aa", ", "):
        x = strings(g, g.shape(high=3), words)
        for limit in (-1, 0, 1, 2):
            parts = [s.split(delimiter or None, limit) for s in x.data.ravel()]
            most = max([len(p) for p in parts], default=0)
            y = np.array([p + [""] * (most - len(p)) for p in parts] + [None], object)[:-1]
            y = np.array([q for p in y for q in p] + [None], object)[:-1].reshape(*x.shape, most)
            count = np.array([len(p) for p in parts], np.int64).reshape(x.shape)
            claim = "<" + " x ".join([str(d) for d in x.shape] + ["?"]) + ">"
            yield Case([x], [Result("string", y, claim=claim), Result("i64", count)],
                       members=(f'delimiter = "{delimiter}", ' if delimiter or limit > 0 else "") +
                       f"maxsplit = {limit}", graph_only=True)


def occurrences(row, gram, skips):
    """How often a gram stands in a row, its items one to `skips` + 1 places apart."""
    n, size, found = len(row), len(gram), 0
    for step in range(1, (1 if size == 1 else skips + 1) + 1):
        for start in range(n - step * (size - 1)):
            found += all(row[start + step * i] == gram[i] for i in range(size))
    return found


@oracle("TfIdfVectorizer")
def tf_idf_vectorizer(g):
    for kind in ("i32", "i64", "string"):
        text = kind == "string"
        items = ["a", "b", "", "ab"] if text else [1, 2, 3, -4]
        shape = g.pick([(7,), (0,), (1,), (3, 8), (2, 0)])
        count = int(np.prod(shape))
        x = Tensor(kind, np.array([g.pick(items) for _ in range(count)] + [None], object)[:-1].reshape(shape))
        grams = [[g.pick(items) for _ in range(size)] for size in (1, 2, 3) for _ in range(g.integer(0, 3))]
        grams += [[g.pick(items) for _ in range(4)]]
        starts, at = [], 0
        for size in (1, 2, 3, 4):
            starts.append(at)
            at += size * sum(len(p) == size for p in grams)
        where = [g.integer(0, 5) for _ in grams]
        low = g.integer(1, 3)
        high, skips = g.integer(low, 4), g.pick([0, 1, 2, 5])
        weights = [0.5 + i for i in range(len(grams))]
        for mode in ("tf", "idf", "tfidf"):
            want = np.zeros((*shape[:-1], max(where) + 1))
            for index in np.ndindex(*shape[:-1]):
                for gram, to, weight in zip(grams, where, weights):
                    if low <= len(gram) <= high:
                        n = occurrences(list(x.data[index]), gram, skips)
                        want[(*index, to)] += n if mode == "tf" else (min(n, 1) if mode == "idf" else n) * weight
            quoted = lambda v: '"' + v + '"' if text else str(v)
            pool = ", ".join(quoted(v) for gram in grams for v in gram)
            members = (f"mode = {mode}, min_gram_length = {low}, max_gram_length = {high}, "
                       f"max_skip_count = {skips}, ngram_counts = {starts}, ngram_indexes = {where}, "
                       f"{'pool_strings' if text else 'pool_int64s'} = [{pool}], weights = {weights}")
            yield Case([x], [Result("float", want)], members=members, ulps=0, graph_only=text)


# ---- sequences and optionals ---------------------------------------------------------------------


def tensors(g, count, kind=None):
    """Tensors of one kind and rank."""
    kind = kind or g.pick(["float", "double", "float16", "bfloat16", "i8", "u16", "i64", "bool", "string"])
    rank = g.integer(0, 3)
    return [g.tensor(kind, g.shape(low=rank, high=rank, extent=3)) for _ in range(count)]


def construct(items, first=0):
    return f"%s = SequenceConstruct({', '.join(f'${first + i}' for i in range(len(items)))})"


def element(body, want, inputs, at, **kw):
    """A case whose result is element `at` of the sequence %t that `body` makes; -1 is the last."""
    get = f"%r0 = SequenceAt(%t, ${len(inputs)})"
    unknown = "<" + " x ".join("?" * len(want.shape)) + ">"
    return Case(inputs + [Tensor("i64", at)], [Result(want.kind, want.data, claim=unknown)],
                body=body + [get], ulps=0, graph_only=True, **kw)


def refused(inputs, body, error):
    return Case(inputs, [Result("i64", 0)], body=body + ["%r0 = SequenceLength(%t)"], error=error,
                graph_only=True)


@oracle("SequenceConstruct", "SequenceAt", "SequenceLength")
def sequence_at(g, op):
    for _ in range(4):
        items = tensors(g, g.integer(1, 4))
        for at in {0, len(items) - 1, -1, -len(items)}:
            yield element([construct(items).replace("%s", "%t", 1)], items[at], items, at)
        yield Case(items, [Result("i64", len(items))], graph_only=True,
                   body=[construct(items), "%r0 = SequenceLength(%s)"])
    for at in (len(items), -len(items) - 1, 2**40):
        case = element([construct(items).replace("%s", "%t", 1)], items[0], items, at)
        case.error = f"case.gg.*SequenceAt.*Position is out of range: {at}, in a sequence of {len(items)}"
        yield case
    yield Case([Tensor("float", [1.0]), Tensor("i32", [1])], [Result("i64", 2)],
               body=["%s = SequenceConstruct($0, $1)", "%r0 = SequenceLength(%s)"],
               error="float<1> and i32<1> cannot be elements of one sequence")


@oracle("SequenceEmpty")
def sequence_empty(g):
    kind = g.pick(["float", "string", "complex64", "float8e5m2"])
    yield Case([], [Result("i64", 0)], graph_only=True,
               body=[f"%s = SequenceEmpty() {{elem = {kind}<*>}}", "%r0 = SequenceLength(%s)"])
    yield Case([], [Result("i64", 0)], error="elem must be the type of a tensor",
               body=["%s = SequenceEmpty() {elem = seq<float<2>>}", "%r0 = SequenceLength(%s)"])
    empty = "%t = SequenceEmpty() {elem = float<?>}"
    case = element([empty], Tensor("float", [1.0]), [], 0)
    case.error = "SequenceAt.*the sequence is empty"
    yield case


@oracle("SequenceInsert")
def sequence_insert(g):
    for _ in range(3):
        items = tensors(g, g.integer(2, 4))
        rest, x = items[:-1], items[-1]
        for at in {None, 0, len(rest), -1, -len(rest), g.integer(0, len(rest))}:
            want = list(rest)
            want.insert(len(rest) if at is None else at, x)
            position = [] if at is None else [Tensor(g.pick(["i32", "i64"]), at)]
            more = f", ${len(items)}" if position else ""
            body = [construct(rest), f"%t = SequenceInsert(%s, ${len(rest)}{more})"]
            k = g.integer(0, len(want) - 1)
            yield element(body, want[k], items + position, k)
    for at in (len(rest) + 1, -len(rest) - 1):
        body = [construct(rest), f"%t = SequenceInsert(%s, ${len(rest)}, ${len(items)})"]
        yield refused(items + [Tensor("i64", at)], body,
                      f"case.gg.*SequenceInsert.*Position is out of range: {at}, in a sequence of {len(rest)}")


@oracle("SequenceErase")
def sequence_erase(g):
    for _ in range(3):
        items = tensors(g, g.integer(2, 4))
        for at in {None, 0, len(items) - 1, -1, -len(items), g.integer(0, len(items) - 1)}:
            want = list(items)
            want.pop(-1 if at is None else at)
            position = [] if at is None else [Tensor("i64", at)]
            body = [construct(items), f"%t = SequenceErase(%s{f', ${len(items)}' if position else ''})"]
            k = g.integer(0, len(want) - 1)
            yield element(body, want[k], items + position, k)
    for at in (len(items), -len(items) - 1):
        yield refused(items + [Tensor("i64", at)],
                      [construct(items), f"%t = SequenceErase(%s, ${len(items)})"],
                      f"case.gg.*SequenceErase.*Position is out of range: {at}")


def pieces(x, axis, split, keep):
    """numpy's answer: a list of arrays."""
    extent = x.shape[axis]
    if split is None:
        parts = np.split(x, range(1, extent), axis) if extent else []
        return parts if keep else [p.squeeze(axis) for p in parts]
    sizes = split if isinstance(split, list) else \
        [min(split, extent - i) for i in range(0, extent, split)]
    return [np.take(x, range(end - n, end), axis) for n, end in zip(sizes, np.cumsum(sizes))]


@oracle("SplitToSequence")
def split_to_sequence(g):
    for _ in range(6):
        x = g.tensor(g.pick(["float", "i8", "double", "bfloat16", "string"]), g.shape(low=1, high=3, zero=False))
        axis = g.integer(-len(x.shape), len(x.shape) - 1)
        extent, keep = x.shape[axis], bool(g.integer(0, 1))
        cuts = sorted(g.integer(0, extent) for _ in range(g.integer(0, 3)))
        listed = [int(d) for d in np.diff([0] + cuts + [extent])]
        split = g.pick([None, g.integer(1, extent + 1), listed])
        want = pieces(x.data, axis, split, keep)
        inputs = [x] if split is None else [x, g.ints(split)]
        body = [f"%t = SplitToSequence($0{', $1' if len(inputs) > 1 else ''}) "
                f"{{axis = {axis}, keep = {str(keep).lower()}}}"]
        k = g.integer(0, len(want) - 1)
        piece = Tensor(x.kind, want[k])
        yield element(body, piece, inputs, k)
        yield Case(inputs, [Result("i64", len(want))], graph_only=True,
                   body=body + ["%r0 = SequenceLength(%t)"])
    x = Tensor("float", np.zeros((2, 3)))
    for bad, error in ((0, "out of range: 0"), (-1, "out of range: -1"), ([1, 1], "adds up to 2"),
                       ([2, 2], "out of range: 2"), ([-1, 4], "out of range: -1")):
        yield refused([x, Tensor("i64", bad)], ["%t = SplitToSequence($0, $1) {axis = 1}"],
                      f"SplitToSequence.*Split.*{error}")
    yield refused([x], ["%t = SplitToSequence($0) {axis = 2}"], "axis 2 is out of range")


@oracle("ConcatFromSequence")
def concat_from_sequence(g):
    for _ in range(6):
        kind, shape = g.pick(["float", "u8", "i64", "bool", "float16", "string"]), g.shape(low=1, high=3)
        stack = bool(g.integer(0, 1))
        axis = g.integer(-len(shape) - stack, len(shape) - 1 + stack)
        shapes = [shape if stack else tuple(g.integer(0, 3) if i == axis % len(shape) else d
                                            for i, d in enumerate(shape)) for _ in range(g.integer(1, 4))]
        items = [g.tensor(kind, s) for s in shapes]
        arrays = [t.data for t in items]
        want = np.stack(arrays, axis) if stack else np.concatenate(arrays, axis)
        claim = "<" + " x ".join("?" * want.ndim) + ">"
        members = f"{{axis = {axis}, new_axis = {str(stack).lower()}}}"
        yield Case(items, [Result(kind, want, claim=claim)], ulps=0, graph_only=True,
                   body=[construct(items), f"%r0 = ConcatFromSequence(%s) {members}"])
    one, two = Tensor("float", np.zeros((1, 3))), Tensor("float", np.zeros((1, 2)))
    joined = [construct([one, two]), "%r0 = ConcatFromSequence(%s) {axis = 0}"]
    yield Case([one, two], [Result("float", np.zeros((2, 3)), claim="<? x ?>")], body=joined,
               error="case.gg.*ConcatFromSequence.*does not fit", graph_only=True)
    joined[1] = "%r0 = ConcatFromSequence(%s) {axis = 2}"
    yield Case([one, one], [Result("float", one.data)], body=joined, error="axis 2 is out of range")
    nothing = ["%s = SequenceEmpty() {elem = float<? x ?>}", "%r0 = ConcatFromSequence(%s) {axis = 0}"]
    yield Case([], [Result("float", one.data, claim="<? x ?>")], body=nothing,
               error="ConcatFromSequence.*the sequence is empty", graph_only=True)


@oracle("Optional", "OptionalHasElement", "OptionalGetElement")
def optional(g, op):
    x, = tensors(g, 1)
    held = "%o = Optional($0)"
    yield Case([x], [Result(x.kind, x.data)], body=[held, "%r0 = OptionalGetElement(%o)"], ulps=0,
               graph_only=True)
    yield Case([x], [Result(x.kind, x.data)], body=["%r0 = OptionalGetElement($0)"], ulps=0,
               graph_only=True)
    yield Case([x], [Result("bool", True)], body=[held, "%r0 = OptionalHasElement(%o)"], graph_only=True)
    empty = f"%o = Optional() {{elem = {x.kind}<?>}}"
    yield Case([], [Result("bool", False)], body=[empty, "%r0 = OptionalHasElement(%o)"], graph_only=True)
    yield Case([], [Result(x.kind, [x.data.ravel()[0]] if x.data.size else [], claim="<?>")],
               body=[empty, "%r0 = OptionalGetElement(%o)"], graph_only=True,
               error="case.gg.*OptionalGetElement.*the optional is empty")
    items = tensors(g, 3)
    yield element([construct(items), "%o = Optional(%s)", "%t = OptionalGetElement(%o)"], items[-1],
                  items, -1)
    yield Case([x], [Result("bool", True)], body=[held, "%p = Optional(%o)", "%r0 = OptionalHasElement(%p)"],
               error="an optional cannot hold an optional")
    yield Case([], [Result("bool", True)], body=["%o = Optional()", "%r0 = OptionalHasElement(%o)"],
               error="it needs an operand or the member elem")


@oracle("StringNormalizer")
def string_normalizer(g):
    words = ["", "a", "B", "Glow", "straße", "Ünïcode", "ЖУК", "Σίγμα", "ΆΈώ", "Ÿÿ", "ẾệƠǗȘ", "Աբ", "x y", "glow", "z" * 40]
    for action in ("none", "lower", "upper"):
        for case_sensitive in (False, True):
            x = strings(g, g.pick([(0,), (1,), (6,), (1, 5), (1, 0)]), words)
            stop = [g.pick(words) for _ in range(g.integer(0, 3))]
            fold = (lambda s: s) if case_sensitive else str.lower
            kept = [s for s in x.data.ravel() if fold(s) not in [fold(t) for t in stop]]
            # Letters without a partner of one code point stay: ß has no capital.
            change = {"none": str, "lower": str.lower,
                      "upper": lambda s: s.replace("ß", "\0").upper().replace("\0", "ß")}[action]
            want = np.array([change(s) for s in kept or [""]] + [None], object)[:-1]
            want = want.reshape((1, -1) if x.data.ndim == 2 else (-1,))
            quoted = ", ".join(literal("string", s) for s in stop)
            members = (f"action = {action}, case_sensitive = {str(case_sensitive).lower()}, "
                       f"stopwords = [{quoted}]")
            claim = "<1 x ?>" if x.data.ndim == 2 else "<?>"
            yield Case([x], [Result("string", want, claim=claim)], members=members, graph_only=True)
    yield Case([strings(g, (2, 2), words)], error="X must have shape <C> or <1 x C>")
    yield Case([strings(g, (), words)], error="X must have shape <C> or <1 x C>")
