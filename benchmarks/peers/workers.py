"""Engines in processes of their own, which have their turns when they are asked."""
import os
import subprocess

from environments import Failed


class Worker:
    """A process that speaks the protocol of `glow-bench --worker`. `variables` are added to its environment; what it
    says beside the protocol goes to a file in the folder `scratch`."""

    def __init__(self, name, command, variables, scratch):
        self.name, self.times, self.repeat = name, [], 1
        self.log = open(os.path.join(scratch, name + ".log"), "w+")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log,
                                        text=True, env={**os.environ, **variables})
        words = self.process.stdout.readline().split()
        if not words or words[0] != "ready":
            self.give_up()
        self.info = dict(word.split("=", 1) for word in words[1:])

    def give_up(self):
        self.process.kill()
        self.process.wait()
        self.log.seek(0)
        lines = self.log.read().strip().splitlines() or ["it says nothing"]
        raise Failed(f"{self.name}: {next((line for line in lines if 'error' in line.lower()), lines[-1])}")

    def run(self, count):
        """Seconds of one of `count` runs."""
        self.process.stdin.write(f"run {count}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            self.give_up()
        return float(answer) / count

    def close(self):
        self.process.stdin.close()
        self.process.wait()
