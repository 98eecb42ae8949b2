"""Writes files of ranges with one fault each into a folder."""
import os
import sys

HEAD = '{"glow":"ranges","version":1,"function":"main","samples":4}\n'
SEEN = '"op":"Relu","type":"float<2 x 4>","nan":0,"inf":0'
ENDS = '"min":0,"max":1,"exponent":1,"bins":[[2048,8]]'


def value(*fields, name="r"):
    return '{"value":"%s",%s}\n' % (name, ",".join(fields))


FILES = {
    "empty": "", "text": "hello\n", "array": "[1]\n", "other": '{"glow":"profile","version":1}\n',
    "version": '{"glow":"ranges","version":2}\n', "none": '{"glow":"ranges","version":1,"samples":0}\n',
    "checksum": '{"glow":"ranges","version":1,"text":"12"}\n',
    "truncated": HEAD + '{"value":"r","op":"Re', "swapped": HEAD + value(SEEN, ENDS.replace('"min":0', '"min":2')),
    "large": HEAD + value(SEEN, ENDS.replace('"max":1', '"max":1e300')),
    "exponent": HEAD + value(SEEN, ENDS.replace('"exponent":1', '"exponent":129')),
    "bins": HEAD + value(SEEN, ENDS.replace("[2048,8]", "[2048,8],[2048,1]")),
    "place": HEAD + value(SEEN, ENDS.replace("[2048,8]", "[4096,8]")),
    "pair": HEAD + value(SEEN, ENDS.replace("[2048,8]", "[2048]")),
    "half": HEAD + value(SEEN, '"min":0'), "twice": HEAD + value(SEEN, ENDS) * 2, "key": HEAD + value('"keeps":"float"'),
    "again": HEAD + value('"keep":"float","keep":"float"'), "keep": HEAD + value('"keep":"double"'),
    "silent": HEAD + '{"value":"r"}\n', "nameless": HEAD + '{"keep":"float"}\n', "kind": HEAD + value('"kind":"i16","scale":1,"offset":0'),
    "offset": HEAD + value('"kind":"u8","scale":1,"offset":256'), "count": HEAD + value(SEEN.replace('"nan":0', '"nan":-1')),
    "form": HEAD + value('"keep":7'), "long": HEAD + value('"keep":"' + "x" * (1 << 20) + '"'),
    "digits": HEAD + value(SEEN, ENDS.replace('"max":1', '"max":' + "1" * 100000)),
    "deep": HEAD + value('"bins":' + "[" * 40 + "]" * 40), "nothing": HEAD + value('"keep":null'),
}
CHANNELS = '"channels":1,"min":[-1,0],"max":[2,3]'
FILES |= {
    "axis": HEAD + value(CHANNELS.replace(":1", ":-1", 1)), "uneven": HEAD + value(CHANNELS.replace("[2,3]", "[2]")),
    "sign": HEAD + value(CHANNELS.replace("[-1,0]", "[1,0]")), "wide": HEAD + value(CHANNELS.replace("3]", "1e39]")),
    "nested": HEAD + value(CHANNELS.replace("[2,3]", "[[2,3]]")), "scalar": HEAD + value(CHANNELS.replace("[2,3]", "3")),
    "mixed": HEAD + value(CHANNELS, SEEN), "list": HEAD + value(SEEN, ENDS.replace('"max":1', '"max":[1]')),
    "channels": HEAD + value(CHANNELS) * 2, "means": HEAD + value(CHANNELS, '"mean":[1]'),
    "mean": HEAD + value(SEEN, '"mean":[1]'),
}
for scale in ("0", "-1", "1e-45", "1e39"):
    FILES["scale" + scale] = HEAD + value('"kind":"u8","scale":%s,"offset":0' % scale)

for name, text in FILES.items():
    with open(os.path.join(sys.argv[1], name), "w", encoding="utf-8") as f:
        f.write(text)
