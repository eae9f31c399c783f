#!/usr/bin/env python3
"""Runs golden cases: whole commands and their whole output. See README.md beside this file.

    tests/golden/run.py [--ergometer PROGRAM] [--update] [--every N] [AREA | AREA/CASE ...]
"""
import argparse
import difflib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

GOLDEN = pathlib.Path(__file__).resolve().parent
ROOT = GOLDEN.parents[1]
# A hang, not slowness: sanitized programs take minutes for a study, those of the thread sanitizer more than all others.
TIMEOUT_S = float(os.environ.get("GOLDEN_TIMEOUT_S", 240))


def text_block(raw, scratch, roots):
    """Output as text that is the same wherever it was made and ends in a line end."""
    text = raw.decode("utf-8", "backslashreplace").replace(str(scratch), "<CASE>")
    for root in roots:
        text = text.replace(str(root), "<ROOT>")
    return text if not text or text.endswith("\n") else text + "\n<no line end>\n"


def run_case(case, program, root):
    """The case's command in a scratch copy of its folder; returns what expected.txt should hold."""
    with tempfile.TemporaryDirectory(prefix="golden-") as folder:
        folder = pathlib.Path(folder).resolve()
        scratch, tools, link = folder / "case", folder / "bin", folder / "root"
        shutil.copytree(case, scratch, ignore=shutil.ignore_patterns("cmd", "expected.txt"))
        tools.mkdir()
        (tools / "ergometer").symlink_to(program)
        link.symlink_to(root)  # as long a name wherever the repository lies: where lines break depends on it
        environment = {"PATH": f"{tools}:/usr/bin:/bin", "HOME": str(scratch), "ROOT": str(link),
                       "LC_ALL": "C.UTF-8", "TZ": "UTC", "TERM": "dumb"}
        try:
            done = subprocess.run(["/bin/sh", "-c", (case / "cmd").read_text()], cwd=scratch, env=environment,
                                  stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            return f"<no end within {TIMEOUT_S:g} s>\n"
        out, err = (text_block(raw, scratch, [link, root]) for raw in (done.stdout, done.stderr))
        return f"{out}--- stderr\n{err}--- exit {done.returncode}\n"


def check_case(case, program, root, update):
    """True when the case holds (or was rewritten); else prints how it differs."""
    found = run_case(case, program, root)
    expected = case / "expected.txt"
    wanted = expected.read_text(encoding="utf-8") if expected.is_file() else ""
    if found == wanted:
        return True
    name = f"{case.parent.name}/{case.name}"
    if update:
        expected.write_text(found, encoding="utf-8")
        print(f"{name}: rewritten")
        return True
    print(f"{name}: {(case / 'cmd').read_text().strip()}")
    sys.stdout.writelines(difflib.unified_diff(wanted.splitlines(True), found.splitlines(True),
                                               f"{name}/expected.txt", "what the program did"))
    print(f"If this is what it should do: tests/golden/run.py --update {name}\n")
    return False


def find_cases(golden, words):
    """The cases that the words name; every case without any. None when a word names nothing."""
    every = sorted(path.parent for path in golden.glob("*/*/cmd"))
    chosen = []
    for word in words:
        word = word.strip("/")
        named = [case for case in every if word in (case.parent.name, f"{case.parent.name}/{case.name}")]
        if not named:
            print(f"tests/golden has no case or area {word}", file=sys.stderr)
            return None
        chosen += named
    return chosen if words else every


def main(arguments, golden=GOLDEN, root=ROOT):
    parser = argparse.ArgumentParser(description="Runs golden cases.")
    parser.add_argument("--ergometer", default=ROOT / "build/release/ergometer", type=pathlib.Path,
                        help="the program (default: build/release/ergometer)")
    parser.add_argument("--update", action="store_true", help="rewrite expected.txt; review the diff as code")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth of the cases: a sample")
    parser.add_argument("cases", nargs="*", metavar="AREA[/CASE]", help="default: all")
    options = parser.parse_args(arguments)
    program = options.ergometer.resolve()
    if not os.access(program, os.X_OK):
        print(f"{program}: no such program; build it first", file=sys.stderr)
        return 2
    cases = find_cases(golden, options.cases)
    if cases is None:
        return 2
    cases = cases[::options.every]
    failed = sum(not check_case(case, program, root, options.update) for case in cases)
    print(f"{len(cases) - failed} of {len(cases)} golden cases hold")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
