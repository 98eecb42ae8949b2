#!/usr/bin/env python3
"""make_bad_texts.py DIR: writes texts that are malformed in ways that hurt parsers."""
import os
import sys

HEAD = b"declare {\n  placeholder @x : float<2>\n  placeholder @y : float<2>\n}\nfunc @main {\n"

FILES = {
    "line.gg": lambda: b"func @main { " + b"Relu(@nosuch) " * 300000,
    "regions.gg": lambda: HEAD + b"If(@x) ^then { " * 100000,
    "lists.gg": lambda: b"declare {\n  constant @c : float<2> = " + b"[" * 100000,
    "types.gg": lambda: b"declare {\n  placeholder @c : " + b"seq<" * 100000,
    "nul.gg": lambda: HEAD + b"  %a = Relu(@x)\0 : float<2>\n}\n",
    "utf8.gg": lambda: HEAD + b'  %"\xc3\x28" = Relu(@x) : float<2>\n}\n',
    "extent.gg": lambda: b"declare {\n  placeholder @x : float<99999999999999999999>\n}\n",
    "product.gg": lambda: b"declare {\n  placeholder @x : float<1099511627776 x 1099511627776>\n}\n",
    "negative.gg": lambda: b"declare {\n  placeholder @x : float<-1>\n}\n",
    "symbol.gg": lambda: b"declare {\n  placeholder @x : float<$" + b"a" * 4000000 + b">\n}\n",
    "bytes.gg": lambda: HEAD + b"  %a = Relu(@x) ; \xc0\x80\x1b[31m\n}\n",
    "rank.gg": lambda: b"declare {\n  placeholder @x : float<1x1x1x1x1x1x1x1x1>\n}\n",
    "name.gg": lambda: b"declare {\n  placeholder @" + b"a" * 5000 + b" : float<2>\n}\n",
    "comment.gg": lambda: b";" + b" x" * 2000000 + b"\ndeclare {\n}\n",
    "string.gg": lambda: b'module "' + b"a" * 4000000,
    "payload.gg": lambda: b"declare {\n  constant @c : float<2> = payload(\"c\")\n}\npayload 99999999\nabc",
    "errors.gg": lambda: HEAD + b"  %a = Reluu(@x) : float<2>\n" * 1000 + b"}\n",
}


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for name, make in FILES.items():
        with open(os.path.join(folder, name), "wb") as f:
            f.write(make())


main()
