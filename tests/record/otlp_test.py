#!/usr/bin/env python3
"""`ergometer record --otlp` and a receiver of OTLP/HTTP: readings and steps arrive, a receiver that fails or hangs holds nothing
up, and what arrived is read back by `analyze` and as a step log.

    tests/record/otlp_test.py ERGOMETER
"""
import contextlib
import http.server
import json
import os
import pathlib
import re
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest

PROGRAM = ""
LIMIT_S = 60
TOKEN = "a-token-of-this-test"
STEPS = 'for i in 1 2 3; do echo " iteration $i/ 3 | elapsed time per iteration (ms): 250.0 |"; sleep 0.3; done > train.log'


@contextlib.contextmanager
def receiver(status=200, answer=b"{}"):
    """What OpenTelemetry's collector would take: (port, requests), a request a pair of headers and document."""
    taken = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            taken.append((self.path, dict(self.headers), json.loads(body)))
            self.send_response(status)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1], taken
    finally:
        server.shutdown()
        server.server_close()


def metrics(document):
    return {metric["name"]: metric for resource in document["resourceMetrics"] for scope in resource["scopeMetrics"]
            for metric in scope["metrics"]}


class Otlp(unittest.TestCase):
    def setUp(self):
        name = tempfile.TemporaryDirectory(prefix="ergometer-otlp-")
        self.addCleanup(name.cleanup)
        self.folder = pathlib.Path(name.name)

    def record(self, port, *words, command=STEPS, path=""):
        started = time.monotonic()
        done = subprocess.run([PROGRAM, "record", "--source", "proc", "--host", "node1", "--tag", "job=seven", "--out", "own.run",
                               "--otlp", f"http://127.0.0.1:{port}{path}", "--step-log", "train.log", *words, "--", "sh", "-c", command],
                              cwd=self.folder, capture_output=True, text=True, timeout=LIMIT_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr, time.monotonic() - started

    def steps(self, run):
        with contextlib.closing(sqlite3.connect(self.folder / run)) as database:
            return database.execute("SELECT step, seconds FROM training_steps").fetchall()

    def test_readings_and_steps_arrive_and_are_read_back(self):
        token = self.folder / "token"
        token.write_text(TOKEN + "\n")
        token.chmod(0o600)
        with receiver() as (port, taken):
            said, _ = self.record(port, "--otlp-token-file", token)
        self.assertNotIn("otlp: ", said)
        path, headers, document = taken[-1]
        self.assertEqual((path, headers["Content-Type"], headers["Authorization"]),
                         ("/v1/metrics", "application/json", f"Bearer {TOKEN}"))
        resource = {a["key"]: a["value"]["stringValue"] for a in document["resourceMetrics"][0]["resource"]["attributes"]}
        self.assertEqual(resource, {"service.name": "ergometer", "host.name": "node1", "ergometer.job": "seven"})
        told = metrics(document)
        self.assertEqual(told["ergometer.node.memory_used"]["unit"], "By")
        self.assertEqual([p["asDouble"] for p in told["ergometer.step"]["gauge"]["dataPoints"]], [0.25] * 3)
        self.assertEqual([p["asDouble"] for p in told["ergometer.step.number"]["gauge"]["dataPoints"]], [1, 2, 3])
        (self.folder / "told.jsonl").write_text("".join(json.dumps(request[2]) + "\n" for request in taken))
        read = subprocess.run([PROGRAM, "analyze", "told.jsonl", "--json"], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(read.returncode, 0, read.stderr)
        self.assertIn("node1", read.stdout)
        # The same as a step log, which grows while a recorder follows it.
        followed = "sleep 0.5; cat told.jsonl > followed.jsonl; sleep 0.7"
        subprocess.run([PROGRAM, "record", "--source", "proc", "--out", "again.run", "--quiet", "--step-log", "followed.jsonl", "--",
                        "sh", "-c", followed], cwd=self.folder, check=True, timeout=LIMIT_S)
        self.assertEqual(self.steps("again.run"), [(1, 0.25), (2, 0.25), (3, 0.25)])

    def test_a_receiver_that_refuses_or_leaves_out_is_told_once(self):
        for status, answer, words in ((503, b"busy", "status 503: busy"),
                                      (200, b'{"partialSuccess": {"rejectedDataPoints": "2", "errorMessage": "no room"}}', "no room")):
            with receiver(status, answer) as (port, _):
                said, _ = self.record(port)
            self.assertEqual(len(re.findall("otlp: ", said)), 1, said)
            self.assertIn(words, said)

    def test_a_warning_is_no_refusal(self):
        with receiver(200, b'{"partialSuccess": {"rejectedDataPoints": 0, "errorMessage": "slow down"}}') as (port, _):
            said, _ = self.record(port)
        self.assertNotIn("otlp: ", said)

    def test_steps_that_are_refused_are_not_told_again(self):
        with receiver(400, b"no") as (port, taken):  # once after ten seconds, once at the end
            self.record(port, command=STEPS + "; sleep 11")
        self.assertEqual(["ergometer.step" in metrics(document) for _, _, document in taken], [True, False])

    def test_the_path_is_otlps_own_where_none_is_given(self):
        for given, asked in (("/", "/v1/metrics"), ("/own/", "/own/")):
            with receiver() as (port, taken):
                self.record(port, path=given, command="true")
            self.assertEqual(taken[-1][0], asked)
            (self.folder / "own.run").unlink()

    def test_nobody_there_and_somebody_who_never_answers(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:  # takes connections and says nothing
            for port in (1, silent.getsockname()[1]):
                said, took_s = self.record(port)
                self.assertLess(took_s, 6, "the end waits for two seconds at most")
                self.assertEqual(len(self.steps("own.run")), 3, said)
                (self.folder / "own.run").unlink()

    def test_what_is_wrong_is_said_before_the_command(self):
        for words, told in ((["--otlp", "collector:4318"], "--otlp 'collector:4318': begins with neither http:// nor https://"),
                            (["--otlp-token-file", "token"], "--otlp-token-file: goes with --otlp")):
            done = subprocess.run([PROGRAM, "record", "--source", "proc", *words, "--", "touch", self.folder / "began"],
                                  cwd=self.folder, capture_output=True, text=True)
            self.assertEqual(done.returncode, 2)
            self.assertIn(told, done.stderr)
            self.assertFalse((self.folder / "began").exists())


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
