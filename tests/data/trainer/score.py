#!/usr/bin/env python3
"""Prints training.csv of a board beside what `ergometer simulate` predicts of the same jobs: score.py ERGOMETER [h100 | h200]

Each job as its user would type it: model, GPU, batch, sequence, what the weights are kept in, and that it is Trainer.
"""
import csv
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
HEAD = ["job", "measured", "predicted", "error", "inside", "power", "predicted", "error", "inside", "memory", "predicted", "error",
        "said"]


def words_of(job, board):
    batch = int(job["micro_batch"]) * int(job["accumulation"])
    words = [job["model"], "--cluster", f"hgx-{board}", "--gpus", "1", "--software", "transformers-compiled" if job["compile"] == "yes" else "transformers", "--seq", job["sequence"],
             "--mbs", job["micro_batch"], "--gbs", str(batch)]
    if job["method"] == "lora":
        words += ["--lora", job["rank"]]
        words += [] if job["targets"] == "all-linear" else ["--lora-targets", job["targets"].replace(" ", ",")]
    elif job["weights"] == "bf16":
        words += ["--no-master-weights", "--optimizer-moments", "bf16"]
    words += ["--recompute", "full"] if job["checkpointing"] == "yes" else []
    words += ["--attention-backend", "unfused"] if job["attention"] == "eager" else []
    return words


def predict(ergometer, job, board):
    """The prediction as JSON, exit status 1 (does not fit) included."""
    run = subprocess.run([ergometer, "simulate", *words_of(job, board), "--json", "--quiet"], capture_output=True, text=True)
    if not run.stdout:
        raise RuntimeError(f"{job['model']}: {run.stderr}")
    return json.loads(run.stdout)


def name_of(job):
    words = [job["model"], job["method"] + job["rank"] if job["method"] == "lora" else f"all in {job['weights']}",
             f"{job['micro_batch']} x {job['sequence']}", int(job["accumulation"]) > 1 and f"{job['accumulation']} times",
             job["checkpointing"] == "yes" and "recomputed", job["attention"] == "eager" and "eager attention",
             job["compile"] == "yes" and "compiled"]
    return ", ".join(word for word in words if word)


def compared(unit, measured, value, low, high):
    return [f"{measured:.0f} {unit}", f"{value:.0f} {unit}", f"{100 * (value / measured - 1):+.1f} %",
            "yes" if low <= measured <= high else "no"]


def cells_of(job, row, said):
    memory = said["memory"]
    peak, told = float(row["allocated_gib"]), memory["peak_bytes"] / 2**30
    fits = "fits" if memory["fits"] else f"fits with {100 * memory['fit_probability']:.0f} %"
    if row["outcome"] != "ok":
        return [name_of(job), row["outcome"], *["–"] * 7, f"over {peak:.1f} GiB", f"{told:.1f} GiB", "–", fits]
    step, power = said["performance"], said["power"]
    return [name_of(job),
            *compared("ms", float(row["step_ms"]), *(1e3 * step["step_time_s" + end] for end in ("", "_low", "_high"))),
            *compared("W", float(row["power_w"]), *(power["mean_w_per_gpu" + end] for end in ("", "_low", "_high"))),
            f"{peak:.1f} GiB", f"{told:.1f} GiB", f"{100 * (told / peak - 1):+.1f} %", fits]


def lines(ergometer, board):
    with open(HERE / "jobs.csv", newline="") as file:
        jobs = list(csv.DictReader(file))
    with open(HERE / board / "training.csv", newline="") as file:
        return [cells_of(jobs[int(row["job"])], row, predict(ergometer, jobs[int(row["job"])], board)) for row in csv.DictReader(file)]


if __name__ == "__main__":
    for cells in [HEAD, *lines(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "h100")]:
        print(" | ".join(cells))
