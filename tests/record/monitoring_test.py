#!/usr/bin/env python3
"""The alerts and the board of packaging/monitoring: made of metrics that there are, and taken by a real Prometheus.

    tests/record/monitoring_test.py SERVE_REPLAY ERGOMETER

Without Prometheus: every metric in them stands in docs/metrics.md, board.json is what board.py makes, and the recorder
takes what the DaemonSet of packaging/kubernetes tells it. With it:
promtool plays every alert with and without its fault (rules_test.yml); Prometheus loads the rules, takes every query of
the board, gives values for those that a recorder answers, and an alert fires when a GPU's memory fails. Ends with
status 77 ("skipped") where only the first half could run.
"""
import contextlib
import http.server
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error

import yaml

from prometheus_test import LIMIT_S, ROOT, SKIPPED, find, get, prometheus, query, serving, until

KIT = ROOT / "packaging/monitoring"
sys.path.insert(0, str(KIT))
import board  # noqa: E402

RULE = KIT / "rules.yml"


def expressions_of_rules():
    return [rule["expr"] for group in yaml.safe_load(RULE.read_text())["groups"] for rule in group["rules"]]


def expressions_of_board():
    panels = json.loads((KIT / "board.json").read_text())["panels"]
    return [target["expr"] for panel in panels for target in panel.get("targets", [])]


def check_names():
    known = board.metrics()
    for expression in expressions_of_rules() + expressions_of_board():
        names = board.names_in(re.sub(r"ergometer:\S+", "", expression))
        unknown = [name for name in names if name not in known]
        assert not unknown, f"docs/metrics.md does not list {unknown}: {expression}"


def check_board_is_made():
    assert (KIT / "board.json").read_text() == json.dumps(board.board(), indent=1) + "\n", (
        "packaging/monitoring/board.json is not what board.py makes")


def check_daemonset(ergometer):
    pod = yaml.safe_load((ROOT / "packaging/kubernetes/daemonset.yaml").read_text())["spec"]["template"]["spec"]
    container = pod["containers"][0]
    changed = {"24h": "1s", ":9400": "127.0.0.1:0", "$(NODE)": "node7"}
    with tempfile.TemporaryDirectory() as folder:
        words = [changed.get(word, word) for word in container["args"]]
        done = subprocess.run([ergometer, *words], cwd=folder, capture_output=True, text=True, timeout=LIMIT_S)
        assert done.returncode == 0, done.stderr
        assert [run.name.split("-")[1] for run in pathlib.Path(folder).iterdir()] == ["node7"], done.stdout
    assert f":{container['ports'][0]['containerPort']}" in container["args"]


def check_alerts(promtool):
    for words in (["check", "rules", RULE], ["test", "rules", KIT / "rules_test.yml"]):
        done = subprocess.run([promtool, *words], capture_output=True, text=True, timeout=LIMIT_S)
        assert done.returncode == 0, done.stdout + done.stderr
    alerts = set(re.findall(r"alert: (\w+)", RULE.read_text()))
    played = set(re.findall(r"alertname: (\w+)", (KIT / "rules_test.yml").read_text()))
    assert alerts == played, f"not played by rules_test.yml: {alerts - played}"


@contextlib.contextmanager
def failing_memory():
    """Yields the address of a recorder's page on which a GPU's uncorrected errors rise by one a scrape."""

    class Page(http.server.BaseHTTPRequestHandler):
        errors = 0

        def do_GET(self):
            Page.errors += 1
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(
                f'ergometer_gpu_ecc_uncorrected_errors_total{{gpu="5",host="b"}} {Page.errors}\n'.encode())

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def firing(url):
    alerts = json.loads(get(f"{url}/api/v1/alerts"))["data"]["alerts"]
    return {(a["labels"]["alertname"], a["labels"].get("host"), a["labels"].get("gpu"))
            for a in alerts if a["state"] == "firing"}


def check_queries(url):
    """Every query of the board is valid, and those of what a100.csv has have an answer."""
    answered = 0
    for expression in expressions_of_board():
        asked = expression.replace("$host", ".*").replace("$__rate_interval", "10s")
        try:
            answered += bool(query(url, asked))
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{asked}: {error.read().decode()}") from error
    assert answered >= 7, f"only {answered} queries of the board have an answer"


def check_played(server, scraper):
    rules = yaml.safe_load(RULE.read_text())
    for group in rules["groups"]:
        group["interval"] = "1s"
    with (serving(server, "own") as own, failing_memory() as failing, tempfile.TemporaryDirectory() as folder):
        copy = pathlib.Path(folder) / "rules.yml"
        copy.write_text(yaml.safe_dump(rules))
        targets = {"ergometer": own, "failing": failing}
        with prometheus(scraper, targets, rule_files=[str(copy)]) as url:
            until("alert", lambda: ("GpuMemoryErrors", "b", "5") in firing(url))
            assert {alert for alert, _, _ in firing(url)} == {"GpuMemoryErrors"}, firing(url)
            time.sleep(2)  # two scrapes, for rates
            check_queries(url)


def main():
    check_names()
    check_board_is_made()
    check_daemonset(pathlib.Path(sys.argv[2]).resolve())
    scraper, promtool = find("prometheus"), find("promtool")
    if None in (scraper, promtool):
        print("skipped: prometheus and promtool are not installed")
        return SKIPPED
    check_alerts(promtool)
    check_played(sys.argv[1], scraper)
    return 0


if __name__ == "__main__":
    sys.exit(main())
