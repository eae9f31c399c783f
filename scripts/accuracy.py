#!/usr/bin/env python3
"""Makes docs/accuracy.md and its pictures from the measured runs in tests/validation/truth.

    scripts/accuracy.py [--ergometer build/release/ergometer] [--calibration FOLDER] [--out docs]

Cross-validated predictions are what `ergometer calibrate --leave-out source --out FOLDER` writes; without a folder that
holds them it is called, which takes about five minutes on two cores. Reasons for the worst rows are kept by hand in
docs/accuracy-notes.csv (id,reason). The same inputs give the same bytes.
"""
import argparse
import csv
import json
import math
import pathlib
import subprocess
import sys
from collections import defaultdict

ROOT = pathlib.Path(__file__).resolve().parent.parent
TRUTH = ROOT / "tests/validation/truth"
WORST = 10
WITHIN = 3  # per cent that a chosen layout may lose, validation::kSeriesLossPct
# What others report, by the words that a row's source holds, from their own papers and documents.
PUBLISHED = [
    ("vTrain, multi-node", ["vTrain", "multi-node"],
     "vTrain 14.73 % (its own measurements); Calculon untuned 11.1 %"),
    ("vTrain, single node", ["vTrain", "single-node"], "vTrain 8.37 %; Calculon untuned 39 %"),
    ("SimuMax on B200", ["SimuMax"], "SimuMax 5.62 % over its 43 rows, of which these are some"),
    ("Korthikanti et al., Table 5", ["Korthikanti"], "Calculon 3.65 %, tuned on 8 rows, these among them"),
]
# Why the fit needs a source, where leaving it out more than doubles the error on it.
NEEDED = {"SimuMax B200 release v1.2 measured results":
          "SimuMax's are the only dense BF16 runs on B200: without them its clock and GEMM rate rest on FP8 and NVFP4 runs."}
DIMENSIONS = ["gpu", "source", "parallelism", "scale"]
COLOURS = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#ee8866", "#44bb99"]
OTHERS = "#999999"


def validate(ergometer, name, of="rows"):
    """The rows, or with of="series" the jobs that were measured with several layouts."""
    series = ["--series"] if of == "series" else []
    run = subprocess.run([ergometer, "validate", TRUTH / name, "--json", "--quiet", *series], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(run.stderr.strip() or f"accuracy.py: {ergometer} ended with status {run.returncode}")
    return json.loads(run.stdout)[of]


def read_by_id(path):
    if path is None or not path.is_file():
        return {}
    with open(path, newline="") as file:
        return {row["id"]: row for row in csv.DictReader(file)}


def median(weighted):
    """Of (value, weight): half of the weight on either side."""
    total = sum(weight for _, weight in weighted)
    below = 0
    ordered = sorted(weighted)
    for i, (value, weight) in enumerate(ordered):
        below += weight
        if abs(below - total / 2) < 1e-9 * total and i + 1 < len(ordered):
            return (value + ordered[i + 1][0]) / 2
        if below > total / 2:
            return value
    return 0.0


def statistics(pairs):
    """Of (group, error in per cent)."""
    if not pairs:
        return None
    groups = defaultdict(list)
    for group, error in pairs:
        groups[group].append(error)
    errors = [abs(error) for _, error in pairs]
    weighted = [(abs(e), 1 / len(part) / len(groups)) for part in groups.values() for e in part]
    return {
        "rows": len(errors), "groups": len(groups),
        "mean": sum(errors) / len(errors), "median": median([(e, 1) for e in errors]),
        "group_mean": sum(e * w for e, w in weighted),
        "bias": sum(error for _, error in pairs) / len(errors),
        "within_15": 100 * sum(e <= 15 for e in errors) / len(errors),
    }


def fitted(rows):
    return statistics([(row["group"], row["error_pct"]) for row in rows if row["error_pct"] is not None])


def cross_validated_error(row, folds):
    found = folds.get(row["id"])
    if not found or not found["predicted_cv"]:
        return None
    return 100 * (float(found["predicted_cv"]) / float(found["measured"]) - 1)


def cross_validated(rows, folds):
    pairs = [(row["group"], cross_validated_error(row, folds)) for row in rows]
    return statistics([pair for pair in pairs if pair[1] is not None])


def percent(number):
    return f"{number:.1f} %"


def cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ")


def markdown(head, lines, right=()):
    out = "| " + " | ".join(head) + " |\n|"
    out += "|".join(" ---: " if i in right else " --- " for i in range(len(head))) + "|\n"
    for line in lines:
        out += "| " + " | ".join(cell(c) for c in line) + " |\n"
    return out + "\n"


NUMBERS = ["rows", "groups", "mean", "median", "group mean", "bias", "within 15 %"]


def numbers(s):
    if s is None:
        return ["–"] * len(NUMBERS)
    return [s["rows"], s["groups"], percent(s["mean"]), percent(s["median"]), percent(s["group_mean"]),
            f"{s['bias']:+.1f} %", percent(s["within_15"])]


def both(name, rows, folds):
    """A line fitted and, where there is one, a line cross-validated."""
    lines = [[name, "fitted"] + numbers(fitted(rows))]
    held_out = cross_validated(rows, folds)
    if held_out:
        lines.append([name, "cross-validated"] + numbers(held_out))
    return lines


def error_table(first, parts, folds):
    lines = [line for name, rows in parts for line in both(name, rows, folds)]
    return markdown([first, "prediction"] + NUMBERS, lines, right=range(2, 9))


def escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def seconds(value):
    if value < 1:
        return f"{value * 1000:g} ms"
    return f"{value:g} s"


def scatter(title, points):
    """Log-log picture of (category, measured, predicted), readable on light and dark pages."""
    size, left, top = 400, 56, 30
    by_category = defaultdict(list)
    for category, measured, predicted in points:
        by_category[category].append((measured, predicted))
    order = sorted(by_category, key=lambda c: (-len(by_category[c]), c))
    named = order[:len(COLOURS)]
    values = [v for _, m, p in points for v in (m, p)]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))

    def at(value):
        return size * (math.log10(value) - low) / (high - low)

    width, height = left + size + 250, top + size + 44
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
           f'height="{height}" font-family="sans-serif" font-size="12">',
           "<style>text{fill:#24292f}.axis{stroke:#8c959f}.grid{stroke:#8c959f;opacity:.3}"
           "@media(prefers-color-scheme:dark){text{fill:#e6edf3}}</style>",
           f'<text x="{left}" y="18" font-size="14">{escape(title)}</text>',
           f'<g transform="translate({left} {top})">']
    for power in range(low, high + 1):
        x = at(10 ** power)
        y = size - x
        out.append(f'<path class="grid" d="M{x:.0f} 0V{size}M0 {y:.0f}H{size}"/>')
        out.append(f'<text x="{x:.0f}" y="{size + 16}" text-anchor="middle">{seconds(10.0 ** power)}</text>')
        out.append(f'<text x="-6" y="{y + 4:.0f}" text-anchor="end">{seconds(10.0 ** power)}</text>')
    shift = at(1.15 * 10 ** low)
    out.append(f'<path class="axis" d="M0 {size}L{size} 0M0 0V{size}H{size}"/>')
    out.append(f'<path class="axis" stroke-dasharray="3 4" d="M0 {size - shift:.1f}L{size - shift:.1f} 0'
               f'M{shift:.1f} {size}L{size} {shift:.1f}"/>')
    rest = [pair for category in order[len(COLOURS):] for pair in by_category[category]]
    drawn = [(c, by_category[c], COLOURS[i]) for i, c in enumerate(named)]
    if rest:
        drawn.append((f"{len(order) - len(COLOURS)} others", rest, OTHERS))
    for _, pairs, colour in reversed(drawn):
        path = "".join(f"M{at(m):.0f} {size - at(p):.0f}h0" for m, p in pairs)
        out.append(f'<path d="{path}" stroke="{colour}" stroke-width="5" stroke-linecap="round" '
                   'stroke-opacity=".65"/>')
    for i, (category, pairs, colour) in enumerate(drawn):
        y = 12 + 20 * i
        name = category if len(category) <= 30 else category[:29] + "…"
        out.append(f'<circle cx="{size + 18}" cy="{y - 4}" r="4" fill="{colour}"/>'
                   f'<text x="{size + 28}" y="{y}">{escape(name)} ({len(pairs)})</text>')
    out.append(f'<text x="{size / 2}" y="{size + 36}" text-anchor="middle">measured step time</text>'
               f'<text transform="rotate(-90)" x="{-size / 2}" y="-42" text-anchor="middle">predicted</text></g></svg>')
    return "\n".join(out) + "\n"


def points_of(rows, folds, dimension):
    points = []
    for row in rows:
        if row["error_pct"] is None:
            continue
        error = cross_validated_error(row, folds)
        predicted = row["predicted"] if error is None else row["measured"] * (1 + error / 100)
        points.append((row[dimension], row["measured"], predicted))
    return points


def parts_by(rows, dimension):
    parts = defaultdict(list)
    for row in rows:
        parts[row[dimension]].append(row)
    return sorted(parts.items(), key=lambda part: (-len({r["group"] for r in part[1]}), part[0]))


def worst_table(rows, folds, notes):
    def error_of(row):
        error = cross_validated_error(row, folds)
        return row["error_pct"] if error is None else error

    scored = sorted((row for row in rows if row["error_pct"] is not None), key=lambda row: -abs(error_of(row)))
    lines = []
    for row in scored[:WORST]:
        reason = notes.get(row["id"], {}).get("reason", "not yet found")
        lines.append([row["id"], row["source"], row["model"], row["gpu"], f"{row['measured']:.3g} s",
                      f"{row['predicted']:.3g} s", f"{row['error_pct']:+.1f} %", f"{error_of(row):+.1f} %", reason])
    return markdown(["row", "source", "model", "GPU", "measured", "fitted", "error", "cross-validated", "reason"], lines,
                    right=(4, 5, 6, 7))


def skipped_table(rows):
    reasons = defaultdict(list)
    for row in rows:
        if row["skipped_reason"]:
            reasons[(row["source"], row["skipped_reason"])].append(row["id"])
    lines = [[source, reason, len(ids), ids[0]] for (source, reason), ids in
             sorted(reasons.items(), key=lambda item: (-len(item[1]), item[0]))]
    return markdown(["source", "reason", "rows", "first"], lines, right=(2,)) if lines else "None.\n\n"


def memory_section(rows):
    memory = [row for row in rows if row["quantity"] == "memory_bytes"]
    lines = [[source] + numbers(fitted(part)) for source, part in parts_by(memory, "source")]
    fits = {row["id"]: row["fits"] for row in rows if row["predicted"] is not None}
    right = sum(fits.values())
    text = markdown(["source"] + NUMBERS, lines, right=range(1, 8))
    if fits:
        text += (f"All of these jobs did run: {right} of {len(fits)} ({percent(100 * right / len(fits))}) are said to "
                 "fit in memory.\n\n")
    return text


def power_section(rows):
    """Rows of one job, quantity and round make one line: submissions repeat their runs ten times."""
    described = read_by_id(TRUTH / "power_thermal.csv")
    lines, parts = [], {}
    for row in rows:
        if row["predicted"] is None:
            continue
        about = described[row["id"]]
        kind = "maximum" if about["metric"].lower().startswith("max") or about["metric"].lower().endswith("max") else "mean"
        key = (about["workload"], about["system"] or about["device"], about["config"], about["unit"], kind)
        parts.setdefault(key, []).append(row)
    for key, part in parts.items():
        measured = sum(row["measured"] for row in part) / len(part)
        predicted = sum(row["predicted"] for row in part) / len(part)
        lines.append([cell(f"{key[0]}, {key[1]}"), cell(key[2]), f"{key[4]} {cell(key[3])}", len(part), f"{measured:.0f}",
                      f"{predicted:.0f}", f"{100 * (predicted / measured - 1):+.1f} %"])
    skipped = sum(row["predicted"] is None for row in rows)
    return (f"`ergometer validate tests/validation/truth/power_thermal.csv`: power predicted from the job; nothing is fitted to "
            f"these rows. The measured means cover the whole run, evaluation and its pauses included, which weighs most on the "
            f"shortest runs (64 nodes: under two minutes); predictions are of training alone. {skipped} rows are no power of a "
            f"language model's training or do not say enough about it.\n\n" +
            markdown(["job", "size", "what, W", "rows", "measured", "predicted", "error"], lines, right=(3, 4, 5, 6)))


def series_line(name, series):
    right = sum(it["loss_pct"] <= WITHIN for it in series)
    loss, blind, order = (sum(it[key] for it in series) / len(series) for key in ("loss_pct", "blind_loss_pct", "order"))
    return [name, len(series), f"{right} ({percent(100 * right / len(series))})", percent(loss), percent(blind), f"{order:+.2f}"]


def choice_section(ergometer, notes):
    runs, bulk = validate(ergometer, "training_runs.csv", "series"), validate(ergometer, "training_runs_bulk.csv", "series")
    sources = defaultdict(list)
    for it in bulk:
        sources[it["source"]].append(it)
    lines = [series_line(name, series) for name, series in [("published tables and logs", runs), *sorted(sources.items())]]
    text = CHOICE + markdown(["runs", "series", f"right, within {WITHIN} %", "mean loss", "blindly", "order"], lines,
                             right=range(1, 6))
    text += "### Where the choice is wrong\n\nEvery series of the published tables and logs, and those of the sweeps by their reason:\n\n"
    missed = defaultdict(list)
    for it in runs + bulk:
        if it["loss_pct"] > WITHIN:
            reason = notes.get("series " + it["chosen"]) or notes.get("series of " + it["source"])
            missed[reason["reason"] if reason else "not yet found"].append(it)
    lines = [[parts[0]["name"] if len(parts) == 1 else f"{len(parts)} series, like {parts[0]['name']}",
              parts[0]["chosen"], parts[0]["layouts"][0]["id"],
              percent(sum(it["loss_pct"] for it in parts) / len(parts)), reason] for reason, parts in missed.items()]
    return text + markdown(["series", "chosen", "best", "mean loss", "reason"], lines, right=(3,))


def interval_line(rows, folds):
    """How many measured step times lie in the interval, put around the cross-validated prediction."""
    scored = [row for row in rows if row["error_pct"] is not None and row["id"] in folds]
    inside = 0
    for row in scored:
        centre = float(folds[row["id"]]["predicted_cv"])
        inside += centre * row["low"] <= row["measured"] * row["predicted"] <= centre * row["high"]
    return (f"The 90 % interval that comes with every prediction, put around the cross-validated one, holds {inside} of "
            f"{len(scored)} measured step times ({percent(100 * inside / max(1, len(scored)))}).\n\n")


def calibrate(ergometer, folder):
    files = f"{TRUTH / 'training_runs.csv'},{TRUTH / 'training_runs_bulk.csv'}"
    run = subprocess.run([ergometer, "calibrate", "--truth", files, "--parameters", ROOT / "catalog/calibration.yaml",
                          "--leave-out", "source", "--out", folder], stdout=subprocess.DEVNULL)
    if run.returncode != 0:
        sys.exit(f"accuracy.py: calibrate ended with status {run.returncode}")


def parameter_section(calibration):
    parameters = calibration["parameters"]
    held = [p for p in parameters if p["held"]]
    vague = [p for p in parameters if p["determined"] > 0.8 and not p["held"]]
    text = (f"{len(parameters)} parameters may move ([calibration.yaml](../catalog/calibration.yaml) has their priors); "
            f"{len(held)} of them move fewer than two groups and keep their priors, and for {len(vague)} more the data "
            f"narrow the prior by less than a fifth.\n\n")
    lines = []
    for it in calibration["left_out"]:
        with_it, without = it["with"]["group_mean_pct"], it["without"]["group_mean_pct"]
        lines.append([it["source"], it["with"]["rows"], percent(with_it), percent(without),
                      f"{without / with_it:.2f}" if with_it > 0 else "–"])
    if lines:
        text += ("The error on each source when it is part of the fit and when the fit is made without it (on the slopes "
                 "at the full fit, then simulated):\n\n")
        text += markdown(["source", "rows", "in the fit", "left out", "ratio"], lines, right=(1, 2, 3, 4))
        text += "".join(NEEDED[line[0]] + "\n\n" for line in lines if line[0] in NEEDED)
    return text


CHOICE = """How good is a layout chosen by prediction? `ergometer validate FILE.csv --series` finds the jobs (same source, model, GPU,
number of GPUs, batch, sequence length, precision, software) that were measured with several layouts, and chooses the
one predicted fastest of those predicted to fit. *Loss*: how much longer it took, measured, than the fastest measured one;
*blindly*: mean loss of all layouts; *order*: Kendall's tau between measured and predicted times, 1 for the same order.
Predictions are the fitted ones: cross-validated ones of one series come from several catalogs and cannot be compared.
nanotron's rows are predicted with what their own run says of its network (whether it was degraded), which nobody
knows who chooses.

"""

INTRODUCTION = """# Accuracy

How far predictions of step time and memory are from what others measured and published. The runs are in
[tests/validation/truth](../tests/validation/truth/README.md), with their sources. This page and its pictures are made by
`scripts/accuracy.py`; nothing in it is written by hand except the reasons in [accuracy-notes.csv](accuracy-notes.csv).

The error of a row is predicted / measured - 1; mean and median are of its absolute value, bias of the value itself.
*Group mean* gives every series of runs (one model, GPU and precision) the same weight, so that a sweep of a thousand
rows counts as much as a table of three. *Fitted*: predicted with the catalog as it is shipped, which was calibrated on
these rows. *Cross-validated*: predicted with a catalog calibrated on the other groups only, which is what to expect of a
job that nobody has measured.

Some of what a row is predicted with comes from the row's own measurements, as no job that is yet to run has them: of
nanotron's rows the state of the network (in order, degraded or stalled), of BigScience's logs shapes that they do not
name, and of Megatron-LM's functional tests, whose attention is taken as fused or not by the memory that each kind of test
used. That those on one node of GB200 wait for their data, 0.2 s a micro batch, was seen in their times.

"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ergometer", default=ROOT / "build/release/ergometer", type=pathlib.Path)
    parser.add_argument("--calibration", default=ROOT / "build/calibration", type=pathlib.Path)
    parser.add_argument("--out", default=ROOT / "docs", type=pathlib.Path)
    options = parser.parse_args()

    if not (options.calibration / "cross-validation.csv").is_file():
        calibrate(options.ergometer, options.calibration)
    folds = read_by_id(options.calibration / "cross-validation.csv")
    calibration = json.loads((options.calibration / "calibration.json").read_text())
    notes = read_by_id(options.out / "accuracy-notes.csv")
    runs = validate(options.ergometer, "training_runs.csv")
    bulk = validate(options.ergometer, "training_runs_bulk.csv")
    times = [row for row in runs if row["quantity"] == "step_time_s"]
    bulk_times = [row for row in bulk if row["quantity"] == "step_time_s"]
    tier_a = [row for row in times if row["tier"] == "A"]

    text = INTRODUCTION
    text += "## In short\n\n"
    short = [("published tables and logs, tier A", tier_a)] + parts_by(bulk_times, "source")
    text += error_table("runs", short, folds)
    accepted = sum(row["predicted"] is not None for row in tier_a)
    text += f"Of tier A's {len(tier_a)} rows, {accepted} ({percent(100 * accepted / len(tier_a))}) can be predicted. "
    text += interval_line(tier_a, folds)

    text += "## Beside other simulators\n\nTheir errors are those that their authors report.\n\n"
    lines = []
    for name, words, theirs in PUBLISHED:
        rows = [row for row in times + bulk_times if all(word in row["source"] for word in words)]
        held_out = cross_validated(rows, folds)
        own = fitted(rows)
        lines.append([name, len(rows), theirs, percent(own["mean"]) if own else "–",
                      percent(held_out["mean"]) if held_out else "–"])
    text += markdown(["rows", "number", "published mean error", "Ergometer, fitted", "Ergometer, cross-validated"], lines,
                     right=(1, 3, 4))

    text += "## Choosing a layout\n\n" + choice_section(options.ergometer, notes)
    text += "## Parameters\n\n" + parameter_section(calibration)
    text += "## Memory\n\n" + memory_section(runs + bulk)
    text += "## Power\n\n" + power_section(validate(options.ergometer, "power_thermal.csv"))

    pictures = options.out / "accuracy"
    pictures.mkdir(parents=True, exist_ok=True)
    kind = "cross-validated" if folds else "fitted"
    text += "## Step time, tier A\n\nDashed lines: 15 % off.\n\n"
    for dimension in DIMENSIONS:
        (pictures / f"{dimension}.svg").write_text(
            scatter(f"Step time by {dimension}, {kind}", points_of(tier_a, folds, dimension)))
        text += f"### By {dimension}\n\n![predicted over measured step time, by {dimension}](accuracy/{dimension}.svg)\n\n"
        text += error_table(dimension, parts_by(tier_a, dimension), folds)
    text += "## Step time, the large sweeps\n\n"
    (pictures / "sweeps.svg").write_text(scatter(f"Step time by source, {kind}", points_of(bulk_times, folds, "source")))
    text += "![predicted over measured step time of the sweeps](accuracy/sweeps.svg)\n\n"
    text += error_table("parallelism", parts_by(bulk_times, "parallelism"), folds)

    text += "## The ten worst rows of tier A\n\n" + worst_table(tier_a, folds, notes)
    text += "## Rows without a prediction\n\n" + skipped_table(runs + bulk)
    (options.out / "accuracy.md").write_text(text.rstrip() + "\n")


if __name__ == "__main__":
    main()
