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
        check_columns({k: v for k, v in rank["kernels"].items() if k != "window_us"}, "kernels")
        names = shown["timeline"]["names"]
        check(all(0 <= n < len(names) for n in rank["kernels"]["name"]), "a kernel's name is not in the table")
    times = len(shown["series"]["time_s"])
    check(times <= 2000, f"{times} times")
    for metric in shown["series"]["metrics"]:
        for line in metric["gpus"] + [metric.get("distribution", {})]:
            for values in line.values():
                check(not isinstance(values, list) or len(values) == times, f"a line of {metric['name']} is too short")
    check_columns(shown["collectives"], "collectives")


def main(ergometer):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        document, _ = check_summary(ergometer, folder, SMALL, "TP 2 </title><script>alert(1)</script> & more")
        check_shapes(document)
        first = (folder / "page.html").read_bytes()
        check_summary(ergometer, folder, SMALL, "TP 2 </title><script>alert(1)</script> & more")
        check(first == (folder / "page.html").read_bytes(), "the same job gives other bytes")
        document, size = check_summary(ergometer, folder, LARGE, "large")
        check_shapes(document)
        check(size < 2_000_000, f"the page of 8,192 GPUs has {size} bytes")
        start = time.monotonic()
        run(ergometer, "report", str(folder / "job.run"), "-o", str(folder / "page.html"))
        print(f"8,192 GPUs: {size} bytes, written in {time.monotonic() - start:.2f} s")


if __name__ == "__main__":
    main(sys.argv[1])
