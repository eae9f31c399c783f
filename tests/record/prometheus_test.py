#!/usr/bin/env python3
"""A real Prometheus scrapes the metrics endpoint, and finds there what was played back.

    tests/record/prometheus_test.py SERVE_REPLAY

Checks, for our names and for DCGM's: promtool has nothing against the page; Prometheus' target is up; every sample
that it stored is the page's, and the power is the last one of the file. Ends with status 77, which ctest takes for
"skipped", where Prometheus is not installed; scripts/install-dependencies.sh --tests brings it.
"""
import contextlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECORDED = ROOT / "tests/data/telemetry/gpu-power-benchmark/a100.csv"
LAST_POWER_W = float(RECORDED.read_text().rsplit("\n", 2)[-2].split(", ")[5])
LIMIT_S = 60
SKIPPED = 77
# DCGM's own choices: a counter without "_total", labels such as "modelName". Boards ask for these names.
DCGM_LINT = ('counter metrics should have "_total" suffix',
             "label names should be written in 'snake_case' not 'camelCase'")


def find(program):
    unpacked = ROOT / "build/prometheus/usr/bin" / program
    return shutil.which(program) or (str(unpacked) if unpacked.exists() else None)


def get(url, accept="*/*"):
    request = urllib.request.Request(url, headers={"Accept": accept})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.read().decode()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def until(what, check):
    """The first true answer of `check`, which may fail meanwhile."""
    end = time.monotonic() + LIMIT_S
    while time.monotonic() < end:
        try:
            answer = check()
            if answer:
                return answer
        except (urllib.error.URLError, ConnectionError, OSError):
            pass
        time.sleep(0.1)
    raise SystemExit(f"no {what} within {LIMIT_S} s")


@contextlib.contextmanager
def serving(program, names):
    """Yields the address of a server that plays the file back at 10,000 times its pace: at its end in a millisecond."""
    process = subprocess.Popen([program, RECORDED, "127.0.0.1:0", "1e4", names], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    try:
        yield process.stdout.readline().strip()
    finally:
        process.stdin.close()
        assert process.wait(timeout=LIMIT_S) == 0, "the server did not end well"


@contextlib.contextmanager
def prometheus(program, targets, **config):
    """Yields the address of a Prometheus that scrapes every second; `config` are more keys of its configuration."""
    with tempfile.TemporaryDirectory(prefix="prometheus-") as folder:
        folder = pathlib.Path(folder)
        jobs = [{"job_name": name, "static_configs": [{"targets": [address]}]} for name, address in targets.items()]
        config = {"global": {"scrape_interval": "1s", "evaluation_interval": "1s"}, "scrape_configs": jobs, **config}
        (folder / "prometheus.yml").write_text(json.dumps(config))  # JSON is YAML
        port = free_port()
        with open(folder / "log", "w") as log:
            process = subprocess.Popen(
                [program, f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
                 f"--web.listen-address=127.0.0.1:{port}"],
                cwd=folder, stdout=log, stderr=log, env={**os.environ, "GOMAXPROCS": "1"})
        try:
            yield f"http://127.0.0.1:{port}"
        except SystemExit:
            print((folder / "log").read_text(), file=sys.stderr)
            raise
        finally:
            process.terminate()
            process.wait(timeout=LIMIT_S)


def check_lint(promtool, page, allowed):
    done = subprocess.run([promtool, "check", "metrics"], input=page, capture_output=True, text=True, timeout=LIMIT_S)
    said = [line for line in (done.stdout + done.stderr).splitlines() if line]
    unexpected = [line for line in said if not (line.startswith("DCGM_FI_") and line.endswith(allowed))]
    assert not unexpected and (done.returncode == 0 or allowed), f"promtool: {done.returncode} {unexpected}"


def query(url, expression):
    answer = json.loads(get(f"{url}/api/v1/query?query={urllib.request.quote(expression)}"))
    return [(sample["metric"], float(sample["value"][1])) for sample in answer["data"]["result"]]


def page_values(page):
    """Name and value of every line about a GPU: the one of the file, so that names are unique."""
    pairs = (line.rsplit(" ", 1) for line in page.splitlines() if not line.startswith("#"))
    return {head.split("{")[0]: float(value) for head, value in pairs
            if head.startswith(("ergometer_gpu_", "DCGM_")) and "reason=" not in head}


def check_scraped(url, job, page):
    """What Prometheus stored of a job is what its page says."""
    until(f"scrape of {job}", lambda: query(url, f'up{{job="{job}"}}') and query(url, f'up{{job="{job}"}}')[0][1] == 1)
    values = page_values(page)
    assert len(values) > 3, f"{job}: only {sorted(values)}"
    for name, value in values.items():
        found = until(name, lambda name=name: query(url, f'{name}{{job="{job}"}}'))
        assert [v for _, v in found] == [value], f"{name}: {found} is not {value}"
        assert found[0][0]["gpu"] == "0", found
    print(f"{job}: {len(values)} metrics of a GPU scraped")


def main():
    programs = find("prometheus"), find("promtool")
    if None in programs:
        print("skipped: prometheus and promtool are not installed")
        return SKIPPED
    server, (scraper, promtool) = sys.argv[1], programs
    with serving(server, "own") as own, serving(server, "dcgm") as dcgm:
        pages = {"own": own, "dcgm": dcgm}
        power = {"own": "ergometer_gpu_power_watts", "dcgm": "DCGM_FI_DEV_POWER_USAGE"}
        for job, address in pages.items():
            until("end of the file", lambda a=address, j=job: page_values(get(f"http://{a}/metrics")).get(power[j])
                  == LAST_POWER_W)
            pages[job] = get(f"http://{address}/metrics")
        check_lint(promtool, pages["own"], ())
        check_lint(promtool, pages["dcgm"], DCGM_LINT)
        assert get(f"http://{own}/metrics", "application/openmetrics-text").endswith("# EOF\n")
        with prometheus(scraper, {"own": own, "dcgm": dcgm}) as url:
            for job, page in pages.items():
                check_scraped(url, job, page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
