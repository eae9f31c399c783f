#!/usr/bin/env python3
"""Writes catalog/tables/own_evidence.csv, the runs of tests/data by kind: own_evidence.py ERGOMETER > TABLE

What a run is, its own scripts say in the command that a user would type of it.
"""
import csv
import importlib.util
import pathlib
import re
import sys
from collections import defaultdict

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / "tests/data"
BOARDS = ["h100", "h200"]


def program(path):
    spec = importlib.util.spec_from_file_location(path.parent.name + "_" + path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def answers(ergometer):
    """Of every run that ran to its end the prediction of its job."""
    trainer, torchtitan = program(DATA / "trainer/score.py"), program(DATA / "h200/score.py")
    with open(DATA / "trainer/jobs.csv", newline="") as file:
        jobs = list(csv.DictReader(file))
    for board in BOARDS:
        with open(DATA / "trainer" / board / "training.csv", newline="") as file:
            for row in csv.DictReader(file):
                if row["outcome"] == "ok":
                    yield trainer.predict(ergometer, jobs[int(row["job"])], board)
        for _, named, _ in torchtitan.scored(ergometer, board):
            yield named


def architecture_of(gpu):
    return re.search(r"^architecture: (\S+)", (ROOT / f"catalog/gpus/{gpu.lower()}.yaml").read_text(), re.M).group(1)


def key_of(job):
    """`engine::evidence_key`, of models without state space layers or images."""
    model, cluster, training = job["model"], job["cluster"], job["training"]
    kind = "dense" if model["active_parameters"] == model["parameters"] else "moe"
    kind += " fsdp" if job["parallelism"]["fsdp"] else ""
    kind += " lora" if training["lora_rank"] else ""
    return (cluster["gpu"], architecture_of(cluster["gpu"]), training["software"], training["precision"], kind,
            "several" if cluster["nodes"] > 1 else "one")


def main():
    seen = defaultdict(list)
    for answer in answers(sys.argv[1]):
        seen[key_of(answer["job"])].append((answer["job"]["model"]["name"], answer["job"]["cluster"]["gpus"]))
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["gpu", "architecture", "software", "precision", "kind", "nodes", "groups", "rows", "most_gpus"])
    for key, runs in sorted(seen.items()):
        writer.writerow([*key, len({model for model, _ in runs}), len(runs), max(gpus for _, gpus in runs)])


if __name__ == "__main__":
    sys.exit(main())
