#!/usr/bin/env python3
"""One accounting: whoever tells a number of a job tells the same one.

Plays random jobs, reads recordings and traces, and walks over every number that the program shows in more than one
place: the summary on the terminal, `--json`, the Run's tables, the page, what `analyze` makes of the Run, and findings.
Parts add up, percentiles are in order, energy is power times time. Energies that were measured have the same error of their sensor in all
of them.

  accounting.py ERGOMETER [--jobs N] [--first SEED]
"""

import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import documents
import predicted
import recorded
import sensor_errors
from random_jobs import jobs


class Walk:
    """Comparisons of one job; those that fail are kept as sentences."""

    def __init__(self):
        self.wrong, self.compared = [], 0

    def check(self, holds, text):
        self.compared += 1
        if not holds:
            self.wrong.append(text)

    def equal(self, what, a, b, relative=0.0, absolute=0.0):
        numbers = isinstance(a, (int, float)) and isinstance(b, (int, float))
        same = abs(a - b) <= absolute + relative * max(abs(a), abs(b)) if numbers else a == b
        self.check(same, f"{what}: {a} and {b}")


def walk_job(ergometer, words):
    """The comparisons of one predicted job, and why there are none."""
    walk = Walk()
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run(
            [ergometer, "simulate", *words, "--run", f"{folder}/job.run.sqlite", "--report", f"{folder}/page.html"],
            capture_output=True, text=True, check=False)
        if run.returncode == 2:
            return walk, run.stderr.strip()
        if run.returncode not in (0, 1):  # 1: it does not fit in memory
            walk.check(False, f"exit status {run.returncode}: {run.stderr.strip()}")
            return walk, ""
        shown = documents.read(ergometer, words, run.stdout, folder)
        for check in predicted.CHECKS:
            check(walk, shown)
    return walk, ""


def walk_recording(ergometer, path):
    walk = Walk()
    with tempfile.TemporaryDirectory() as folder:
        shown = recorded.read(ergometer, str(path), folder)
        if shown is None:
            return walk, f"analyze does not take {path.name}"
        for check in recorded.CHECKS:
            check(walk, shown)
    return walk, ""


def walk_errors(ergometer, path):
    walk = Walk()
    with tempfile.TemporaryDirectory() as folder:
        shown = sensor_errors.read(ergometer, path, pathlib.Path(folder))
        if shown is None:
            return walk, f"analyze does not take {path.name}"
        for check in sensor_errors.CHECKS:
            check(walk, shown)
    return walk, ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ergometer")
    parser.add_argument("--jobs", type=int, default=60)
    parser.add_argument("--first", type=int, default=1, help="where random jobs begin")
    options = parser.parse_args()
    walks = [(f"ergometer simulate {' '.join(words)}", walk_job, words) for words in jobs(options.jobs, options.first)]
    walks += [(f"ergometer analyze {path.name}", walk_recording, path) for path in recorded.SAMPLES]
    walks += [(f"errors of sensors, {path.name}", walk_errors, path) for path in sensor_errors.SAMPLES]
    compared, wrong, refused = 0, 0, 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for (name, _, _), (walk, refusal) in zip(walks, pool.map(lambda w: w[1](options.ergometer, w[2]), walks)):
            compared += walk.compared
            refused += bool(refusal)
            wrong += bool(walk.wrong)
            if walk.wrong:
                print(name)
                for text in walk.wrong[:12]:
                    print(f"    {text}")
    print(f"{len(walks)} jobs, recordings and traces, {refused} of them refused; {compared} comparisons; "
          f"{wrong} with a difference")
    # What is all refused would test nothing.
    return 1 if wrong or refused > len(walks) // 4 or compared == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
