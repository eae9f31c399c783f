#!/usr/bin/env python3
"""Two builds of the program side by side: what whole commands take, as the table of docs/speed.md.

    scripts/speed.py BEFORE AFTER [--runs 5] [--only TEXT]

Processor time is user and system time together. The two run by turns; the least of the runs stands in the table, for on a
shared machine others only add to it. Memory is the peak of the runs.
"""
import argparse
import os
import sys
import tempfile

GPT3 = "simulate gpt3-175b"
COMMANDS = [
    ("start alone", "--version"),
    ("a small job", "simulate llama3-70b --cluster charllm-h200 --gpus 32 --tp 4 --pp 4"),
    ("64 micro batches", f"{GPT3} --cluster selene --gpus 64 --tp 8 --pp 8 --mbs 1 --gbs 64"),
    ("1,536 micro batches", f"{GPT3} --cluster selene --gpus 64 --tp 8 --pp 8 --mbs 1 --gbs 1536"),
    ("4,096 micro batches", f"{GPT3} --cluster selene --gpus 64 --tp 8 --pp 8 --mbs 1 --gbs 4096"),
    ("8,192 GPUs", f"{GPT3} --cluster h100-superpod --gpus 8192 --tp 8 --pp 8"),
    ("131,072 GPUs", f"{GPT3} --cluster h100-superpod --gpus 131072 --tp 8 --pp 8 --gbs 16384"),
    ("1,048,576 GPUs", f"{GPT3} --cluster h100-superpod --gpus 1048576 --tp 8 --pp 8 --gbs 131072"),
    ("8,192 GPUs that differ", f"{GPT3} --cluster h100-superpod --gpus 8192 --tp 8 --pp 8 --seed 1"),
    ("131,072 GPUs that differ",
     f"{GPT3} --cluster h100-superpod --gpus 131072 --tp 8 --pp 8 --gbs 16384 --seed 1"),
    ("a search, one thread", "search gpt3-175b --cluster h100-superpod --gpus 1024 --gbs 1536 --threads 1"),
    ("a study of 676 jobs, one thread", "sweep charllm --threads 1 --quiet"),
    ("1,024 ranks traced", f"{GPT3} --cluster h100-superpod --gpus 1024 --tp 8 --pp 8 --trace FILE --trace-ranks all"),
]


def measure(program, words):
    """Seconds of processor and MiB of one run."""
    with tempfile.TemporaryDirectory() as folder:
        words = [os.path.join(folder, "trace.json") if word == "FILE" else word for word in words]
        pid = os.posix_spawn(program, [program, *words], os.environ, file_actions=[
            (os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_WRONLY, 0) for fd in (1, 2)])
        _, status, usage = os.wait4(pid, 0)
    if status != 0:
        sys.exit(f"{program} {' '.join(words)} ended with {os.waitstatus_to_exitcode(status)}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def seconds(value):
    return f"{1000 * value:.0f} ms" if value < 1 else f"{value:.1f} s"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", default="", help="rows whose name holds this")
    options = parser.parse_args()
    print("| what | `ergometer` | before | after |\n| --- | --- | --- | --- |")
    for what, command in COMMANDS:
        if options.only not in what:
            continue
        runs = [[measure(program, command.split()) for program in (options.before, options.after)]
                for _ in range(options.runs)]
        cells = [f"{seconds(min(run[side][0] for run in runs))}, {max(run[side][1] for run in runs):,.0f} MiB"
                 for side in (0, 1)]
        print(f"| {what} | `{command}` | {cells[0]} | {cells[1]} |", flush=True)


if __name__ == "__main__":
    main()
