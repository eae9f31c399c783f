"""Traces of four ranks that compute, reduce and step six times; rank 2's GPU takes half as long again in the last three. With
readings of its clock, once in UTC and once as nvidia-smi writes them two hours east of it."""
import json
import os

US_PER_STEP, TRANSFER, OPTIMIZER, GPUS, STEPS = 12000, 600, 500, 4, 6
BASE_S = 1_746_093_600  # 2025-05-01 10:00:00 UTC


def event(cat, name, ts, dur, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": args.get("stream", 1), "ts": BASE_S * 1e6 + ts, "dur": dur,
            "args": args}


def trace(rank):
    events, at = [], 0
    for step in range(STEPS):
        compute = US_PER_STEP * (1.5 if rank == 2 and step >= 3 else 1)
        last = at + US_PER_STEP * (1.5 if step >= 3 else 1)
        ranks = list(range(GPUS))
        events += [
            event("kernel", "ampere_bf16_s16816gemm_bf16_128x128_tn", at, compute, stream=7, device=rank),
            event("kernel", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", at + compute, last + TRANSFER - at - compute, stream=20,
                  device=rank, **{"Collective name": "allreduce", "In msg nelems": 50_000_000, "Out msg nelems": 50_000_000,
                                  "dtype": "BFloat16", "Group size": GPUS, "Process Group Name": "0",
                                  "Process Group Ranks": str(ranks), "Seq": step}),
            event("kernel", "multi_tensor_apply_kernel<FusedAdam>", last + TRANSFER, OPTIMIZER, stream=7, device=rank)]
        end = last + TRANSFER + OPTIMIZER
        events.append(event("user_annotation", f"ProfilerStep#{10 + step}", at, end - at))
        at = end
    return {"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": GPUS},
            "deviceProperties": [{"id": rank, "name": "NVIDIA A100-SXM4-80GB"}], "traceEvents": events}


def readings(name, hour):
    with open(name, "w") as out:
        out.write("timestamp, index, name, clocks.current.sm [MHz]\n")
        for tick in range(20):
            for gpu in range(GPUS):
                slow = gpu == 2 and tick >= 8
                out.write(f"2025/05/01 {hour:02}:00:00.{tick * 10:03}, {gpu}, NVIDIA A100-SXM4-80GB, {940 if slow else 1410} MHz\n")


for rank in range(GPUS):
    for folder in ["all", "later"] + (["without2"] if rank != 2 else []):
        os.makedirs(folder, exist_ok=True)
        with open(f"{folder}/rank{rank}.json", "w") as out:
            json.dump(trace(rank), out)
readings("utc.csv", 10)
readings("local.csv", 12)
