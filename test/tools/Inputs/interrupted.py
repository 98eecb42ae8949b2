"""interrupted.py [--folder-too | --each] FOLDER -- COMMAND...: whenever COMMAND is interrupted, the files of FOLDER are those of before or
those of a run to the end, all of them, with nothing beside them, and the status is that of the signal.

--folder-too: a folder that was not there is not there either. --each: files do not belong together, so each is that of before,
or of a run to the end, by itself. The command is interrupted as soon as a temporary file can be seen, and at moments all over its time."""
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time

FOLDER_TOO, EACH = sys.argv[1] == "--folder-too", sys.argv[1] == "--each"
arguments = sys.argv[1 + (FOLDER_TOO or EACH):]
MOMENTS, CAUGHT, TRIES = 6, 2, 60


def contents(folder):
    """Names in a folder and what they hold; {} if there is none."""
    if not os.path.isdir(folder):
        return {}
    return {n: hashlib.sha256(open(f"{folder}/{n}", "rb").read()).digest() for n in os.listdir(folder)}


def restore(folder, names):
    """A folder as an earlier run may have left it; with no names there is none."""
    shutil.rmtree(folder, ignore_errors=True)
    if names:
        os.mkdir(folder)
    for n in names:
        with open(f"{folder}/{n}", "w", encoding="utf-8") as f:
            f.write(f"earlier {n}")


def has_temporary(folder):
    try:
        return any(n.startswith(".") for n in os.listdir(folder))
    except FileNotFoundError:
        return False


def start(command):
    # A shell in the background may have told us to ignore it.
    return subprocess.Popen(command, stdout=subprocess.DEVNULL,
                            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))


def check(folder, process, before, whole):
    code, after = process.wait(), contents(folder)
    if code not in (0, -signal.SIGINT):
        sys.exit(f"status {code}")
    if code == 0 and after != whole:
        sys.exit(f"a run to the end left {sorted(after)}")
    each = all(before.get(n) == h or whole.get(n) == h for n, h in after.items()) and before.keys() <= after.keys()
    if after not in (before, whole) and not (EACH and each):
        sys.exit(f"interrupted, it left {sorted(after)}: neither what was there nor all of the new files")
    if FOLDER_TOO and not after and os.path.isdir(folder):
        sys.exit(f"interrupted, it left {folder}")


def interrupt_all_over(folder, command, names, whole, seconds):
    for i in range(MOMENTS):
        restore(folder, names)
        before = contents(folder)
        process = start(command)
        time.sleep(seconds * i / MOMENTS)
        process.send_signal(signal.SIGINT)
        check(folder, process, before, whole)


def interrupt_writing(folder, command, names, whole):
    caught = 0
    for _ in range(TRIES):
        restore(folder, names)
        before = contents(folder)
        process = start(command)
        while process.poll() is None and not has_temporary(folder):
            pass
        seen = process.poll() is None
        process.send_signal(signal.SIGINT)
        check(folder, process, before, whole)
        caught += seen and process.returncode == -signal.SIGINT
        if caught == CAUGHT:
            return
    sys.exit(f"it was interrupted while it wrote only {caught} times")


def main():
    folder, command = arguments[0], arguments[2:]
    restore(folder, [])
    began = time.monotonic()
    if start(command).wait():
        sys.exit("the command fails without an interruption")
    seconds, whole = time.monotonic() - began, contents(folder)
    if not whole:
        sys.exit("the command writes nothing")
    interrupt_all_over(folder, command, sorted(whole), whole, seconds)
    for names in sorted(whole), []:
        interrupt_writing(folder, command, names, whole)


main()
