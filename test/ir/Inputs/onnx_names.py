#!/usr/bin/env python3
"""Writes a function with a node of each operator of ONNX's own domain in onnx.map."""
import re
import sys

names, standard = [], False
for line in open(sys.argv[1], encoding="utf-8"):
    domain = re.match(r'domain "(.*)"', line)
    row = re.match(r"(\w+) [0-9, ]+= (?!unsupported)", line)
    if domain:
        standard = domain.group(1) == ""
    elif row and standard and row.group(1) not in names:
        names.append(row.group(1))
print("declare {\n  placeholder @x : float<2>\n}\nfunc @names {")
for name in names:
    print(f"  %{name} = {name}(@x)")
print("}")
