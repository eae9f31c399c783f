"""What must hold between the places that tell a recording or a trace."""

import pathlib
import subprocess
from types import SimpleNamespace

from documents import leaves, output, page_of, tables_of
import json

DATA = pathlib.Path(__file__).parent.parent / "data"
# Files that analyze takes alone.
SAMPLES = [*sorted((DATA / "kineto").glob("*.gz")), DATA / "charllm" / "results", *sorted((DATA / "nsys").glob("*.zst")),
           *sorted(path for path in (DATA / "telemetry").iterdir() if path.is_dir()), *sorted((DATA / "pipeline").glob("*.json*"))]


def read(ergometer, path, folder):
    run = f"{folder}/recorded.run"
    told = subprocess.run([ergometer, "analyze", path, "--json", "--report", f"{folder}/page.html"], capture_output=True, text=True, check=False)
    if told.returncode != 0:
        return None
    subprocess.run([ergometer, "import", path, "--out", run], capture_output=True, check=False)
    return SimpleNamespace(json=json.loads(told.stdout), again=json.loads(output(ergometer, "analyze", run, "--json")),
                           page=page_of(f"{folder}/page.html"), tables=tables_of(run))


def same_documents(walk, shown):
    """analyze of the file and of the Run made of it, and the page's summary."""
    told, again = dict(leaves(shown.json)), dict(leaves(shown.again))
    for path in told.keys() | again.keys():
        # A Run may be named otherwise than what it was made of.
        if not path.endswith(("file", "source")):
            walk.equal(f"{path}: of the file and of its Run", told.get(path), again.get(path))
    page = dict(leaves(shown.page["summary"]))
    for path, value in told.items():
        if path in page and path != "source":
            walk.equal(f"{path}: analyze --json and the page", value, page[path])
    for row in shown.tables["summary"]:
        if row["name"] in told:
            walk.equal(f"{row['name']}: --json and SQL", float(told[row["name"]]), row["value"])


def parts_add_up(walk, shown):
    for rank in shown.json.get("trace", {}).get("ranks", []):
        name = f"rank {rank['rank']} of {rank['file']}"
        walk.equal(f"{name}: busy, idle and the span", rank["busy_ns"] + rank["idle_ns"], rank["span_ns"])
        walk.equal(f"{name}: parts of its busy time", rank["compute_ns"] + rank["exposed_communication_ns"] + rank["exposed_memory_ns"],
                   rank["busy_ns"])
        walk.equal(f"{name}: causes of idle time", sum(rank["idle_cause_ns"].values()), rank["idle_ns"])
        walk.equal(f"{name}: communication hidden and exposed", rank["overlap_ns"] + rank["exposed_communication_ns"],
                   rank["communication_ns"])
    performance = shown.json.get("performance")
    if performance:
        walk.equal("breakdown_s and step_time_s", sum(performance["breakdown_s"].values()), performance["step_time_s"], relative=1e-9)
    for device in shown.json.get("telemetry", {}).get("gpus", []):
        if "p5_w" in device:
            name = f"GPU {device.get('index')} of {device.get('host') or device.get('file')}"
            order = [device[key] for key in ("p5_w", "median_w", "p95_w", "p99_w", "peak_w")]
            walk.check(order == sorted(order), f"percentiles of {name} are not in order: {order}")
            walk.check(device["mean_w"] <= device["peak_w"] * (1 + 1e-12), f"{name} has a mean above its peak")


def findings(walk, shown):
    page = [(f["name"], f["text"], f["fraction"], f.get("cost_s"), f.get("cost_j")) for f in shown.page["findings"]]
    told = [(f["name"], f["what"], f["fraction"], f.get("cost_per_step_s"), f.get("cost_per_step_j")) for f in shown.json["findings"]]
    walk.equal("findings of the page and of analyze", page, told)
    step_s = shown.json.get("performance", {}).get("step_time_s")
    for name, _, fraction, cost_s, _ in told:
        walk.check(0 <= fraction <= 1 + 1e-9, f"finding {name} has a share of {fraction}")
        if step_s and cost_s is not None:
            walk.equal(f"finding {name}: its share and its cost", fraction * step_s, cost_s, relative=1e-9)


CHECKS = [same_documents, parts_add_up, findings]
