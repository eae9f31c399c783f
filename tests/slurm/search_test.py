#!/usr/bin/env python3
"""A search and a study give the same bytes by threads, by an array job and by MPI over both nodes, and lose nothing
when a worker is killed.

    tests/slurm/search_test.py ERGOMETER

Ends with 77 where Slurm is missing. What needs MPI is left out, and said, where the program has none.
"""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from virtual_cluster import run_test, virtual_cluster

LIMIT_S = 60
SHARDS = 3
SEARCH = ["search", "llama3-8b", "--cluster", "hgx-h100", "--gpus", "4,8", "--gbs", "64", "--seq-length", "4096",
          "--fix", "cp=1", "--top", "2", "--pareto", "time,memory", "--quiet"]
# Long enough to be stopped in the middle, by several seconds.
LONG_SEARCH = ["search", "llama3-8b", "--cluster", "hgx-h100", "--gpus", "32,64", "--gbs", "256", "--seq-length", "4096",
               "--top", "1", "--quiet"]
STUDY = """\
title: Two axes
base: {model: llama3-8b, cluster: hgx-h100, gpus: 8, gbs: 8, seq: 2048}
axes: {tp: [1, 2, 4, 8], mbs: [1, 2, 4]}
"""


def wait_for(what, condition):
    end = time.monotonic() + LIMIT_S
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < end, f"{what} after {LIMIT_S} s"
        time.sleep(0.001)


def lines_of(path):
    return path.read_bytes().count(b"\n") if path.exists() else 0


def rank_of(job, rank):
    """The process that is this rank and writes into this folder; None when there is none."""
    for entry in pathlib.Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if str(job).encode() in words and f"PMIX_RANK={rank}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                return int(entry.name)
        except (OSError, ValueError):
            continue
    return None


class Test:
    def __init__(self, program, folder, cluster):
        self.program, self.folder, self.cluster = program, folder, cluster
        (folder / "study.yaml").write_text(STUDY)
        self.study = ["sweep", folder / "study.yaml", "--quiet"]

    def answer(self, *words):
        return self.cluster.run(*words).stdout

    def out(self, name):
        return self.folder / name

    def same_file(self, name, whole):
        assert self.out(name).read_bytes() == self.out(whole).read_bytes(), f"{name} is not {whole}"
        left = self.out(name + ".unfinished")
        assert not left.exists(), left

    def with_threads(self):
        self.whole = self.answer(self.program, *SEARCH, "--threads", 1, "--out", self.out("whole"))
        assert "rank" in self.whole, self.whole
        two = self.answer(self.program, *SEARCH, "--threads", 2, "--out", self.out("two"))
        assert two == self.whole, two
        self.same_file("two", "whole")
        self.study_whole = self.answer(self.program, *self.study, "--out", self.out("whole.run"))

    def with_array_job(self):
        """One task of the array is killed in the middle, and the same job, submitted again, goes on."""
        shard = " ".join(map(str, [self.program, *SEARCH, "--threads", 1, "--shard", f"$SLURM_ARRAY_TASK_ID/{SHARDS}",
                                   "--out", self.out("shard-$SLURM_ARRAY_TASK_ID")]))
        submit = ["sbatch", "--wait", f"--array=1-{SHARDS}", f"--output={self.folder}/array-%a.txt"]
        journal = self.out("shard-2.unfinished")
        # A file-size limit ends the second task with a signal in the middle of writing its journal, as kill -9 would.
        killed = f"#!/bin/bash\n[ $SLURM_ARRAY_TASK_ID != 2 ] || ulimit -f 10\n{shard}\n"
        first = self.cluster.run(*submit, input=killed, check=False)
        assert first.returncode != 0, "the second task was not killed"
        kept = lines_of(journal)
        assert kept > 1, "the second task kept nothing"
        assert not self.out("shard-2").exists()
        self.cluster.run(*submit, input=f"#!/bin/bash\n{shard.replace('--quiet', '')}\n")
        said = self.out("array-2.txt").read_text()
        assert f"{kept - 1} of " in said and "were finished before" in said, said
        shards = [self.out(f"shard-{i + 1}") for i in range(SHARDS)]
        merged = self.answer(self.program, "merge", *reversed(shards), "--out", self.out("merged"), "--quiet")
        assert merged == self.whole, merged
        self.same_file("merged", "whole")

    def without_pmix(self):
        """Tasks that cannot find each other say so once instead of doing everything several times."""
        lost = self.cluster.run("srun", "--mpi=none", "-N2", self.program, *SEARCH, check=False)
        assert lost.returncode == 2 and lost.stdout == "", lost
        assert lost.stderr.count("started as 2 tasks that cannot find each other") == 1, lost.stderr

    def with_srun(self):
        srun = ["srun", "--mpi=pmix", "-N2", "-n4", self.program]
        answer = self.answer(*srun, *SEARCH, "--out", self.out("srun"))
        assert answer == self.whole, answer
        self.same_file("srun", "whole")
        study = self.answer(*srun, *self.study, "--out", self.out("srun.run"))
        assert study == self.study_whole, study
        self.same_file("srun.run", "whole.run")
        for words, said in ((["--objective", "speed"], "ergometer: --objective: 'speed'"),  # before the work
                            (["--fix", "mbs=3"], "ergometer: search: no layout is legal")):  # after it
            wrong = self.cluster.run(*srun, *SEARCH, *words, check=False)
            assert wrong.returncode == 2 and wrong.stdout == "" and wrong.stderr.count(said) == 1, wrong

    def with_mpirun(self):
        command = " ".join(map(str, [self.program, *SEARCH, "--out", self.out("mpirun")]))
        script = f"#!/bin/sh\nmpirun {command}\n"
        self.cluster.run("sbatch", "--wait", "-N2", "-n4", f"--output={self.folder}/mpirun.txt", input=script)
        answer = self.out("mpirun.txt").read_text()
        assert answer == self.whole, answer
        self.same_file("mpirun", "whole")

    def with_a_killed_rank(self):
        """A rank that is stopped with pieces in its hands, and then killed, takes the job with it and nothing else."""
        out, journal = self.out("killed"), self.out("killed.unfinished")
        whole = self.answer(self.program, *LONG_SEARCH, "--out", self.out("long"))
        command = [str(word) for word in ["srun", "--mpi=pmix", "-N2", "-n3", self.program, *LONG_SEARCH,
                                          "--threads", 1, "--out", out]]
        job = subprocess.Popen(command, env=self.cluster.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            rank = wait_for("no rank 1", lambda: rank_of(out, 1))
            wait_for("nothing finished", lambda: lines_of(journal) > 1)
            os.kill(rank, signal.SIGSTOP)
            time.sleep(0.2)
            assert job.poll() is None and not out.exists(), "the search ended before its rank was stopped: take a larger one"
            os.kill(rank, signal.SIGKILL)
            said = job.communicate(timeout=LIMIT_S)[0]
        finally:
            job.kill()
        assert job.returncode != 0 and said == b"", (job.returncode, said)
        assert not out.exists() and lines_of(journal) > 1
        kept = lines_of(journal) - 1
        again = self.cluster.run(*[word for word in command if word != "--quiet"])
        assert again.stdout == whole, again.stdout
        assert "were finished before" in again.stderr, again.stderr
        before = int(next(line for line in again.stderr.splitlines() if "were finished before" in line).split()[1])
        assert before == kept, (before, kept)
        self.same_file("killed", "long")


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    steps = ["with_threads", "with_array_job"]
    if "not built in" in subprocess.run([program, "doctor"], capture_output=True, text=True).stdout:
        print("without MPI: only threads and the array job are tested")
    else:
        steps += ["without_pmix", "with_srun", "with_mpirun", "with_a_killed_rank"]
    with tempfile.TemporaryDirectory() as folder, virtual_cluster() as cluster:
        test = Test(program, pathlib.Path(folder), cluster)
        for step in steps:
            start = time.monotonic()
            getattr(test, step)()
            print(f"{step}: {time.monotonic() - start:.1f} s", flush=True)


if __name__ == "__main__":
    run_test(main)
