#!/usr/bin/env python3
"""Whether `ergometer optimize` keeps its promises: random jobs, and fresh draws of silicon.

  scripts/optimize_promise.py [--jobs 100] [--first 1] [--ergometer build/release/ergometer]

For every job: optimize it, then simulate the unchanged and the chosen job with silicon that neither
search nor decision has seen, and look whether the gain lies in the interval that was stated, and
whether the chosen job is ever worse with the silicon it was given.
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile


def random_job(number):
    draw = random.Random(number)
    model = draw.choice(["llama3-8b", "llama3-8b", "llama3-70b"])
    gpus = draw.choice([16, 32]) if model == "llama3-8b" else 32
    tp = draw.choice([2, 4]) if model == "llama3-8b" else 4
    pp = draw.choice([2, 4]) if model == "llama3-8b" else draw.choice([4, 8])
    options = ["--cluster", draw.choice(["charllm-h200", "hgx-h200", "hgx-h100"]), "--gpus", str(gpus),
               "--tp", str(tp), "--pp", str(pp), "--mbs", "1", "--gbs", str(draw.choice([32, 64])),
               "--seq-length", str(draw.choice([2048, 4096]))]
    if draw.random() < 0.4:
        options += ["--recompute", "full"]
    if draw.random() < 0.4:
        options += ["--power-cap", str(draw.choice([450, 500, 550, 600]))]
    if draw.random() < 0.5:
        options += ["--override", draw.choice(["node0.inlet=38C", "node1.gpu2.resistance=2", "node0.gpu5.leakage=3",
                                               "node1.blocked_inlet=40%", "node0.gpu1.power_cap=400W"])]
    return model, options, draw.choice(["time", "time", "energy", "peak-power", "temperature"])


def run(program, *words):
    done = subprocess.run([program, *words, "--json", "--quiet"], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(words)}: {done.stderr}")
    return json.loads(done.stdout)


def value(objective, run_json):
    return {"time": lambda: run_json["performance"]["step_time_s"],
            "energy": lambda: run_json["power"]["energy_j_per_step"],
            "peak-power": lambda: run_json["power"]["cluster_peak_w"],
            "temperature": lambda: run_json["thermal"]["max_gpu_c"] - run_json["thermal"]["inlet_c"]}[objective]()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=100)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--ergometer", default="build/release/ergometer")
    given = parser.parse_args()
    changed = kept = inside = worse = 0
    for number in range(given.first, given.first + given.jobs):
        model, options, objective = random_job(number)
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "out")
            answer = run(given.ergometer, "optimize", model, *options, "--objective", objective, "--out", out)
            if answer["keeps"]:
                kept += 1
                continue
            changed += 1
            job = os.path.join(out, "job.yaml")
            gain = lambda seed: 100 * (1 - value(objective, run(given.ergometer, "simulate", job, "--seed", seed))
                                       / value(objective, run(given.ergometer, "simulate", model, *options, "--seed", seed)))
            fresh, own = gain(str(9_000_000 + number)), gain("0")
        promise = answer["gain"]
        met = promise["low"] <= fresh <= promise["high"]
        inside += met
        worse += own < 0
        print(f"{number:4} {model} {objective}: {promise['value_pct']:.2f} % ({promise['low']:.2f} to "
              f"{promise['high']:.2f}), fresh {fresh:.2f} {'' if met else 'OUTSIDE'}", flush=True)
    print(f"{given.jobs} jobs: {kept} kept, {changed} changed; gain inside its interval with fresh silicon in "
          f"{inside} of {changed}; worse than unchanged with the given silicon: {worse}")


if __name__ == "__main__":
    main()
