"""Writes a file of ranges: make_ranges.py FILE [NAME=MIN:MAX | NAME=nan | NAME:keep]..."""
import json
import math
import sys


def bins(low, high):
    """All bins between both ends, once each: a flat histogram."""
    e = max(-126, *(math.frexp(abs(v))[1] for v in (low, high)))
    place = [math.floor(math.ldexp(v, 11 - e)) + 2048 for v in (low, high)]
    return {"min": low, "max": high, "exponent": e,
            "bins": [[i, 1] for i in range(place[0], min(place[1], 4095) + 1)]}


with open(sys.argv[1], "w", encoding="utf-8") as f:
    print('{"glow":"ranges","version":1,"function":"main","samples":1}', file=f)
    for text in sys.argv[2:]:
        if text.endswith(":keep"):
            print(json.dumps({"value": text[:-5], "keep": "float", "why": "it is a test"}), file=f)
            continue
        name, ends = text.rsplit("=", 1)
        name, op, kind = name.split("/")
        line = {"value": name, "op": op, "type": kind, "nan": int(ends == "nan"), "inf": 0}
        if ":" in ends:
            line |= bins(*map(float, ends.split(":")))
        print(json.dumps(line), file=f)
