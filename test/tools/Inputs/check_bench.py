"""Checks what glow-bench wrote: JSON, CSV, the number of rounds, the names of the models in order."""
import csv, json, os, statistics, sys
report = json.load(open(sys.argv[1]))
rows = list(csv.DictReader(open(sys.argv[2], newline='')))
rounds, names = int(sys.argv[3]), sys.argv[4:]
models = report['models']
assert [os.path.basename(m['model']) for m in models] == names, models
assert [os.path.basename(r['model']) for r in rows] == names, rows
for m, row in zip(models, rows):
    assert len(m['rounds_s']) == rounds and m['inferences'] == rounds * m['repeat'], m
    assert m['min_s'] == min(m['rounds_s']), m
    assert abs(m['median_s'] - statistics.median(m['rounds_s'])) < 1e-8 * m['median_s'], m
    assert 0 < m['p50_s'] <= m['p90_s'] <= m['p99_s'], m
    if m['repeat'] == 1:  # each round is one inference: percentiles by nearest rank
        order = sorted(m['rounds_s'])
        for percent in (50, 90, 99):
            assert m[f'p{percent}_s'] == order[-(-rounds * percent // 100) - 1], (percent, m)
    if sys.argv[1].endswith('out.json'):  # both files are of one run
        assert all(float(row[key]) == m[key] for key in ('macs', 'min_s', 'median_s', 'p50_s', 'p90_s', 'p99_s')), row
starts = [m['started_s'][i] for i in range(rounds) for m in models]
assert starts == sorted(starts) and starts[0] < starts[-1], starts
