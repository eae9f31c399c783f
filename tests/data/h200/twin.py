#!/usr/bin/env python3
"""Prints the training jobs of a board before and after a twin of one of them: twin.py ERGOMETER [h200 | h100]

The twin is fitted to the first job alone: its trace, its steps and its power. The others were not used."""
import csv
import json
import math
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def words(row, cluster):
    eager = "" if row["compile"] == "on" else "-eager"
    return [HERE / "models" / f"{row['model']}.json", "--cluster", cluster, "--gpus", "1", "--fsdp", "--seq", row["seq_length"],
            "--mbs", row["micro_batch"], "--gbs", row["micro_batch"], "--recompute", row["recompute"], "--software",
            f"torchtitan{eager} 2026"]


def job_file(row, cluster, folder):
    file = folder / "job.yaml"
    eager = "" if row["compile"] == "on" else "-eager"
    file.write_text(f"model: {HERE / 'models' / row['model']}.json\ncluster: {cluster}\ngpus: 1\nfsdp: true\nseq: {row['seq_length']}\n"
                    f"mbs: {row['micro_batch']}\ngbs: {row['micro_batch']}\nrecompute: {row['recompute']}\n"
                    f"software: torchtitan{eager} 2026\n")
    return file


def log_file(row, folder):
    """The steps as Megatron-LM prints them."""
    file = folder / "train.log"
    file.write_text("".join(f" iteration {n:8}/ 100 | elapsed time per iteration (ms): {ms} |\n"
                            for n, ms in enumerate(row["steps_ms"].split(), 1)))
    return file


def predicted(ergometer, row, cluster):
    run = subprocess.run([ergometer, "simulate", *words(row, cluster), "--json", "--quiet"], capture_output=True, text=True, check=True)
    return json.loads(run.stdout)["performance"]


def main(ergometer, board="h200"):
    folder = HERE.parent / board
    with open(folder / "training.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row.get("outcome", "ok") == "ok"]
    with tempfile.TemporaryDirectory() as name:
        out = pathlib.Path(name)
        first = rows[0]
        command = [ergometer, "calibrate", "--from", f"{folder / 'trace.json.gz'},{log_file(first, out)}",
                   job_file(first, f"hgx-{board}", out), "--out", out / "twin", "--trace-steps", "2"]
        print(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout, flush=True)
        squares, inside, widths = [0, 0], [0, 0], [0, 0]
        for n, row in enumerate(rows):
            measured = float(row["step_ms"]) * 1e-3
            line = f"{row['model']:14} {row['seq_length']:>6} {row['micro_batch']:>3} {row['recompute']:9} {row['compile']:4} {measured * 1e3:7.0f} ms"
            for side, cluster in enumerate((f"hgx-{board}", out / "twin" / "cluster.yaml")):
                p = predicted(ergometer, row, cluster)
                low, high = p["step_time_s_low"], p["step_time_s_high"]
                off = p["step_time_s"] / measured - 1
                line += f"  {p['step_time_s'] * 1e3:7.0f} ms {100 * off:+6.1f} % {'in ' if low <= measured <= high else 'out'}"
                if n == 0:
                    continue
                squares[side] += math.log(1 + off) ** 2
                inside[side] += low <= measured <= high
                widths[side] += math.log(high / low) / (2 * 1.645)
            print(line + ("  (fitted)" if n == 0 else ""))
        others = len(rows) - 1
        for side, what in enumerate(("catalog", "twin")):
            print(f"{what}: rms {100 * math.sqrt(squares[side] / others):.1f} %, {inside[side]} of {others} inside, "
                  f"mean sigma {100 * widths[side] / others:.1f} %")


if __name__ == "__main__":
    main(*sys.argv[1:])
