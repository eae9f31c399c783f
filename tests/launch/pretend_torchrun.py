#!/usr/bin/env python3
"""Stands in for torchrun and a framework in tests: reads its arguments as torchrun would, prints iteration lines as
Megatron-LM does and computes meanwhile. No GPU, no network.

    pretend_torchrun.py --nnodes N --nproc-per-node G --node-rank R ... .../pretrain_gpt.py --train-iters S ...

Environment: PRETEND_STEP_MS (50), PRETEND_STEPS (what --train-iters says), PRETEND_DIE: a file; the first who sees it
removes it and ends all of its node's processes without a word, as a lost node would.
"""
import datetime
import os
import pathlib
import signal
import sys
import time


def value_of(words, name):
    return words[words.index(name) + 1]


def busy_until(end):
    total = 0
    while time.monotonic() < end:
        total += sum(range(1000))
    return total


def main():
    words = sys.argv[1:]
    script = next(i for i, word in enumerate(words) if word.endswith(".py"))
    nodes, rank = int(value_of(words, "--nnodes")), int(value_of(words, "--node-rank"))
    training = words[script + 1:]
    batch = int(value_of(training, "--global-batch-size"))
    iterations = int(os.environ.get("PRETEND_STEPS") or value_of(training, "--train-iters"))
    step_s = float(os.environ.get("PRETEND_STEP_MS", "50")) / 1000
    print(f"node {rank} of {nodes}: {os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}", flush=True)
    die = os.environ.get("PRETEND_DIE")
    for iteration in range(1, iterations + 1):
        start = time.monotonic()
        busy_until(start + step_s)
        took_ms = 1000 * (time.monotonic() - start)
        if rank == nodes - 1:  # as Megatron-LM's print_rank_last
            print(f" [{datetime.datetime.now():%Y-%m-%d %H:%M:%S.%f}] iteration {iteration:8d}/{iterations:8d} | consumed samples: "
                  f"{iteration * batch:12d} | elapsed time per iteration (ms): {took_ms:.1f} | throughput per GPU "
                  f"(TFLOP/s/GPU): 400.0 | learning rate: 1.000000E-05 | global batch size: {batch:5d} | lm loss: "
                  f"1.081E+01 | loss scale: 1.0 | grad norm: 7.7 | number of skipped iterations:   0 |", flush=True)
        if die and iteration == iterations // 2:
            try:
                pathlib.Path(die).unlink()
            except FileNotFoundError:
                continue
            os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
