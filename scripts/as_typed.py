#!/usr/bin/env python3
"""Predicts measured runs as a user would: every row as the command that says what the row says, and nothing more.

`ergometer validate FILE --commands` writes the commands (the catalog's node with the row's GPU, the sizes, the framework
and its release), this runs each of them through the command line and writes what came of it:

  id, group, source, measured, predicted, low, high, fits, fit_probability, refused, command

Times are seconds of the step that `validate` measures the row by; where the command's own step is of another batch, its
times are scaled to the same rate. Rows that contradict themselves are left out. --unnamed leaves the software out, as a user does who does not
name it; --unsaid the micro batch, and only rows whose command has one are scored.
"""
import argparse
import concurrent.futures
import csv
import json
import math
import os
import pathlib
import shlex
import statistics
import subprocess
import sys
from collections import defaultdict

ROOT = pathlib.Path(__file__).resolve().parent.parent
TRUTH = ROOT / "tests/validation/truth"
FILES = ["training_runs.csv", "training_runs_more.csv"]
CERTAIN_NO = 0.1  # below it `simulate` says "does not fit", from it up to 0.9 "at risk"


def number(row, column):
    try:
        value = float(row[column])
        return value if value > 0 else None
    except ValueError:
        return None


def words_of(command, ergometer, left_out):
    words = shlex.split(command)
    words[0] = str(ergometer)
    for option in left_out:
        if option in words:
            at = words.index(option)
            del words[at:at + 2]
    return words + ["--json"]


def measured_seconds(row, answer):
    """Of the command's step; where the row gives only a rate of FLOPs, whose conventions differ, as `validate` has it."""
    performance, job = answer["performance"], answer["job"]
    if number(row, "step_time_s"):
        return number(row, "step_time_s")
    tokens = performance["tokens_per_s"] * performance["step_time_s"]
    if number(row, "tokens_per_s_per_gpu"):
        return tokens / number(row, "tokens_per_s_per_gpu") / job["cluster"]["gpus"]
    if number(row, "tokens_per_s_total"):
        return tokens / number(row, "tokens_per_s_total")
    if number(row, "samples_per_s"):
        return job["training"]["global_batch_size"] / number(row, "samples_per_s")
    return row["validated_s"]


def play(row, command, ergometer, left_out):
    out = {"id": row["id"], "group": row["group"] or row["source"], "source": row["source"], "command": command}
    run = subprocess.run(words_of(command, ergometer, left_out), capture_output=True, text=True)
    if run.returncode not in (0, 1) or not run.stdout:
        return out | {"refused": run.stderr.strip().splitlines()[-1] if run.stderr.strip() else f"status {run.returncode}"}
    answer = json.loads(run.stdout)
    performance, memory = answer["performance"], answer["memory"]
    own, measured = measured_seconds(row, answer), row["validated_s"]
    scale = measured / own if own and measured else 1
    return out | {"measured": measured or own, "predicted": scale * performance["step_time_s"],
                  "low": scale * performance["step_time_s_low"], "high": scale * performance["step_time_s_high"], "fits": memory["fits"],
                  "fit_probability": memory.get("fit_probability", 1.0 if memory["fits"] else 0.0)}


def rows_of(path, ergometer, tiers):
    with open(path, newline="") as file:
        rows = {row["id"]: row for row in csv.DictReader(file)}
    validated = subprocess.run([str(ergometer), "validate", str(path), "--json"], capture_output=True, text=True, check=True)
    for entry in json.loads(validated.stdout)["rows"]:
        if entry["quantity"] == "step_time_s":
            rows[entry["id"]]["validated_s"] = entry["measured"]
            rows[entry["id"]]["contradiction"] = (entry["skipped_reason"] or "").startswith("the row contradicts itself")
    listed = subprocess.run([str(ergometer), "validate", str(path), "--commands", "--json"], capture_output=True, text=True,
                            check=True)
    for entry in json.loads(listed.stdout)["commands"]:
        row = rows[entry["id"]]
        if row.get("tier") in tiers and not row.get("contradiction"):
            yield row, entry["command"], entry["reason"]


def score(results):
    """Group mean, median and bias in %, shares inside the interval, refused and said not to fit (not: at risk)."""
    by_group, errors, inside, unfit = defaultdict(list), [], 0, 0
    scored = [r for r in results if r.get("measured")]
    for r in scored:
        error = 100 * (r["predicted"] / r["measured"] - 1)
        errors.append(error)
        by_group[r["group"]].append(error)
        inside += r["low"] <= r["measured"] <= r["high"]
    ran = [r for r in results if "fits" in r]
    unfit = sum(r["fit_probability"] < CERTAIN_NO for r in ran)
    groups = list(by_group.values())
    share = lambda part, of: 100 * part / of if of else math.nan
    return {"rows": len(scored), "groups": len(groups),
            "mean": statistics.mean(map(abs, errors)) if errors else math.nan,
            "median": statistics.median(map(abs, errors)) if errors else math.nan,
            "group_mean": statistics.mean(statistics.mean(map(abs, g)) for g in groups) if groups else math.nan,
            "group_bias": statistics.mean(statistics.mean(g) for g in groups) if groups else math.nan,
            "within_15": share(sum(abs(e) <= 15 for e in errors), len(errors)),
            "inside": share(inside, len(scored)), "refused": share(sum("refused" in r for r in results), len(results)),
            "unfit": share(unfit, len(ran))}


def print_scores(results):
    parts = defaultdict(list)
    for r in results:
        parts[r["source"][:44]].append(r)
    head = ["rows", "groups", "group_mean", "median", "group_bias", "inside", "refused", "unfit"]
    print(f"{'':46}" + "".join(f"{name:>11}" for name in head))
    for name, part in [("all", results), *sorted(parts.items())]:
        s = score(part)
        print(f"{name:46}" + "".join(f"{s[key]:11.1f}" if isinstance(s[key], float) else f"{s[key]:11d}" for key in head))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", default=[TRUTH / name for name in FILES], type=pathlib.Path)
    parser.add_argument("--ergometer", default=ROOT / "build/release/ergometer", type=pathlib.Path)
    parser.add_argument("--out", default=ROOT / "build/as-typed.csv", type=pathlib.Path)
    parser.add_argument("--tiers", default="A")
    parser.add_argument("--unnamed", action="store_true", help="leave --software out")
    parser.add_argument("--unsaid", action="store_true", help="leave --mbs out, of commands that have it")
    options = parser.parse_args()

    tasks, results = [], []
    for path in options.files:
        for row, command, reason in rows_of(path, options.ergometer, options.tiers.split(",")):
            if options.unsaid and "--mbs" not in (command or ""):
                continue
            if command:
                tasks.append((row, command))
            else:
                results.append({"id": row["id"], "group": row["group"], "source": row["source"], "refused": reason})
    left_out = ["--software"] * options.unnamed + ["--mbs"] * options.unsaid
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results += pool.map(lambda task: play(*task, options.ergometer, left_out), tasks)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    with open(options.out, "w", newline="") as file:
        writer = csv.DictWriter(file, ["id", "group", "source", "measured", "predicted", "low", "high", "fits",
                                       "fit_probability", "refused", "command"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(results)
    print_scores(results)


if __name__ == "__main__":
    sys.exit(main())
