"""check_json.py STATS TRACE REMARKS: what glow-opt wrote for figures.gg is JSON and says what it should."""
import json
import sys

with open(sys.argv[1]) as f:
    stats = json.load(f)
assert stats["cse.rewrites"] == 1 and stats["lower.runs"] == 2 and stats["input.nodes"] == 8, stats
with open(sys.argv[2]) as f:
    events = json.load(f)["traceEvents"]
names = [e["name"] for e in events]
assert names == ["cse", "(verifier)", "lower", "lower", "(verifier)", "dce", "(verifier)"], names
assert all(e["ph"] == "X" and e["dur"] >= 0 for e in events)
assert all(a["ts"] + a["dur"] <= b["ts"] + 0.01 for a, b in zip(events, events[1:]))
assert [e["args"]["function"] for e in events if e["name"] == "lower"] == ["main", "other"]
with open(sys.argv[3]) as f:
    remarks = [json.loads(line) for line in f]
first = remarks[0]
assert first["pass"] == "cse" and first["rewrite"] and first["node"] == "b" and first["operator"] == "Relu", first
assert first["function"] == "main" and first["file"].endswith("figures.gg") and first["column"] == 3, first
assert [r["pass"] for r in remarks] == ["cse", "lower", "dce", "dce"], remarks
