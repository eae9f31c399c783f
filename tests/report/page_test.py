#!/usr/bin/env python3
"""What stands in a report page is what the program says: inflates the data of pages that the program writes and holds
them to `simulate --json`.

    tests/report/page_test.py ERGOMETER
"""
import base64
import html.parser
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import zlib

SMALL = ["llama3-8b", "--cluster", "hgx-h100", "--gpus", "16", "--tp", "2", "--pp", "4", "--mbs", "1", "--gbs", "16",
         "--seq-length", "4096"]
LARGE = ["gpt3-175b", "--cluster", "hgx-h100", "--gpus", "8192", "--tp", "8", "--pp", "16", "--mbs", "1", "--gbs",
         "2048", "--sequence-parallel"]
MIDDLE = ["llama3-70b", "--cluster", "hgx-h200", "--gpus", "32", "--tp", "4", "--pp", "4", "--mbs", "1", "--gbs", "64"]
WHAT_IF = "{model: llama3-70b, cluster: hgx-h200, gpus: 32, tp: 4, pp: 4, mbs: 1, gbs: 64, seq_length: 8192}\n"
# Other schedules, sharding, overlap, experts, tied embeddings.
OTHERS = [["llama3-8b", "--cluster", "hgx-h100", "--gpus", "8", "--fsdp", "--mbs", "1", "--gbs", "8"],
          ["mixtral-8x7b", "--cluster", "hgx-h100", "--gpus", "32", "--tp", "2", "--pp", "2", "--ep", "4", "--mbs", "1", "--gbs", "32",
           "--zero", "1", "--overlap-grad-reduce", "--overlap-param-gather"],
          ["gpt3-1.3b", "--cluster", "dgx-a100", "--gpus", "16", "--tp", "2", "--pp", "4", "--vpp", "3", "--mbs", "1", "--gbs", "32",
           "--schedule", "interleaved"],
          ["llama3-8b", "--cluster", "mi300x", "--gpus", "16", "--pp", "4", "--mbs", "1", "--gbs", "16", "--schedule", "zb-h1"]]
GROUPS = ["performance", "memory", "power", "thermal", "links", "limiter", "job"]


class Page(html.parser.HTMLParser):
    """Title and data of a page, and what it would fetch from elsewhere."""

    def __init__(self, text):
        super().__init__()
        self.title, self.data, self.fetched, self.inside = "", "", [], None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.inside = "data" if attributes.get("id") == "ergometer-data" else tag
        for name in ("src", "href"):
            value = attributes.get(name) or ""
            if tag in ("script", "link", "img") and value and not value.startswith("data:"):
                self.fetched.append(value)

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, text):
        if self.inside == "data":
            self.data += text
        elif self.inside == "title":
            self.title += text

    def document(self):
        return json.loads(zlib.decompress(base64.b64decode(self.data, validate=True)))


def check(truth, message):
    if not truth:
        sys.exit(f"page_test: {message}")


def run(ergometer, *words):
    done = subprocess.run([ergometer, *words], capture_output=True, text=True)
    check(done.returncode == 0, f"{' '.join(words)}: exit {done.returncode}: {done.stderr}")
    return done.stdout


def check_summary(ergometer, folder, job, title):
    page_path = folder / "page.html"
    said = json.loads(run(ergometer, "simulate", *job, "--run", str(folder / "job.run"), "--json", "--ranks"))
    run(ergometer, "report", str(folder / "job.run"), "-o", str(page_path), "--title", title)
    page = Page(page_path.read_text())
    check(page.title == title, f"the title is {page.title!r}")
    check(not page.fetched, f"the page fetches {page.fetched}")
    document = page.document()
    check(document == json.loads(run(ergometer, "report", "--json", str(folder / "job.run"), "--title", title)),
          "the page's document is not that of report --json")
    shown = document["runs"][0]
    for group in GROUPS:
        check(shown["summary"][group] == said[group], f"{group} differs from simulate --json")
    columns = shown["ranks"]
    check(len(columns["rank"]) == len(said["ranks"]), "not every rank has a row")
    for name in ("node", "slot", "stage", "mean_power_w", "max_gpu_c"):
        for rank, value in zip(said["ranks"], columns[name]):
            check(abs(rank[name] - value) <= 5e-6 * abs(value), f"{name} of rank {rank['rank']} differs")
    for name, column in columns["breakdown_s"].items():
        check(len(column) == len(said["ranks"]), f"breakdown {name} is not one a rank")
    return document, page_path.stat().st_size


def check_columns(part, name):
    """Columns of a table are equally long."""
    lengths = {len(values) for values in part.values() if isinstance(values, list)}
    check(len(lengths) == 1, f"columns of {name} are {lengths} long")


def check_shapes(document):
    shown = document["runs"][0]
    for rank in shown["timeline"]["ranks"]:
        check_columns(rank["tasks"], "tasks")
        check_columns({k: v for k, v in rank["kernels"].items() if k != "windows_us"}, "kernels")
        names = shown["timeline"]["names"]
        check(all(0 <= n < len(names) for n in rank["kernels"]["name"]), "a kernel's name is not in the table")
    times = len(shown["series"]["time_s"])
    check(times <= 2000, f"{times} times")
    for metric in shown["series"]["metrics"]:
        for line in metric["gpus"] + [metric.get("distribution", {})]:
            for values in line.values():
                check(not isinstance(values, list) or len(values) == times, f"a line of {metric['name']} is too short")
    check_columns(shown["collectives"], "collectives")


def check_step(document):
    """What is drawn of a rank, waits with a name among it, is the step."""
    timeline = document["runs"][0]["timeline"]
    for rank in timeline["ranks"]:
        tasks, now = rank["tasks"], 0
        for start, duration, kind, what, beside in zip(*(tasks[name] for name in ("start_us", "duration_us", "kind", "what", "beside"))):
            if beside:
                continue
            check(abs(start - now) < 1e-3, f"rank {rank['rank']}: nothing from {now} to {start} us")
            check(kind != "wait" or what >= 0, f"rank {rank['rank']}: a wait at {start} us for nobody")
            now = start + duration
        check(abs(now - 1e6 * timeline["step_s"]) < 2e-3, f"rank {rank['rank']}: {now} us of a step of {timeline['step_s']} s")


def check_others(ergometer, folder):
    for job in OTHERS:
        run(ergometer, "simulate", *job, "--run", str(folder / "other.run"), "--quiet")
        check_step(json.loads(run(ergometer, "report", "--json", str(folder / "other.run"))))


def check_what_if(ergometer, folder):
    """Every position of the sliders is a job, and tells of it what `simulate` and `compare` do."""
    (folder / "job.yaml").write_text(WHAT_IF)
    job = str(folder / "job.yaml")
    run(ergometer, "report", job, "--what-if", "tp,pp,mbs,cap", "-o", str(folder / "page.html"))
    size = (folder / "page.html").stat().st_size
    check(size < 800_000, f"the page of 32 GPUs and their neighbours has {size} bytes")
    found = Page((folder / "page.html").read_text()).document()["what_if"]
    ladders, jobs = found["ladders"], range(len(found["at"]))
    check(30 <= len(jobs) <= 60, f"{len(jobs)} neighbours")
    check(all(found["at"][found["job"]][i] == ladder["own"] for i, ladder in enumerate(ladders)), "the job itself stands elsewhere")
    check("does not fit" in found["fit"], "all neighbours fit")
    for i in [*jobs[::11], found["job"]]:
        values = {ladder["name"]: ladder["values"][at] for ladder, at in zip(ladders, found["at"][i]) if at != ladder["own"]}
        options = [word for name, value in values.items() for word in (f"--{name.replace('_', '-')}", value)]
        done = subprocess.run([ergometer, "simulate", job, *options, "--json"], capture_output=True, text=True)
        said = json.loads(done.stdout)
        fits = said["memory"]["fits"]
        check((done.returncode == 0) == fits, f"{options}: the exit status says whether it fits")
        check(found["fit"][i].startswith("at risk") or found["fit"][i] == ("fits" if fits else "does not fit"),
              f"{options}: {found['fit'][i]}, simulate says {fits}")
        check(found["replicas"][i] == said["job"]["parallelism"]["dp"], f"{options}: replicas")
        check(found["advice"][i] == said["memory"].get("advice", ""), f"{options}: advice")
        for path, column in found["numbers"].items():
            group, name = path.split(".")
            check(column[i] == said[group][name], f"{options}: {path} is {column[i]}, simulate says {said[group][name]}")
        if not values:
            check(found["comparisons"][i] is None, "the job is compared with itself")
            continue
        compared = json.loads(run(ergometer, "compare", job, "--with", ",".join(f"{name}={value}" for name, value in values.items()), "--json"))
        for name in ("quantities", "causes", "parts", "residual", "differences", "notes", "verdict"):
            check(found["comparisons"][i][name] == compared[name], f"{options}: {name} differs from compare --json")


def main(ergometer):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        document, _ = check_summary(ergometer, folder, SMALL, "TP 2 </title><script>alert(1)</script> & more")
        check_shapes(document)
        first = (folder / "page.html").read_bytes()
        check_summary(ergometer, folder, SMALL, "TP 2 </title><script>alert(1)</script> & more")
        check(first == (folder / "page.html").read_bytes(), "the same job gives other bytes")
        check_others(ergometer, folder)
        document, size = check_summary(ergometer, folder, MIDDLE, "32 GPUs")
        check_step(document)
        check(size < 800_000, f"the page of 32 GPUs has {size} bytes")
        check_what_if(ergometer, folder)
        document, size = check_summary(ergometer, folder, LARGE, "large")
        check_shapes(document)
        check_step(document)
        check(size < 1_000_000, f"the page of 8,192 GPUs has {size} bytes")
        start = time.monotonic()
        run(ergometer, "report", str(folder / "job.run"), "-o", str(folder / "page.html"))
        print(f"8,192 GPUs: {size} bytes, written in {time.monotonic() - start:.2f} s")


if __name__ == "__main__":
    main(sys.argv[1])
