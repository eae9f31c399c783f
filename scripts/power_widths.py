#!/usr/bin/env python3
"""How far jobs' power lies from its prediction: where the widths of power intervals come from.

    scripts/power_widths.py ERGOMETER

Jobs on one GPU whose power was measured (tests/data/trainer, h200, h100), a source a program and board. For each source, and
for all others without it, prints what catalog/tables/uncertainty.csv keeps:

- power_board: root mean square of ln(measured / predicted) of jobs predicted within 2 % of the most that boards hold;
- power_step: of the others, by how much power is below its prediction where a step is longer than predicted, over by how
  much it would be if the work's joules stayed the same (a line through the origin);
- what is left of them beside that line, how many lie in their 90 % intervals, and the root mean square of where in them, from 0 at
  the prediction to 1 at an end, which of a normal variable is 0.61: power_work_seen.
"""
import csv
import importlib.util
import math
import pathlib
import sys

DATA = pathlib.Path(__file__).resolve().parent.parent / "tests" / "data"
HELD_W, STANDING_W = 691, 120  # of an H100 and an H200: 98.7 % of 700 W; a context without a kernel


def module(path):
    spec = importlib.util.spec_from_file_location(path.parent.name, path)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def compared(source, watts, seconds, said):
    power, step = said["power"], said["performance"]
    predicted = power["mean_w_per_gpu"]
    work = max(0, 1 - STANDING_W / predicted)
    return {"source": source, "predicted": predicted, "off": math.log(watts / predicted),
            "longer": work * math.log(seconds / step["step_time_s"]),
            "place": math.log(watts / predicted) / math.log(power["mean_w_per_gpu_high" if watts > predicted else "mean_w_per_gpu_low"] / predicted),
            "inside": power["mean_w_per_gpu_low"] <= watts <= power["mean_w_per_gpu_high"]}


def jobs(ergometer):
    trainer = module(DATA / "trainer" / "score.py")
    with open(DATA / "trainer" / "jobs.csv", newline="") as file:
        asked = list(csv.DictReader(file))
    for board in ("h100", "h200"):
        with open(DATA / "trainer" / board / "training.csv", newline="") as file:
            for row in csv.DictReader(file):
                if row["outcome"] == "ok":
                    yield compared(f"Trainer, {board}", float(row["power_w"]), float(row["step_ms"]) / 1e3,
                                   trainer.predict(ergometer, asked[int(row["job"])], board))
        for row, named, _ in module(DATA / "h200" / "score.py").scored(ergometer, board):
            yield compared(f"torchtitan, {board}", float(row["energy_power_w"]), float(row["step_ms"]) / 1e3, named)


def rms(values):
    return math.sqrt(sum(value * value for value in values) / len(values))


def told(name, rows):
    held = [row["off"] for row in rows if row["predicted"] > 0.98 * HELD_W]
    free = [row for row in rows if row["predicted"] <= 0.98 * HELD_W]
    slope = -sum(row["off"] * row["longer"] for row in free) / sum(row["longer"] ** 2 for row in free)
    left = rms([row["off"] + slope * row["longer"] for row in free])
    inside = [sum(row["inside"] for row in some) for some in (rows, free)]
    print(f"{name:28} {len(held):3} at the limit, off {rms(held):.3f}; {len(free):3} below, off {rms([row['off'] for row in free]):.3f}, "
          f"line {slope:.2f}, left {left:.3f}; inside {inside[0]} of {len(rows)}, {inside[1]} of {len(free)}, place {rms([row['place'] for row in rows]):.2f}")


if __name__ == "__main__":
    rows = list(jobs(sys.argv[1]))
    told("all", rows)
    for source in sorted({row["source"] for row in rows}):
        told(source, [row for row in rows if row["source"] == source])
        told("  all but it", [row for row in rows if row["source"] != source])
