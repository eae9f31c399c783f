#!/usr/bin/env python3
"""Reduces MLPerf Training power logs to tests/data/mlperf-power.

    scripts/mlperf_power.py RAW [OUT]

RAW holds what mlcommons/training_results_v4.0 and _v5.0 have under SUBMITTER/results, as
ROUND-SUBMITTER/SYSTEM/BENCHMARK/{RESULT.txt,power/RESULT/node_*.txt}. Writes OUT/runs.csv, a row a
run in the columns of tests/validation/truth/training_runs.csv with its power behind them, and
OUT/readings.csv, every power reading between run_start and run_stop.
"""
import csv
import json
import pathlib
import re
import statistics
import sys

ROUNDS = {"v4.0": ("smc-ac", "H100-SXM5-80GB", "smc-ac-power"), "v5.0": ("lenovo", "B200", "Lenovo")}
BENCHMARKS = {"llama2_70b_lora": ("Llama 2 70B", "lora")}
# What NeMo's printed configuration calls the columns.
STATED = {"tp": "tensor_model_parallel_size", "cp": "context_parallel_size",
          "pp": "pipeline_model_parallel_size", "mbs": "micro_batch_size",
          "gbs": "global_batch_size", "sp": "sequence_parallel", "seq": "encoder_seq_length"}
RUN_COLUMNS = ["id", "source", "where", "source_kind", "year", "release", "framework", "task", "model",
               "seq", "gpu", "gpus", "gpus_per_node", "tp", "cp", "pp", "sp", "mbs", "gbs",
               "grad_accum", "precision", "samples_per_s", "node_power_w", "node_power_steady_w",
               "node_power_run_w", "node_power_max_w", "node_power_scope", "stated"]


def events(path):
    """The MLLOG records of a file, in its order."""
    for line in path.read_text(errors="replace").splitlines():
        at = line.find(":::MLLOG ")
        if at >= 0:
            yield json.loads(line[at + 9:])


def stated_settings(text):
    """The first of each setting that the printed configuration has: that of the model."""
    found = {}
    for column, name in STATED.items():
        match = re.search(rf"^\s*0:\s+{name}: (\d+)$", text, re.M)
        if match:
            found[column] = int(match.group(1))
    if re.search(r"^\s*0:\s+fp8: true$", text, re.M):
        found["precision"] = "FP8"
    return found


class Log:
    """One run's training log."""

    def __init__(self, path):
        self.stated = stated_settings(path.read_text(errors="replace"))
        self.blocks, self.throughputs = [], []
        for event in events(path):
            key, value, time = event["key"], event["value"], event["time_ms"]
            if key == "run_start":
                self.start = time
            elif key == "run_stop":
                self.stop = time
            elif key == "block_start":
                begin = time
            elif key == "block_stop":
                self.blocks.append((begin, time))
            elif key == "tracked_stats" and "throughput" in value:
                self.throughputs.append(value["throughput"])
            elif key == "global_batch_size":
                self.stated["gbs"] = value
            elif key == "gradient_accumulation_steps":
                self.stated["grad_accum"] = value

    def trains_at(self, time):
        return any(begin <= time < end for begin, end in self.blocks)


def readings(folder, log):
    """(node, seconds since run_start, watts, whether it trains) of every reading within the run."""
    rows = []
    for path in sorted(folder.glob("node_*.txt"), key=lambda p: int(p.stem[5:])):
        for event in events(path):
            time = event["time_ms"]
            if event["key"] == "power_reading" and log.start <= time <= log.stop:
                rows.append((int(path.stem[5:]), (time - log.start) / 1000, float(event["value"]),
                             int(log.trains_at(time))))
    return rows


def mean_over_nodes(rows):
    by_node = {}
    for node, _, watts, _ in rows:
        by_node.setdefault(node, []).append(watts)
    return statistics.mean(statistics.mean(values) for values in by_node.values())


def reduce_run(result, submitted):
    """The row of a run, and its readings."""
    benchmark, system = result.parent.name, result.parent.parent.name
    release = result.parent.parent.parent.name.split("-")[0]
    _, gpu, submitter = ROUNDS[release]
    model, task = BENCHMARKS[benchmark]
    log = Log(result)
    rows = readings(result.parent / "power" / result.stem, log)
    nodes = len({row[0] for row in rows})
    stated = dict(log.stated)
    row = {
        "id": submitted, "source": f"MLPerf Training {release} results",
        "where": f"github mlcommons/training_results_{release} {submitter}/results/{system}/{benchmark}/"
                 f"{result.name} and power/{result.stem}",
        "source_kind": "mlperf-log", "year": {"v4.0": 2024, "v5.0": 2025}[release],
        "release": f"MLPerf {release}", "framework": "NeMo", "task": task, "model": model,
        "seq": 8192, "gpu": gpu, "gpus": 8 * nodes, "gpus_per_node": 8,
        "samples_per_s": round(statistics.median(log.throughputs), 4),
        "node_power_w": round(mean_over_nodes([r for r in rows if r[3]]), 1),
        # The first block begins with some seconds without work.
        "node_power_steady_w": round(
            mean_over_nodes([r for r in rows if r[3] and 1000 * r[1] + log.start > log.blocks[0][1]]), 1),
        "node_power_run_w": round(mean_over_nodes(rows), 1),
        "node_power_max_w": max(r[2] for r in rows), "node_power_scope": "node AC",
        "stated": " ".join(sorted(stated)),
    }
    row.update(stated)
    return row, rows


def write(path, columns, rows):
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main():
    raw = pathlib.Path(sys.argv[1])
    out = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else "tests/data/mlperf-power")
    runs, samples = [], []
    for result in sorted(raw.glob("v*/*/*/result_*.txt")):
        if not (result.parent / "power" / result.stem).is_dir():
            continue
        name = f"{result.parent.parent.name}-{result.parent.name}"
        row, rows = reduce_run(result, name)
        runs.append(row)
        samples += [{"id": name, "node": n, "time_s": f"{t:.3f}", "watts": f"{w:g}", "trains": on}
                    for n, t, w, on in rows]
    write(out / "runs.csv", RUN_COLUMNS, runs)
    write(out / "readings.csv", ["id", "node", "time_s", "watts", "trains"], samples)


if __name__ == "__main__":
    main()
