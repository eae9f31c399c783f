#!/usr/bin/env python3
"""How well `optimize JOB --from RECORDING` keeps its promise: boards with faults are hidden in a simulated Run, the job is
optimized by that Run alone, and its choice is played on the hidden boards.

    scripts/optimize_recorded.py build/release/ergometer [DRAWS]
"""

import json
import pathlib
import subprocess
import sys
import tempfile

JOB = {"model": "llama3-8b", "num_layers": 16, "cluster": "charllm-h200", "gpus": 16, "tp": 4, "pp": 4, "gbs": 8, "mbs": 1,
       "seq_length": 4096, "power_cap": "500 W"}
FAULTS = "node1.inlet=40C,node1.gpu6.resistance=3"


def main():
    program, draws = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5
    with tempfile.TemporaryDirectory() as folder:
        job, run = pathlib.Path(folder, "job.yaml"), pathlib.Path(folder, "recorded.run")
        job.write_text("".join(f"{name}: {value}\n" for name, value in JOB.items()))

        def ask(*words):
            return json.loads(subprocess.run([program, *map(str, words), "--json"], stdout=subprocess.PIPE, check=True).stdout)

        for seed in range(11, 11 + draws):
            ask("simulate", job, "--override", FAULTS, "--seed", seed, "--trace-ranks", "all", "--duration", "180s", "--run", run, "-q")
            plan = ask("optimize", job, "--from", run, "--draws", 4, "--knobs", "placement,caps", "-q")
            caps = "".join(f",node{gpu['node']}.gpu{gpu['gpu']}.power_cap={gpu['power_cap_w']}W" for gpu in plan["settings"]["gpus"])
            ranks = plan["settings"]["rank_map"]
            placed = ["--rank-map", ",".join(map(str, ranks))] if ranks else []
            before = ask("simulate", job, "--override", FAULTS, "--seed", seed)
            after = ask("simulate", job, "--override", FAULTS + caps, "--seed", seed, *placed)
            energy = 1 - after["power"]["energy_j_per_step"] / before["power"]["energy_j_per_step"]
            step = after["performance"]["step_time_s"] / before["performance"]["step_time_s"] - 1
            gain = plan["gain"]
            unlike = [f"node{it['node']}.gpu{it['gpu']}" for it in plan["boards"] if it["unlike"]]
            print(f"seed {seed}: promised {gain['value_pct']:.1f} % less energy ({gain['low']:.1f} to {gain['high']:.1f}), "
                  f"gained {100 * energy:.1f} %, step {100 * step:+.1f} %, unlike {', '.join(unlike)}", flush=True)


if __name__ == "__main__":
    main()
