#!/usr/bin/env python3
"""Traces and telemetry of a job that does not exist, with what went wrong in it known.

    make.py FOLDER [healthy]

Two nodes of 8 GPUs, tensor parallel 4, data parallel 4, 24 steps of about half a second. Rank 5 is too hot: from the
first step on it runs at 1,500 MHz instead of 1,980, and computes 1980/1500 times as long. Every 8th step rank 0 writes a
checkpoint for 200 ms before it goes on. The second node's clock is 300 ms behind and loses 50 ppm. With "healthy", rank 5
is as cool as the others: what the same job takes then.
"""
import json
import pathlib
import random
import sys

RANKS, NODE, TP, STEPS, LAYERS = 16, 8, 4, 24, 4
MS = 1_000_000  # ns
EPOCH = 1_760_000_000_000_000_000
HOT = None if sys.argv[2:] == ["healthy"] else 5
COOL_MHZ, HOT_MHZ = 1980, 1500
jitter = random.Random(1)


def node_clock(rank, time):
    """What the rank's node shows at a true time."""
    return time if rank < NODE else time - 300 * MS - time // 20_000


class Rank:
    def __init__(self, rank):
        self.rank, self.now, self.events, self.correlation = rank, 0, [], 0
        self.cpu = 0  # until when the CPU is busy

    def event(self, category, name, start, end, thread, **args):
        begin, until = node_clock(self.rank, start), node_clock(self.rank, end)
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": 0, "tid": thread, "ts": begin / 1000,
                            "dur": (until - begin) / 1000, "args": args})

    def kernel(self, name, start, end, stream, **args):
        self.correlation += 1
        self.event("kernel", name, start, end, stream, device=0, stream=stream, correlation=self.correlation, **args)
        self.event("cuda_runtime", "cudaLaunchKernel", self.cpu, self.cpu + 5000, 100, correlation=self.correlation)
        self.cpu += 20_000

    def synchronize(self):
        self.correlation += 1
        self.event("cuda_runtime", "cudaDeviceSynchronize", self.cpu, self.now + 3000, 100,
                   correlation=self.correlation)
        self.cpu = self.now = self.now + 10_000

    def compute(self, name, length):
        slow = COOL_MHZ / HOT_MHZ if self.rank == HOT else 1
        end = self.now + int(length * slow * (1 + 0.004 * jitter.random()))
        self.kernel(name, self.now + 4000, end, 7)
        self.now = end


def meet(members, name, kind, elements, transfer, group, description, sequence):
    """A collective: nothing moves before the last rank is there."""
    last = max(rank.now for rank in members) + 5000
    for rank in members:
        end = last + transfer + jitter.randrange(10_000)
        rank.kernel(name, rank.now + 5000, end, 20, **{
            "Collective name": kind, "In msg nelems": elements, "Out msg nelems": elements, "Group size": len(members),
            "dtype": "BFloat16", "Process Group Name": group, "Process Group Description": description,
            "Seq": sequence})
        rank.now = end


def step(ranks, number):
    for rank in ranks:
        if rank.rank == 0 and number % 8 == 7:
            rank.cpu = rank.now = rank.now + 200 * MS
    sequence = number * 2 * LAYERS
    for layer in range(2 * LAYERS):
        for first in range(0, RANKS, TP):
            members = ranks[first:first + TP]
            for rank in members:
                rank.compute("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x256x64_cublas",
                             (20 if layer < LAYERS else 40) * MS)
            meet(members, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "allreduce", 64 << 20, 2 * MS, str(1 + first // TP),
                 "TENSOR_MODEL_PARALLEL_GROUP", sequence + layer)
    for lane in range(TP):
        meet(ranks[lane::TP], "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL", "_reduce_scatter_base", 512 << 20, 60 * MS,
             str(10 + lane), "DATA_PARALLEL_GROUP_WITH_CP", number)
    meet(ranks, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "allreduce", 1, 40_000, "0", "default_pg", number)
    for rank in ranks:
        rank.compute("multi_tensor_apply_kernel", 8 * MS)
        rank.synchronize()


def write_telemetry(folder, end):
    rows = ["time_ns,rank,power_w,average_power_w,gpu_c,memory_c,sm_clock_mhz,event_reasons"]
    for rank in range(RANKS):
        hot = rank == HOT
        for time in range(0, end, 100 * MS):
            row = [EPOCH + node_clock(rank, time), rank, (520 if hot else 640) + jitter.randrange(20), 0,
                   (87 if hot else 64 + rank % 4) + jitter.randrange(2), 70, HOT_MHZ if hot else COOL_MHZ,
                   32 if hot else 0]
            row[3] = row[2]
            rows.append(",".join(map(str, row)))
    (folder / "telemetry.csv").write_text("\n".join(rows) + "\n")


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    ranks = [Rank(rank) for rank in range(RANKS)]
    for number in range(STEPS):
        starts = [rank.now for rank in ranks]
        step(ranks, number)
        for rank, start in zip(ranks, starts):
            rank.event("user_annotation", f"ProfilerStep#{number}", start, rank.now, 1)
    for rank in ranks:
        trace = {"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank.rank, "world_size": RANKS},
                 "deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}], "baseTimeNanoseconds": EPOCH,
                 "traceEvents": rank.events}
        (folder / f"rank{rank.rank}.json").write_text(json.dumps(trace))
    write_telemetry(folder, max(rank.now for rank in ranks) + 100 * MS)


main()
