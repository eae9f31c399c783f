"""A training job of 3 s on one GPU whose power is known: a trace, and what nvidia-smi shows every 25 ms.

gemm draws 650 W, elementwise kernels 420 W, all-reduce 240 W, an idle GPU 90 W; the sensor shows the mean of the last
25 ms, to 0.01 W, with an error of 4 W.
"""
import json
import random

random.seed(7)
BASE_NS = 1689329566_000_000_000  # 2023-07-14 10:12:46 UTC
WATTS = {"gemm": 650.0, "elementwise": 420.0, "collective": 240.0, "idle": 90.0}
NAMES = {"gemm": "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn", "elementwise": "void at::native::elementwise_kernel<4>()",
         "collective": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL()"}
SHAPES = {"gemm": ("aten::mm", [[8192, 4096], [4096, 4096]]), "elementwise": ("aten::add", [[8192, 4096], [8192, 4096]])}
events, power, now, number = [], [], 0.0, 0


def work(kind, ms, backward):
    """One kernel (or none) at `now`, with the operators that launched it."""
    global now, number
    power.append((now, now + ms, WATTS[kind]))
    if kind != "idle":
        number += 1
        launch = now * 1000 - 30
        events.append({"ph": "X", "cat": "kernel", "name": NAMES[kind], "pid": 0, "tid": 7, "ts": round(now * 1000, 3),
                       "dur": round(ms * 1000, 3), "args": {"device": 0, "stream": 7, "correlation": number}})
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1 + backward,
                       "ts": launch, "dur": 6, "args": {"correlation": number, "External id": number}})
        operator, shapes = SHAPES.get(kind, ("record_param_comms", []))
        args = {"External id": number, "Input Dims": shapes, "Input type": ["c10::BFloat16"] * len(shapes)}
        if not backward:
            args["Sequence number"] = number
        events.append({"ph": "X", "cat": "cpu_op", "name": operator, "pid": 1, "tid": 1 + backward, "ts": launch - 5,
                       "dur": 15, "args": args})
        if backward:
            events.append({"ph": "X", "cat": "cpu_op", "name": "autograd::engine::evaluate_function: MmBackward0",
                           "pid": 1, "tid": 2, "ts": launch - 10, "dur": 25,
                           "args": {"External id": 100000 + number, "Sequence number": number, "Fwd thread id": 1}})
    now += ms


for step in range(10):
    start = now
    for backward in (0, 1):
        for _ in range(12):
            work("gemm", random.uniform(1, 9), backward)
            work("elementwise", random.uniform(1, 6), backward)
    for _ in range(4):
        work("collective", random.uniform(2, 10), 1)
        work("idle", random.uniform(1, 10), 1)
    events.append({"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d" % step, "pid": 1, "tid": 1,
                   "ts": round(start * 1000 - 100, 3), "dur": round((now - start) * 1000, 3)})
work("gemm", 1, 0)

with open("rank-0.json", "w") as out:
    json.dump({"schemaVersion": 1, "baseTimeNanoseconds": BASE_NS, "traceEvents": events,
               "deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}]}, out)
with open("smi.csv", "w") as out:
    print("timestamp, index, power.draw.instant [W]", file=out)
    for i in range(1, int(now / 25) + 1):
        end = 25.0 * i
        joules = sum(w * max(0.0, min(end, b) - max(end - 25, a)) for a, b, w in power)
        print("2023/07/14 10:12:%02d.%03d, 0, %.2f" % (46 + end // 1000, end % 1000, joules / 25 + random.gauss(0, 4)),
              file=out)
