"""What must hold between the places that tell a predicted job."""

import re
from documents import leaves
from shown import is_shown


def same_documents(walk, shown):
    """`simulate --json`, `analyze --json` of its Run, the page's summary and the Run's table of totals."""
    told = dict(leaves(shown.json))
    analysis, page = dict(leaves(shown.analysis)), dict(leaves(shown.page["summary"]))
    for path, value in told.items():
        walk.equal(f"{path}: simulate --json and analyze --json", value, analysis.get(path))
        if path in page:
            walk.equal(f"{path}: simulate --json and the page", value, page[path])
    for path, value in leaves(shown.swept):
        # Where the joules of a step go is told of single jobs.
        walk.equal(f"{path}: simulate --json and the only point of a sweep", told.get(path), value)
    for row in shown.tables["summary"]:
        if row["name"] in told:
            walk.equal(f"{row['name']}: --json and SQL", float(told[row["name"]]), row["value"])


def parts_add_up(walk, shown):
    performance, memory, power = (shown.json.get(name, {}) for name in ("performance", "memory", "power"))
    step_s = performance["step_time_s"]
    parts = performance["breakdown_s"]
    walk.equal("breakdown_s and step_time_s", sum(parts.values()), step_s, relative=1e-9)
    for stage in memory["stages"]:
        parts_bytes = sum(stage[f"{name}_bytes"] for name in ("weights", "gradients", "optimizer", "activations", "other"))
        walk.equal(f"stage {stage['stage']}'s memory and its parts", sum(stage["parts"].values()), parts_bytes, relative=1e-9)
    worst = memory["stages"][memory["worst_stage"]]
    for name in ("weights", "gradients", "optimizer", "activations", "other"):
        walk.equal(f"memory.{name}_bytes and its stage", memory[f"{name}_bytes"], worst[f"{name}_bytes"])
    if not power:
        return
    for name in ("mean_w", "peak_w"):
        walk.check(shown.json["cluster_power"][name] == power[f"cluster_{name}"], f"cluster_power.{name} and power.cluster_{name} differ")
    gpus = len(shown.tables["ranks"])
    mean_w = power["mean_w_per_gpu"]
    step = power["duration_s"] / power["steps"]
    walk.equal("gpu_parts_w and mean_w_per_gpu", sum(power["gpu_parts_w"].values()), mean_w, relative=1e-6)
    walk.equal("gpu_energy_j_per_step and power times time", power["gpu_energy_j_per_step"], mean_w * gpus * step, relative=1e-6)
    walk.equal("energy_j_per_step and power times time", power["energy_j_per_step"], power["cluster_mean_w"] * step, relative=1e-6)
    dimensions = {}
    for row in power.get("step_energy", []):
        dimensions.setdefault(row["dimension"], []).append(row)
    for name, rows in dimensions.items():
        walk.equal(f"step_energy by {name} and gpu_energy_j_per_step", sum(row["joules"] for row in rows),
                   power["gpu_energy_j_per_step"], relative=1e-6)
        if name != "part":
            walk.equal(f"seconds of step_energy by {name} and the step", sum(row["seconds"] for row in rows), step_s, relative=1e-6)


def in_order(walk, shown):
    """Percentiles, intervals and peaks."""
    def ordered(what, *values):
        known = [value for value in values if value is not None]
        walk.check(all(a <= b * (1 + 1e-9) + 1e-9 for a, b in zip(known, known[1:])), f"{what} are not in order: {known}")
    performance, power, thermal = (shown.json.get(name, {}) for name in ("performance", "power", "thermal"))
    ordered("step_time_s", performance["step_time_s_low"], performance["step_time_s"], performance["step_time_s_high"])
    for group, names in ((power, ("mean_w_per_gpu", "peak_w_per_gpu", "cluster_mean_w", "cluster_peak_w")), (thermal, ("max_gpu_c",))):
        for name in names:
            if name in group:
                ordered(name, group.get(f"{name}_low"), group[name], group.get(f"{name}_high"))
    if power:
        ordered("power of a GPU", power["mean_w_per_gpu"], power["peak_w_per_gpu"])
        ordered("percentiles of a GPU's power", power["p95_w_per_gpu"], power["peak_w_per_gpu"])
        cluster = shown.json["cluster_power"]
        ordered("power of the cluster", cluster["lowest_w"], cluster["p95_w"], power["cluster_peak_w"])
    for rank in shown.tables["ranks"]:
        ordered(f"power of rank {rank['rank']}", rank["mean_power_w"], rank["peak_power_w"])
        ordered(f"temperature of rank {rank['rank']}", rank["mean_gpu_c"], rank["max_gpu_c"])
    for metric in shown.page.get("series", {}).get("metrics", []):
        bands = metric.get("distribution")
        for values in zip(*bands.values()) if bands else []:
            ordered(f"{metric['name']} over all GPUs", *values)


PARTS = ("compute", "exposed_all_reduce", "exposed_all_gather", "exposed_reduce_scatter", "exposed_all_to_all",
         "exposed_send_recv", "optimizer", "idle")


def ranks_and_job(walk, shown):
    """The job's numbers are those of its ranks."""
    performance, power, thermal = (shown.json.get(name, {}) for name in ("performance", "power", "thermal"))
    ranks = shown.tables["ranks"]
    for part in PARTS:
        walk.equal(f"breakdown_s.{part} and its mean over ranks", performance["breakdown_s"][part],
                   sum(rank[f"{part}_s"] for rank in ranks) / len(ranks), relative=1e-9, absolute=1e-12)
    walk.equal("the last rank's end and step_time_s", max(rank["end_s"] for rank in ranks), performance["step_time_s"], relative=1e-9)
    if power:
        walk.equal("mean_w_per_gpu and its mean over ranks", power["mean_w_per_gpu"],
                   sum(rank["mean_power_w"] for rank in ranks) / len(ranks), relative=1e-6)
        walk.equal("peak_w_per_gpu and the highest rank's", power["peak_w_per_gpu"], max(rank["peak_power_w"] for rank in ranks), relative=1e-6)
        walk.equal("max_gpu_c and the hottest rank's", thermal["max_gpu_c"], max(rank["max_gpu_c"] for rank in ranks), relative=1e-6)
        walk.equal("mean_gpu_c and its mean over ranks", thermal["mean_gpu_c"], sum(rank["mean_gpu_c"] for rank in ranks) / len(ranks), relative=1e-6)
        walk.equal("mean_clock_mhz and its mean over ranks", thermal["mean_clock_mhz"],
                   sum(rank["mean_clock_mhz"] for rank in ranks) / len(ranks), relative=1e-6)
        walk.equal("throttled_time_fraction and its mean over ranks", thermal["throttled_time_fraction"],
                   sum(rank["throttled_time_fraction"] for rank in ranks) / len(ranks), relative=1e-6, absolute=1e-9)
    columns = shown.page.get("ranks", {})
    for name, values in columns.items():
        if name == "breakdown_s":
            for part, seconds in values.items():
                for rank, value in zip(ranks, seconds):
                    walk.equal(f"{part} of rank {rank['rank']}: the page and SQL", value, rank[f"{part}_s"], relative=1e-5, absolute=1e-9)
        elif name in ranks[0]:
            for rank, value in zip(ranks, values):
                walk.equal(f"{name} of rank {rank['rank']}: the page and SQL", value, rank[name], relative=1e-5, absolute=1e-9)


def energy_and_time(walk, shown):
    """Where the joules go has the seconds of where the time goes."""
    rows = {(row["dimension"], row["name"]): row for row in shown.json.get("power", {}).get("step_energy", [])}
    if not rows:
        return
    parts = shown.json["performance"]["breakdown_s"]
    for name in ("compute", "optimizer", "idle"):
        walk.equal(f"{name}: seconds of step_energy and breakdown_s", rows.get(("collective", name), {"seconds": 0})["seconds"], parts[name],
                   relative=1e-6, absolute=1e-9)
    for kind in ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send_recv"):
        seconds = sum(row["seconds"] for (dimension, name), row in rows.items() if dimension == "collective" and name.endswith(f" {kind}"))
        walk.equal(f"exposed_{kind}: seconds of step_energy and breakdown_s", seconds, parts[f"exposed_{kind}"], relative=1e-6, absolute=1e-9)
    walk.equal("optimizer: its phase in step_energy and breakdown_s", rows.get(("phase", "optimizer"), {"seconds": 0})["seconds"],
               parts["optimizer"], relative=1e-6, absolute=1e-9)


def findings(walk, shown):
    """A finding of a prediction costs what the prediction says, and is told alike everywhere."""
    performance, power = shown.json["performance"], shown.json.get("power", {})
    step_s = performance["step_time_s"]
    page = {finding["name"]: finding for finding in shown.page["findings"]}
    analysis = {finding["name"]: finding for finding in shown.analysis["findings"]}
    walk.equal("findings of the page and of analyze", sorted(page), sorted(analysis))
    for name, finding in page.items():
        walk.check("measured" not in finding["confidence"], f"finding {name} of a prediction is {finding['confidence']}")
        if "cost_s" in finding:
            walk.equal(f"finding {name}: its share and its cost", finding["fraction"] * step_s, finding["cost_s"], relative=1e-6)
            walk.check(finding["cost_s"] <= step_s * (1 + 1e-9), f"finding {name} costs {finding['cost_s']} of a step of {step_s}")
        if "cost_j" in finding:
            walk.check(finding["cost_j"] <= power["gpu_energy_j_per_step"] * (1 + 1e-9), f"finding {name} costs more energy than a step")
        other = analysis.get(name, {})
        walk.equal(f"finding {name}: page and analyze", (finding["text"], finding["fraction"]), (other.get("what"), other.get("fraction")))
    for part in PARTS[1:]:
        if part in page:
            walk.equal(f"finding {part} and breakdown_s", page[part]["cost_s"], performance["breakdown_s"][part], relative=1e-9)
    if "pipeline_bubble" in page:
        walk.equal("finding pipeline_bubble and pipeline_bubble_fraction", page["pipeline_bubble"]["fraction"],
                   performance["pipeline_bubble_fraction"], relative=1e-9)


# What the summary on the terminal shows, by the field that it is.
LINES = [
    (r"^Step time   (\S+ \S+)", "performance.step_time_s"),
    (r"^Interval    (\S+ \S+) to", "performance.step_time_s_low"),
    (r"^Interval    \S+ \S+ to (\S+ \S+)", "performance.step_time_s_high"),
    (r"Tokens/s  (\S+)", "performance.tokens_per_s"),
    (r"Tokens/s  \S+ \((\S+) per GPU", "performance.tokens_per_s_per_gpu"),
    (r"^MFU         (\S+ %)", "performance.mfu"),
    (r"TFLOP/s   (\S+) per GPU", "performance.model_tflops_per_gpu"),
    (r"^Bubble      (\S+ %)", "performance.pipeline_bubble_fraction"),
    (r"^  compute +\S+ +(\S+ \S+) ", "performance.breakdown_s.compute"),
    (r"^  all-reduce +\S+ +(\S+ \S+) ", "performance.breakdown_s.exposed_all_reduce"),
    (r"^  all-gather +\S+ +(\S+ \S+) ", "performance.breakdown_s.exposed_all_gather"),
    (r"^  reduce-scatter +\S+ +(\S+ \S+) ", "performance.breakdown_s.exposed_reduce_scatter"),
    (r"^  all-to-all +\S+ +(\S+ \S+) ", "performance.breakdown_s.exposed_all_to_all"),
    (r"^  send/recv +\S+ +(\S+ \S+) ", "performance.breakdown_s.exposed_send_recv"),
    (r"^  optimizer +\S+ +(\S+ \S+) ", "performance.breakdown_s.optimizer"),
    (r"^  idle +\S+ +(\S+ \S+) ", "performance.breakdown_s.idle"),
    (r"^  GPU          (\S+ \S+) mean", "power.mean_w_per_gpu"),
    (r"^  GPU .* mean, (\S+ \S+) at the 95th", "power.p95_w_per_gpu"),
    (r"^  GPU .* percentile, (\S+ \S+) peak", "power.peak_w_per_gpu"),
    (r"^  at the plug .*?, (\S+ \S+) the cluster", "power.cluster_mean_w"),
    (r"^  at the plug .*?, (\S+ \S+) at its peak", "power.cluster_peak_w"),
    (r"^  energy       (\S+ \S+) a step", "power.energy_j_per_step"),
    (r"^  energy .* a step, (\S+ tokens/J)", "power.tokens_per_j"),
    (r"^  temperature  (\S+ C) mean", "thermal.mean_gpu_c"),
    (r"^  temperature .* mean, (\S+ C) hottest", "thermal.max_gpu_c"),
    (r"HBM (\S+ C)", "thermal.max_memory_c"),
    (r"; inlet (\S+ C)", "thermal.inlet_c"),
    (r"fans (\S+ %)", "thermal.fan_fraction"),
    (r"^  clock        (\S+ MHz) mean", "thermal.mean_clock_mhz"),
    (r"^  clock .* mean, (\S+ MHz) the slowest", "thermal.lowest_clock_mhz"),
]


def terminal(walk, shown):
    """The summary's numbers are those of --json, rounded."""
    told = dict(leaves(shown.json))
    found = 0
    for pattern, path in LINES:
        match = re.search(pattern, shown.text, re.MULTILINE)
        if not match:
            continue
        found += 1
        walk.check(path in told and is_shown(match.group(1), told[path]), f"{path}: the terminal says {match.group(1)}, --json {told.get(path)}")
    walk.check(found >= 10, f"the summary shows {found} of the numbers that are looked for")
    # analyze begins with what simulate said.
    summary = shown.text.split("\n\n", 1)[-1]
    for line in summary.splitlines():
        walk.check(line in shown.analysis_text, f"analyze does not say: {line}")


def sampled_kernels(walk, shown):
    """analyze tells of the kernels that the Run holds, of a part of the step too."""
    ranks = shown.analysis.get("trace", {}).get("ranks", [])
    walk.check(bool(ranks), "analyze tells of no rank's kernels")
    for rank in ranks:
        walk.check(rank["gpu_events"] > 0, f"analyze tells of no kernel of rank {rank['rank']}")


def explanations(walk, shown):
    """What --explain explains is the number of --json."""
    told = dict(leaves(shown.json))
    for path, text in shown.explained.items():
        if path in told:
            first = text.splitlines()[0] if text else ""
            walk.check(is_shown(first.partition(" = ")[2], told[path]), f"{path}: --explain says {first}, --json {told[path]}")


def taxes(walk, shown):
    """The three taxes are the gap between the step and the untaxed one; parts are what they are parts of."""
    def part(node, name):
        return next(inner for inner in node["inputs"] if inner["name"] == name)
    step_s = shown.json["performance"]["step_time_s"]
    told = [part(shown.taxes, name) for name in ("bulk_synchrony", "memory_round_trips", "launch")]
    untaxed_s = part(shown.taxes, "untaxed_step_time_s")["value"]
    walk.equal("step_time_s of the taxes and of --json", part(shown.taxes, "step_time_s")["value"], step_s, relative=1e-12)
    walk.equal("taxes and their gap", sum(tax["value"] for tax in told), step_s - untaxed_s, absolute=1e-9 * step_s)
    waiting, host = part(told[0], "collective_waiting"), part(told[0], "host_sync")
    walk.equal("bulk synchrony and its parts", waiting["value"] + host["value"], told[0]["value"], absolute=1e-9 * step_s)
    walk.equal("waiting in collectives and its sites", sum(site["value"] for site in waiting["inputs"][1:]), waiting["value"],
               absolute=1e-9 * step_s)
    for tax in told + [waiting, host]:
        without_s = tax["inputs"][0]["value"]
        walk.check(-1e-9 * step_s <= tax["value"], f"{tax['name']} is less than nothing: {tax['value']}")
        walk.check((untaxed_s - without_s) <= 1e-9 * step_s and without_s - step_s <= 1e-9 * step_s,
                   f"the step without {tax['name']}, {without_s}, is not between {untaxed_s} and {step_s}")


CHECKS = [same_documents, parts_add_up, in_order, ranks_and_job, energy_and_time, findings, terminal,
          explanations, sampled_kernels, taxes]
