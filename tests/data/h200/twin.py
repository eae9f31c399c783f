#!/usr/bin/env python3
"""Prints the training jobs of a board before and after a twin of one of them: twin.py ERGOMETER [h200 | h100]

The twin is fitted to the first job alone: its trace, its steps and its power. The others were not used."""
import collections
import csv
import gzip
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


def telemetry_file(board, row, folder):
    """What NVML showed while the job's steps ran, as nvidia-smi prints it; without the second in which power still averages."""
    if board != "h200":
        return None  # The samples of the H100 are of another run of the jobs.
    file = folder / "power.csv"
    with gzip.open(HERE / "samples.csv.gz", "rt", newline="") as samples, open(file, "w") as out:
        print("timestamp, index, power.draw [W], temperature.gpu, clocks.current.sm [MHz]", file=out)
        for sample in csv.DictReader(samples):
            t = float(sample["time_s"])
            if float(row["begin_s"]) + 1 <= t <= float(row["end_s"]):
                print(f"2026/11/01 00:{int(t) // 60:02}:{t % 60:06.3f}, 0, {float(sample['power_now_mw']) * 1e-3:.2f} W, "
                      f"{sample['die_c']}, {sample['sm_mhz']} MHz", file=out)
    return file


def predicted(ergometer, row, cluster):
    run = subprocess.run([ergometer, "simulate", *words(row, cluster), "--json", "--quiet"], capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


def main(ergometer, board="h200"):
    folder = HERE.parent / board
    with open(folder / "training.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row.get("outcome", "ok") == "ok"]
    with tempfile.TemporaryDirectory() as name:
        out = pathlib.Path(name)
        first = rows[0]
        files = [folder / "trace.json.gz", log_file(first, out), telemetry_file(board, first, out)]
        command = [ergometer, "calibrate", "--from", ",".join(str(f) for f in files if f), job_file(first, f"hgx-{board}", out),
                   "--out", out / "twin", "--trace-steps", "2", "--quiet"]
        print(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout, flush=True)
        score(ergometer, rows, {"catalog": f"hgx-{board}", "twin": out / "twin" / "cluster.yaml"})


def score(ergometer, rows, clusters):
    """Every job by the catalog and by the twin; the first one is what the twin was fitted to."""
    sums = {name: collections.Counter() for name in clusters}
    for n, row in enumerate(rows):
        measured, watts = float(row["step_ms"]) * 1e-3, float(row["energy_power_w"])
        line = f"{row['model']:18} {row['seq_length']:>5} {row['micro_batch']:>3} {row['recompute']:5} {row['compile']:4} {measured * 1e3:5.0f} ms"
        for name, cluster in clusters.items():
            found = predicted(ergometer, row, cluster)
            p, power = found["performance"], found["power"]
            inside = p["step_time_s_low"] <= measured <= p["step_time_s_high"]
            off, power_off = p["step_time_s"] / measured - 1, power["mean_w_per_gpu"] / watts - 1
            line += f"  {p['step_time_s'] * 1e3:5.0f} ms {100 * off:+6.1f} % {'in ' if inside else 'out'} {100 * power_off:+6.1f} % W"
            if n > 0:
                sums[name].update(squares=math.log(1 + off) ** 2, power_squares=math.log(1 + power_off) ** 2, inside=inside,
                                  power_inside=power["mean_w_per_gpu_low"] <= watts <= power["mean_w_per_gpu_high"],
                                  width=math.log(p["step_time_s_high"] / p["step_time_s_low"]) / (2 * 1.645))
        print(line + ("  (fitted)" if n == 0 else ""))
    others = len(rows) - 1
    for name, it in sums.items():
        print(f"{name}: step rms {100 * math.sqrt(it['squares'] / others):.1f} %, {it['inside']} of {others} inside, mean sigma "
              f"{100 * it['width'] / others:.1f} %; power rms {100 * math.sqrt(it['power_squares'] / others):.1f} %, "
              f"{it['power_inside']} inside")


if __name__ == "__main__":
    main(*sys.argv[1:])
