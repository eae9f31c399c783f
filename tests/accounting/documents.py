"""What the program tells of one job, place by place."""

import base64
import json
import re
import sqlite3
import subprocess
import zlib
from types import SimpleNamespace


# Numbers whose explanations are looked at, one a folder that tells them.
EXPLAINED = ["performance.step_time_s", "performance.breakdown_s.compute", "memory.peak_bytes", "power.mean_w_per_gpu", "thermal.max_gpu_c"]


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def page_of(path):
    """The document in a page, as web/src/load.ts reads it."""
    with open(path, encoding="utf-8") as file:
        packed = re.search(r'id="ergometer-data"[^>]*>\s*([^<]*)<', file.read()).group(1)
    return json.loads(zlib.decompress(base64.b64decode(packed)))["runs"][0]


def tables_of(path):
    """Tables of a Run by name, a dict a row."""
    with sqlite3.connect(path) as file:
        file.row_factory = sqlite3.Row
        names = [row["name"] for row in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: [dict(row) for row in file.execute(f'SELECT * FROM "{name}"')] for name in names}


def leaves(value, path=""):
    """Numbers of a document by path: "performance.breakdown_s.compute"."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from leaves(inner, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from leaves(inner, f"{path}[{i}]")
    elif value is not None:
        yield path, value


def swept(ergometer, words, folder):
    """The same job as the only point of a study."""
    settings = {"model": words[0]}
    for word, value in zip(words[1:], words[2:] + ["--"]):
        if word.startswith("--"):
            settings[word[2:].replace("-", "_")] = "true" if value.startswith("--") else value
    batch = settings.pop("gbs")
    with open(f"{folder}/study.yaml", "w", encoding="utf-8") as file:
        file.write("base:\n" + "".join(f"  {name}: {value}\n" for name, value in settings.items()))
        file.write(f"axes: {{gbs: [{batch}]}}\n")
    return json.loads(output(ergometer, "sweep", f"{folder}/study.yaml", "--json"))["rows"][0]["run"]


def read(ergometer, words, text, folder):
    run = f"{folder}/job.run.sqlite"
    return SimpleNamespace(
        text=text,
        json=json.loads(output(ergometer, "simulate", *words, "--json")),
        analysis=json.loads(output(ergometer, "analyze", run, "--json")),
        analysis_text=output(ergometer, "analyze", run),
        page=page_of(f"{folder}/page.html"),
        tables=tables_of(run),
        swept=swept(ergometer, words, folder),
        taxes=json.loads(output(ergometer, "simulate", *words, "--explain", "taxes", "--json"))["explain"],
        explained={path: output(ergometer, "simulate", *words, "--explain", path) for path in EXPLAINED})
