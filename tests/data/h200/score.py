#!/usr/bin/env python3
"""Prints training.csv of a board beside what `ergometer simulate` predicts of the same jobs: score.py ERGOMETER [h200 | h100]"""
import csv
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
HEAD = ["model", "sequence", "micro batch", "recompute", "compiled", "measured", "software named", "error", "inside",
        "not named", "error", "inside", "power", "predicted", "error", "inside", "memory", "predicted"]


def predict(ergometer, board, row, software):
    words = ["--cluster", f"hgx-{board}", "--gpus", "1", "--fsdp", "--seq", row["seq_length"], "--mbs", row["micro_batch"],
             "--gbs", row["micro_batch"], "--recompute", row["recompute"]]
    words += ["--software", software] if software else []
    run = subprocess.run([ergometer, "simulate", HERE / "models" / f"{row['model']}.json", *words, "--json", "--quiet"],
                         capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


def scored(ergometer, board):
    """Every job that ran with its predictions: software and release named, and neither."""
    with open(HERE.parent / board / "training.csv", newline="") as file:
        for row in csv.DictReader(file):
            if row.get("outcome", "ok") != "ok":
                continue
            eager = "" if row["compile"] == "on" else "-eager"
            yield row, predict(ergometer, board, row, f"torchtitan{eager} 2026"), predict(ergometer, board, row, "")


def cells_of(row, named, unnamed):
    measured_s, measured_w = float(row["step_ms"]) * 1e-3, float(row["energy_power_w"])
    cells = [row["model"], row["seq_length"], row["micro_batch"], row["recompute"],
             "yes" if row["compile"] == "on" else "no", f"{measured_s * 1e3:.0f} ms"]
    for job in (named, unnamed):
        step = job["performance"]
        inside = step["step_time_s_low"] <= measured_s <= step["step_time_s_high"]
        cells += [f"{step['step_time_s'] * 1e3:.0f} ms", f"{100 * (step['step_time_s'] / measured_s - 1):+.1f} %",
                  "yes" if inside else "no"]
    power = named["power"]
    inside = power["mean_w_per_gpu_low"] <= measured_w <= power["mean_w_per_gpu_high"]
    cells += [f"{measured_w:.0f} W", f"{power['mean_w_per_gpu']:.0f} W",
              f"{100 * (power['mean_w_per_gpu'] / measured_w - 1):+.1f} %", "yes" if inside else "no"]
    known = row.get("allocated_gib")
    return cells + [f"{float(known):.1f} GiB" if known else "–", f"{named['memory']['peak_bytes'] / 2**30:.1f} GiB"]


def lines(ergometer, board):
    return [cells_of(*found) for found in scored(ergometer, board)]


if __name__ == "__main__":
    for cells in [HEAD, *lines(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "h200")]:
        print(" | ".join(cells))
