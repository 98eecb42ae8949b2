"""draws.py NAME: what random.gg must draw. The words are those of Random123's kat_vectors for
Philox4x32-10 with key and counter 0; the normal distribution is Python's."""
import statistics
import sys

import numpy as np

words = [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
pairs = [words[0] << 32 | words[1], words[2] << 32 | words[3]]
u = np.array([w >> 8 for w in words]) / 2**24
normal = statistics.NormalDist(mu=3, sigma=2)
cumulated = np.cumsum([0.25, 0.5, 0.25])
for name, v in {
        "uniform": np.float32(-1 + 4 * u), "wide": np.array([p >> 11 for p in pairs]) / 2**53,
        "normal": np.float32([normal.inv_cdf((w + 0.5) / 2**32) for w in words]),
        "p": np.float32([0, 1, u[2], np.nextafter(np.float32(u[3]), np.float32(1))]),
        "coins": np.array([False, True, False, True]),
        "logits": np.log(np.float32([[0.25, 0.5, 0.25]])) + np.float32(7),
        "picks": np.int32([[np.argmax(cumulated > v) for v in u]]), "next": np.uint64([0, 1])}.items():
    np.save(f"{sys.argv[1]}.{name}.npy", v)
