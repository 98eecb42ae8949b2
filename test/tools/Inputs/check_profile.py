"""Checks a report of glow-run --profile and its trace: rows are sorted, columns add up to their totals,
calls follow each other without gaps."""
import json
import sys

tables = [t.splitlines()[1:] for t in open(sys.argv[1], encoding="utf-8").read().split("\n\n")[:2]]
totals = []
for table in tables:
    rows = [line.split() for line in table]
    number = [[float(r[i]) for r in rows] for i in (0, 1, 2, 5)]  # %, ms, calls, MiB
    if number[1][:-1] != sorted(number[1][:-1], reverse=True):
        sys.exit(f"not sorted: {number[1]}")
    for column, slack in zip(number[:1] + number[2:], (0.05 * len(rows) + 1, 0, 0.001 * len(rows))):
        if abs(sum(column[:-1]) - column[-1]) > slack:
            sys.exit(f"{column[:-1]} do not add up to {column[-1]}")
    totals.append([c[-1] for c in number])
calls = [t.pop(2) for t in totals]  # a node is one call, whatever it needs
if totals[0] != totals[1] or calls[0] > calls[1]:
    sys.exit(f"the tables disagree: {totals}")

events = json.load(open(sys.argv[2], encoding="utf-8"))["traceEvents"]
end = 0.0
for e in events:
    if e["ph"] != "X" or abs(e["ts"] - end) > 0.0021 or e["dur"] < 0:
        sys.exit(f"{e} does not begin at {end}")
    end = e["ts"] + e["dur"]
if len(events) != calls[1] or abs(end / 1000 - totals[0][1]) > 0.05 * totals[0][1] + 0.01:
    sys.exit(f"{len(events)} events up to {end}: the report has {totals[0]}")
