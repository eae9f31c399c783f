#!/usr/bin/env python3
"""Simulated recorders that push to `ergometer serve`, many in one process, and what they cost the server.

    tests/record/pushers.py ERGOMETER [--nodes 1000] [--gpus 8] [--seconds 60]

Every node sends a batch a second of its GPUs, its port and itself, over a connection of its own, and checks every
acknowledgement. Prints the server's processor time, memory, bytes on disk and the size of /state.json.
"""
import argparse
import contextlib
import json
import pathlib
import re
import resource
import selectors
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

GPU_METRICS = ["power", "gpu_temperature", "sm_clock", "gpu_utilization", "event_reasons", "energy", "memory_used",
               "memory_temperature"]
HOST_METRICS = ["net_sent", "net_received", "cpu_utilization", "memory_used"]
METRICS = GPU_METRICS + [m for m in HOST_METRICS if m not in GPU_METRICS]
LIMIT_S = 20


class Recorder:
    """What one node would push: lines of docs/push-format.md."""

    def __init__(self, host, job="job", gpus=8, name=None):
        self.name, self.host, self.job, self.gpus = name or f"recorder-of-{host}", host, job, gpus
        self.sequence, self.clock_jump_s, self.started_s = 0, 0, time.time()
        self.reasons, self.clock_mhz = 4, 1980
        devices = [{"kind": "gpu", "index": i, "name": "NVIDIA H100", "uuid": f"GPU-{host}-{i}"} for i in range(gpus)]
        devices += [{"kind": "port", "index": 0, "name": "mlx5_0"}, {"kind": "node", "name": "kernel"}]
        self.head = json.dumps({"ergometer_push": 1, "recorder": self.name, "host": host, "job": job, "devices": devices}) + "\n"

    def rows(self, second):
        seed = hash(self.host) % 997
        for gpu in range(self.gpus):
            power = 500 + (seed + 31 * gpu + 7 * second) % 200
            temperature = 45 + (seed + 3 * gpu + second) % 35
            yield (f"[{gpu},{-1000 * gpu},0,{power}.25,1,{temperature},2,{self.clock_mhz},3,98,4,{self.reasons},"
                   f"5,{power * second}.5,6,{70 << 30},7,{temperature + 9}]")
        yield f"[{self.gpus},0,8,{second * 12_500_000_000},9,{second * 12_000_000_000}]"
        yield f"[{self.gpus + 1},0,10,12.5,6,{64 << 30}]"

    def batch(self, end=False):
        self.sequence += 1
        times = {"sequence": self.sequence, "time_ns": time.time_ns() + int(self.clock_jump_s * 1e9),
                 "monotonic_ns": time.monotonic_ns(), "metrics": METRICS, **({"end": True} if end else {})}
        return f'{json.dumps(times)[:-1]}, "rows": [{",".join(self.rows(self.sequence))}]}}\n'


def request(body, token=None, length=None):
    said = f"Authorization: Bearer {token}\r\n" if token else ""
    return (f"POST /push HTTP/1.1\r\nHost: serve\r\nContent-Type: application/x-ndjson\r\n{said}"
            f"Content-Length: {len(body) if length is None else length}\r\n\r\n{body}").encode()


def read_answer(connection):
    """(status, body) of one answer."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece:
            raise ConnectionError("closed without an answer")
        data += piece
    head, body = data.split(b"\r\n\r\n", 1)
    length = int(re.search(rb"Content-Length: (\d+)", head)[1])
    while len(body) < length:
        body += connection.recv(65536)
    return int(head.split()[1]), body.decode()


def push(address, text, token=None):
    with socket.create_connection(address, timeout=LIMIT_S) as connection:
        connection.sendall(request(text, token))
        return read_answer(connection)


def state(address, job=""):
    with urllib.request.urlopen(f"http://{address[0]}:{address[1]}/state.json?job={job}", timeout=LIMIT_S) as answer:
        return json.loads(answer.read())


@contextlib.contextmanager
def serving(ergometer, folder, *words, port=0, file_limit=None):
    """Yields (process, address) of a server; kills it where it still runs."""
    process = subprocess.Popen([ergometer, "serve", "--out", str(folder), "--listen", f"127.0.0.1:{port}", *words],
                               stderr=subprocess.PIPE, text=True)
    try:
        line = process.stderr.readline()
        found = re.search(r"serving https?://([\d.]+):(\d+)/", line)
        assert found, line + process.stderr.read()
        if file_limit is not None:
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (file_limit, resource.RLIM_INFINITY))
        yield process, (found[1], int(found[2]))
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


class Load:
    """All recorders over one selector: a batch a second each, spread over the second."""

    def __init__(self, address, recorders):
        self.recorders, self.waiting, self.latest_s = recorders, {}, []
        self.selector = selectors.DefaultSelector()
        self.connections = []
        for recorder in recorders:
            connection = socket.create_connection(address, timeout=LIMIT_S)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.connections.append(connection)
            self.selector.register(connection, selectors.EVENT_READ, recorder)

    def send(self, number):
        recorder = self.recorders[number]
        if recorder.name in self.waiting:
            return  # a real one would send both at once, later
        self.connections[number].sendall(request(recorder.head + recorder.batch()))
        self.waiting[recorder.name] = time.monotonic()

    def take(self, patience_s):
        for key, _ in self.selector.select(patience_s):
            status, body = read_answer(key.fileobj)
            recorder = key.data
            assert status == 200 and json.loads(body)["acknowledged"] == recorder.sequence, (status, body)
            self.latest_s.append(time.monotonic() - self.waiting.pop(recorder.name))

    def run(self, seconds):
        start = time.monotonic()
        for second in range(seconds):
            for number in range(len(self.recorders)):
                due = start + second + number / len(self.recorders)
                while (left := due - time.monotonic()) > 0:
                    self.take(left)
                self.send(number)
                self.take(0)
        deadline = time.monotonic() + LIMIT_S
        while self.waiting and time.monotonic() < deadline:
            self.take(0.1)
        assert not self.waiting, f"{len(self.waiting)} batches were not acknowledged"

    def close(self):
        for connection in self.connections:
            connection.close()


def cpu_s(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100


def peak_bytes(pid):
    return int(re.search(r"VmHWM:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1]) * 1024


def measure(ergometer, nodes, gpus, seconds, *words):
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    with tempfile.TemporaryDirectory(prefix="ergometer-load-") as name:
        folder = pathlib.Path(name)
        with serving(ergometer, folder, *words) as (process, address):
            load = Load(address, [Recorder(f"node{i:04}", gpus=gpus) for i in range(nodes)])
            before, start = cpu_s(process.pid), time.monotonic()
            load.run(seconds)
            used, took = cpu_s(process.pid) - before, time.monotonic() - start
            before = cpu_s(process.pid)
            for _ in range(5):
                document = state(address)
                time.sleep(0.6)
            per_look = (cpu_s(process.pid) - before) / 5
            url = f"http://{address[0]}:{address[1]}/state.json"
            size = len(urllib.request.urlopen(url, timeout=LIMIT_S).read())
            memory = peak_bytes(process.pid)
            load.close()
        disk = sum(f.stat().st_size for f in folder.iterdir())
    late = sorted(load.latest_s)
    return {"nodes": nodes, "gpus": nodes * gpus, "batches": document["counts"]["batches"],
            "cpu_percent": 100 * used / took, "memory_mib": memory / 2**20, "state_json_kib": size / 1024,
            "ms_per_look": 1000 * per_look, "mib_per_node_hour": disk / 2**20 / nodes / seconds * 3600,
            "acknowledged_after_ms": {"median": 1000 * late[len(late) // 2], "longest": 1000 * late[-1]}}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ergometer")
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--gpus", type=int, default=8)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--rules", help="a file of rules, or standard")
    options = parser.parse_args()
    words = ["--rules", options.rules] if options.rules else []
    print(json.dumps(measure(options.ergometer, options.nodes, options.gpus, options.seconds, *words), indent=2))


if __name__ == "__main__":
    main()
