#!/usr/bin/env python3
"""What `ergometer launch` writes for Slurm is run for real on two virtual nodes: a job array of a study's jobs and an
sbatch of one job over both nodes, with a program that stands in for the training. Recorded, imported, merged, compared
with the prediction; a finished run is not run again, and one that was killed is.

    tests/slurm/launch_test.py ERGOMETER

Ends with 77 where Slurm is missing.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

from virtual_cluster import run_test, virtual_cluster

TORCHRUN = pathlib.Path(__file__).resolve().parents[1] / "launch" / "pretend_torchrun.py"
STEP_MS = 50
# A machine that has much else to do is late; it is never early.
LATEST_STEP_S = 2.0

STUDY = """\
title: Tensor parallelism
question: Which one is fastest?
base: {model: llama3-8b, cluster: hgx-h100, gpus: 8, gbs: 16, seq: 2048}
axes:
  tp: [2, 4, 8]
"""
SIZES = STUDY.replace("gpus: 8, ", "tp: 4, ").replace("tp: [2, 4, 8]", "gpus: [8, 16]")
JOB = "model: llama3-8b\ncluster: hgx-h100\ngpus: 16\ngbs: 16\nseq: 2048\ntp: 4\n"
SITE = """\
gpu_request: none
ergometer: "{ergometer}"
torchrun: [{python}, "{torchrun}"]
framework: "/a folder/with 'quotes' and $dollars"
record: [--hz, "20", --source, proc]
environment:
  # Both nodes are this machine, and their names are known to Slurm alone.
  MASTER_ADDR: 127.0.0.1
  PRETEND_STEP_MS: "{step_ms}"
  PRETEND_DIE: "{die}"
secrets: [HF_TOKEN]
"""


def check(condition, what):
    if not condition:
        raise AssertionError(what)


class Launch:
    def __init__(self, cluster, ergometer, folder):
        self.cluster, self.ergometer, self.folder = cluster, ergometer, folder
        self.die = folder / "die"
        (folder / "study.yaml").write_text(STUDY)
        (folder / "sizes.yaml").write_text(SIZES)
        (folder / "job.yaml").write_text(JOB)
        (folder / "site.yaml").write_text(SITE.format(ergometer=ergometer, torchrun=TORCHRUN, python=sys.executable,
                                                      step_ms=STEP_MS, die=self.die))
        cluster.environment["HF_TOKEN"] = "a value that no file may hold"

    def write(self, job, out, *options):
        return self.cluster.run(self.ergometer, "launch", self.folder / job, "--for", "megatron", "--scheduler", "slurm",
                                "--out", out, "--site", self.folder / "site.yaml", "--json", *options)

    def submit(self, job, out, *options):
        """Submits what is not finished and waits for its end; the job's number, None where nothing was left."""
        submitted = json.loads(self.write(job, out, *options, "--submit").stdout)["submitted"]
        if not submitted:
            return None
        number = submitted[-1]["job_id"]  # each waits for the one before
        end = time.monotonic() + 120
        while self.cluster.run("squeue", "--noheader", "--jobs", number, check=False).stdout.strip():
            check(time.monotonic() < end, f"job {number} does not end\n{self.cluster.logs()}")
            time.sleep(0.2)
        return number

    def collect(self, out):
        done = self.cluster.run(self.ergometer, "launch", "--collect", out, "--json", check=False)
        check(done.stdout, done.stderr)
        return json.loads(done.stdout), done.returncode

    def said(self, out):
        return "\n".join(path.read_text() for path in sorted(out.glob("slurm-*.out"))) + "\n".join(
            f"{path}:\n{path.read_text()}" for path in sorted(out.glob("runs/*/attempts/*/*.log")))


def attempts(out):
    return sorted(path.relative_to(out) for path in out.glob("runs/*/attempts/*"))


def check_result(launch, out, result, nodes):
    said = launch.said(out)
    check(result["state"] == "finished", f"{result}\n{said}")
    check(result["recordings"] == nodes, f"{result}\n{said}")
    check(STEP_MS / 1000 <= result["step_time_s"] < LATEST_STEP_S, result)
    error = 100 * (result["predicted_step_time_s"] / result["step_time_s"] - 1)
    check(abs(error - result["error_pct"]) < 1e-6, result)


def check_array(launch):
    out = launch.folder / "an array, it's"
    options = ("--steps", "10", "--cooldown", "1s")
    launch.die.touch()
    launch.submit("study.yaml", out, *options)
    collection, status = launch.collect(out)
    check(len(collection["runs"]) == 3 and status == 1, collection)
    states = sorted(run["state"] for run in collection["runs"])
    check(states == ["failed", "finished", "finished"], f"{states}\n{launch.said(out)}")
    check(len(attempts(out)) == 3, attempts(out))

    # The killed one, and no other, is run again.
    killed = next(run["run"] for run in collection["runs"] if run["state"] == "failed")
    launch.submit("study.yaml", out, *options)
    collection, status = launch.collect(out)
    check(status == 0, collection)
    for run in collection["runs"]:
        check_result(launch, out, run, 1)
        check(run["attempts"] == (2 if run["run"] == killed else 1), run)
    # The order is the manifest's: each began when the one before had ended, and had rested.
    ends = [(out / f"runs/{run['run']}/finished").stat().st_mtime for run in collection["runs"] if run["run"] != killed]
    check(ends == sorted(ends) and ends[1] - ends[0] > 1, ends)

    before = attempts(out)
    check(launch.submit("study.yaml", out, *options) is None, "a finished study was submitted again")
    launch.cluster.run("sbatch", "--wait", "submit.sbatch", cwd=out)
    check(attempts(out) == before, "a finished run was run again")
    return out


def check_two_nodes(launch):
    out = launch.folder / "both"
    launch.submit("job.yaml", out, "--steps", "8")
    collection, status = launch.collect(out)
    check(status == 0, f"{collection}\n{launch.said(out)}")
    result = collection["runs"][0]
    check_result(launch, out, result, 2)
    summary = json.loads(launch.cluster.run(launch.ergometer, "analyze", result["measured_run"], "--json").stdout)
    hosts = {node["host"] for node in summary["telemetry"]["nodes"]}
    check(hosts == {"n1", "n2"}, hosts)
    compared = launch.cluster.run(launch.ergometer, "compare", result["measured_run"], "--predicted",
                                  out / "runs/001/predicted.run", "--json").stdout
    step = next(q for q in json.loads(compared)["quantities"] if q["name"] == "step_time_s")
    check(step["a"] == result["step_time_s"], (step, result))
    check(step["b"] == result["predicted_step_time_s"], (step, result))
    return out


def check_sizes(launch):
    """Jobs of one and of two nodes, in the manifest's order whatever their size."""
    out = launch.folder / "sizes"
    launch.submit("sizes.yaml", out, "--steps", "4", "--repeats", "2")
    collection, status = launch.collect(out)
    check(status == 0, f"{collection}\n{launch.said(out)}")
    nodes = [result["recordings"] for result in collection["runs"]]
    check(sorted(nodes) == [1, 1, 2, 2], nodes)
    ends = [(out / f"runs/{run['run']}/finished").stat().st_mtime for run in collection["runs"]]
    check(ends == sorted(ends), ends)
    return out


def check_no_secret(folder):
    for path in folder.rglob("*"):
        if path.is_file():
            check(b"a value that no file may hold" not in path.read_bytes(), path)


def check_without_sbatch(ergometer, folder):
    done = subprocess.run([ergometer, "launch", folder / "job.yaml", "--for", "megatron", "--scheduler", "slurm", "--out",
                           folder / "elsewhere", "--submit"], env={**os.environ, "PATH": str(folder)},
                          capture_output=True, text=True)
    check(done.returncode == 3 and "no sbatch here" in done.stderr, done)


def main():
    ergometer = pathlib.Path(sys.argv[1]).resolve()
    with virtual_cluster() as cluster:
        folder = cluster.folder / "launch"
        folder.mkdir()
        launch = Launch(cluster, ergometer, folder)
        check_two_nodes(launch)
        check_array(launch)
        check_sizes(launch)
        check_no_secret(folder)
        check_without_sbatch(ergometer, folder)
        shutil.rmtree(folder)


if __name__ == "__main__":
    run_test(main)
