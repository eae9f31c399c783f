#!/usr/bin/env python3
"""`ergometer serve` with faults, one by one: what was acknowledged is on disk, once, and the page says what happened.

    tests/record/serve_test.py ERGOMETER [TEST ...]
"""
import concurrent.futures
import contextlib
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import socket
import ssl
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.request

from pushers import LIMIT_S, Recorder, cpu_s, measure, push, read_answer, request, serving, state

PROGRAM = ""
ROOT = pathlib.Path(__file__).resolve().parents[2]
TOKEN = "a-token-of-this-test"


def until(what, is_so, limit_s=LIMIT_S):
    deadline = time.monotonic() + limit_s
    while not is_so():
        assert time.monotonic() < deadline, f"{what}: not within {limit_s} s"
        time.sleep(0.05)


def free_port():
    """Of those that the kernel gives to no connection: whoever calls a port where nobody listens could else be given
    that port for its own end, and hold it."""
    while True:
        port = random.randrange(20000, 32000)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


def rows_of(run):
    """Times of the readings of every host's first GPU."""
    database = sqlite3.connect(run)
    assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    found = {}
    for host, at in database.execute("SELECT host, time_ns FROM readings JOIN devices USING (device) WHERE kind = 'gpu' AND "
                                     "device_index = 0"):
        found.setdefault(host, []).append(at)
    database.close()
    return found


def findings(document):
    return {finding["kind"]: finding for finding in document["job"]["findings"]}


def members(document):
    """Names of what a document of state.json holds, apart from what may be null or none."""
    job = document["job"]
    return [sorted(document), sorted(document["counts"]), sorted(document["jobs"][0]), sorted(job), sorted(job["findings"][0]),
            *(sorted(job[name]) for name in ("nodes", "gpus", "history"))]


class Steady(threading.Thread):
    """Pushes batch after batch, each until it is acknowledged, whatever becomes of the server."""

    def __init__(self, address, host):
        super().__init__(daemon=True)
        self.address, self.recorder, self.acknowledged, self.ending = address, Recorder(host, gpus=2), 0, False

    def run(self):
        while not self.ending:
            text = self.recorder.head + self.recorder.batch()
            while True:
                try:
                    status, body = push(self.address, text)
                    if status == 200 and json.loads(body)["acknowledged"] == self.recorder.sequence:
                        break
                except (OSError, ConnectionError, TypeError):
                    pass
                time.sleep(0.02)
            self.acknowledged += 1


class Serve(unittest.TestCase):
    def setUp(self):
        name = tempfile.TemporaryDirectory(prefix="ergometer-serve-")
        self.addCleanup(name.cleanup)
        self.folder = pathlib.Path(name.name)
        self.out = self.folder / "out"

    def token_file(self, mode=0o600):
        path = self.folder / "token"
        path.write_text(TOKEN + "\n")
        path.chmod(mode)
        return path

    def analyze(self, name="job"):
        done = subprocess.run([PROGRAM, "analyze", self.out / f"{name}.run", "--json"], capture_output=True, text=True,
                              timeout=LIMIT_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_what_is_pushed_twice_is_stored_once(self):
        with serving(PROGRAM, self.out) as (_, address):
            recorder = Recorder("node1")
            first, second = recorder.batch(), recorder.batch()
            for text in (first, first, first + second, second):
                status, body = push(address, recorder.head + text)
                self.assertEqual((status, json.loads(body)["acknowledged"]), (200, 1 if text == first else 2))
            document = state(address)
            self.assertEqual([document["counts"][name] for name in ("batches", "repeated")], [2, 3])
            self.assertEqual(document["job"]["gpus"]["index"], list(range(8)))
            self.assertEqual(document["job"]["gpus"]["clock_mhz"], [1980] * 8)
            self.assertEqual(document["job"]["nodes"]["sent_b_per_s"][0] > 0, True)
            self.assertEqual(findings(document)["throttled.sw_power_cap"]["text"], "8 GPUs are held back by sw_power_cap")
            self.analyze()
        self.assertEqual(len(rows_of(self.out / "job.run")["node1"]), 2)

    def test_power_now_has_the_error_of_its_sensors(self):
        with serving(PROGRAM, self.out) as (_, address):
            recorder = Recorder("node1")
            push(address, recorder.head + recorder.batch() + recorder.batch())
            job = state(address)["job"]
            # Of eight H100 together, and of one: docs/models/sensor.md.
            self.assertEqual(job["gpu_power_error_percent"], 2.2)
            self.assertEqual(job["nodes"]["gpu_power_error_percent"], [2.2])
            self.assertEqual(job["nodes"]["one_gpu_power_error_percent"], [4.4])
            gpus = self.analyze()["telemetry"]["gpus"]
        self.assertEqual(len(gpus), 8)
        for gpu in gpus:  # the same gain, and what readings a second apart did not see
            self.assertGreater(gpu["energy_error_pct"], 4.4)

    def test_killed_again_and_again(self):
        port = free_port()
        senders = [Steady(("127.0.0.1", port), f"node{i}") for i in range(8)]
        for sender in senders:
            sender.start()
        chance = random.Random(7)
        for _ in range(6):
            with serving(PROGRAM, self.out, port=port) as (process, _):
                time.sleep(chance.uniform(0.2, 0.9))
                process.send_signal(signal.SIGKILL)
        with serving(PROGRAM, self.out, port=port) as (_, address):
            so_far = [sender.acknowledged for sender in senders]
            until("all push again", lambda: all(s.acknowledged > n for s, n in zip(senders, so_far)))
            for sender in senders:
                sender.ending = True
            for sender in senders:
                sender.join(LIMIT_S)
            self.assertEqual(state(address)["job"]["nodes"]["lost"], [0] * len(senders))
        found = rows_of(self.out / "job.run")
        for sender in senders:
            times = found[sender.recorder.host]
            self.assertEqual(len(times), sender.acknowledged)
            self.assertEqual(len(set(times)), sender.acknowledged)
        self.analyze()

    def test_a_recorder_outlives_the_server(self):
        port = free_port()
        words = [PROGRAM, "record", "--source", "proc", "--duration", "5s", "--out", self.folder / "own.run", "--tag", "job=job",
                 "--push", f"http://127.0.0.1:{port}", "--host", "node1"]
        with serving(PROGRAM, self.out, port=port):
            recorder = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            until("the Run is there", lambda: (self.out / "job.run").exists())
        time.sleep(1.5)
        with serving(PROGRAM, self.out, port=port) as (_, address):
            said = recorder.communicate(timeout=LIMIT_S)[1]
            nodes = state(address)["job"]["nodes"]
            self.assertEqual((nodes["presence"], nodes["lost"]), ([2], [0]))
        self.assertEqual(recorder.returncode, 0)
        self.assertEqual(len(re.findall("the recording goes on", said)), 1, said)
        self.assertEqual(len(re.findall("takes readings again", said)), 1, said)
        self.analyze()

    def test_a_folder_of_growing_runs(self):
        shared = self.folder / "shared"
        shared.mkdir()
        words = [PROGRAM, "record", "--source", "proc", "--out", shared / "a.run", "--tag", "job=job", "--host", "node1"]
        recorder = subprocess.Popen([*words, "--duration", "4s"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(2):  # the second goes on with what the first has
            with serving(PROGRAM, self.out, "--follow", shared) as (_, address):
                until("it is followed", lambda: state(address).get("job", {}).get("nodes", {}).get("presence") == [0])
        with serving(PROGRAM, self.out, "--follow", shared) as (_, address):
            self.assertEqual(recorder.wait(LIMIT_S), 0)
            until("its end is seen", lambda: state(address).get("job", {}).get("nodes", {}).get("presence") == [2])
            self.assertEqual(state(address)["job"]["nodes"]["lost"], [0])
        self.analyze()
        times = sqlite3.connect(self.out / "job.run").execute("SELECT time_ns, device FROM readings").fetchall()
        self.assertGreaterEqual(len(times), 3)
        self.assertEqual(len(times), len(set(times)))

    def test_steps_of_a_training_log(self):
        log = self.folder / "train.log"
        job = f'for i in 1 2 3 4; do echo " iteration $i/ 4 | elapsed time per iteration (ms): 250.0 |"; sleep 0.5; done > {log}'
        with serving(PROGRAM, self.out) as (_, address):
            recorder = subprocess.Popen([PROGRAM, "record", "--source", "proc", "--out", self.folder / "own.run", "--tag", "job=job",
                                         "--push", f"http://{address[0]}:{address[1]}", "--host", "node1", "--step-log", log, "--quiet",
                                         "--", "sh", "-c", job])
            until("a step is shown", lambda: (state(address).get("job") or {}).get("step"))
            self.assertEqual(state(address)["job"]["step"]["step_time_s"], 0.25)
            self.assertEqual(recorder.wait(LIMIT_S), 0)
        for run in (self.folder / "own.run", self.out / "job.run"):
            steps = sqlite3.connect(run).execute("SELECT step, seconds, end_ns FROM training_steps").fetchall()
            self.assertEqual([(number, seconds) for number, seconds, _ in steps], [(i, 0.25) for i in (1, 2, 3, 4)])
            self.assertEqual(sorted(end for _, _, end in steps), [end for _, _, end in steps])

    def test_a_recorder_without_a_server(self):
        start = time.monotonic()
        done = subprocess.run([PROGRAM, "record", "--source", "proc", "--out", self.folder / "own.run", "--push",
                               f"http://127.0.0.1:{free_port()}", "--", "sleep", "1"], capture_output=True, text=True, timeout=LIMIT_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(re.findall("push: ", done.stderr)), 1, done.stderr)
        self.assertLess(time.monotonic() - start, 6)
        self.assertEqual(subprocess.run([PROGRAM, "analyze", self.folder / "own.run"], capture_output=True).returncode, 0)

    def test_the_disk_is_full_and_has_space_again(self):
        with serving(PROGRAM, self.out, file_limit=400_000) as (process, address):
            recorder = Recorder("node1")
            taken = 0
            for _ in range(100):
                text = recorder.head + "".join(recorder.batch() for _ in range(100))
                status, body = push(address, text)
                if status != 200:
                    break
                taken = recorder.sequence
            self.assertEqual(status, 507, body)
            self.assertIn("cannot be written", state(address)["problem"])
            self.assertEqual(urllib.request.urlopen(f"http://{address[0]}:{address[1]}/").status, 200)
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            self.assertEqual(push(address, text)[0], 200)
            time.sleep(0.6)
            document = state(address)
            self.assertEqual((document["problem"], document["job"]["nodes"]["lost"]), ("", [0]))
            process.terminate()
            said = process.stderr.read()
            self.assertEqual(len(re.findall("batches are refused", said)), 1, said)
            self.assertEqual(len(re.findall("batches are stored again", said)), 1, said)
        self.assertGreater(taken, 0)
        times = rows_of(self.out / "job.run")["node1"]
        self.assertEqual((len(times), len(set(times))), (recorder.sequence, recorder.sequence))

    def test_slow_silent_and_jumping(self):
        with serving(PROGRAM, self.out) as (_, address):
            slow = socket.create_connection(address, timeout=LIMIT_S)
            started = time.monotonic()
            steady, vanishing = Recorder("steady", gpus=1), Recorder("vanishing", gpus=1)
            push(address, vanishing.head + vanishing.batch())
            steps = iter(request(vanishing.head + vanishing.batch()))

            def tick():
                slow.send(bytes([next(steps)]))
                status, _ = push(address, steady.head + steady.batch())
                self.assertEqual(status, 200)
                time.sleep(0.3)
                return state(address)

            while "silent" not in findings(document := tick()):
                self.assertLess(time.monotonic() - started, LIMIT_S)
            self.assertEqual(findings(document)["silent"]["where"], ["vanishing"])
            self.assertEqual(document["job"]["nodes"]["presence"], [1, 0])
            vanishing.sequence += 3  # what its bounded buffer had to drop
            push(address, vanishing.head + vanishing.batch())
            steady.clock_jump_s = 3600
            tick()
            found = findings(tick())
            self.assertNotIn("silent", found)
            self.assertEqual(found["clock_jump"]["where"], ["steady"])
            self.assertEqual(found["lost"]["where"], ["vanishing"])
            slow.settimeout(LIMIT_S)
            self.assertEqual(slow.recv(1), b"")  # its request took too long
            self.assertLess(time.monotonic() - started, 13)
            slow.close()
        with serving(PROGRAM, self.out) as (_, address):
            document = state(address, "job")  # history and nodes outlive a restart
            self.assertEqual(document["job"]["nodes"]["name"], ["vanishing", "steady"])
            self.assertEqual(len(document["job"]["history"]["time_ms"]) > 0, True)

    def test_rules_that_alert(self):
        rules, told = self.folder / "rules.yaml", self.folder / "alerts.jsonl"
        recorder = Recorder("node1", gpus=1)  # its GPU says that a power cap holds it back
        capped, silent = "- {name: capped, finding: throttled.sw_power_cap}\n", "- {name: gone, finding: silent, for: 1 s}\n"

        def write(text):
            rules.write_text(f"action: {{file: {told}}}\nrules:\n{text}")

        def alerts(document):
            return {(a["rule"], a["state"]) for a in document["job"]["alerts"]}

        def lines():
            return [(a["alert"], a["state"]) for a in map(json.loads, told.read_text().splitlines())]

        write(capped)
        with serving(PROGRAM, self.out, "--rules", str(rules)) as (_, address):
            push(address, recorder.head + recorder.batch())
            until("it fires", lambda: ("capped", "firing") in alerts(state(address)))
            write("- {name: nothing}\n")
            until("the page says why", lambda: "rules.yaml:3" in state(address)["rules_problem"])
            self.assertEqual(push(address, recorder.head + recorder.batch())[0], 200)
            self.assertIn(("capped", "firing"), alerts(state(address)))
            write(capped + silent)
            until("the new rules hold", lambda: ("gone", "firing") in alerts(state(address)))
            self.assertEqual(state(address)["rules_problem"], "")
            until("the end is written", lambda: ("capped", "resolved") in lines())
            push(address, recorder.head + recorder.batch())
            until("it fires again", lambda: lines().count(("capped", "firing")) == 2)
            time.sleep(1)  # for the commit
        with serving(PROGRAM, self.out, "--rules", str(rules)) as (_, address):
            push(address, recorder.head + recorder.batch())
            until("it goes on", lambda: ("capped", "firing") in alerts(state(address)))
            time.sleep(1.5)
            self.assertEqual(lines().count(("capped", "firing")), 2)
        database = sqlite3.connect(self.out / "job.run")
        found = database.execute("SELECT rule, firing_ns > 0, resolved_ns > 0 FROM alerts ORDER BY pending_ns").fetchall()
        database.close()
        self.assertEqual(found[0], ("capped", 1, 1))
        self.assertIn(("gone", 1, 1), found)
        self.assertEqual(found[-1][:2], ("capped", 1))

    def test_garbage(self):
        recorder = Recorder("node1", gpus=1)
        head, batch = recorder.head, recorder.batch()
        wrong = ["", "{}", "[]", "null\n", "[" * 100000, head + "[" * 100000, head + '{"sequence":0}', head + batch + batch,
                 head.replace("node1", "../node1") + batch, head.replace('"job"', '"jib"') + batch,
                 head + batch.replace("[0,", "[77,", 1).replace("[0,", "[-1,", 1), head + batch[: len(batch) // 2],
                 head + re.sub(r'"time_ns": \d+', '"time_ns": 1e300', batch), "\x00" * 1000, batch + head]
        with serving(PROGRAM, self.out) as (_, address):
            for text in wrong:
                self.assertEqual(push(address, text)[0], 400, text[:200])
            raw = {b"hello\r\n\r\n": 400, request(head, length=2 << 20): 413, b"POST /push HTTP/1.1\r\nX: " + b"x" * 9000: 431,
                   request(head, length=-1): 400, b"GET /nothing HTTP/1.1\r\n\r\n": 404, b"DELETE / HTTP/1.1\r\n\r\n": 405,
                   b"POST /push HTTP/1.1\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n": 411,
                   request(head).replace(b"x-ndjson", b"json"): 415}
            for text, status in raw.items():
                with socket.create_connection(address, timeout=LIMIT_S) as connection:
                    connection.sendall(text)
                    self.assertEqual(read_answer(connection)[0], status, text[:100])
            self.assertEqual(state(address)["counts"]["malformed"], len(wrong))
            self.assertEqual(push(address, head + batch)[0], 200)
            self.assertEqual([file.name for file in self.out.iterdir()], ["job.run"])

    def test_no_descriptor_is_left(self):
        recorder = Recorder("node1", gpus=1)
        with serving(PROGRAM, self.out) as (process, address):
            resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (32, 32))
            crowd = [socket.create_connection(address, timeout=LIMIT_S) for _ in range(60)]
            until("all are taken", lambda: len(os.listdir(f"/proc/{process.pid}/fd")) == 32)
            before = cpu_s(process.pid)
            time.sleep(1)
            self.assertLess(cpu_s(process.pid) - before, 0.5)  # it does not look at who stands in line again and again
            for connection in crowd:
                connection.close()
            self.assertEqual(push(address, recorder.head + recorder.batch())[0], 200)

    def test_token(self):
        recorder = Recorder("node1", gpus=1)
        text = recorder.head + recorder.batch()
        with serving(PROGRAM, self.out, "--token-file", self.token_file()) as (_, address):
            for token in (None, "another-token", TOKEN + "x", TOKEN[:-1]):
                self.assertEqual(push(address, text, token)[0], 401)
            self.assertEqual(list(self.out.iterdir()), [])
            for _ in range(2):  # the second is what somebody who listened sends again
                self.assertEqual(push(address, text, TOKEN)[0], 200)
            counts = state(address)["counts"]
            self.assertEqual([counts[name] for name in ("unauthorized", "batches", "repeated")], [4, 1, 1])
            words = [PROGRAM, "record", "--source", "proc", "--duration", "1s", "--out", self.folder / "own.run", "--push",
                     f"http://{address[0]}:{address[1]}"]
            done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S)
            self.assertIn("does not take this token", done.stderr)
            done = subprocess.run([*words, "--token-file", self.folder / "token"], capture_output=True, text=True, timeout=LIMIT_S)
            self.assertNotIn("push: ", done.stderr)
            self.assertEqual(len(state(address)["jobs"]), 2)

    def test_tls(self):
        key, certificate = self.folder / "key.pem", self.folder / "cert.pem"
        made = subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                               "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=localhost", "-addext",
                               "subjectAltName=DNS:localhost,IP:127.0.0.1"], capture_output=True, text=True)
        self.assertEqual(made.returncode, 0, made.stderr)
        words = ["--tls-cert", certificate, "--tls-key", key, "--token-file", self.token_file()]
        key.chmod(0o644)
        refused = subprocess.run([PROGRAM, "serve", "--out", self.out, "--listen", "127.0.0.1:0", *words], capture_output=True,
                                 text=True)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("others may read the key", refused.stderr)
        key.chmod(0o600)
        with serving(PROGRAM, self.out, *words) as (_, address):
            trusting = ssl.create_default_context(cafile=certificate)
            with trusting.wrap_socket(socket.create_connection(address, timeout=LIMIT_S), server_hostname="localhost") as connection:
                recorder = Recorder("node1")
                for _ in range(3):  # over one connection; a body of many records
                    text = recorder.head + "".join(recorder.batch() for _ in range(100))
                    connection.sendall(request(text, TOKEN))
                    status, body = read_answer(connection)
                    self.assertEqual((status, json.loads(body)["acknowledged"]), (200, recorder.sequence))
                connection.sendall(b"GET /state.json HTTP/1.1\r\nConnection: close\r\n\r\n")
                self.assertIn('"batches":300', read_answer(connection)[1])
                self.assertEqual(connection.recv(1), b"")
            with self.assertRaises(OSError):  # what is not TLS is not answered
                push(address, recorder.head, TOKEN)
            record = [PROGRAM, "record", "--source", "proc", "--duration", "1s", "--out", self.folder / "own.run", "--push",
                      f"https://localhost:{address[1]}", "--token-file", self.folder / "token", "--tag", "job=own"]
            said = subprocess.run(record, capture_output=True, text=True, timeout=LIMIT_S).stderr
            self.assertIn("--push-certificate", said)
            said = subprocess.run([*record, "--push-certificate", certificate], capture_output=True, text=True, timeout=LIMIT_S).stderr
            self.assertNotIn("push: ", said)
        self.analyze("own")
        self.assertEqual(len(rows_of(self.out / "job.run")["node1"]), 300)

    def certificate(self, name, *of_authority):
        """A key and a certificate of `localhost`, signed by itself or by the files of an authority."""
        key, certificate = self.folder / f"{name}.key", self.folder / f"{name}.pem"
        words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key,
                 "-out", certificate, "-days", "2", "-subj", f"/CN={name}", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
        if of_authority:
            words += ["-CA", of_authority[1], "-CAkey", of_authority[0]]
        made = subprocess.run(words, capture_output=True, text=True)
        self.assertEqual(made.returncode, 0, made.stderr)
        key.chmod(0o600)
        return key, certificate

    def test_who_comes_shows_a_certificate(self):
        authority, server = self.certificate("authority"), self.certificate("server")
        node, stranger = self.certificate("node", *authority), self.certificate("stranger")
        with serving(PROGRAM, self.out, "--tls-cert", server[1], "--tls-key", server[0], "--tls-client-ca", authority[1]) as (_, address):
            trusting = ssl.create_default_context(cafile=server[1])

            def page():
                with trusting.wrap_socket(socket.create_connection(address, timeout=LIMIT_S), server_hostname="localhost") as connection:
                    connection.sendall(b"GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n")
                    return read_answer(connection)

            with self.assertRaises((OSError, ConnectionError, TypeError, ValueError, IndexError)):
                page()
            trusting.load_cert_chain(node[1], node[0])
            self.assertEqual(page()[0], 200)
            record = [PROGRAM, "record", "--source", "proc", "--duration", "1s", "--out", self.folder / "own.run", "--tag", "job=own",
                      "--push", f"https://localhost:{address[1]}", "--push-certificate", server[1]]
            for own in ([], ["--push-own-cert", stranger[1], "--push-own-key", stranger[0]]):
                said = subprocess.run([*record, *own], capture_output=True, text=True, timeout=LIMIT_S).stderr
                self.assertIn("push: ", said)
            self.assertFalse((self.out / "own.run").exists())
            done = subprocess.run([*record, "--push-own-cert", node[1], "--push-own-key", node[0]], capture_output=True, text=True,
                                  timeout=LIMIT_S)
            self.assertNotIn("push: ", done.stderr)
            wrong = subprocess.run([*record, "--push-own-cert", node[1], "--push-own-key", stranger[0]], capture_output=True, text=True)
            self.assertEqual(wrong.returncode, 2)
            self.assertIn("is not its key", wrong.stderr)
            node[0].chmod(0o644)
            wrong = subprocess.run([*record, "--push-own-cert", node[1], "--push-own-key", node[0]], capture_output=True, text=True)
            self.assertIn("others may read the key", wrong.stderr)
        self.analyze("own")

    def test_authorities_between_a_root_and_a_node(self):
        root, server = self.certificate("root"), self.certificate("server")
        between = self.certificate("between", *root)
        key, alone = self.certificate("node", *between)
        chain = self.folder / "chain.pem"
        chain.write_text(alone.read_text() + between[1].read_text())
        for trusted, shown, taken in ((root, alone, False), (root, chain, True), (between, alone, True)):
            with serving(PROGRAM, self.out, "--tls-cert", server[1], "--tls-key", server[0], "--tls-client-ca", trusted[1]) as (_, address):
                said = subprocess.run([PROGRAM, "record", "--source", "proc", "--duration", "1s", "--out", self.folder / "own.run", "--tag",
                                       "job=own", "--push", f"https://localhost:{address[1]}", "--push-certificate", server[1],
                                       "--push-own-cert", shown, "--push-own-key", key], capture_output=True, text=True, timeout=LIMIT_S)
            self.assertEqual("push: " not in said.stderr, taken, said.stderr)

    def test_recorders_that_are_asked(self):
        """Scraped: node1's recorder, which goes and comes back, and one that is not there."""
        port, nobody, targets = free_port(), free_port(), self.folder / "targets"
        targets.write_text(f"127.0.0.1:{port} job  # the node\n127.0.0.1:{nobody} job\n")
        # It ends when it has been seen, however slow the machine is.
        job = 'i=0; while [ ! -e seen ]; do i=$((i + 1)); ' \
              'echo " iteration $i/ 6 | elapsed time per iteration (ms): 500.0 |"; sleep 0.5; done > train.log'
        words = [PROGRAM, "record", "--source", "proc", "--out", "own.run", "--listen", f"127.0.0.1:{port}", "--host", "node1",
                 "--step-log", "train.log", "--quiet", "--", "sh", "-c", job]
        with serving(PROGRAM, self.out, "--scrape", targets) as (server, address):
            for _ in range(2):
                (self.folder / "seen").unlink(missing_ok=True)
                recorder = subprocess.Popen(words, cwd=self.folder)
                until("it is live", lambda: (state(address).get("job") or {"nodes": {"presence": []}})["nodes"]["presence"] == [0])
                until("a step is shown", lambda: state(address)["job"]["step"])
                self.assertEqual(state(address)["job"]["nodes"]["name"], ["node1"])
                (self.folder / "seen").touch()
                self.assertEqual(recorder.wait(LIMIT_S), 0)
                until("it is silent", lambda: "silent" in findings(state(address)))
            self.assertEqual(state(address)["job"]["nodes"]["lost"], [0])
            server.terminate()
            said = server.stderr.read()
        self.assertEqual(said.count(f"scrape: http://127.0.0.1:{nobody}/metrics: no answer"), 1, said)
        self.assertIn(f"scrape: http://127.0.0.1:{port}/metrics: no answer", said)
        self.assertIn(f"scrape: http://127.0.0.1:{port}/metrics: it answers again", said)
        steps = sqlite3.connect(self.out / "job.run").execute("SELECT step, seconds FROM training_steps").fetchall()
        self.assertEqual({seconds for _, seconds in steps}, {0.5})
        self.analyze()

    def test_what_is_not_ours_stays(self):
        self.out.mkdir()
        (self.out / "job.run").write_text("mine")
        recorder = Recorder("node1", gpus=1)
        with serving(PROGRAM, self.out) as (_, address):
            self.assertEqual(push(address, recorder.head + recorder.batch())[0], 409)
        self.assertEqual((self.out / "job.run").read_text(), "mine")

    @unittest.skipUnless(shutil.which("chromium"), "needs Chromium")
    def test_page(self):
        with serving(PROGRAM, self.out) as (_, address):
            recorders = [Recorder(host) for host in ("node10", "node2")]
            ended = threading.Event()

            def keep_pushing():  # a browser may take longer to start than a node may be silent
                while not ended.is_set():
                    for recorder in recorders:
                        recorder.reasons = 0x40
                        push(address, recorder.head + recorder.batch())
                    ended.wait(1)

            pushing = threading.Thread(target=keep_pushing)
            pushing.start()
            try:
                until("both nodes are known", lambda: len((state(address).get("job") or {"nodes": {"name": []}})["nodes"]["name"]) == 2)
                until("findings of both", lambda: any(f["text"].startswith("16 GPUs") for f in state(address)["job"]["findings"]))
                shown = subprocess.run(["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={self.folder}/c",
                                        "--virtual-time-budget=2500", "--dump-dom", f"http://{address[0]}:{address[1]}/"],
                                       capture_output=True, text=True, timeout=3 * LIMIT_S).stdout
            finally:
                ended.set()
                pushing.join()
        self.assertIn("16 GPUs are held back by hw_thermal_slowdown", shown)
        self.assertIn('<section id="problem" role="alert" hidden="">', shown)
        self.assertLess(shown.index('<button data-node="node2">'), shown.index('<button data-node="node10">'))
        self.assertIn("job (live)", shown)

    @unittest.skipUnless(shutil.which("node"), "needs Node.js")
    def test_the_page_is_tested_with_what_the_server_says(self):
        """web/test/live.test.mjs drives the page with documents of its own: they have the members of the server's."""
        made = subprocess.run(["node", "--input-type=module", "-e",
                               f"import {{ liveState }} from '{ROOT}/web/test/live_state.mjs'; console.log(JSON.stringify(liveState()));"],
                              capture_output=True, text=True, check=True).stdout
        with serving(PROGRAM, self.out) as (_, address):
            recorder = Recorder("node1")
            push(address, recorder.head + recorder.batch())
            until("findings", lambda: findings(state(address)))
            self.assertEqual(members(json.loads(made)), members(state(address)))

    def test_a_thousand_nodes(self):
        measured = measure(PROGRAM, nodes=1000, gpus=8, seconds=3)
        self.assertLess(measured["cpu_percent"], 100)
        self.assertLess(measured["memory_mib"], 400)
        self.assertLess(measured["state_json_kib"], 400)


def main():
    """Most of the time is waiting: four tests at once, each with a server of its own."""
    def run(case):
        return unittest.TextTestRunner().run(case).wasSuccessful()

    chosen = [test for test in unittest.defaultTestLoader.loadTestsFromTestCase(Serve)
              if not sys.argv[2:] or test._testMethodName in sys.argv[2:]]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        return 0 if all(list(pool.map(run, chosen))) else 1


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv[1])
    sys.exit(main())
