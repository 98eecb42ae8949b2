"""Oracles of strings and n-grams."""
import numpy as np

from oracle import Case, Result, Tensor, oracle


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
                       members=f'delimiter = "{delimiter}", maxsplit = {limit}', graph_only=True)


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
            yield Case([x], [Result("float", want)], members=members, ulps=0, graph_only=True)
