"""Slices of slow tests: --slice K/N runs one Nth of what there is, by name, so that what is new moves
nothing else."""
import argparse
import zlib


def _slice(text):
    k, _, n = text.partition("/")
    if not (k.isdigit() and n.isdigit() and int(k) < int(n)):
        raise argparse.ArgumentTypeError(f"'{text}' is no slice such as 0/8")
    return int(k), int(n)


def add_argument(parser):
    parser.add_argument("--slice", type=_slice, default=(0, 1), metavar="K/N", help="only one Nth, from 0/N on")


def part(names, which):
    """The names in a slice, in their order."""
    k, n = which
    return [name for name in names if zlib.crc32(name.encode()) % n == k]
