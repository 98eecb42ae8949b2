"""damage.py FILE BENT CUT SHORT: copies of a file, one with a bit of the last tensor but one turned, two cut off."""
import sys

data = bytearray(open(sys.argv[1], "rb").read())
open(sys.argv[3], "wb").write(data[:-8])
open(sys.argv[4], "wb").write(data[:40])
data[-20] ^= 4
open(sys.argv[2], "wb").write(data)
