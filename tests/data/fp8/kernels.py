#!/usr/bin/env python3
"""Times FP8 products and casts on one GPU: kernels.py OUT_DIR SECONDS (needs PyTorch 2.5 or newer, nvidia-ml-py)

The three products of a linear layer of Llama 3 8B and 70B, in bf16 and in FP8 with one scale a tensor and one a row, as torchao's
recipes "tensorwise" and "rowwise" call them (torch._scaled_mm), and the casts that Inductor makes of their quantization: along the
last dimension, along the first, and with a scale of the whole tensor. Writes kernels.csv: microseconds are the median of repeated
launches over 0.15 s each, clocks the mean of NVML's over them.
"""
import csv
import os
import sys
import time

os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "8")

import pynvml as nvml
import torch

torch._dynamo.config.recompile_limit = 256
FP8, LARGEST = torch.float8_e4m3fn, 448.0
SHAPES = [  # model, layer, rows, columns in, columns out
    ("llama3-8b", "qkv", 8192, 4096, 6144), ("llama3-8b", "proj", 8192, 4096, 4096), ("llama3-8b", "up", 8192, 4096, 28672),
    ("llama3-8b", "down", 8192, 14336, 4096), ("llama3-70b", "qkv", 4096, 8192, 10240), ("llama3-70b", "proj", 4096, 8192, 8192),
    ("llama3-70b", "up", 4096, 8192, 57344), ("llama3-70b", "down", 4096, 28672, 8192)]


@torch.compile(dynamic=False)
def cast_rows(x):
    scale = LARGEST / x.abs().amax(dim=-1, keepdim=True).to(torch.float32).clamp(min=1e-12)
    return (x.to(torch.float32) * scale).clamp(-LARGEST, LARGEST).to(FP8), scale.reciprocal()


@torch.compile(dynamic=False)
def cast_columns(x):
    scale = LARGEST / x.abs().amax(dim=0, keepdim=True).to(torch.float32).clamp(min=1e-12)
    return (x.to(torch.float32) * scale).clamp(-LARGEST, LARGEST).to(FP8).t().contiguous(), scale.reciprocal()


@torch.compile(dynamic=False)
def cast_tensor(x):
    scale = LARGEST / x.abs().amax().to(torch.float32).clamp(min=1e-12)
    return (x.to(torch.float32) * scale).clamp(-LARGEST, LARGEST).to(FP8), scale.reciprocal()


@torch.compile(dynamic=False)
def cast_tensor_transposed(x):
    scale = LARGEST / x.abs().amax().to(torch.float32).clamp(min=1e-12)
    return (x.to(torch.float32) * scale).clamp(-LARGEST, LARGEST).to(FP8).t().contiguous(), scale.reciprocal()


def timed(call):
    """Median microseconds of a launch and the mean clock over 0.15 s."""
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    begin = time.time()
    call()
    torch.cuda.synchronize()
    count = max(5, min(400, int(0.15 / max(time.time() - begin, 1e-5))))
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(count + 1)]
    marks[0].record()
    for mark in marks[1:]:
        call()
        mark.record()
    clocks = []
    while not marks[-1].query():
        clocks.append(nvml.nvmlDeviceGetClockInfo(GPU, 1))
    torch.cuda.synchronize()
    took = sorted(1e3 * a.elapsed_time(b) for a, b in zip(marks, marks[1:]))
    return took[len(took) // 2], sum(clocks) / max(len(clocks), 1)


def main():
    out, deadline = sys.argv[1], time.time() + float(sys.argv[2])
    os.makedirs(out, exist_ok=True)
    with open(f"{out}/kernels.csv", "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["board", "model", "layer", "what", "kind", "rows", "inner", "columns", "us", "clock_mhz"])
        board = torch.cuda.get_device_name(0)

        def put(model, layer, what, kind, rows, inner, columns, call):
            try:
                took, clock = timed(call)
                table.writerow([board, model, layer, what, kind, rows, inner, columns, f"{took:.1f}", f"{clock:.0f}"])
            except Exception as error:
                print(model, layer, what, kind, str(error)[:300], flush=True)
            file.flush()

        for model, layer, m, k, n in SHAPES:
            if time.time() > deadline:
                print("no time left from", model, layer)
                break
            for what, rows, inner, columns in (("fprop", m, k, n), ("dgrad", m, n, k), ("wgrad", n, m, k)):
                a, b = (torch.randn(s, inner, device="cuda", dtype=torch.bfloat16) for s in (rows, columns))
                put(model, layer, what, "bf16", rows, inner, columns, lambda: a @ b.t())
                a8, b8 = a.to(FP8), b.to(FP8)
                one = torch.ones((), device="cuda")
                ra, rb = torch.ones(rows, 1, device="cuda"), torch.ones(1, columns, device="cuda")
                for kind, sa, sb, fast in (("tensorwise", one, one, True), ("tensorwise, exact sums", one, one, False),
                                           ("rowwise", ra, rb, True), ("rowwise, exact sums", ra, rb, False)):
                    put(model, layer, what, kind, rows, inner, columns, lambda: torch._scaled_mm(
                        a8, b8.t(), scale_a=sa, scale_b=sb, out_dtype=torch.bfloat16, use_fast_accum=fast))
                del a, b, a8, b8
            for what, rows, columns in (("input", m, k), ("weight", n, k), ("gradient", m, n)):
                x = torch.randn(rows, columns, device="cuda", dtype=torch.bfloat16)
                for kind, cast in (("rows", cast_rows), ("columns", cast_columns), ("tensor", cast_tensor),
                                   ("tensor, transposed", cast_tensor_transposed)):
                    put(model, layer, what, kind, rows, 0, columns, lambda: cast(x))
                del x
            print(model, layer, f"{time.process_time():.0f} s of processor time", flush=True)


nvml.nvmlInit()
GPU = nvml.nvmlDeviceGetHandleByIndex(0)
if __name__ == "__main__":
    main()
