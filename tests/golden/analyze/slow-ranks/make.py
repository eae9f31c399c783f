"""Four ranks, two of them equally slow: reducing together, and (alone/) without any collective where rank 2 alone is slow.
In uneven/ ranks have sequences of their own lengths: rank 3 has the longest in both halves, and is not slow."""
import json
import os

STEPS, COMPUTE_US, TRANSFER_US = 6, 10_000, 600


def event(cat, name, ts, dur, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": args.get("stream", 1), "ts": 1e15 + ts, "dur": dur, "args": args}


def write(folder, slow, reduces, lengths=None):
    os.makedirs(folder, exist_ok=True)
    for rank in range(4):
        events, at = [], 0
        for step in range(STEPS):
            compute = COMPUTE_US * (lengths[rank][step] if lengths else 1.3 if rank in slow else 1)
            end = at + (COMPUTE_US * 1.3 + TRANSFER_US if reduces else compute)
            events += [event("kernel", "ampere_bf16_s16816gemm_bf16_128x128_tn", at, compute, stream=7, device=rank),
                       event("user_annotation", f"ProfilerStep#{step}", at, end - at)]
            if reduces:
                events.append(event("kernel", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", at + compute, end - at - compute, stream=20,
                                    device=rank, **{"Collective name": "allreduce", "In msg nelems": 50_000_000,
                                                    "Out msg nelems": 50_000_000, "dtype": "BFloat16", "Group size": 4,
                                                    "Process Group Name": "0", "Process Group Ranks": "[0, 1, 2, 3]", "Seq": step}))
            at = end
        with open(f"{folder}/rank{rank}.json", "w") as out:
            json.dump({"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 4},
                       "deviceProperties": [{"id": rank, "name": "NVIDIA A100-SXM4-80GB"}], "traceEvents": events}, out)


write("two", {1, 3}, True)
write("alone", {2}, False)
write("even", {}, True)
write("uneven", {}, False, [[0.9, 1.2, 0.8, 1.1, 0.9, 1.1], [1.2, 0.8, 1.0, 0.9, 1.2, 0.9], [0.8, 1.0, 1.2, 1.1, 0.8, 1.2],
                            [1.3, 0.9, 1.3, 1.3, 0.9, 1.3]])
