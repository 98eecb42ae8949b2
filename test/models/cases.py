"""What the checks of whole models share: the folders with a case.json, and one run over all of them."""
import os
import tempfile


def add_arguments(parser):
    parser.add_argument("--tools", required=True, help="folder of the built tools")
    parser.add_argument("folders", nargs="+", help="folders with case.json, or folders of such folders")


def run(tops, check):
    """Calls check(folder, scratch), which returns the model's name, what passed and messages of what failed, for
    every folder of a case; prints a line per model and the totals. Returns the exit status: 77 if there is no case."""
    folders = [path for top in tops for path, _, names in sorted(os.walk(top)) if "case.json" in names]
    if not folders:
        print("skipped: no models in", *tops)
        return 77
    passed = failed = 0
    for folder in folders:
        with tempfile.TemporaryDirectory() as scratch:
            name, ok, bad = check(folder, scratch)
        passed += ok
        failed += len(bad)
        print(f"{name}: {ok} of {ok + len(bad)}", *(f"\nFAILED {name}: {message}" for message in bad))
    print(f"{passed} passed, {failed} failed")
    return failed != 0
