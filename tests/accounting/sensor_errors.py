"""One error of a sensor: whoever tells a measured energy or power tells how far it is off, and the same."""

import contextlib
import json
import math
import re
import shutil
import sqlite3
import subprocess
import sys
from types import SimpleNamespace

from documents import leaves, output, page_of
from recorded import DATA

# Power and traces; power of many GPUs; of nodes beside training logs; windows of energy.
MADE = DATA.parent / "golden" / "analyze" / "energy-by-kernel" / "make.py"
SAMPLES = [MADE, DATA / "charllm" / "results", *sorted(path for path in (DATA / "telemetry").iterdir() if path.is_dir())]
HALF_90 = 1.6448536269514722  # of a normal distribution, in standard deviations
# Half of a 90 % interval in percent; `sensor_error_pct` and `corrected_error_pct` are deviations from a meter.
ERROR = re.compile(r"(^|[._])(?!sensor_|corrected_)\w*error_pct$")
PREDICTED = {"job": "job.yaml", "gpus": 1, "quantities": [
    {"name": "mean_w_per_gpu", "unit": "W", "value": 1, "low": 0.5, "high": 1.5}]}


def made(folder):
    """A trace beside what an H100's sensor showed."""
    subprocess.run([sys.executable, MADE], cwd=folder, check=True)
    head, *rows = (folder / "smi.csv").read_text(encoding="utf-8").splitlines()
    lines = [f"{head}, name", *(f"{row}, NVIDIA H100 80GB HBM3" for row in rows)]
    (folder / "smi.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return [folder / "rank-0.json", folder / "smi.csv"]


def predicted(run):
    """The Run as a recorder writes it that was told a prediction."""
    with contextlib.closing(sqlite3.connect(run)) as file, file:
        file.execute("INSERT OR REPLACE INTO run VALUES ('prediction', ?)", (json.dumps(PREDICTED),))
    return run


def read(ergometer, path, folder):
    files = made(folder) if path == MADE else [path]
    run, other = folder / "a.run", folder / "b.run"
    told = subprocess.run([ergometer, "analyze", *files, "--json", "--report", folder / "page.html"], capture_output=True, text=True, check=False)
    if told.returncode != 0:
        return None
    subprocess.run([ergometer, "import", *files, "--out", run], capture_output=True, check=False)
    shutil.copy(run, other)
    compared = output(ergometer, "compare", run, other, "--json")
    predicted(other)
    return SimpleNamespace(
        path=path, json=json.loads(told.stdout), text=" ".join(output(ergometer, "analyze", *files).split()),
        page=page_of(folder / "page.html"), again=json.loads(output(ergometer, "analyze", other, "--json")),
        again_text=" ".join(output(ergometer, "analyze", other).split()),
        compared=json.loads(compared) if compared else None,
        compared_text=" ".join(output(ergometer, "compare", run, run.with_name("b.run")).split()) if compared else "")


def errors(document):
    return {path: value for path, value in leaves(document) if ERROR.search(path)}


def of_mean_power(document):
    """Of the mean of all GPUs, by the ends of its interval; None: not stated."""
    power = document.get("power", {})
    return 100 * (power["mean_w_per_gpu_high"] / power["mean_w_per_gpu"] - 1) if "mean_w_per_gpu_high" in power else None


def stated_at_all(walk, shown):
    """So that a walk over nothing is no walk."""
    gpus = shown.json.get("telemetry", {}).get("gpus", [])
    for gpu in gpus:
        walk.equal(f"GPU {gpu.get('index')}: an energy and its error", "energy_j" in gpu and gpu["energy_j"] > 0,
                   "energy_j" in gpu and gpu["energy_j"] > 0 and "energy_error_pct" in gpu)
    if shown.path != MADE:
        return
    walk.equal("the sensor of an H100 is known", [gpu["sensor_known"] for gpu in gpus], [True])
    paths = errors(shown.json)
    for name in ("telemetry.gpus[0].energy_error_pct", "power.gpu_energy_error_pct", "trace.energy[0].measured_error_pct",
                 "trace.energy[0].step_error_pct", "trace.energy[0].gain_error_pct", "trace.energy[0].classes[0].joules_error_pct",
                 "trace.energy[0].phases[0].joules_error_pct", "step_energy[0].mean_j_error_pct"):
        walk.check(name in paths, f"{name} is not told")
    walk.check(any("cost_per_step_j_error_pct" in finding for finding in shown.json["findings"]), "no finding tells its error")


def same_everywhere(walk, shown):
    """`analyze --json` of the files, of their Run, and the page; the Run's own prediction is beside it alone."""
    told = errors(shown.json)
    again = {path: value for path, value in errors(shown.again).items() if not path.startswith("prediction.")}
    for path in told.keys() | again.keys():
        walk.equal(f"{path}: of the files and of their Run", told.get(path), again.get(path))
    page = {**errors(shown.page["summary"]), **errors(shown.page.get("recorded", {}))}
    for path, value in page.items():
        if not path.startswith("prediction."):
            walk.equal(f"{path}: the page and analyze --json", value, told.get(path))
    for path, value in told.items():
        # Of what is long the page has the first rows.
        if path.startswith(("power.", "telemetry.", "trace.energy", "step_energy")):
            walk.equal(f"{path}: analyze --json and the page", value, page.get(path))
    walk.equal("errors of findings on the page", [finding.get("cost_j_error_pct") for finding in shown.page["findings"] if "cost_j" in finding],
               [finding.get("cost_per_step_j_error_pct") for finding in shown.json["findings"] if finding.get("cost_per_step_j", 0) > 0])


def on_the_terminal(walk, shown):
    """Every figure is one of the document's, and the document's stand where they belong."""
    told = errors(shown.json)
    mean = of_mean_power(shown.json)
    values = [*told.values(), *([] if mean is None else [mean])]
    steps = shown.json.get("step_energy", [])
    for figure in re.findall(r"\+-(\d+\.\d) %", shown.text):
        if len(steps) < 2:  # of several GPUs the terminal has their sum
            walk.check(any(f"{value:.1f}" == figure for value in values), f"+-{figure} % stands on the terminal and not in --json")

    def shows(text):
        walk.check(text in shown.text, f"the terminal does not say {text!r}")

    for group, one, together in (("gpus", "GPU", "gpu_energy_error_pct"), ("nodes", "node", "cluster_energy_error_pct")):
        each = [device["energy_error_pct"] for device in shown.json.get("telemetry", {}).get(group, []) if "energy_error_pct" in device]
        if each:
            low, high = f"{min(each):.1f}", f"{max(each):.1f}"
            shows(f"a {one} +-{high} %" if low == high else f"a {one} +-{low} to {high} %")
        if len(each) > 1 and together in shown.json.get("power", {}):
            shows(f" +-{shown.json['power'][together]:.1f} %")
    for training in shown.json.get("telemetry", {}).get("training", []):
        if "node_energy_error_pct" in training:
            shows(f"J +-{training['node_energy_error_pct']:.1f} % of {training['nodes']} node")
    for energy in shown.json.get("trace", {}).get("energy", [])[:4]:
        if "measured_error_pct" in energy:
            shows(f"{energy['measured_j']:.1f} J +-{energy['measured_error_pct']:.1f} % over")
        if "step_error_pct" in energy:
            shows(f"{energy['step_j']:.1f} J +-{energy['step_error_pct']:.1f} % a step")
        if "gain_error_pct" in energy:
            shows(f"+-{energy['gain_error_pct']:.1f} % (90 %")
    if len(steps) == 1 and "mean_j_error_pct" in steps[0]:
        shows(f"J +-{steps[0]['mean_j_error_pct']:.1f} % on 1 GPU")
    for finding in shown.json["findings"]:
        if "cost_per_step_j_error_pct" in finding and finding["cost_per_step_s"] > 0:
            shows(f"J +-{finding['cost_per_step_j_error_pct']:.1f} % of a step")


def parts_of_it(walk, shown):
    """Ends of intervals, sums, and what of an energy a part of it is off."""
    power = shown.json.get("power", {})
    for value, error in (("gpu_energy_j", "gpu_energy_error_pct"), ("cluster_energy_j", "cluster_energy_error_pct")):
        if error in power:
            for end, sign in (("low", -1), ("high", 1)):
                walk.equal(f"power.{value}_{end} and power.{error}", power[f"{value}_{end}"], power[value] * (1 + sign * power[error] / 100), relative=1e-9)
    gpus = {gpu.get("rank"): gpu for gpu in shown.json.get("telemetry", {}).get("gpus", [])}
    for energy in shown.json.get("trace", {}).get("energy", []):
        gpu = gpus.get(energy["rank"], {})
        if "gain_error_pct" not in energy:
            continue
        gain = energy["gain_error_pct"]
        walk.check(gain <= gpu["energy_error_pct"] * (1 + 1e-9), f"rank {energy['rank']}: the gain alone is off by more than the energy of its GPU")
        for row in energy.get("classes", []) + energy.get("phases", []):
            if row["joules"] > 0:
                fit = 100 * HALF_90 * row["joules_error"] / row["joules"]
                walk.equal(f"{row['name']}: its error, and those of gain and fit", row["joules_error_pct"], math.hypot(gain, fit), relative=1e-6)
        for name in ("measured_error_pct", "step_error_pct"):
            if name in energy:
                walk.check(energy[name] >= gain * (1 - 1e-9), f"rank {energy['rank']}: {name} is less than the gain alone")


def beside_others(walk, shown):
    """What `compare` says of the Run, and what is told beside a kept prediction."""
    mean = of_mean_power(shown.json)
    logged = shown.json.get("telemetry", {}).get("training")  # then it is that of the steps' time
    if shown.compared and mean is not None and not logged:
        rows = {row["name"]: row for row in [*shown.compared["quantities"], *shown.compared.get("facts", [])]}
        for name in ("mean_w_per_gpu", "gpu_energy_j_per_step"):
            if name in rows:
                for side in ("a", "b"):
                    walk.equal(f"{name} of {side}: compare and analyze", rows[name].get(f"{side}_error_pct"), mean, relative=1e-9)
        if "gpu_energy_j_per_step" in rows:
            walk.check(f"A +-{mean:.1f} %, B +-{mean:.1f} % (90 %)" in shown.compared_text, "compare's terminal has another error")
    for quantity in shown.again.get("prediction", {}).get("quantities", []):
        if mean is None or logged or quantity.get("measured") is None:
            continue
        walk.equal("power beside its prediction and of analyze", quantity.get("measured_error_pct"), mean, relative=1e-9)
        walk.check(f"W +-{mean:.1f} %" in shown.again_text, "the error beside the prediction is another on the terminal")


CHECKS = [stated_at_all, same_everywhere, on_the_terminal, parts_of_it, beside_others]
