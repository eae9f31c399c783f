"""Kernels that each fill several of the sensor's windows: a gemm of 650 W and an elementwise one of 420 W by turns, 200 ms
each, and what nvidia-smi shows of them every 25 ms, the mean of these, with an error of 4 W.
"""
import json
import random

random.seed(7)
BASE_NS = 1689329566_000_000_000  # 2023-07-14 10:12:46 UTC
WORK = [("aten::mm", "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn", [[8192, 4096], [4096, 4096]], 650),
        ("aten::add", "void at::native::elementwise_kernel<4>()", [[8192, 4096], [8192, 4096]], 420)]
events, readings = [], []
for i in range(10):
    operator, kernel, shapes, watts = WORK[i % 2]
    start_us = i * 200_000
    events += [
        {"ph": "X", "cat": "kernel", "name": kernel, "pid": 0, "tid": 7, "ts": start_us, "dur": 200_000,
         "args": {"device": 0, "stream": 7, "correlation": i + 1}},
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": start_us - 30, "dur": 6,
         "args": {"correlation": i + 1, "External id": i + 1}},
        {"ph": "X", "cat": "cpu_op", "name": operator, "pid": 1, "tid": 1, "ts": start_us - 35, "dur": 15,
         "args": {"External id": i + 1, "Input Dims": shapes, "Input type": ["c10::BFloat16"] * len(shapes)}}]
    readings += [(200 * i + 25 * (k + 1), watts + random.gauss(0, 4)) for k in range(8)]

with open("rank-0.json", "w", encoding="utf-8") as out:
    json.dump({"schemaVersion": 1, "baseTimeNanoseconds": BASE_NS, "traceEvents": events,
               "deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}]}, out)
with open("smi.csv", "w", encoding="utf-8") as out:
    print("timestamp, index, name, power.draw.instant [W]", file=out)
    for end_ms, watts in readings:
        print(f"2023/07/14 10:12:{46 + end_ms // 1000:02}.{end_ms % 1000:03}, 0, NVIDIA H100 80GB HBM3, {watts:.2f}", file=out)
