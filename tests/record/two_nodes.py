#!/usr/bin/env python3
"""Two nodes record, the clock of one 300 ms ahead and gaining 100 ppm; merged, they agree to a millisecond.

    tests/record/two_nodes.py ERGOMETER SKEWED_CLOCK_LIBRARY

The nodes are network namespaces of this machine with a link between them. Their monotonic clocks are one, so the
recordings themselves hold the truth. Ends with status 77 where namespaces cannot be made (no root, no iproute2).
"""
import contextlib
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile

SKIPPED = 77
SKEW_MS, SKEW_PPM = 300, 100
LIMIT_MS = 1.0
DURATION_S = 8


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True)


@contextlib.contextmanager
def two_namespaces():
    """Names of two network namespaces that reach each other as 10.231.7.1 and 10.231.7.2."""
    names = [f"ergometer-{os.getpid()}-{side}" for side in "ab"]
    links = [f"erg{os.getpid() % 100000}{side}" for side in "ab"]
    made = []
    try:
        for name in names:
            run("ip", "netns", "add", name)
            made.append(name)
        run("ip", "link", "add", links[0], "netns", names[0], "type", "veth", "peer", "name", links[1],
            "netns", names[1])
        for i in range(2):
            run("ip", "-n", names[i], "address", "add", f"10.231.7.{i + 1}/24", "dev", links[i])
            run("ip", "-n", names[i], "link", "set", links[i], "up")
        yield names
    finally:
        for name in made:
            subprocess.run(["ip", "netns", "del", name], check=False)


def start(namespace, host, command, environment):
    inside = f'hostname {host} && exec "$@"'
    return subprocess.Popen(["ip", "netns", "exec", namespace, "unshare", "--uts", "sh", "-c", inside, "sh", *command],
                            env={**os.environ, **environment})


def clock_lead_ms(path):
    """By host, the time of day minus the monotonic clock, in milliseconds, reading by reading."""
    leads = {}
    with contextlib.closing(sqlite3.connect(path)) as file:
        for host, time_ns, monotonic_ns in file.execute(
                "SELECT host, time_ns, monotonic_ns FROM clock_readings ORDER BY time_ns"):
            leads.setdefault(host, []).append((time_ns - monotonic_ns) / 1e6)
    return leads


def apart_ms(leads, base):
    return max(abs(lead - base) for lead in leads)


def main():
    ergometer, library = sys.argv[1:]
    if os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("unshare"):
        print("needs root, ip and unshare")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="two-nodes-") as folder:
        a, b, both = (pathlib.Path(folder) / name for name in ("a.run", "b.run", "both.run"))
        record = [ergometer, "record", "--quiet", "--duration", f"{DURATION_S}s", "--source", "proc", "--out"]
        try:
            with two_namespaces() as (name_a, name_b):
                nodes = [
                    start(name_a, "node-a", [*record, str(a), "--clock-listen", "9401"], {}),
                    start(name_b, "node-b", [*record, str(b), "--clock-peer", "10.231.7.1:9401"],
                          {"LD_PRELOAD": library, "SKEW_NS": str(SKEW_MS * 1_000_000), "SKEW_PPM": str(SKEW_PPM)}),
                ]
                statuses = [node.wait(timeout=60) for node in nodes]
        except subprocess.CalledProcessError as error:
            print("no network namespaces here:", error.stderr.strip())
            return SKIPPED
        assert statuses == [0, 0], statuses
        base = clock_lead_ms(a)["node-a"][0]
        before = apart_ms(clock_lead_ms(b)["node-b"], base)
        assert before > SKEW_MS - 1, f"the clocks are {before} ms apart: the skew did not take hold"
        answer = json.loads(run(ergometer, "merge", str(a), str(b), "--out", str(both), "--json").stdout)
        print(json.dumps(answer["hosts"], indent=1))
        merged = clock_lead_ms(both)
        after = {host: apart_ms(leads, base) for host, leads in merged.items()}
        print(f"apart before: {before:.3f} ms; after, at most: {after} ms")
        told = answer["hosts"][1]
        assert told["method"] == "probes", told
        assert max(after.values()) < LIMIT_MS, after
        assert after["node-b"] * 1e-3 <= told["uncertainty_s"], "further off than stated"
        assert abs(told["drift_ppm"] + SKEW_PPM) < 50, told
    return 0


if __name__ == "__main__":
    sys.exit(main())
