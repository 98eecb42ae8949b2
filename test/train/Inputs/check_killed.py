"""check_killed.py TOOLS INPUTS: training of linear.gg is killed at 100 random moments, with other seeds than in CI."""
import os
import subprocess
import sys
import tempfile

tools, inputs = sys.argv[1:]
with tempfile.TemporaryDirectory() as d:
    subprocess.run([sys.executable, f"{inputs}/make_data.py", d], check=True)
    sys.exit(subprocess.run([sys.executable, f"{inputs}/killed.py", "100", f"{tools}/glow-train", f"{inputs}/linear.gg",
                             "--data", f"x={d}/x.npy", "--data", f"y={d}/y.npy", "--steps", "100", "--every", "1",
                             "--shuffle", "7", "--checkpoint", "%c"], env=dict(os.environ, GLOW_SEED="2")).returncode)
