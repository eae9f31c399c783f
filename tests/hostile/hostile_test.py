#!/usr/bin/env python3
"""Hostile input through the whole program: every command of every golden case is run with one of the files that it reads
damaged. Whatever a file holds, a command ends by itself, with a status it documents, and says why it refuses.

    tests/hostile/hostile_test.py PROGRAM [--rounds N] [--every K] [AREA | AREA/CASE ...]

Each round damages other files in other ways; the same round always in the same way. What a finding needs to be seen again is
printed with it: `--keep FOLDER` keeps the damaged files.
"""
import argparse
import concurrent.futures
import gzip
import json
import os
import pathlib
import random
import re
import resource
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests/golden"
LIMIT_S = 240  # a hang, not slowness
MEMORY = 8 << 30
FINE = {0, 1, 2, 3}  # 1: an answer that is no, as of what does not fit; 2: wrong input; 3: what the machine lacks

NUMBERS = ["0", "-1", "1", "2", "3", "1e308", "-1e308", "9223372036854775807", "9223372036854775808", "1e-320", "0.5", "nan",
           "inf", "", "1,024", "0x10", "1_000", "true", "null", "[]", "{}", "~", "\"", "é", "${X}", "$(date)", "%s%n"]


def of_numbers(text, draw):
    """One to three numbers become others: what a parser takes and what lies behind it does not expect."""
    for _ in range(draw.randint(1, 3)):
        found = list(re.finditer(r"(?<![\w.])\d+(\.\d+)?", text))
        if found:
            one = draw.choice(found)
            text = text[:one.start()] + draw.choice(NUMBERS) + text[one.end():]
    return text


def of_words(text, draw):
    """One word becomes another word of the file."""
    found = list(re.finditer(r"[A-Za-z_][\w-]*", text))
    if len(found) < 2:
        return text
    one, other = draw.choice(found), draw.choice(found)
    return text[:one.start()] + other.group() + text[one.end():]


def of_lines(text, draw):
    """A line is lost, there twice, moved, cut, indented or very long."""
    lines = text.split("\n")
    at, to = draw.randrange(len(lines)), draw.randrange(len(lines))
    kind = draw.randrange(6)
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines.insert(to, lines[at])
    elif kind == 2:
        lines.insert(to, lines.pop(at))
    elif kind == 3:
        lines[at] = lines[at][:draw.randint(0, len(lines[at]))]
    elif kind == 4:
        lines[at] = "    " + lines[at]
    else:
        lines[at] += " x" * 50_000
    return "\n".join(lines)


def of_brackets(text, draw):
    """Deeply nested, or no longer closed."""
    if draw.randrange(2):
        at = draw.randint(0, len(text))
        return text[:at] + draw.choice("[{(\"'`") * 20_000 + text[at:]
    found = list(re.finditer(r"[\[\]{}()\"'`\\]", text))
    if not found:
        return text
    one = draw.choice(found)
    return text[:one.start()] + text[one.end():]


def of_bytes(raw, draw):
    """Cut, empty, or some bytes others."""
    kind = draw.randrange(4)
    if kind == 0:
        return raw[:draw.randint(0, len(raw))]
    if kind == 1:
        return b""
    raw = bytearray(raw)
    for _ in range(draw.choice([1, 4, 64])):
        if raw:
            raw[draw.randrange(len(raw))] = draw.randrange(256)
    return bytes(raw)


def of_cells(path, draw):
    """One column of a database's table is something else, in one row or all; False: it is no such database."""
    try:
        with sqlite3.connect(path) as db:
            tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
            table = draw.choice(tables)
            column = draw.choice([row[1] for row in db.execute(f'PRAGMA table_info("{table}")')])
            value = draw.choice([None, -1, 0, 2**62, -2**62, 1e308, -1e308, "", "x", "0", b"\0", "9" * 400])
            where = draw.choice(["", " WHERE rowid = (SELECT max(rowid) FROM \"%s\")" % table])
            if draw.randrange(4) == 0:
                db.execute(f'DELETE FROM "{table}"' + where)
            else:
                db.execute(f'UPDATE "{table}" SET "{column}" = ?' + where, (value,))
        db.close()
        return True
    except (sqlite3.Error, IndexError):
        return False


def damage(path, draw):
    raw = path.read_bytes()
    if raw.startswith(b"SQLite format 3") and draw.randrange(3) and of_cells(path, draw):
        return
    packed = raw.startswith(b"\x1f\x8b") and draw.randrange(3) > 0
    if packed:
        try:
            raw = gzip.decompress(raw)
        except (OSError, EOFError):
            packed = False
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        text = None
    if text is None or draw.randrange(6) == 0 or len(raw) > 4 << 20:
        raw = of_bytes(raw, draw)
    else:
        raw = draw.choice([of_numbers, of_numbers, of_numbers, of_words, of_lines, of_brackets])(text, draw).encode()
    path.write_bytes(gzip.compress(raw) if packed else raw)


def inputs(arguments):
    """Files that these arguments name, with where they stand: (index, what is before the path, path)."""
    found = []
    for index, argument in enumerate(arguments):
        before, path = ("", argument) if not re.match(r"--[\w-]+=", argument) else argument.split("=", 1)
        path = pathlib.Path(path)
        try:
            if path.is_file() and os.access(path, os.R_OK) and 0 < path.stat().st_size < 32 << 20:
                found.append((index, before, path))
            elif path.is_dir() and index > 0:
                found += [(index, None, file) for file in sorted(path.rglob("*"))
                          if file.is_file() and 0 < file.stat().st_size < 32 << 20][:32]
        except OSError:
            pass
    return found


def stand_in(arguments):
    """Called instead of the program: damages one file that it would read, then runs it and notes how it ended."""
    program, log, seed = os.environ["HOSTILE_PROGRAM"], pathlib.Path(os.environ["HOSTILE_LOG"]), os.environ["HOSTILE_SEED"]
    arguments = list(arguments)
    calls = len(log.read_text().splitlines()) if log.exists() else 0
    draw = random.Random(f"{seed} {calls}")
    named = inputs(arguments)
    damaged = None
    if named:
        index, before, path = draw.choice(named)
        scratch = pathlib.Path(os.environ["HOME"])
        path = path.resolve()
        if scratch not in path.parents and before is not None:  # a file of the project: a copy of it
            copy = scratch / f"hostile-{calls}{path.suffix}"
            shutil.copy(path, copy)
            path = copy
            arguments[index] = f"{before}={copy}" if before else str(copy)
        if scratch in path.parents:
            os.chmod(path, path.stat().st_mode | 0o600)  # who else may read it decides what is said of it
            damage(path, draw)
            damaged = str(path)

    def limits():
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    try:
        done = subprocess.run([program, *arguments], stderr=subprocess.PIPE, timeout=LIMIT_S, preexec_fn=limits)
        status, err = done.returncode, done.stderr
    except subprocess.TimeoutExpired as late:
        status, err = "no end", late.stderr or b""
    with log.open("a") as lines:
        lines.write(json.dumps({"arguments": arguments, "damaged": damaged, "status": status,
                                "stderr": err.decode("utf-8", "backslashreplace")}) + "\n")
    sys.stderr.buffer.write(err)
    return status if isinstance(status, int) and status >= 0 else 99


def fault(call):
    """What is wrong with how a call ended, or nothing."""
    status, err = call["status"], call["stderr"]
    passed_on = call["arguments"][:1] == ["record"] and (status in range(128) or status == -signal.SIGTERM)  # its command's
    if status not in FINE and not passed_on and status != -signal.SIGPIPE:  # that: nobody reads on, as behind `| head`
        return f"ends with {status}"
    if call["damaged"] and status in (2, 3) and not any(line.startswith("ergometer: ") for line in err.splitlines()):
        return f"ends with {status} and says nothing"
    if "terminate called" in err or "runtime error" in err or "Sanitizer" in err:
        return "is not well"
    return None


def run_case(case, program, number, keep):
    """Damaged calls of a case and what is wrong with them."""
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder:
        folder = pathlib.Path(folder).resolve()
        scratch, tools, log = folder / "case", folder / "bin", folder / "log"
        shutil.copytree(case, scratch, ignore=shutil.ignore_patterns("cmd", "expected.txt"))
        tools.mkdir()
        script = tools / "ergometer"
        script.write_text(f"#!/bin/sh\nexec {sys.executable} {__file__} --stand-in -- \"$@\"\n")
        script.chmod(0o755)
        environment = {"PATH": f"{tools}:/usr/bin:/bin", "HOME": str(scratch), "ROOT": str(ROOT), "LC_ALL": "C.UTF-8",
                       "TZ": "UTC", "TERM": "dumb", "HOSTILE_PROGRAM": str(program), "HOSTILE_LOG": str(log),
                       "HOSTILE_SEED": f"{case.parent.name}/{case.name} {number}"}
        subprocess.run(["/bin/sh", "-c", (case / "cmd").read_text()], cwd=scratch, env=environment,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        calls = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        faults = [(call, what) for call in calls if (what := fault(call))]
        if faults and keep:
            shutil.copytree(folder, keep / f"{case.parent.name}-{case.name}-{number}", dirs_exist_ok=True)
        return sum(call["damaged"] is not None for call in calls), faults


def main(arguments):
    parser = argparse.ArgumentParser(description="Hostile input through the whole program.")
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the first round's number: every number damages otherwise")
    parser.add_argument("--every", type=int, default=1, help="only every K-th case")
    parser.add_argument("--keep", type=pathlib.Path, help="folder that keeps what a finding needs")
    parser.add_argument("cases", nargs="*", metavar="AREA[/CASE]")
    options = parser.parse_intermixed_args(arguments)
    cases = sorted(path.parent for path in GOLDEN.glob("*/*/cmd"))
    if options.cases:
        cases = [case for case in cases if {case.parent.name, f"{case.parent.name}/{case.name}"} & set(options.cases)]
    rounds = range(options.first, options.first + options.rounds)
    jobs = [(case, number) for number in rounds for case in cases[number % options.every::options.every]]
    damaged = failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda job: (job, run_case(job[0], options.program.resolve(), job[1], options.keep)), jobs)
        for (case, number), (count, faults) in results:
            damaged += count
            for call, what in faults:
                failed += 1
                print(f"{case.parent.name}/{case.name}, round {number}: ergometer {shlex.join(call['arguments'])} {what}"
                      f" (damaged: {call['damaged']})\n    {call['stderr'][-400:].strip()}")
    print(f"{damaged} calls with a damaged file, {failed} ended badly")
    return 1 if failed or not damaged else 0


if __name__ == "__main__":
    if sys.argv[1:3] == ["--stand-in", "--"]:
        sys.exit(stand_in(sys.argv[3:]))
    sys.exit(main(sys.argv[1:]))
