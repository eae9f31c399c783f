"""Three traces of a GPU that idles nine tenths of the time: after every kernel of 20 ms the CPU synchronises, and then for 180 ms
loads data, frees memory or launches small kernels from calls of 60 us each."""

import json


def trace(name, between):
    events, at = [], 0
    for step in range(5):
        events += [
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": at, "dur": 5,
             "args": {"correlation": 10000 * step + 1}},
            {"ph": "X", "cat": "kernel", "name": "sgemm", "pid": 0, "tid": 7, "ts": at + 10, "dur": 20000,
             "args": {"correlation": 10000 * step + 1, "stream": 7, "device": 0}},
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "pid": 1, "tid": 1, "ts": at + 20,
             "dur": 20090, "args": {"correlation": 10000 * step + 2}}]
        events += between(step, at + 20110)
        at += 200110
    with open(name, "w") as out:
        json.dump({"traceEvents": events}, out)


def load(step, at):
    return [{"ph": "X", "cat": "cpu_op", "name": "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "pid": 1,
             "tid": 1, "ts": at, "dur": 180000, "args": {}}]


def free(step, at):
    return [{"ph": "X", "cat": "cuda_runtime", "name": "cudaFree", "pid": 1, "tid": 1, "ts": at, "dur": 120000,
             "args": {"correlation": 10000 * step + 3}}]


def launch(step, at):
    events = []
    for i in range(2900):
        correlation = 10000 * step + 10 + i
        events += [
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": at + 62 * i, "dur": 60,
             "args": {"correlation": correlation}},
            {"ph": "X", "cat": "kernel", "name": "tiny", "pid": 0, "tid": 7, "ts": at + 62 * i + 55, "dur": 2,
             "args": {"correlation": correlation, "stream": 7, "device": 0}}]
    return events


trace("loads.json", load)
trace("frees.json", free)
trace("launches.json", launch)
