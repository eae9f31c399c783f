#!/usr/bin/env python3
"""Times Hugging Face's Trainer on one GPU: training.py OUT_DIR SECONDS [FIRST [STEP]] (needs PyTorch, transformers, peft, nvidia-ml-py)

Trains the jobs of jobs.csv on random tokens, models as ../../../catalog/models/*.json describe them, each job in a process of its
own, so that no peak of memory counts what another job left. Writes training.csv, kernels.csv (what ran in one step, by kernel) and
traces of the jobs that are marked. Jobs FIRST, FIRST + STEP and so on are run; none is begun after SECONDS.
"""
import collections
import csv
import dataclasses
import gzip
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import traceback

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")  # importing must not start CUDA before a job's process is forked

import torch
import transformers
from transformers import Trainer, TrainerCallback, TrainingArguments

HERE = pathlib.Path(__file__).resolve().parent
MODELS = HERE.parents[2] / "catalog" / "models"
WARM, LEAST, SECONDS = 3, 5, 2.5  # steps before the timed ones, the fewest of them, and how long they last at least
COLUMNS = ["board", "job", "outcome", "parameters", "trained", "step_ms", "steps_ms", "power_w", "clock_mhz", "die_c", "reasons",
           "allocated_gib", "reserved_gib", "used_gib", "busy_ms", "span_ms", "kernels", "begin_s", "end_s"]


def sample_nvml(path):
    """Writes time, energy counter (mJ), clock, die temperature, event reasons and used bytes every 20 ms, until it is ended."""
    import pynvml as nvml

    nvml.nvmlInit()
    gpu = nvml.nvmlDeviceGetHandleByIndex(0)
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        while True:
            now = time.time()
            out.writerow([f"{now:.4f}", nvml.nvmlDeviceGetTotalEnergyConsumption(gpu), nvml.nvmlDeviceGetClockInfo(gpu, 1),
                          nvml.nvmlDeviceGetTemperature(gpu, 0), nvml.nvmlDeviceGetCurrentClocksEventReasons(gpu),
                          nvml.nvmlDeviceGetMemoryInfo(gpu).used])
            file.flush()
            time.sleep(0.02)


class Tokens(torch.utils.data.Dataset):
    def __init__(self, vocabulary, length):
        self.rows = torch.randint(10, min(vocabulary, 30000), (64, length))

    def __len__(self):
        return 1 << 20

    def __getitem__(self, i):
        ids = self.rows[i % len(self.rows)]
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": ids.clone()}


class Clock(TrainerCallback):
    """Ends of steps; stops after enough of them, with one more under the profiler."""

    def __init__(self, traced):
        self.ends, self.traced, self.profiler, self.done = [], traced, None, False

    def on_step_end(self, args, state, control, **_):
        torch.cuda.synchronize()
        if self.profiler:
            self.profiler.stop()
            self.done = control.should_training_stop = True
            return
        self.ends.append(time.time())
        timed = self.ends[WARM - 1:]
        if len(timed) > LEAST and timed[-1] - timed[0] > SECONDS:
            from torch.profiler import ProfilerActivity, profile
            self.allocated, self.reserved = torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()
            kinds = [ProfilerActivity.CUDA] + ([ProfilerActivity.CPU] if self.traced else [])
            self.profiler = profile(activities=kinds, record_shapes=self.traced)
            self.profiler.start()


def built(job):
    from transformers import AutoConfig, AutoModelForCausalLM

    words = {k: v for k, v in json.loads((MODELS / f"{job['model']}.json").read_text()).items() if k != "_ergometer"}
    words.pop("torch_dtype", None)
    config = AutoConfig.for_model(words.pop("model_type"), **words)
    config.use_cache = False
    kind = torch.bfloat16 if job["weights"] == "bf16" else torch.float32
    with torch.device("cuda"):
        model = AutoModelForCausalLM.from_config(config, dtype=kind, attn_implementation=job["attention"])
    if job["method"] == "lora":
        from peft import LoraConfig, get_peft_model
        targets = job["targets"] if job["targets"] == "all-linear" else job["targets"].split()
        model = get_peft_model(model, LoraConfig(r=int(job["rank"]), lora_alpha=32, lora_dropout=0.0, target_modules=targets,
                                                 task_type="CAUSAL_LM"))
        if job["checkpointing"] == "yes":
            model.enable_input_require_grads()
    return model, config


def arguments(job):
    words = {"output_dir": "/tmp/trainer", "per_device_train_batch_size": int(job["micro_batch"]),
             "gradient_accumulation_steps": int(job["accumulation"]), "gradient_checkpointing": job["checkpointing"] == "yes",
             "gradient_checkpointing_kwargs": {"use_reentrant": False}, "bf16": True, "optim": "adamw_torch_fused",
             "max_steps": 10000, "logging_steps": 1, "save_strategy": "no", "report_to": "none", "disable_tqdm": True,
             "remove_unused_columns": False, "torch_compile": job["compile"] == "yes"}
    known = {f.name for f in dataclasses.fields(TrainingArguments)}
    for name in sorted(set(words) - known):
        print("unknown argument", name, flush=True)
        words.pop(name)
    return TrainingArguments(**words)


def kernels_of(path):
    """Kernels of a trace by name (times, microseconds), how long one ran at least, and from the first to the last."""
    with open(path) as file:
        events = [e for e in json.load(file)["traceEvents"] if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    found = collections.defaultdict(lambda: [0, 0.0])
    busy, until = 0.0, 0.0
    for event in sorted(events, key=lambda e: e["ts"]):
        begin, end = event["ts"], event["ts"] + event["dur"]
        found[event["name"]][0] += 1
        found[event["name"]][1] += event["dur"]
        busy += max(0.0, end - max(begin, until))
        until = max(until, end)
    span = until - min(e["ts"] for e in events)
    return found, busy, span, len(events)


def measured(job, index, out, clock, row):
    times = [1e3 * (b - a) for a, b in zip(clock.ends[WARM - 1:], clock.ends[WARM:])]
    row.update(outcome="ok", step_ms=f"{sorted(times)[len(times) // 2]:.2f}", steps_ms=" ".join(f"{t:.1f}" for t in times),
               begin_s=f"{clock.ends[WARM - 1]:.3f}", end_s=f"{clock.ends[-1]:.3f}", allocated_gib=f"{clock.allocated / 2**30:.3f}",
               reserved_gib=f"{clock.reserved / 2**30:.3f}")
    path = f"/tmp/trainer-{index}.json"
    clock.profiler.export_chrome_trace(path)
    found, busy, span, count = kernels_of(path)
    row.update(busy_ms=f"{busy * 1e-3:.2f}", span_ms=f"{span * 1e-3:.2f}", kernels=count)
    with open(f"{out}/kernels.csv", "a", newline="") as file:
        for name, (times, took) in sorted(found.items(), key=lambda f: -f[1][1])[:60]:
            csv.writer(file, lineterminator="\n").writerow([index, job["model"], name[:160], times, f"{took:.1f}"])
    if clock.traced:
        with open(path, "rb") as raw, gzip.open(f"{out}/trace-{index}.json.gz", "wb") as packed:
            packed.write(raw.read())
    os.remove(path)


def power_over(path, begin, end):
    """Mean power by the energy counter, median clock, hottest die, reasons seen, and the most memory used from 60 s before."""
    with open(path) as file:
        rows = [[float(x) for x in line.split(",")] for line in file if line.count(",") == 5 and line.endswith("\n")]
    inside = [r for r in rows if begin <= r[0] <= end]
    changes = [b for a, b in zip(inside, inside[1:]) if b[1] != a[1]]
    power = (changes[-1][1] - changes[0][1]) * 1e-3 / (changes[-1][0] - changes[0][0])
    reasons = 0
    for r in inside:
        reasons |= int(r[4])
    clocks = sorted(r[2] for r in inside)
    return {"power_w": f"{power:.1f}", "clock_mhz": f"{sum(clocks) / len(clocks):.0f}", "die_c": f"{max(r[3] for r in inside):.0f}",
            "reasons": hex(reasons), "used_gib": f"{max(r[5] for r in inside) / 2**30:.3f}"}


def train(job, index, out):
    """Appends the job's row to training.csv."""
    row = {"job": index}
    try:
        row["board"] = torch.cuda.get_device_name(0)
        torch.manual_seed(1)
        model, config = built(job)
        row["parameters"] = sum(p.numel() for p in model.parameters())
        row["trained"] = sum(p.numel() for p in model.parameters() if p.requires_grad)
        clock = Clock(job["traced"] == "yes")
        trainer = Trainer(model=model, args=arguments(job), train_dataset=Tokens(config.vocab_size, int(job["sequence"])),
                          data_collator=transformers.default_data_collator, callbacks=[clock])
        trainer.train()
        measured(job, index, out, clock, row)
        row.update(power_over(f"{out}/samples.csv", clock.ends[WARM - 1], clock.ends[-1]))
    except torch.OutOfMemoryError:
        row.update(outcome="oom", allocated_gib=f"{torch.cuda.max_memory_allocated() / 2**30:.3f}",
                   reserved_gib=f"{torch.cuda.max_memory_reserved() / 2**30:.3f}")
    except Exception as error:
        if "forked subprocess" in str(error):
            os._exit(7)
        row["outcome"] = row.get("outcome") or "failed"
        print(f"{index} {job['model']}: {traceback.format_exc()[-1500:]}", flush=True)
    with open(f"{out}/training.csv", "a", newline="") as file:
        csv.DictWriter(file, COLUMNS, lineterminator="\n").writerow(row)
    print(index, job["model"], job["method"], {k: row.get(k) for k in COLUMNS[2:] if k != "steps_ms"}, flush=True)


def run(jobs, index, out, forks):
    """One job in a process of its own; false where a forked one cannot start CUDA."""
    if not forks:
        subprocess.run([sys.executable, __file__, out, "0", str(index), "only"], check=False)
        return True
    child = os.fork()  # nothing has touched CUDA yet
    if child == 0:
        train(jobs[index], index, out)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def main():
    out, deadline = sys.argv[1], time.time() + float(sys.argv[2])
    with open(HERE / "jobs.csv", newline="") as file:
        jobs = list(csv.DictReader(file))
    first, step = int(sys.argv[3]) if len(sys.argv) > 3 else 0, sys.argv[4] if len(sys.argv) > 4 else "1"
    if step == "only":
        return train(jobs[first], first, out)
    os.makedirs(out, exist_ok=True)
    import peft  # once, before the jobs are forked
    print("torch", torch.__version__, "transformers", transformers.__version__, "peft", peft.__version__,
          f"imported in {time.process_time():.1f} s of processor time", flush=True)
    with open(f"{out}/training.csv", "w") as file:
        file.write(",".join(COLUMNS) + "\n")
    sampler = os.fork()
    if sampler == 0:
        sample_nvml(f"{out}/samples.csv")
    forks = True
    for index in range(first, len(jobs), int(step)):
        if time.time() > deadline:
            print("no time left from job", index, flush=True)
            break
        begin = time.time()
        if not run(jobs, index, out, forks):
            print("each job is started anew", flush=True)
            forks = False
            run(jobs, index, out, forks)
        print(f"  took {time.time() - begin:.1f} s", flush=True)
    os.kill(sampler, signal.SIGTERM)
    os.waitpid(sampler, 0)


if __name__ == "__main__":
    main()
