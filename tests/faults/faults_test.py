#!/usr/bin/env python3
"""Lets every call of a recording, a sweep, a merge and a report fail, one after the other, and cuts the power.

    tests/faults/faults_test.py ERGOMETER LIBRARY [--every-call] [--flow NAME] [--kind KIND]

LIBRARY is that of fail_call.cpp, which says what the kinds are. A call fails once, or with all that follow it. Whatever
fails, the program must end with status 0 and the whole output, or with status 3, one message, and the output as it was or
whole; a recording may hold less, but can be read. What was stopped goes on: the same command, run again, gives the same
bytes. Power cuts are made of the order in which a faultless run changes its files: after every change, with what was not
synced lost or not, and in the middle of every write.

Without --every-call a fixed share of the calls is made to fail.
"""
import argparse
import collections
import concurrent.futures
import dataclasses
import itertools
import os
import pathlib
import re
import resource
import shutil
import socket
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time

KINDS = ["memory", "write", "read", "short"]
ON_THE_SPOT = "ergometer: out of memory; unfinished files (*.partial-*) are left"
UNLINK = (87, 263)  # numbers of system calls: unlink, unlinkat
PATIENCE_S = 120
SHOWN = 30  # problems of each flow
READINGS = 60  # of the recording that is played back
CUT = ("merge", "report", "sweep", "sweep-on", "record")  # flows in which the power is cut
STUDY = """title: Two jobs
base: {model: gpt3-1.3b, cluster: dgx-a100, gpus: 8, gbs: 8, seq: 512}
axes:
  tp: [1, 2]
"""
# Of how many calls one fails, where not every one does.
SHARES = {("sweep", "memory"): 397, ("sweep-on", "memory"): 397, ("sweep-threads", "memory"): 9973,
          ("record", "memory"): 197, ("record-threads", "memory"): 23, ("record-threads", "read"): 1,
          ("record-threads", "short"): 1, ("record-command", "memory"): 311}
SHARES_OF_KIND = {"memory": 97, "write": 1, "read": 7, "short": 5, "thread": 1}
# The same with --every-call: what these flows ask memory for, others of the four do too, where each call fails.
SHARES_OF_EVERY_CALL = {("sweep-on", "memory"): 11, ("sweep-threads", "memory"): 97, ("record-command", "memory"): 11,
                        ("refused", "memory"): 11}
STAYS_SHARE = 10  # of how many calls in which memory fails once, it does for good in one, too


@dataclasses.dataclass
class Flow:
    name: str
    words: list  # of the command, in a folder beside `inputs`
    out: str  # the file that it writes
    before: dict  # by name, what is in its folder already
    statuses: tuple = (0, 3)
    kinds: tuple = tuple(KINDS)
    recording: bool = False
    command_status: int = 0  # of the command that is recorded; it leaves a file `ran`
    forks: bool = True  # calls fail in forked children, while there is one thread
    threads: bool = False  # calls fail in runs of their own, while there are several threads
    after: bytes = b""  # what `out` holds after a run without faults
    said: bytes = b""
    notes: int = 0  # lines on standard error of that run


@dataclasses.dataclass
class Fault:
    kind: str
    call: int
    number: int  # of the system call
    stays: bool

    def __str__(self):
        return f"{self.kind} call {self.call} ({self.number}), {'that and all later ones' if self.stays else 'once'}"


@dataclasses.dataclass
class Outcome:
    status: int
    files: dict
    said: bytes
    error: bytes


class Folder:
    """The folder of one program; what happens in it is undone, also for a process that has its files open."""

    def __init__(self, parent, flow):
        self.path = pathlib.Path(tempfile.mkdtemp(dir=parent))
        self.work, self.kept, self.streams = self.path / "work", self.path / "kept", self.path / "streams"
        for folder in (self.work, self.kept, self.streams):
            folder.mkdir()
        os.symlink(parent / "inputs", self.path / "inputs")
        for name, content in flow.before.items():
            (self.work / name).write_bytes(content)
        self.saved, self.saved_streams = {}, {}
        self.said, self.error = self.streams / "out", self.streams / "err"
        for stream in (self.said, self.error):
            stream.touch()

    def files(self):
        return {entry.name: pathlib.Path(entry.path).read_bytes() for entry in os.scandir(self.work)}

    def outcome(self, status):
        return Outcome(status, self.files(), self.said.read_bytes(), self.error.read_bytes())

    def save(self):
        for left in os.scandir(self.kept):
            os.unlink(left.path)
        self.saved = {}
        for name, content in self.files().items():
            os.link(self.work / name, self.kept / name)
            self.saved[name] = content
        self.saved_streams = {stream: stream.read_bytes() for stream in (self.said, self.error)}

    def restore(self):
        """The same files, not copies of them: the parent goes on to use those that it has open."""
        for entry in os.scandir(self.work):
            os.unlink(entry.path)
        for name, content in self.saved.items():
            os.link(self.kept / name, self.work / name)
            put(self.work / name, content)
        for stream, content in self.saved_streams.items():
            put(stream, content)

    def remove(self):
        shutil.rmtree(self.path)


def put(path, content):
    if path.read_bytes() != content:
        with open(path, "r+b") as file:
            file.write(content)
            file.truncate()


class Tester:
    def __init__(self, options, root):
        self.program, self.library = os.path.abspath(options.ergometer), os.path.abspath(options.library)
        self.every_call, self.root = options.every_call, root
        self.going_on, self.readable = {}, {}  # what was found of states of files
        self.injected, self.felt = collections.Counter(), collections.Counter()
        self.problems = collections.defaultdict(list)

    # How the program is started.

    def start(self, flow, folder, pass_fds=(), **fault):
        environment = {**os.environ, "LC_ALL": "C.UTF-8"}
        if fault:
            environment.update({name: str(value) for name, value in fault.items()}, LD_PRELOAD=self.library)
        with open(folder.said, "wb") as said, open(folder.error, "wb") as error:
            return subprocess.Popen([self.program, *flow.words], cwd=folder.work, stdin=subprocess.DEVNULL, stdout=said,
                                    stderr=error, env=environment, pass_fds=pass_fds)

    def can_trap(self):
        environment = {**os.environ, "LD_PRELOAD": self.library, "FAULT_KIND": "write"}
        return subprocess.run([self.program, "--version"], env=environment, stdout=subprocess.DEVNULL,
                              check=False).returncode == 0

    def run(self, flow, folder, pass_fds=(), **fault):
        """The outcome of one run; its status is None when it does not end."""
        process = self.start(flow, folder, pass_fds, **fault)
        try:
            status = process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            status = None
        return folder.outcome(status)

    def learn(self, flow):
        """What a run without faults does."""
        folder = Folder(self.root, flow)
        outcome = self.run(flow, folder)
        if outcome.status not in flow.statuses:
            raise AssertionError(f"{flow.name}: without faults: {outcome}")
        flow.after, flow.said = outcome.files[flow.out], outcome.said
        flow.notes = outcome.error.count(b"\n") if outcome.status == 0 else 0
        folder.remove()

    # What must hold of an outcome.

    def problem(self, flow, fault, outcome):
        lines = outcome.error.decode(errors="replace").splitlines()
        if outcome.status is None:
            return "it does not end"
        if outcome.status not in flow.statuses:
            return f"status {outcome.status}: {lines[-3:]}"
        if any(not line.startswith("ergometer: ") for line in lines):
            return f"says {lines}"
        if outcome.status != 0 and not flow.recording and not 1 <= len(lines) <= flow.notes + 1:
            return f"status {outcome.status} with {len(lines)} messages: {lines[-3:]}"
        if flow.command_status and ("ran" in outcome.files) != (outcome.status == flow.command_status):
            return f"status {outcome.status}, and the command {'ran' if 'ran' in outcome.files else 'did not run'}"
        allowed = {flow.out, flow.out + ".unfinished"} if outcome.status != 0 else {flow.out}
        if flow.recording:
            allowed |= {flow.out + "-journal", "ran"}
        left = set(outcome.files) - allowed
        # No exception may leave some functions of nlohmann::json and tl::expected that ask for memory: the program ends
        # on the spot, and says that what it was writing is left.
        on_the_spot = fault.kind == "memory" and lines[-1:] == [ON_THE_SPOT]
        left = {name for name in left if not (on_the_spot and name.startswith(flow.out + ".partial-"))}
        if left and fault.number not in UNLINK:
            return f"status {outcome.status}, left behind: {sorted(left)}"
        found = outcome.files.get(flow.out)
        if flow.recording:
            return self.problem_of_recording(flow, outcome)
        if outcome.status == 0 and (found != flow.after or outcome.said != flow.said):
            return "status 0, but " + ("something else is said" if found == flow.after else "the output is another one")
        if found not in (flow.before.get(flow.out), flow.after):
            return f"status {outcome.status}: the output is neither that of before nor that of after"
        return self.problem_of_going_on(flow, outcome.files)

    def problem_of_going_on(self, flow, files):
        """The same command again gives what it would have given."""
        if 0 not in flow.statuses:
            return None
        state = tuple((name, files[name]) for name in sorted(files) if name in (flow.out, flow.out + ".unfinished"))
        key = (flow.name, hash(state))
        if key not in self.going_on:
            folder = Folder(self.root, flow)
            for name in flow.before:
                (folder.work / name).unlink()
            for name, content in state:
                (folder.work / name).write_bytes(content)
            again = self.run(flow, folder)
            folder.remove()
            self.going_on[key] = (None if again.status == 0 and again.files == {flow.out: flow.after} else
                                  f"does not go on: {again.status} {again.error} {sorted(again.files)}")
        return self.going_on[key]

    def problem_of_recording(self, flow, outcome):
        if flow.out not in outcome.files:
            return "no file" if outcome.status == 0 or flow.before else None
        if outcome.files[flow.out] == flow.before.get(flow.out):
            return None if outcome.status != 0 else "nothing is recorded"
        problem, readings, facts = self.read_recording(flow, outcome.files)
        if problem is None and outcome.status == 0:
            said = re.search(rb"(\d+) readings?, ", outcome.said)
            if said is None or readings != int(said[1]) or "ended_ns" not in facts:
                problem = f"status 0 with {readings} readings and the facts {sorted(facts)}; said: {outcome.said}"
        return problem

    def read_recording(self, flow, files):
        """(problem, readings, facts); SQLite and `ergometer analyze` read it."""
        with tempfile.TemporaryDirectory(dir=self.root) as name:
            folder = pathlib.Path(name)
            for end in ("", "-journal"):
                if flow.out + end in files:
                    for copy in ("sqlite", "ours"):
                        (folder / (copy + end)).write_bytes(files[flow.out + end])
            try:
                database = sqlite3.connect(folder / "sqlite")
                check, = database.execute("PRAGMA integrity_check").fetchone()
                metrics = [name for _, name, *_ in database.execute("PRAGMA table_info(readings)")][2:]
                columns = ", ".join(f"count({metric})" for metric in metrics)
                readings = sum(database.execute(f"SELECT {columns} FROM readings").fetchone())
                facts = {key for key, in database.execute("SELECT key FROM run")}
                tables = [table for table, in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
                counts = tuple(database.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0] for table in tables)
                database.close()
            except sqlite3.Error as error:
                return f"cannot be read: {error}", 0, set()
            if check != "ok":
                return f"damaged: {check}", readings, facts
            key = (counts, frozenset(facts), flow.out + "-journal" in files)
            if key not in self.readable:
                done = subprocess.run([self.program, "analyze", "ours"], cwd=folder, capture_output=True, check=False)
                self.readable[key] = None if done.returncode == 0 else f"analyze: {done.returncode} {done.stderr}"
            return self.readable[key], readings, facts

    # Faults.

    def record(self, flow, fault, outcome):
        self.injected[flow.name, fault.kind] += 1
        self.felt[flow.name, fault.kind] += outcome.status != 0
        problem = self.problem(flow, fault, outcome)
        if problem is not None:
            self.problems[flow.name].append(f"{flow.name}, {fault}: {problem}")

    def share(self, flow, kind):
        if self.every_call:
            return SHARES_OF_EVERY_CALL.get((flow.name, kind), 1)
        return SHARES.get((flow.name, kind), SHARES_OF_KIND[kind])

    def stays(self, kind, position, needs_room=True):
        """Whether the call fails once or with all later ones."""
        rarely = self.every_call and kind == "memory" and position % STAYS_SHARE != 0
        return (False,) if rarely or (kind == "write" and not needs_room) else (False, True)

    def fail_in_forks(self, flow, kind):
        """At every call the program is asked to fork: a child goes on with the call failing."""
        folder = Folder(self.root, flow)
        ours, theirs = socket.socketpair()
        ours.settimeout(PATIENCE_S)
        process = self.start(flow, folder, (theirs.fileno(),), FAULT_KIND=kind, FAULT_ASK=1, FAULT_SOCKET=theirs.fileno(),
                             FAULT_EVERY=self.share(flow, kind))
        theirs.close()
        calls = 0
        while message := ours.recv(16, socket.MSG_WAITALL):
            calls, number, needs_room, at_end = struct.unpack("4I", message)
            if at_end:
                break
            for stays in self.stays(kind, calls // self.share(flow, kind), needs_room):
                folder.save()
                ours.send(b"s" if stays else b"o")
                child, = struct.unpack("i", ours.recv(4, socket.MSG_WAITALL))
                status = self.end_of(ours, child)
                self.record(flow, Fault(kind, calls, number, stays), folder.outcome(status))
                folder.restore()
            ours.send(b"g")
        if process.wait(PATIENCE_S) not in flow.statuses:
            self.problems[flow.name].append(f"{flow.name}, {kind}: without a fault it ends with {process.returncode}")
        if kind != "short" and self.felt[flow.name, kind] == 0:
            self.problems[flow.name].append(f"{flow.name}, {kind}: no fault had any effect: are they made?")
        ours.close()
        folder.remove()

    @staticmethod
    def end_of(ours, child):
        try:
            return os.waitstatus_to_exitcode(struct.unpack("i", ours.recv(4, socket.MSG_WAITALL))[0])
        except TimeoutError:
            os.kill(child, 9)
            ours.recv(4, socket.MSG_WAITALL)
            return None

    def count_calls(self, flow, kind):
        folder = Folder(self.root, flow)
        ours, theirs = socket.socketpair()
        self.run(flow, folder, (theirs.fileno(),), FAULT_KIND=kind, FAULT_SOCKET=theirs.fileno(),
                 FAULT_THREADED=int(kind != "thread"))
        theirs.close()
        calls, _, _, _ = struct.unpack("4I", ours.recv(16, socket.MSG_WAITALL))
        ours.close()
        folder.remove()
        return calls

    def fail_again(self, flow, kind):
        """Where threads are, a fork would have one of them: the program is started for every call."""
        calls = range(1, self.count_calls(flow, kind) + 1, self.share(flow, kind))

        def fail_one(fault):
            folder = Folder(self.root, flow)
            outcome = self.run(flow, folder, FAULT_KIND=kind, FAULT_AT=fault.call, FAULT_STAYS=int(fault.stays),
                               FAULT_THREADED=int(kind != "thread"))
            folder.remove()
            return fault, outcome

        faults = [Fault(kind, call, 0, stays) for position, call in enumerate(calls)
                  for stays in self.stays(kind, position)]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for fault, outcome in pool.map(fail_one, faults):
                self.record(flow, fault, outcome)

    # Power cuts.

    def changes(self, flow):
        """What a run does to files, in order: `Disk` applies it."""
        folder = Folder(self.root, flow)
        numbers = {os.stat(folder.work / name).st_ino: name for name in flow.before}
        with tempfile.TemporaryFile(dir=self.root) as log:
            outcome = self.run(flow, folder, (log.fileno(),), FAULT_LOG=log.fileno())
            log.seek(0)
            changes = list(read_log(log))
        if outcome.status != 0:
            raise AssertionError(f"{flow.name}: with its changes logged: {outcome}")
        folder_number = os.stat(folder.work).st_ino
        folder.remove()
        return changes, numbers, folder_number

    def cut_power(self, flow):
        changes, numbers, folder_number = self.changes(flow)
        seen = set()
        least = 0
        disk = Disk(flow.before, numbers, folder_number)
        for number, change in enumerate(changes):
            if change[0] == "write":
                torn = disk.copy()
                torn.apply(("write", change[1], change[2], change[3][:len(change[3]) // 2]))
                self.look_after_cut(flow, f"in change {number}", torn, seen, least)
            disk.apply(change)
            found = self.look_after_cut(flow, f"after change {number}, {change[:3]}", disk, seen, least)
            least = max(least, found)

    def look_after_cut(self, flow, moment, disk, seen, least):
        """Readings that a recording holds for sure."""
        sure = None
        for how, files in disk.states():
            files = {name: files[name] for name in files if not name.startswith(flow.out + ".partial-")}
            state = tuple(sorted(files.items()))
            key = hash(state)
            self.injected[flow.name, "power"] += 1
            if flow.recording:
                problem, readings = self.look_at_recording(flow, files, least)
                sure = readings if sure is None else min(sure, readings)
            else:
                problem = self.look_at_output(flow, files) if key not in seen else None
            seen.add(key)
            if problem is not None:
                self.problems[flow.name].append(f"{flow.name}, power cut {moment}, {how}: {problem}")
        return sure or 0

    def look_at_output(self, flow, files):
        if files.get(flow.out) not in (flow.before.get(flow.out), flow.after):
            return "the output is neither that of before nor that of after"
        return self.problem_of_going_on(flow, files)

    def look_at_recording(self, flow, files, least):
        if files.get(flow.out) == flow.before.get(flow.out):
            return (None, 0) if least == 0 else ("the recording is gone", 0)
        problem, readings, _ = self.read_recording(flow, files)
        if problem is None and readings < least:
            problem = f"{readings} readings, of {least} that were there"
        return problem, readings


class Disk:
    """Files as they stand in memory, and what of them a power cut leaves."""

    def __init__(self, before, numbers, folder_number):
        self.names = {before_name: number for number, before_name in numbers.items()}
        self.now = {number: before[name] for number, name in numbers.items()}
        self.synced = dict(self.now)
        self.synced_names = dict(self.names)
        self.folder = folder_number

    def copy(self):
        copy = Disk({}, {}, self.folder)
        copy.names, copy.now = dict(self.names), dict(self.now)
        copy.synced, copy.synced_names = dict(self.synced), dict(self.synced_names)
        return copy

    def apply(self, change):
        what = change[0]
        if what in ("make", "empty"):
            _, number, name = change
            if what == "empty" or self.names.get(name) != number:
                self.now[number] = b""
                self.synced.setdefault(number, b"")
            self.names[name] = number
        elif what == "write":
            _, number, offset, data = change
            old = self.now[number]
            self.now[number] = old[:offset].ljust(offset, b"\0") + data + old[offset + len(data):]
        elif what == "cut":
            _, number, size = change
            self.now[number] = self.now[number][:size].ljust(size, b"\0")
        elif what == "sync":
            if change[1] == self.folder:
                self.synced_names = dict(self.names)
            else:
                self.synced[change[1]] = self.now[change[1]]
                # A file that is synced is found under the name that it was made with.
                for name, number in self.names.items():
                    if number == change[1]:
                        self.synced_names.setdefault(name, number)
        elif what == "rename":
            self.names[change[2]] = self.names.pop(change[1])
        elif what == "remove":
            self.names.pop(change[1], None)
        else:
            raise AssertionError(f"what does {change} do?")

    def states(self):
        """Changes of names and of contents reach the disk or not, each file by itself."""
        unsynced = [number for number in self.now if self.now[number] != self.synced.get(number)]
        for names_kept, names in ((True, self.names), (False, self.synced_names)):
            open_ones = [number for number in unsynced if number in names.values()]
            for lost in itertools.product(("kept", "lost", "zeros"), repeat=len(open_ones)):
                content = dict(self.now)
                for number, how in zip(open_ones, lost):
                    if how == "lost":
                        content[number] = self.synced[number]
                    elif how == "zeros":  # its length reached the disk, its end did not
                        content[number] = self.synced[number][:len(self.now[number])].ljust(len(self.now[number]), b"\0")
                yield (f"names {'kept' if names_kept else 'lost'}, contents {lost}",
                       {name: content[number] for name, number in names.items()})


def read_log(log):
    while line := log.readline():
        words = line.decode().rstrip("\n").split(" ", 2)
        if words[0] == "write":
            offset, size = words[2].split()
            yield ("write", int(words[1]), int(offset), log.read(int(size)))
        elif words[0] in ("make", "empty"):
            yield (words[0], int(words[1]), os.path.basename(words[2]))
        elif words[0] == "sync":
            yield ("sync", int(words[1]))
        elif words[0] == "cut":
            yield ("cut", int(words[1]), int(words[2]))
        elif words[0] == "rename":
            before, after = line.decode().rstrip("\n").split(" ", 1)[1].split("\t")
            yield ("rename", os.path.basename(before), os.path.basename(after))
        elif words[0] == "remove":
            yield ("remove", os.path.basename(words[1]))
        else:
            raise AssertionError(f"what does {line} do?")


def make_inputs(program, folder):
    """Small ones: a call of each kind is what is wanted, not many of them."""
    def ergometer(*words):
        subprocess.run([program, *words, "--quiet"], cwd=folder, check=True, stdout=subprocess.DEVNULL)

    for node, count in (("node01", 2), ("node02", 2), ("sensors", READINGS)):
        rows = [f"2026/01/02 03:04:{5 + i * 0.02:06.3f}, 0, {100 + i} W\n" for i in range(count)]
        (folder / f"{node}.csv").write_text("timestamp, index, power.draw [W]\n" + "".join(rows))
        ergometer("import", f"{node}.csv", "--out", f"{node}.run")
    ergometer("simulate", "gpt3-1.3b", "--cluster", "dgx-a100", "--gpus", "8", "--run", "job.run")
    ergometer("report", "node01.run", "--out", "former.html")
    (folder / "study.yaml").write_text(STUDY)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def flows_of(inputs):
    former = {"out.run": inputs["node01.run"]}
    merge = ["merge", "../inputs/node01.run", "../inputs/node02.run", "--out", "out.run"]
    sweep = ["sweep", "../inputs/study.yaml", "--out", "out.run", "--threads"]
    replay = ["record", "--replay", "../inputs/sensors.run", "--replay-speed", "0", "--hz", "500", "--out", "out.run"]
    return [
        Flow("merge", merge, "out.run", former),
        Flow("report", ["report", "../inputs/job.run", "--out", "out.html"], "out.html", {"out.html": inputs["former.html"]}),
        Flow("sweep", [*sweep, "1"], "out.run", {}),
        Flow("sweep-on", [*sweep, "1"], "out.run", {}),
        Flow("sweep-threads", [*sweep, "2"], "out.run", {}, kinds=("memory", "thread"), forks=False, threads=True),
        Flow("record", [*replay, "--duration", "0.05s"], "out.run", former, recording=True),
        # So long that the thread which writes does so.
        Flow("record-threads", [*replay, "--duration", "0.65s"], "out.run", former, kinds=(*KINDS, "thread"),
             recording=True, forks=False, threads=True),
        # Nobody answers there: what matters is that the threads which tell others begin, or are waited for.
        Flow("record-tells", [*replay, "--duration", "0.05s", "--listen", "127.0.0.1:0", "--push", "http://127.0.0.1:1",
                              "--otlp", "http://127.0.0.1:1"], "out.run", former, kinds=("thread",), recording=True,
             forks=False, threads=True),
        Flow("record-command", [*replay, "--quiet", "--", "sh", "-c", "touch ran; exit 5"], "out.run", former,
             statuses=(3, 5), kinds=("memory",), recording=True, command_status=5, threads=True),
        Flow("record-sensors", ["record", "--source", "proc", "--hz", "50", "--duration", "0.1s", "--out", "out.run"],
             "out.run", former, kinds=("read", "short"), recording=True, threads=True),
        Flow("refused", merge, "out.run", {"out.run": b"notes of somebody\n"}, statuses=(2, 3),
             kinds=("memory", "read", "short")),
    ]


def begin_sweep(tester, flows):
    """`sweep-on` finds half of its work done, and a line of it cut off."""
    sweep, on = (next(flow for flow in flows if flow.name == name) for name in ("sweep", "sweep-on"))
    changes, _, _ = tester.changes(sweep)
    number = next(change[1] for change in changes if change[0] == "make" and change[2] == "out.run.unfinished")
    head, first, second = (change[3] for change in changes if change[0] == "write" and change[1] == number)
    on.before = {"out.run.unfinished": head + first + second[:len(second) // 2]}


def make_faults(tester, flows, only):
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        jobs = []
        for flow in flows:
            kinds = [kind for kind in flow.kinds if only in (None, kind)]
            jobs += [pool.submit(tester.fail_in_forks, flow, kind) for kind in kinds if flow.forks]
            jobs += [pool.submit(tester.fail_again, flow, kind) for kind in kinds if flow.threads]
            if only in (None, "power") and flow.name in CUT:
                jobs.append(pool.submit(tester.cut_power, flow))
        for job in jobs:
            job.result()


def main(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("ergometer")
    parser.add_argument("library")
    parser.add_argument("--every-call", action="store_true")
    parser.add_argument("--flow")
    parser.add_argument("--kind")
    options = parser.parse_args(arguments)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    began = time.monotonic()
    in_memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="ergometer-faults-", dir=in_memory) as name:
        root = pathlib.Path(name)
        (root / "inputs").mkdir()
        tester = Tester(options, root)
        if not tester.can_trap():
            print("skipped: this kernel lets no filter trap system calls")
            return 77
        flows = flows_of(make_inputs(tester.program, root / "inputs"))
        begin_sweep(tester, flows)
        flows = [flow for flow in flows if options.flow in (None, flow.name)]
        for flow in flows:
            tester.learn(flow)
        make_faults(tester, flows, options.kind)
    kinds = [*KINDS, "thread", "power"]
    print(f"{'faults':16}" + "".join(f"{kind:>9}" for kind in kinds))
    for flow in flows:
        print(f"{flow.name:16}" + "".join(f"{tester.injected[flow.name, kind] or '-':>9}" for kind in kinds))
    problems = 0
    for flow in flows:
        found = tester.problems[flow.name]
        problems += len(found)
        print("".join(problem + "\n" for problem in found[:SHOWN]), end="")
    print(f"{sum(tester.injected.values())} faults, {problems} problems, {time.monotonic() - began:.0f} s")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
