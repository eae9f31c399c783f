#!/usr/bin/env python3
"""Times training steps of a Llama as torchtitan builds it on one GPU: training.py OUT_DIR [FIRST_SECONDS] (needs PyTorch)

Every job is a process of its own, so that no peak of memory counts what another job left. Writes training.csv, train.log (lines
as torchtitan prints them) and trace.json.gz of the first job. No job is begun after FIRST_SECONDS.
"""
import csv
import gzip
import os
import sys
import time
import traceback

import torch
import torch.nn as nn
import torch.nn.functional as F

BF16 = torch.bfloat16
#                      words, hidden, layers, heads, groups, feed-forward
SIZES = {"llama3.2-1b": (128256, 2048, 16, 32, 8, 8192), "llama3.2-3b": (128256, 3072, 28, 24, 8, 8192),
         "llama-160m": (32000, 768, 12, 12, 12, 2048), "llama3-8b-4-layers": (128256, 4096, 4, 32, 8, 14336)}
#       model, sequence, micro batch, recompute, compiled; the first is traced
JOBS = [("llama3.2-1b", 4096, 2, "none", "off"), ("llama-160m", 2048, 4, "none", "off"), ("llama3.2-1b", 4096, 1, "none", "off"),
        ("llama3.2-1b", 4096, 4, "none", "off"), ("llama3.2-1b", 8192, 1, "none", "off"), ("llama3.2-1b", 512, 1, "none", "off"),
        ("llama3.2-1b", 4096, 2, "full", "off"), ("llama3.2-1b", 4096, 8, "full", "off"), ("llama3.2-3b", 4096, 1, "none", "off"),
        ("llama3.2-3b", 4096, 2, "full", "off"), ("llama3-8b-4-layers", 8192, 1, "none", "off"),
        ("llama3-8b-4-layers", 4096, 4, "none", "off"), ("llama-160m", 2048, 16, "none", "off"),
        ("llama3.2-1b", 4096, 3, "none", "off"), ("llama3.2-1b", 4096, 5, "none", "off"), ("llama3.2-1b", 4096, 6, "none", "off"),
        ("llama3.2-1b", 4096, 8, "none", "off"), ("llama3.2-1b", 4096, 10, "none", "off"), ("llama3.2-1b", 4096, 12, "none", "off"),
        ("llama3.2-1b", 4096, 2, "none", "on"), ("llama3.2-1b", 4096, 4, "none", "on")]
COLUMNS = ["model", "seq_length", "micro_batch", "recompute", "compile", "outcome", "step_ms", "steps_ms", "begin_s", "end_s",
           "allocated_gib", "reserved_gib"]


class Attention(nn.Module):
    def __init__(self, hidden, heads, groups):
        super().__init__()
        self.heads, self.groups, self.width = heads, groups, hidden // heads
        self.wq = nn.Linear(hidden, hidden, bias=False)
        self.wk = nn.Linear(hidden, groups * self.width, bias=False)
        self.wv = nn.Linear(hidden, groups * self.width, bias=False)
        self.wo = nn.Linear(hidden, hidden, bias=False)

    def forward(self, x, angles):
        b, s, _ = x.shape
        q = self.wq(x).view(b, s, -1, self.width)
        k = self.wk(x).view(b, s, -1, self.width)
        v = self.wv(x).view(b, s, -1, self.width)

        def turn(t):
            pairs = torch.view_as_complex(t.float().reshape(*t.shape[:-1], -1, 2))
            return torch.view_as_real(pairs * angles[None, :s, None, :]).flatten(3).type_as(t)

        q, k = turn(q), turn(k)
        more = self.heads // self.groups
        k = k[:, :, :, None, :].expand(b, s, self.groups, more, self.width).reshape(b, s, self.heads, self.width)
        v = v[:, :, :, None, :].expand(b, s, self.groups, more, self.width).reshape(b, s, self.heads, self.width)
        out = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=True)
        return self.wo(out.transpose(1, 2).contiguous().view(b, s, -1))


class Block(nn.Module):
    def __init__(self, hidden, heads, groups, ffn):
        super().__init__()
        self.attention_norm, self.ffn_norm = nn.RMSNorm(hidden, eps=1e-5), nn.RMSNorm(hidden, eps=1e-5)
        self.attention = Attention(hidden, heads, groups)
        self.w1 = nn.Linear(hidden, ffn, bias=False)
        self.w2 = nn.Linear(ffn, hidden, bias=False)
        self.w3 = nn.Linear(hidden, ffn, bias=False)

    def forward(self, x, angles):
        h = x + self.attention(self.attention_norm(x), angles)
        n = self.ffn_norm(h)
        return h + self.w2(F.silu(self.w1(n)) * self.w3(n))


def turns_of(width, length):
    turns = torch.outer(torch.arange(length).float(), 1.0 / (500000.0 ** (torch.arange(0, width, 2).float() / width)))
    return torch.polar(torch.ones_like(turns), turns)


class Llama(nn.Module):
    def __init__(self, words, hidden, layers, heads, groups, ffn, length):
        super().__init__()
        self.embed = nn.Embedding(words, hidden)
        self.layers = nn.ModuleList(Block(hidden, heads, groups, ffn) for _ in range(layers))
        self.norm, self.head = nn.RMSNorm(hidden, eps=1e-5), nn.Linear(hidden, words, bias=False)
        self.register_buffer("angles", turns_of(hidden // heads, length), persistent=False)

    def forward(self, ids):
        h = self.embed(ids)
        for layer in self.layers:
            h = layer(h, self.angles)
        return self.head(self.norm(h))


def sharded(name, length, recompute, compiled, device):
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    with torch.device("meta"):
        model = Llama(*SIZES[name], length)
    if recompute == "full":
        from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
        for i in range(len(model.layers)):
            model.layers[i] = checkpoint_wrapper(model.layers[i], preserve_rng_state=False)
    if compiled == "on":
        for layer in model.layers:
            layer.compile(fullgraph=True)
    policy = MixedPrecisionPolicy(param_dtype=BF16, reduce_dtype=torch.float32)
    for layer in model.layers:
        fully_shard(layer, mp_policy=policy)
    fully_shard(model, mp_policy=policy)
    model.to_empty(device=device)
    model.angles = turns_of(SIZES[name][1] // SIZES[name][3], length).to(device)
    with torch.no_grad():
        for p in model.parameters():
            p.normal_(0, 0.02)
    return model


def write_trace(step, out):
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True) as seen:
        for _ in range(2):
            step().item()
    seen.export_chrome_trace(f"{out}/trace.json")
    with open(f"{out}/trace.json", "rb") as raw, gzip.open(f"{out}/trace.json.gz", "wb") as packed:
        packed.write(raw.read())
    os.remove(f"{out}/trace.json")


def train(job, out, traced):
    """Appends the job's row to training.csv."""
    import torch.distributed as dist

    name, length, batch, recompute, compiled = job
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29511", RANK="0", WORLD_SIZE="1", LOCAL_RANK="0")
    dist.init_process_group("nccl")
    device = torch.device("cuda:0")
    torch.manual_seed(1)
    outcome, times, begin, end, took = "ok", [], time.time(), None, ""
    try:
        model = sharded(name, length, recompute, compiled, device)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
        ids = torch.randint(0, SIZES[name][0], (batch, length + 1), device=device)

        def step():
            optimizer.zero_grad()
            logits = model(ids[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1).float(), ids[:, 1:].flatten(0, 1))
            del logits
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
            optimizer.step()
            return loss

        for _ in range(3):
            step()
        torch.cuda.synchronize()
        begin = time.time()
        events = [torch.cuda.Event(enable_timing=True) for _ in range(11)]
        events[0].record()
        with open(f"{out}/train.log", "a") as log:
            for i, event in enumerate(events[1:], 1):
                loss = step()
                event.record()
                value = loss.item()  # as a loop that prints its loss
                now = time.time()
                log.write(f"[rank0]:{time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(now))},{int(now * 1000) % 1000:03d} - root - INFO - "
                          f"step: {i:2}  loss: {value:7.4f}  memory: {torch.cuda.max_memory_reserved() / 2**30:5.2f}GiB  "
                          f"tps: {batch * length / max(1e-9, (now - begin) / i):,.0f}\n")
        torch.cuda.synchronize()
        end = time.time()
        times = [a.elapsed_time(b) for a, b in zip(events, events[1:])]
        took = f"{sorted(times)[5]:.3f}"
    except torch.OutOfMemoryError:
        outcome = "oom"
    with open(f"{out}/training.csv", "a", newline="") as file:
        csv.writer(file, lineterminator="\n").writerow(
            [*job, outcome, took, " ".join(f"{t:.2f}" for t in times), f"{begin:.3f}", f"{end:.3f}" if end else "",
             f"{torch.cuda.max_memory_allocated() / 2**30:.3f}", f"{torch.cuda.max_memory_reserved() / 2**30:.3f}"])
    print("train", *job, took, outcome, flush=True)
    if traced and outcome == "ok":
        write_trace(step, out)


def main():
    out, deadline = sys.argv[1], time.time() + float(sys.argv[2] if len(sys.argv) > 2 else 1e9)
    os.makedirs(out, exist_ok=True)
    with open(f"{out}/training.csv", "w") as file:
        file.write(",".join(COLUMNS) + "\n")
    for i, job in enumerate(JOBS):
        if time.time() > deadline:
            print("train", *job, "no time left", flush=True)
            continue
        child = os.fork()  # nothing has touched CUDA yet
        if child == 0:
            try:
                train(job, out, i == 0)
            except Exception:
                print(f"train {job}: {traceback.format_exc()[-900:]}", flush=True)
            os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
