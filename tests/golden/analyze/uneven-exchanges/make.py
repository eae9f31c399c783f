#!/usr/bin/env python3
"""Writes rank-0.json and rank-1.json: two ranks whose experts get 6,144 and 2,048 of 8,192 tokens, in three layers."""
import json
import pathlib

HIDDEN, TOKENS = 64, 4096
for rank, got in enumerate((6144, 2048)):
    events = [{"ph": "M", "pid": 0, "name": "process_labels", "args": {"labels": "GPU 0"}}]

    def kernel(name, start, duration, correlation, stream, **arguments):
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": start - 4,
                       "dur": 2, "args": {"correlation": correlation}})
        events.append({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": stream, "ts": start, "dur": duration,
                       "args": {"device": 0, "stream": stream, "correlation": correlation, **arguments}})

    def exchange(start, end, number, into, out):
        kernel("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", start, end - start, 10 * number, 20,
               **{"Collective name": "all_to_allv", "In msg nelems": into * HIDDEN, "Out msg nelems": out * HIDDEN,
                  "Group size": 2, "dtype": "BFloat16", "Process Group Name": "3",
                  "Process Group Description": "EXPERT_MODEL_PARALLEL_GROUP", "Process Group Ranks": "[0, 1]", "Seq": number})

    for layer in range(3):
        begin = 1000 + 1000 * layer
        exchange(begin, begin + 100, 2 * layer + 1, TOKENS, got)
        kernel("sm90_xmma_gemm_bf16bf16_grouped", begin + 110, got // 10, 100 + layer, 7)
        exchange(begin + 115 + got // 10, begin + 830, 2 * layer + 2, got, TOKENS)
    trace = {"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2},
             "traceEvents": events}
    path = pathlib.Path(__file__).parent / f"rank-{rank}.json"
    path.write_text(json.dumps(trace, indent=1) + "\n")
