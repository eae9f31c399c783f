#!/usr/bin/env python3
"""Slurm's prolog and epilog of packaging/slurm record jobs on a virtual cluster: one that ends, one that is cancelled.

    tests/slurm/prolog_test.py ERGOMETER

Ends with 77 where Slurm is missing.
"""
import contextlib
import pathlib
import sqlite3
import subprocess
import sys

from virtual_cluster import run_test, virtual_cluster

ERGOMETER = pathlib.Path(sys.argv[1]).resolve()
KIT = pathlib.Path(__file__).resolve().parents[2] / "packaging/slurm"
CONFIGURATION = "Prolog={folder}/prolog\nEpilog={folder}/epilog\nPrologFlags=Alloc\n"


def as_installed(name):
    """What a site would write into /etc/default/ergometer-slurm, and the script."""
    return (f'#!/bin/sh\nexport PATH={ERGOMETER.parent}:/usr/bin:/bin ERGOMETER_RUNS={{folder}}/runs '
            f'ERGOMETER_OPTIONS="--hz 5 --source proc"\nexec {KIT / name}\n')


def recorded(cluster, job):
    """The shortest span in seconds of a job's Runs on both nodes, once the epilogs are done; they can be joined."""
    runs = cluster.folder / "runs"
    cluster.wait_for("job's end", lambda: cluster.idle_nodes() == 2 and not list(runs.glob("*.pid")))
    files = sorted(runs.glob(f"job-{job}-*.run"))
    assert [file.name for file in files] == [f"job-{job}-n1.run", f"job-{job}-n2.run"], files
    spans = []
    for file in files:
        with contextlib.closing(sqlite3.connect(file)) as run:
            said = dict(run.execute("SELECT key, value FROM run"))
        assert (said["slurm_job_id"], f"job-{job}-{said['host']}.run") == (job, file.name), said
        spans.append((int(said["ended_ns"]) - int(said["started_ns"])) / 1e9)
    subprocess.run([ERGOMETER, "merge", *files, "--out", runs / "joined.run"], check=True, capture_output=True)
    return min(spans)


def submit(cluster, seconds, *options):
    return cluster.run("sbatch", "--parsable", "-N2", f"--output={cluster.folder}/out", *options,
                       f"--wrap=srun sleep {seconds}").stdout.strip()


def main():
    with virtual_cluster(CONFIGURATION, {name: as_installed(name) for name in ("prolog", "epilog")}) as cluster:
        # Without the folder nothing is recorded, and the job runs.
        cluster.run("srun", "-N2", "true")
        runs = cluster.folder / "runs"
        runs.mkdir()
        span = recorded(cluster, submit(cluster, 3, "--wait"))
        assert span >= 3, f"a job of 3 s: {span} s recorded"
        endless = submit(cluster, 1000)
        cluster.wait_for("recorders", lambda: len(list(runs.glob(f"job-{endless}-*.run"))) == 2)
        cluster.run("scancel", endless)
        recorded(cluster, endless)


if __name__ == "__main__":
    run_test(main)
