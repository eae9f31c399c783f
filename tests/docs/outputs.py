#!/usr/bin/env python3
"""Runs the commands of the pages under docs/ and compares what they print with the page.

    tests/docs/outputs.py [--ergometer PROGRAM] [--update] [PAGE ...]

A command is what follows "$ " in a code block, its output the lines up to the next one; or an indented line that
begins with a program's name, its output the code block right below. "\\" at a line's end continues a command. Without
output it must end well, and an indented command without output is not run. In an output a line "..." stands for
lines left out; notes ("ergometer: ...") count where the page shows one. A page's commands run one after the other in one empty folder that links to examples/ and tests/; what they need
besides is made by comments of the page:

    <!-- before: COMMANDS -->     run in that folder, $ROOT being the repository
    <!-- file: NAME -->           the next code block is this file
    <!-- not run: WHY -->         leave the next code block alone
    <!-- serves -->               "ergometer serve" of the next code block runs until the page ends or serves again

Ports that a page serves at are other ones while it runs, free on this machine, so that several runs do not meet.
"""
import argparse
import difflib
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TIMEOUT_S = 300
LEFT_OUT = "..."
PROGRAMS = r"(ergometer|python3|scripts/\S+)"


class Example:
    """A command and the lines of the page, from `start` up to `end`, that show what it prints."""

    def __init__(self, command, start, end):
        self.command, self.start, self.end = command, start, end


def fence_end(lines, start):
    end = start + 1
    while end < len(lines) and not lines[end].startswith("```"):
        end += 1
    return end


def command_at(lines, at, prefix):
    """The command that begins here, and the line behind it."""
    words = [lines[at][len(prefix):]]
    while words[-1].endswith("\\") and at + 1 < len(lines):
        at += 1
        words.append(lines[at].strip())
    return "\n".join(words), at + 1


def session(lines, start, end):
    """Examples of a code block of "$ " commands."""
    examples, at = [], start
    while at < end:
        command, at = command_at(lines, at, "$ ")
        output = at
        while at < end and not lines[at].startswith("$ "):
            at += 1
        examples.append(Example(command, output, at))
    return examples


def parse(lines):
    """What the page does, in order: ("before", shell), ("file", name, text), ("example", Example),
    ("serves", command)."""
    acts, at, taken = [], 0, None
    while at < len(lines):
        line = lines[at]
        if comment := re.match(r"<!-- (before|file|not run|serves):? *(.*)", line):
            kind, text = comment.groups()
            while "-->" not in text:
                at += 1
                text += "\n" + lines[at]
            text = text.split("-->")[0].strip()
            if kind == "before":
                acts.append(("before", text))
            else:
                taken = (kind, text)
        elif line.startswith("```"):
            end = fence_end(lines, at)
            if taken and taken[0] == "file":
                acts.append(("file", taken[1], "\n".join(lines[at + 1:end]) + "\n"))
            elif (not taken or taken[0] == "serves") and lines[at + 1].startswith("$ "):
                for example in session(lines, at + 1, end):
                    serves = taken and example.command.startswith("ergometer serve")
                    acts.append(("serves", example.command) if serves else ("example", example))
            taken, at = None, end
        elif re.match(rf"    {PROGRAMS} ", line):
            command, at = command_at(lines, at, "    ")
            below = at
            while below < len(lines) and not lines[below].strip():
                below += 1
            if below < len(lines) and lines[below] == "```":
                end = fence_end(lines, below)
                if not taken:
                    acts.append(("example", Example(command, below + 1, end)))
                taken, at = None, end + 1
            continue
        at += 1
    return acts


class Ports:
    """Free ports in place of those that the servers of a page listen at: 9500, where they say none, and 95xx."""
    DEFAULT = "9500"

    def __init__(self, acts):
        serves = any(kind == "serves" for kind, *_ in acts)
        text = " ".join(act.command if isinstance(act, Example) else act for _, *rest in acts for act in rest)
        named = set(re.findall(r":(95\d\d)\b", text)) | {self.DEFAULT} if serves else set()
        self.free = {}
        taken = [socket.socket() for _ in named]  # all open at once, so that they differ
        for port, held in zip(sorted(named), taken):
            held.bind(("127.0.0.1", 0))
            self.free[port] = str(held.getsockname()[1])
        for held in taken:
            held.close()

    def in_run(self, text):
        return re.sub(r":(95\d\d)\b", lambda found: ":" + self.free.get(found[1], found[1]), text)

    def on_page(self, text):
        for named, free in self.free.items():
            text = text.replace(f":{free}", f":{named}")
        return text

    def serving(self, command):
        """A server's command with the port it listens at."""
        listens = "" if "--listen" in command else f" --listen 127.0.0.1:{self.DEFAULT}"
        return self.in_run(command + listens)


class Server:
    """What a page lets serve, one at a time."""

    def __init__(self):
        self.process = None

    def start(self, command, folder, environment):
        """What is wrong, if it does not serve."""
        self.stop()
        self.process = subprocess.Popen(["/bin/bash", "-c", "exec " + command], cwd=folder, env=environment,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        said = []
        for line in self.process.stderr:
            said.append(line)
            if "serving http" in line:
                return ""
        return "".join(said) or "it ended"

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.communicate(timeout=TIMEOUT_S)
            self.process = None


def run(command, folder, environment, with_notes=False):
    """Lines of the command's output, with those of the error stream where the page shows them; its exit status."""
    done = subprocess.run(["/bin/bash", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT if with_notes else subprocess.DEVNULL,
                          timeout=TIMEOUT_S)
    text = done.stdout.decode("utf-8", "backslashreplace").rstrip("\n")
    return [line.rstrip() for line in text.split("\n")], done.returncode


def pieces(shown):
    """The shown lines between the "...", and these as they are written."""
    result, marks = [[]], []
    for line in shown:
        if line.strip() == LEFT_OUT:
            result.append([])
            marks.append(line)
        else:
            result[-1].append(line)
    return result, marks


def place(piece, printed, start, ends_it):
    """Where in the output this piece stands best, from `start` on: a line number."""
    if not piece:
        return len(printed) if ends_it else start
    last = len(printed) - len(piece)
    candidates = [max(start, last)] if ends_it else range(start, max(start, last) + 1)

    def likeness(at):
        there = printed[at:at + len(piece)]
        head = difflib.SequenceMatcher(None, piece[0], there[0] if there else "").ratio()
        return sum(a == b for a, b in zip(piece, there)) + 2 * head
    return max(candidates, key=likeness)


def as_shown(shown, printed):
    """What the page should show: the output, with the same parts left out."""
    parts, marks = pieces(shown)
    result, at = [], 0
    for number, piece in enumerate(parts):
        if number == 0:
            begin, end = 0, len(piece)
        else:
            begin = place(piece, printed, at, number + 1 == len(parts))
            end = begin + len(piece)
            result.append(marks[number - 1])
        if len(parts) == 1:
            end = len(printed)
        result += printed[begin:end]
        at = end
    return result


def check_page(page, program, update):
    """How many commands of the page fail, or print something else (which `update` mends)."""
    lines = page.read_text(encoding="utf-8").split("\n")
    acts = parse(lines)
    replacements, failed, server, ports = [], [], Server(), Ports(acts)
    with tempfile.TemporaryDirectory(prefix="docs-") as name:
        folder, tools = pathlib.Path(name) / "page", pathlib.Path(name) / "bin"
        folder.mkdir()
        tools.mkdir()
        (tools / "ergometer").symlink_to(program)
        for entry in ("examples", "tests"):
            (folder / entry).symlink_to(ROOT / entry)
        environment = {"PATH": f"{tools}:/usr/bin:/bin", "HOME": str(folder), "ROOT": str(ROOT), "LC_ALL": "C.UTF-8",
                       "TZ": "UTC", "TERM": "dumb", "PYTHONPATH": str(ROOT / "python"), "PYTHONDONTWRITEBYTECODE": "1",
                       "CMAKE_PREFIX_PATH": str(program.parent)}
        for kind, *rest in acts:
            if kind == "before":
                run(ports.in_run(rest[0]), folder, environment)
            elif kind == "serves":
                if wrong := server.start(ports.serving(rest[0]), folder, environment):
                    failed.append(f"{rest[0]}: {wrong}")
            elif kind == "file":
                (folder / rest[0]).write_text(ports.in_run(rest[1]), encoding="utf-8")
            else:
                example = rest[0]
                shown = [line.rstrip() for line in lines[example.start:example.end]]
                notes = any(x.startswith("ergometer:") for x in shown)
                printed, status = run(ports.in_run(example.command), folder, environment, notes)
                printed = [ports.on_page(line) for line in printed]
                wanted = as_shown(shown, printed) if shown else []
                if shown != wanted:
                    replacements.append((example, wanted))
                if not shown and status != 0:
                    failed.append(f"{example.command}: exit status {status}")
        server.stop()
    for fault in failed:
        print(f"{page.relative_to(ROOT)}: {fault}")
    for example, wanted in replacements:
        print(f"{page.relative_to(ROOT)}:{example.start + 1}: {example.command}")
        if not update:
            shown = [line.rstrip() for line in lines[example.start:example.end]]
            print("\n".join(difflib.unified_diff(shown, wanted, "the page", "the program", lineterm="")))
    if update and replacements:
        for example, wanted in reversed(replacements):
            lines[example.start:example.end] = wanted
        page.write_text("\n".join(lines), encoding="utf-8")
    return len(failed) + (0 if update else len(replacements))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", type=pathlib.Path)
    parser.add_argument("--ergometer", type=pathlib.Path, default=ROOT / "build/release/ergometer")
    parser.add_argument("--update", action="store_true")
    given = parser.parse_args()
    program = given.ergometer.resolve()
    if not shutil.which(str(program)):
        sys.exit(f"{program}: no such program: build it, or give --ergometer")
    pages = [page.resolve() for page in given.pages] or sorted((ROOT / "docs").rglob("*.md"))
    differing = sum(check_page(page, program, given.update) for page in pages)
    if differing:
        print(f"{differing} commands fail or print something else. If that is right: tests/docs/outputs.py --update")
        sys.exit(1)


if __name__ == "__main__":
    main()
