#!/usr/bin/env python3
"""Makes docs/accuracy.md and its pictures from the measured runs in tests/validation/truth.

    scripts/accuracy.py [--ergometer build/release/ergometer] [--calibration FOLDER] [--as-typed FILE] [--out docs]

Predictions left out by source and cross-validated are what `ergometer calibrate --leave-out source --out FOLDER` writes;
without a folder that holds them it is called, which takes about six minutes on two cores. Predictions of runs as a user
would type them are read from FILE (id,predicted,low,high,fits,refused; build/as-typed.csv where it is there). Reasons for
the worst rows are kept by hand in docs/accuracy-notes.csv (id,reason). The same inputs give the same bytes.
"""
import argparse
import csv
import importlib.util
import json
import math
import pathlib
import subprocess
import sys
from collections import defaultdict

ROOT = pathlib.Path(__file__).resolve().parent.parent
TRUTH = ROOT / "tests/validation/truth"
WORST = 10
AT_LIMIT = 0.95  # of the power limit: readings from there on are the governor's
WITHIN = 3  # per cent that a chosen layout may lose, validation::kSeriesLossPct
# What others report, by the words that a row's source holds, from their own papers and documents.
PUBLISHED = [
    ("vTrain, multi-node", ["vTrain", "multi-node"],
     "vTrain 14.73 % (its own measurements); Calculon untuned 11.1 %"),
    ("vTrain, single node", ["vTrain", "single-node"], "vTrain 8.37 %; Calculon untuned 39 %"),
    ("SimuMax on B200", ["SimuMax"], "SimuMax 5.62 % over its 43 rows, of which these are some"),
    ("Korthikanti et al., Table 5", ["Korthikanti"], "Calculon 3.65 %, tuned on 8 rows, these among them"),
]
# What a source's runs are, by words that its name holds; the first that fits.
KINDS = [
    ("tuned vendor recipe", ["NVIDIA", "MLPerf", "Megatron-LM README", "AMD", "SDMA"]),
    ("released framework with its defaults", ["llm-foundry", "torchtitan", "torchtune", "FlagPerf", "InternEvo",
                                              "ml-engineering", "BigScience", "SimuMax"]),
    ("tests, and a network out of order", ["CI golden", "nanotron"]),
    ("research code or unnamed", [""]),
]
# Why the fit needs a source, where leaving it out more than doubles the error on it.
NEEDED = {"Hugging Face nanotron Ultra-Scale benchmark (bench_final2.csv)":
          "nanotron's runs alone tell that their network was out of order, and by how much: without them they are predicted as on one in order.",
          "SimuMax B200 release v1.2 measured results":
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


def group_weights(rows):
    """One a row: every group of rows weighs the same, and all of them 1."""
    sizes = defaultdict(int)
    for row in rows:
        sizes[row["group"]] += 1
    return [1 / sizes[row["group"]] / len(sizes) for row in rows]


def statistics(rows, outcome):
    """Of the rows of which `outcome` gives predicted and interval (low, high) over measured; None where there are none."""
    scored = [(row, outcome(row)) for row in rows]
    scored = [(row, found) for row, found in scored if found]
    if not scored:
        return None
    errors = [100 * (predicted - 1) for _, (predicted, _, _) in scored]
    weights = group_weights([row for row, _ in scored])
    return {
        "rows": len(errors), "groups": len({row["group"] for row, _ in scored}),
        "mean": sum(map(abs, errors)) / len(errors), "median": median([(abs(e), 1) for e in errors]),
        "group_mean": sum(abs(e) * w for e, w in zip(errors, weights)),
        "bias": sum(errors) / len(errors),
        "within_15": 100 * sum(abs(e) <= 15 for e in errors) / len(errors),
        "inside": 100 * sum(low <= 1 <= high for _, (_, low, high) in scored) / len(scored),
    }


def fitted(row):
    if row["error_pct"] is None:
        return None
    return tuple(row[key] / row["measured"] for key in ("predicted", "low", "high"))


def cross_validated(folds):
    """The interval is the one of the fitted prediction, put around this one."""
    def outcome(row):
        found = folds.get(row["id"])
        whole = fitted(row)
        if not whole or not found or not found["predicted_cv"]:
            return None
        predicted = float(found["predicted_cv"]) / float(found["measured"])
        return predicted, predicted * whole[1] / whole[0], predicted * whole[2] / whole[0]
    return outcome


def from_table(table):
    """Predictions of a table by id, each with its own interval; s."""
    def outcome(row):
        found = table.get(row["id"])
        if row["measured"] is None or not found or not found["predicted"]:
            return None
        return tuple(float(found[key]) / row["measured"] for key in ("predicted", "low", "high"))
    return outcome


def left_out(table, never_fitted):
    """Rows of sources that are in no fit are left out as they stand."""
    simulated = from_table(table)
    return lambda row: fitted(row) if row["id"] in never_fitted else simulated(row)


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


NUMBERS = ["rows", "groups", "mean", "median", "group mean", "bias", "within 15 %", "inside the interval"]


def numbers(s):
    if s is None:
        return ["–"] * len(NUMBERS)
    return [s["rows"], s["groups"], percent(s["mean"]), percent(s["median"]), percent(s["group_mean"]),
            f"{s['bias']:+.1f} %", percent(s["within_15"]), percent(s["inside"])]


def full_table(parts, figures):
    """A line for every part and every figure that has rows of it."""
    lines = []
    for name, rows in parts:
        for figure, outcome in figures:
            found = statistics(rows, outcome)
            if found:
                lines.append([name, figure] + numbers(found))
    return markdown(["runs", "prediction"] + NUMBERS, lines, right=range(2, 10))


def error_table(first, parts, figures):
    """The figures' group means side by side."""
    shown = [it for it in figures if any(statistics(rows, it[1]) for _, rows in parts)]
    lines = []
    for name, rows in parts:
        found = [statistics(rows, outcome) for _, outcome in shown]
        groups = max((it["groups"] for it in found if it), default=0)
        lines.append([name, len(rows), groups] + [percent(it["group_mean"]) if it else "–" for it in found])
    return markdown([first, "rows", "groups"] + [name for name, _ in shown], lines, right=range(1, 3 + len(shown)))


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


def points_of(rows, outcome, dimension):
    scored = [(row, outcome(row)) for row in rows]
    return [(row[dimension], row["measured"], row["measured"] * found[0]) for row, found in scored if found]


def parts_by(rows, dimension):
    parts = defaultdict(list)
    for row in rows:
        parts[row[dimension]].append(row)
    return sorted(parts.items(), key=lambda part: (-len({r["group"] for r in part[1]}), part[0]))


def worst_table(rows, outcome, notes):
    def error_of(row):
        found = outcome(row)
        return 100 * (found[0] - 1) if found else row["error_pct"]

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
    lines = [[source] + numbers(statistics(part, fitted))[:-1] for source, part in parts_by(memory, "source")]
    fits = {row["id"]: row["fits"] for row in rows if row["predicted"] is not None}
    right = sum(fits.values())
    text = markdown(["source"] + NUMBERS[:-1], lines, right=range(1, 8))
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
        inside = sum(row["low"] <= row["measured"] <= row["high"] for row in part)
        lines.append([cell(f"{key[0]}, {key[1]}"), cell(key[2]), f"{key[4]} {cell(key[3])}", len(part), f"{measured:.0f}",
                      f"{predicted:.0f}", f"{100 * (predicted / measured - 1):+.1f} %", inside])
    accepted = [row for row in rows if row["predicted"] is not None]
    error = sum(abs(row["error_pct"]) for row in accepted) / len(accepted)
    inside = sum(row["low"] <= row["measured"] <= row["high"] for row in accepted)
    skipped = sum(row["predicted"] is None for row in rows)
    return POWER.format(error=error, inside=inside, accepted=len(accepted), skipped=skipped) + markdown(
        ["job", "size", "what, W", "rows", "measured", "predicted", "error", "inside 90 %"], lines, right=(3, 4, 5, 6, 7))


def error_cells(error):
    return [percent(error["mean_pct"]), f"{error['bias_pct']:+.1f} %"] if error["rows"] else ["–", "–"]


def rows_error(rows):
    errors = [100 * (row["at_measured_time_w"] / row["measured_w"] - 1) for row in rows]
    count = len(errors)
    return {"rows": count, "mean_pct": sum(map(abs, errors)) / max(1, count), "bias_pct": sum(errors) / max(1, count)}


def kernel_section(ergometer):
    lines, parts = [], defaultdict(list)
    for table in ("gemm", "attention"):
        run = subprocess.run([ergometer, "validate", "--microbench", TRUTH / f"kernel_power_{table}.csv.gz", "--json"],
                             capture_output=True, text=True, check=True)
        found = json.loads(run.stdout)
        for row in found["rows"]:
            if row.get("scored"):
                parts[row["kind"], row["precision"].split(",")[0], row["platform"]].append(row)
        for it in found["summary"]:
            lines.append([f"{it['kind']}, {it['precision']}", it["platform"], it["framework"], it["power"]["rows"],
                          *error_cells(it["power"]), it["settled_power"]["rows"], *error_cells(it["settled_power"]),
                          *error_cells(it["settled_power_from_shape"]), *error_cells(it["time"])])
    short = []
    for (kind, precision, platform), rows in sorted(parts.items()):
        settled = [row for row in rows if row["settled"]]
        below = [row for row in settled if row["measured_w"] < AT_LIMIT * row["limit_w"]]
        short.append([f"{kind}, {precision}", platform, len(rows), *error_cells(rows_error(rows)), len(settled),
                      *error_cells(rows_error(settled)), len(below), *error_cells(rows_error(below))])
    return (KERNELS +
            markdown(["kernel", "GPU", "rows", "power", "bias", "settled", "power", "bias", "below the limit", "power",
                      "bias"], short, right=range(2, 11)) +
            "By framework and type of the cache; from shape: the time predicted too.\n\n" +
            markdown(["kernel", "GPU", "framework", "rows", "power", "bias", "settled", "power", "bias",
                      "from shape", "bias", "time", "bias"], lines, right=range(3, 13)))


def one_gpu_section(ergometer):
    sys.path.insert(0, str(ROOT / "tests/data/h200"))
    import score

    text = ONE_GPU
    for board in ("h200", "h100"):
        lines = score.lines(ergometer, board)
        errors = [[abs(float(cells[at].split()[0])) for cells in lines] for at in (7, 10, 14)]
        mean = [sum(of_kind) / len(of_kind) for of_kind in errors]
        inside = [sum(cells[at] == "yes" for cells in lines) for at in (8, 11, 15)]
        text += (f"{board.upper()}: step time {mean[0]:.1f} % off on average with the software named ({inside[0]} of {len(lines)} inside "
                 f"the interval), {mean[1]:.1f} % not named ({inside[1]}); power {mean[2]:.1f} % ({inside[2]}).\n\n")
        text += markdown(score.HEAD, lines, right=(1, 2, 5, 6, 7, 9, 10, 12, 13, 14, 16, 17))
    return text


def trainer_section(ergometer):
    spec = importlib.util.spec_from_file_location("trainer_score", ROOT / "tests/data/trainer/score.py")
    score = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(score)
    text = TRAINER
    for board in ("h100", "h200"):
        lines = score.lines(ergometer, board)
        ran = [cells for cells in lines if cells[1] != "oom"]
        mean = [sum(abs(float(cells[at].split()[0])) for cells in ran) / len(ran) for at in (3, 7, 11)]
        inside = [sum(cells[at] == "yes" for cells in ran) for at in (4, 8)]
        text += (f"{board.upper()}: step time {mean[0]:.1f} % off on average ({inside[0]} of {len(ran)} inside the interval), power "
                 f"{mean[1]:.1f} % ({inside[1]}), memory {mean[2]:.1f} %.\n\n")
        text += markdown(score.HEAD, lines, right=(1, 2, 3, 5, 6, 7, 9, 10, 11))
    return text


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


def typed_line(rows, typed):
    """How many of the runs that can be predicted as typed are refused, or said not to fit."""
    found = [typed[row["id"]] for row in rows if row["id"] in typed]
    if not found:
        return ""
    refused = sum(bool(it["refused"]) for it in found)
    odds = [float(it["fit_probability"]) for it in found if it["fit_probability"]]
    without, doubted = sum(p < 0.1 for p in odds), sum(0.1 <= p < 0.5 for p in odds)
    return (f"As typed, {len(found)} runs were tried; {refused} of them are refused, {without} are said not to fit in "
            f"memory, and {doubted} to be at risk with less than even odds, though all of them ran.\n\n")


def kind_of(source):
    return next(kind for kind, words in KINDS if any(word in source for word in words))


def quantile(weighted, share):
    """Of (value, weight): the value below which this share of the weight lies."""
    total = sum(weight for _, weight in weighted)
    below = 0
    for value, weight in sorted(weighted):
        below += weight
        if below >= share * total:
            return value
    return 0.0


def spread_line(name, rows, outcome):
    """Of ln(measured / predicted): its median and where nine tenths of the groups' weight lie around it."""
    logs = [-math.log(outcome(row)[0]) for row in rows]
    weighted = list(zip(logs, group_weights(rows)))
    middle = median(weighted)
    within = quantile([(abs(log - middle), weight) for log, weight in weighted], 0.9)
    about = quantile([(abs(log), weight) for log, weight in weighted], 0.9)
    return [name, len({row["source"] for row in rows}), len(rows), len({row["group"] for row in rows}), f"{middle:+.3f}",
            f"{quantile(weighted, 0.05):+.3f}", f"{quantile(weighted, 0.95):+.3f}", f"{within:.3f}", f"{about:.3f}"]


def unseen_section(rows, outcome, software, never_fitted):
    """How far off predictions are of software of which no run was in the fit."""
    sources = defaultdict(set)
    for row in rows:
        if row["id"] in software:
            sources[software[row["id"]]].add(row["source"])
    scored = [row for row in rows if outcome(row)]
    known = [row for row in scored if row["id"] not in never_fitted]
    alone = {row["id"] for row in known if len(sources[software[row["id"]]]) == 1}
    lines = []
    for name, part in [("left out, no other source has its software", [row for row in known if row["id"] in alone]),
                       ("left out, software of other sources too", [row for row in known if row["id"] not in alone]),
                       ("never fitted", [row for row in scored if row["id"] in never_fitted])]:
        for kind, _ in KINDS:
            of_kind = [row for row in part if kind_of(row["source"]) == kind]
            if of_kind:
                lines.append(spread_line(f"{name}: {kind}", of_kind, outcome))
        if part:
            lines.append(spread_line(f"{name}: all", part, outcome))
    return UNSEEN + markdown(["runs", "sources", "rows", "groups", "median", "5 %", "95 %", "90 % around it", "90 % around 0"],
                             lines, right=range(1, 9))


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
        text += ("The error on each source when it is part of the fit and when it is left out, with what was settled on its "
                 "runs (on the slopes at the full fit, then simulated):\n\n")
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
rows counts as much as a table of three. *Inside the interval*: how many measured times lie in the 90 % interval that comes
with every prediction. Four figures, the most honest first:

- *as typed*: predicted from what a user would type of the job, with the catalog as it is shipped;
- *left out by source*: predicted without the source's rows, without what was settled by looking at them (`settled` in
  [calibration.yaml](../catalog/calibration.yaml)), and with the intervals of whoever has not seen them: what to expect of
  somebody else's machine and software. Runs of sources that no fit has seen (training_runs_more.csv) count here as they stand;
- *cross-validated*: predicted with a catalog calibrated on the other groups only: what to expect of another model on an
  installation that was measured;
- *fitted*: predicted with the catalog as it is shipped, which was calibrated on these rows.

Some of what a row is predicted with comes from the row's own measurements, as no job that is yet to run has them: of
nanotron's rows the state of the network (in order, degraded or stalled), of BigScience's logs shapes that they do not
name, of Megatron-LM's functional tests, whose attention is taken as fused or not by the memory that each kind of test
used, and of one row of Llama 4 Maverick its depth: it says 32 layers, and its own MFU is that of the model's 48. That those
on one node of GB200 wait for their data, 0.2 s a micro batch, was seen in their times. What such words put into a step's
time is taken back where the source is left out; the attention of the functional tests and that depth are not.
InternEvo's rows are in no fit, but its recipe, recalled from its public configurations, was written with them in view.

"""

POWER = """`ergometer validate tests/validation/truth/power_thermal.csv`: power predicted from the job. Mean absolute error {error:.1f} %
over {accepted} rows, {inside} of them inside their 90 % interval; {skipped} rows are no power of a language model's training or do not say
enough about it. The rows repeat a few runs: {accepted} rows are twelve measurements of three machines, so that the share inside says
little; by line it is what the last column shows.

Means of MLPerf runs go from `run_start` to `run_stop`. They are predicted as such a run (`--run-phases`): its length is
the row's, the benchmark's evaluations and what GPUs stand still come from catalog/tables/benchmark_runs.csv, taken from
logs of 1 and 8 nodes. Of 117 s on 64 nodes half is training by this; of the step alone these means are 34 % off.
Fitted: to the log of pw-0001 full fans of HGX H100 nodes, to it and one of 8 nodes the pauses of MLPerf v4.0; nothing
to rows of 64 nodes. Their means are better than what they are made of: steps of 8 nodes are 21 % too short and 11 % too
high in power by the log, and a run of given length then holds more evaluations with their pauses (the log's whole run:
+10 %). Maxima are those of single readings over all nodes; the prediction's is of nominal boards.

"""

ONE_GPU = """Measured for this project on one H200 ([tests/data/h200](../tests/data/h200/README.md)) and one H100
([tests/data/h100](../tests/data/h100/README.md)), by `tests/data/h200/training.py`; this table by `score.py` beside it. Nothing was
fitted to step times, but some things seen there were taken into the catalog, so the tables are not blind to them: that PyTorch of
2026 takes cuDNN for attention on Hopper, what a waiting GPU draws, and from the trace of the first job how long a loop stands still
between steps, which copies FSDP 2 makes, and how fast products, element-wise kernels of an eager step and AdamW run.
`--software "torchtitan 2026"` or `"torchtitan-eager 2026"`; beside it with no software said. Memory: peak of PyTorch's allocator. Llama 160M with 4 sequences waits for its host, which took 1.5
times as long beside the H100 as beside the H200.

"""

TRAINER = """Measured for this project on one H100 and one H200 ([tests/data/trainer](../tests/data/trainer/README.md)): what a user of
transformers and PEFT runs, as they would type it, with `--software transformers` (`transformers-compiled` where Trainer compiles); these tables
by `tests/data/trainer/score.py`. What kernels run and what they keep was counted from the sources and from traces of five jobs, how fast they
stream from those too, a launch's time from two jobs that wait for their host, checkpoints' and adapters' host work from some fifteen; the rates
of attention, of a head of odd width and of windows that are masks from kernels of all. The lines from StarCoder to Mistral Nemo were predicted
before they ran: 4.5 % off in time (all inside the interval), 2.2 % in power, 2.8 % in memory, as the program
was (`git log tests/data/trainer/h100/training.csv` names the commits that brought them, `score.py` at the one before compares); so were all of
the H200: 5.6 % off in time (all inside), 3.1 % in power, 1.4 % in memory, before what they show of kernels that do not stream
(`memory.issue`) stood in the catalog. The last ten of the H100 are five small jobs, twice: the same host took 64 and 91 ms for one of them. Taken for
`--software torchtitan-eager`, the first 27 come out 26 % off in time, 18 % in power and 16 % in memory. Memory: peak of PyTorch's allocator.

"""

KERNELS = """`ergometer validate --microbench` of kernel_power_gemm.csv.gz and kernel_power_attention.csv.gz: kernels over 0.5 ms of
serving frameworks, by the energies, the power and the governor that a job is predicted by, for the time that was
measured. Two numbers were fitted to these tables. `power.vector` of Hopper, to H200's prefill: cross-validated over five
parts of its 177 shapes (heads, width, window) it comes out the same. `power.active` of GB200, to its attention: 210 to 230 W
without any of nine families of shapes, 200 W taken ([why](models/power.md#energy-of-work)). Nothing was fitted to GEMMs.

Half of the readings hold more than the kernel, or cannot be told to hold nothing else. NVML's power is the mean of the
last second on these GPUs, a kernel was repeated for about as long, and what the GPU drew just before is in it: readings
of one kind of kernel pile up at its power and half way from there to idle, with all values between. GEMMs of GB200 in
16 bit that differ by one row of 4,000 run at one rate and read 1,176 or 794 W; attention of width 128 on H200 at 560 to
620 TFLOP/s reads 400 to 700 W. Nothing in a row tells which it is, so no prediction from the shape can hold all rows.
Settled are rows whose reading is within 7 % of the 95th percentile of eight or more kernels alike (device, framework,
kernel, precision, width, window, a quarter of an octave of FLOP/s, half of one of bytes a second), and of those that do no
more of either a second, since power grows with work; whatever is predicted. That choice favours high readings.

Most settled GEMMs are at the power limit, where the governor makes the prediction right whatever they cost; what energies
are worth shows in those below it (under 95 %). At the limit they read 98.7 % of it on H200 and 97.6 % on GB200, and that is
what boards are taken to hold (`power.cap_held`).

"""

UNSEEN = """ln(measured / predicted), by group: its median (above 0: runs are slower than predicted), its 5th and 95th percentile, and
the distances from the median and from 0 that hold nine tenths of the groups' weight.

"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ergometer", default=ROOT / "build/release/ergometer", type=pathlib.Path)
    parser.add_argument("--calibration", default=ROOT / "build/calibration", type=pathlib.Path)
    parser.add_argument("--as-typed", default=ROOT / "build/as-typed.csv", type=pathlib.Path)
    parser.add_argument("--out", default=ROOT / "docs", type=pathlib.Path)
    options = parser.parse_args()

    if not (options.calibration / "left-out.csv").is_file():
        calibrate(options.ergometer, options.calibration)
    folds = read_by_id(options.calibration / "cross-validation.csv")
    without = read_by_id(options.calibration / "left-out.csv")
    typed = read_by_id(options.as_typed)
    calibration = json.loads((options.calibration / "calibration.json").read_text())
    notes = read_by_id(ROOT / "docs/accuracy-notes.csv")
    runs = validate(options.ergometer, "training_runs.csv")
    bulk = validate(options.ergometer, "training_runs_bulk.csv")
    more = validate(options.ergometer, "training_runs_more.csv")
    times, bulk_times, more_times = ([row for row in table if row["quantity"] == "step_time_s"] for table in (runs, bulk, more))
    tier_a = [row for row in times if row["tier"] == "A"]
    more_a = [row for row in more_times if row["tier"] == "A"]
    never_fitted = {row["id"] for row in more_times}
    by_source, by_group = left_out(without, never_fitted), cross_validated(folds)
    figures = [("as typed", from_table(typed)), ("left out by source", by_source), ("cross-validated", by_group),
               ("fitted", lambda row: None if row["id"] in never_fitted else fitted(row))]

    text = INTRODUCTION
    text += "## In short\n\n"
    short = [("all, tier A", tier_a + bulk_times + more_a), ("published tables and logs, tier A", tier_a),
             ("sources never fitted, tier A", more_a)] + parts_by(bulk_times, "source")
    text += full_table(short, figures)
    accepted = sum(row["predicted"] is not None for row in tier_a + more_a)
    text += (f"Of tier A's {len(tier_a + more_a)} rows of tables and logs, {accepted} "
             f"({percent(100 * accepted / len(tier_a + more_a))}) can be predicted.\n\n")
    text += typed_line(tier_a + bulk_times + more_a, typed)
    text += "## Software that no fit has seen\n\n"
    software = {row["id"]: row["software"] for row in without.values()}
    text += unseen_section(times + bulk_times + more_a, by_source, software, never_fitted)

    text += "## Beside other simulators\n\nTheir errors are those that their authors report.\n\n"
    lines = []
    for name, words, theirs in PUBLISHED:
        rows = [row for row in times + bulk_times if all(word in row["source"] for word in words)]
        own = [statistics(rows, outcome) for outcome in (by_source, by_group, fitted)]
        lines.append([name, len(rows), theirs] + [percent(it["mean"]) if it else "–" for it in own])
    text += markdown(["rows", "number", "published mean error", "Ergometer, left out by source", "cross-validated", "fitted"],
                     lines, right=(1, 3, 4, 5))

    text += "## Choosing a layout\n\n" + choice_section(options.ergometer, notes)
    text += "## Parameters\n\n" + parameter_section(calibration)
    text += "## Memory\n\n" + memory_section(runs + bulk)
    text += "## Power\n\n" + power_section(validate(options.ergometer, "power_thermal.csv"))
    text += "### Power of single kernels\n\n" + kernel_section(options.ergometer)

    text += "## Training steps on one GPU\n\n" + one_gpu_section(options.ergometer)
    text += "## Hugging Face's Trainer on one GPU\n\n" + trainer_section(options.ergometer)

    pictures = options.out / "accuracy"
    pictures.mkdir(parents=True, exist_ok=True)
    kind = "left out by source"
    text += "## Step time, tier A\n\nDashed lines: 15 % off. Tables of group means.\n\n"
    tier_a_all = tier_a + more_a
    for dimension in DIMENSIONS:
        (pictures / f"{dimension}.svg").write_text(
            scatter(f"Step time by {dimension}, {kind}", points_of(tier_a_all, by_source, dimension)))
        text += f"### By {dimension}\n\n![predicted over measured step time, by {dimension}](accuracy/{dimension}.svg)\n\n"
        text += error_table(dimension, parts_by(tier_a_all, dimension), figures)
    text += "## Step time, the large sweeps\n\n"
    (pictures / "sweeps.svg").write_text(scatter(f"Step time by source, {kind}", points_of(bulk_times, by_source, "source")))
    text += "![predicted over measured step time of the sweeps](accuracy/sweeps.svg)\n\n"
    text += error_table("parallelism", parts_by(bulk_times, "parallelism"), figures)

    text += "## The ten worst rows of tier A\n\n" + worst_table(tier_a, by_group, notes)
    text += "## Rows without a prediction\n\n" + skipped_table(runs + bulk + more)
    (options.out / "accuracy.md").write_text(text.rstrip() + "\n")


if __name__ == "__main__":
    main()
