#!/usr/bin/env python3
"""Kills recordings at random moments and reads what is left.

    tests/record/kill_test.py ERGOMETER [--kills N] [--full] [--at-once N] [--limit-s S]

Every file must be opened by `ergometer analyze` and by SQLite, whole, and hold what was read until LIMIT seconds
before the kill. --full: 1,000 kills.
"""
import argparse
import concurrent.futures
import pathlib
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

LONGEST_S = 1.6  # three commits


def kill_one(program, folder, seed):
    """Records, kills, and returns (seconds lost, whether a commit was cut off); raises when a file is unreadable."""
    path = folder / f"{seed}.run"
    moment = random.Random(seed).uniform(0, LONGEST_S)
    process = subprocess.Popen([program, "record", "--quiet", "--source", "proc", "--hz", "100", "--out", str(path)],
                               stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    time.sleep(moment)
    killed_ns = time.time_ns()
    process.send_signal(signal.SIGKILL)
    message = process.communicate()[1].decode()
    if process.returncode != -signal.SIGKILL:
        raise AssertionError(f"seed {seed}: ended by itself: {message}")
    if not path.exists():
        return 0.0, False  # before it began
    cut_off = path.with_name(path.name + "-journal").exists()
    # What SQLite repairs must not be what our reader finds repaired.
    copy = folder / f"{seed}-copy.run"
    for end in ["", "-journal"] if cut_off else [""]:
        shutil.copy(str(path) + end, str(copy) + end)
    analyzed = subprocess.run([program, "analyze", str(copy)], capture_output=True, text=True, check=False)
    if analyzed.returncode != 0:
        raise AssertionError(f"seed {seed}, {moment:.3f} s: analyze: {analyzed.stderr}")
    with sqlite3.connect(path) as database:
        check, = database.execute("PRAGMA integrity_check").fetchone()
        if check != "ok":
            raise AssertionError(f"seed {seed}, {moment:.3f} s: {check}")
        started, = database.execute("SELECT value FROM run WHERE key = 'started_ns'").fetchone()
        latest, = database.execute("SELECT max(time_ns) FROM readings").fetchone()
    database.close()
    for left in folder.glob(f"{seed}*"):
        left.unlink()
    return (killed_ns - max(int(started), latest or 0)) * 1e-9, cut_off


def main(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("ergometer")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--at-once", type=int, default=4)
    parser.add_argument("--limit-s", type=float, default=1.0)
    options = parser.parse_args(arguments)
    kills = 1000 if options.full else options.kills
    with tempfile.TemporaryDirectory(prefix="ergometer-kill-") as name:
        folder = pathlib.Path(name)
        with concurrent.futures.ThreadPoolExecutor(options.at_once) as pool:
            results = list(pool.map(lambda seed: kill_one(options.ergometer, folder, seed), range(kills)))
    lost = max(seconds for seconds, _ in results)
    cut_off = sum(cut for _, cut in results)
    print(f"{kills} kills, {cut_off} in the middle of a commit; at most {lost:.3f} s lost; every file opens")
    return 0 if lost <= options.limit_s else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
