#!/usr/bin/env python3
"""Measures one NVIDIA GPU: power by state, kernels, host, training steps. README.md says what it wrote.

Usage: measure.py OUT_DIR [--quick]      (needs PyTorch, CuPy and nvidia-ml-py; changes no setting of the GPU)

A process of its own reads NVML every few milliseconds into samples.csv for the whole run; what runs meanwhile is told by
marks.csv, so that power and clock of any part are found afterwards. A part that fails is said in log.txt; the others go on.
"""
import csv
import gzip
import json
import math
import multiprocessing
import os
import subprocess
import sys
import time
import traceback

OUT = sys.argv[1]
QUICK = "--quick" in sys.argv
SCALE = 0.12 if QUICK else 1.0
DEADLINE = time.time() + (75 if QUICK else 300)


def sample_nvml(stop, path):
    import pynvml as nvml

    nvml.nvmlInit()
    gpu = nvml.nvmlDeviceGetHandleByIndex(0)
    fields = [186, 185, 83, 82]  # power now and averaged (mW), energy (mJ), HBM temperature (C)

    def number(value):
        if value.nvmlReturn != 0:
            return ""
        kind = value.valueType
        return [value.value.dVal, value.value.uiVal, value.value.ulVal, value.value.ullVal, value.value.sllVal][min(kind, 4)]

    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["time_s", "took_ms", "power_now_mw", "power_average_mw", "energy_mj", "hbm_c", "die_c", "sm_mhz", "reasons"])
        while not stop.is_set():
            begin = time.time()
            try:
                seen = [number(v) for v in nvml.nvmlDeviceGetFieldValues(gpu, fields)]
                row = [f"{begin:.4f}", 0, *seen, nvml.nvmlDeviceGetTemperature(gpu, 0),
                       nvml.nvmlDeviceGetClockInfo(gpu, 1), nvml.nvmlDeviceGetCurrentClocksEventReasons(gpu)]
                row[1] = f"{(time.time() - begin) * 1e3:.2f}"
                out.writerow(row)
            except Exception as error:
                out.writerow([f"{begin:.4f}", 0, "", "", "", "", "", "", str(error)])
            time.sleep(0.004)


def main():
    os.makedirs(OUT, exist_ok=True)
    stop = multiprocessing.get_context("spawn").Event()
    sampler = multiprocessing.get_context("spawn").Process(target=sample_nvml, args=(stop, f"{OUT}/samples.csv"))
    sampler.start()
    log = open(f"{OUT}/log.txt", "w")
    marks_file = open(f"{OUT}/marks.csv", "w", newline="")
    marks = csv.writer(marks_file)
    marks.writerow(["part", "what", "begin_s", "end_s", "count", "each_us", "flop", "bytes", "note"])

    def say(text):
        line = f"{time.time():.3f} {text}"
        print(line, flush=True)
        log.write(line + "\n")
        log.flush()

    def mark(part, what, begin, end, count=0, each_us="", flop="", size="", note=""):
        marks.writerow([part, what, f"{begin:.4f}", f"{end:.4f}", count, f"{each_us:.3f}" if each_us != "" else "",
                        f"{flop:.6g}" if flop != "" else "", f"{size:.6g}" if size != "" else "", note])
        marks_file.flush()

    begin = time.time()
    time.sleep(max(1.5, 8 * SCALE))
    mark("state", "no context", begin, time.time())

    import torch
    import torch.nn as nn
    import torch.nn.functional as F

    torch.cuda.init()
    device = torch.device("cuda:0")
    torch.zeros(1, device=device)
    say(f"torch {torch.__version__} cuda {torch.version.cuda} {torch.cuda.get_device_name()} "
        f"cudnn {torch.backends.cudnn.version()} {torch.cuda.get_device_properties(0)}")
    torch.manual_seed(1)
    bf16 = torch.bfloat16

    def rest(what, seconds):
        torch.cuda.synchronize()
        begin = time.time()
        time.sleep(max(0.5, seconds * SCALE))
        mark("state", what, begin, time.time())

    def per_call(run, calls):
        first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        first.record()
        for _ in range(calls):
            run()
        last.record()
        last.synchronize()
        return first.elapsed_time(last) * 1e-3 / calls

    def graphed(runs):
        """All of runs, one after another, as one CUDA graph."""
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for run in runs[:3]:
                run()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for run in runs:
                run()
        return graph

    def hold(part, what, run, seconds, flop="", size="", note="", graph=True, rotate=None):
        """Keeps one kernel going for some seconds and marks when, how often and how long each took."""
        if time.time() > DEADLINE:
            return
        try:
            runs = rotate or [run]
            for one in runs:
                one()
            torch.cuda.synchronize()
            once = per_call(runs[0], 3)
            many, play = len(runs), None
            if graph and once < 2e-3:
                many = len(runs) * max(1, min(200, math.ceil(3e-3 / once / len(runs))))
                play = graphed((runs * (many // len(runs)))[:many]).replay
            else:
                def play():
                    for one in runs:
                        one()
            once = per_call(play, 2) / many
            calls = max(1, math.ceil(0.02 / (once * many)))
            events, done = [], 0
            begin = time.time()
            first = torch.cuda.Event(enable_timing=True)
            first.record()
            while True:
                for _ in range(calls):
                    play()
                done += calls * many
                event = torch.cuda.Event(enable_timing=True)
                event.record()
                events.append(event)
                if len(events) > 2:
                    events[-3].synchronize()
                if time.time() - begin > seconds * SCALE:
                    break
            events[-1].synchronize()
            end = time.time()
            each = first.elapsed_time(events[-1]) * 1e3 / done
            mark(part, what, begin, end, done, each, flop, size, note)
        except Exception as error:
            say(f"{part} {what}: {type(error).__name__}: {str(error)[:200]}")
            torch.cuda.synchronize()

    def part(name, body):
        if time.time() > DEADLINE:
            say(f"{name}: no time left")
            return
        begin = time.time()
        try:
            body()
        except Exception:
            say(f"{name} failed: {traceback.format_exc()[-900:]}")
        try:
            torch.cuda.synchronize()
            torch.cuda.empty_cache()
        except Exception as error:
            say(f"{name}: {error}")
        say(f"{name}: {time.time() - begin:.1f} s")

    rest("context, before any load", 6)

    # --- what waiting costs -----------------------------------------------------------------------
    def waiting():
        import cupy

        source = r"""
        extern "C" __global__ void spin(volatile int* flag, unsigned long long ns, int polls) {
          unsigned long long begin, now;
          asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
          if ((int)(threadIdx.x >> 5) < polls) {
            do {
              if (*flag == 1) break;
              asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
            } while (now - begin < ns);
          }
          __syncthreads();
        }"""
        spin = cupy.RawKernel(source, "spin")
        flag = cupy.zeros(1, dtype=cupy.int32)
        for blocks in (1, 4, 16, 32, 66, 132):
            for polls in (1, 20):  # warps that poll, of 20; the others wait at the barrier
                seconds = max(0.3, 1.4 * SCALE)
                begin = time.time()
                spin((blocks,), (640,), (flag, cupy.uint64(int(seconds * 1e9)), cupy.int32(polls)))
                cupy.cuda.Device().synchronize()
                mark("spin", f"blocks={blocks} polling_warps={polls}", begin, time.time())

    # --- gaps of the host between kernels ----------------------------------------------------------
    def gaps():
        a = torch.randn(2048, 2048, device=device, dtype=bf16)
        b = torch.randn(2048, 2048, device=device, dtype=bf16)
        c = torch.empty_like(a)
        for _ in range(2):  # the first calls load the library
            once = per_call(lambda: torch.mm(a, b, out=c), 50)
        for share in (0.02, 0.1, 0.25, 0.5, 0.75):
            period = once / share
            begin = time.time()
            nxt, calls = time.perf_counter(), 0
            while time.time() - begin < max(0.3, 1.4 * SCALE):
                torch.mm(a, b, out=c)
                calls += 1
                nxt += period
                while time.perf_counter() < nxt:
                    pass
            torch.cuda.synchronize()
            mark("gaps", f"busy={share}", begin, time.time(), calls, once * 1e6, 2 * 2048**3)
        hold("gaps", "busy=1", lambda: torch.mm(a, b, out=c), 1.4, 2 * 2048**3)

    # --- bursts: the limiter's answer ----------------------------------------------------------------
    def bursts():
        a = torch.randn(8192, 8192, device=device, dtype=bf16)
        b = torch.randn(8192, 8192, device=device, dtype=bf16)
        c = torch.empty_like(a)
        once = per_call(lambda: torch.mm(a, b, out=c), 5)
        for half_ms in (10, 25, 50, 100, 200):
            calls = max(1, round(half_ms * 1e-3 / once))
            begin, total = time.time(), 0
            while time.time() - begin < max(0.4, 2.0 * SCALE):
                for _ in range(calls):
                    torch.mm(a, b, out=c)
                torch.cuda.synchronize()
                total += calls
                time.sleep(half_ms * 1e-3)
            mark("burst", f"half_period_ms={half_ms}", begin, time.time(), total, once * 1e6, 2 * 8192**3)
        rest("context, after a load", 3)
        # From rest into the limit: clock and time of every product.
        events = [torch.cuda.Event(enable_timing=True) for _ in range(int(900 * max(SCALE, 0.2)) + 1)]
        begin = time.time()
        events[0].record()
        for event in events[1:]:
            torch.mm(a, b, out=c)
            event.record()
        torch.cuda.synchronize()
        end = time.time()
        each = [x.elapsed_time(y) for x, y in zip(events, events[1:])]
        mark("onset", "8192^3 from rest", begin, end, len(each), 1e3 * sum(each) / len(each), 2 * 8192**3)
        json.dump([round(x, 4) for x in each], open(f"{OUT}/onset_ms.json", "w"))

    # --- products that share a step with other work: the clock that the mean power allows ----------------
    def mixtures():
        a = torch.randn(8192, 8192, device=device, dtype=bf16)
        b = torch.randn(8192, 8192, device=device, dtype=bf16)
        c = torch.empty_like(a)
        src = torch.randn(2**29, device=device, dtype=bf16)
        dst = torch.empty_like(src)
        q, k, v = (torch.randn(4, 32, 4096, 128, device=device, dtype=bf16) for _ in range(3))

        def product():
            torch.mm(a, b, out=c)

        others = {"copy 1 GiB": lambda: dst.copy_(src), "wait 1.8e6 cycles": lambda: torch.cuda._sleep(1_800_000),
                  "attention": lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True),
                  "silu 1 GiB": lambda: torch.nn.functional.silu(src, inplace=True)}
        turns = [("copy 1 GiB", n, m) for n, m in ((4, 2), (2, 3), (1, 4), (0, 4))]
        turns += [("wait 1.8e6 cycles", n, m) for n, m in ((4, 1), (4, 2), (2, 2), (1, 2), (1, 5))]
        turns += [("attention", n, m) for n, m in ((2, 2), (0, 4))] + [("silu 1 GiB", 2, 4), ("copy 1 GiB", 4, 0)]
        for name, products_, count in turns:
            other, stamps = others[name], []
            for _ in range(2):
                product()
                other()
            torch.cuda.synchronize()
            begin = time.time()
            while time.time() - begin < max(0.3, 1.7 * SCALE):
                row = [torch.cuda.Event(enable_timing=True) for _ in range(3)]
                row[0].record()
                for _ in range(products_):
                    product()
                row[1].record()
                for _ in range(count):
                    other()
                row[2].record()
                stamps.append(row)
                if len(stamps) > 6:
                    stamps[-6][2].synchronize()
            torch.cuda.synchronize()
            end = time.time()
            settled = stamps[len(stamps) // 2:]
            first = 1e3 * sum(r[0].elapsed_time(r[1]) for r in settled) / len(settled) / max(1, products_)
            second = 1e3 * sum(r[1].elapsed_time(r[2]) for r in settled) / len(settled) / max(1, count)
            # Power and clock are those of the second half, as the times are.
            mark("mixture", f"products={products_} others={count} {name}", (begin + end) / 2, end, len(settled), first if products_ else "",
                 2.0 * 8192**3, note=f"other_us={second:.3f}" if count else "")

    # --- matrix products -----------------------------------------------------------------------------
    def products():
        def mm(m, n, k, seconds, kind="nn", dtype=bf16, fill="normal", part="gemm"):
            make = {"normal": lambda *s: torch.randn(*s, device=device, dtype=dtype),
                    "zeros": lambda *s: torch.zeros(*s, device=device, dtype=dtype),
                    "uniform": lambda *s: torch.rand(*s, device=device, dtype=dtype)}[fill]
            a = make(m, k) if kind[0] == "n" else make(k, m).t()
            b = make(k, n) if kind[1] == "n" else make(n, k).t()
            c = torch.empty(m, n, device=device, dtype=dtype)
            name = {bf16: "bf16", torch.float16: "fp16", torch.float32: "fp32"}[dtype]
            width = a.element_size()
            hold(part, f"m={m} n={n} k={k} layout={kind} type={name} fill={fill}", lambda: torch.mm(a, b, out=c),
                 seconds, 2.0 * m * n * k, width * (m * k + k * n + m * n))

        power = 1.3
        for m, n, k in ((8192, 8192, 8192), (4096, 4096, 4096), (16384, 8192, 8192), (8192, 28672, 4096),
                        (2048, 2048, 2048), (8192, 1024, 8192), (8192, 8192, 512), (64, 8192, 8192)):
            mm(m, n, k, power)
        mm(8192, 8192, 8192, power, fill="zeros")
        mm(8192, 8192, 8192, power, fill="uniform")
        mm(8192, 8192, 8192, power, dtype=torch.float16)
        torch.backends.cuda.matmul.allow_tf32 = True
        mm(8192, 8192, 8192, power, dtype=torch.float32)
        # The products of layers of four widths: forward (y = x w^T), gradient of x, gradient of w.
        brief = 0.12
        for tokens in (2048, 4096, 16384):
            for hidden, out in ((2048, 3072), (2048, 8192), (3072, 8192), (4096, 6144), (4096, 14336), (8192, 28672), (8192, 1280), (2048, 128256)):
                if tokens == 16384 and out > 100000:
                    continue
                mm(tokens, out, hidden, brief, "nt", part="layer_forward")
                mm(tokens, hidden, out, brief, "nn", part="layer_dgrad")
                mm(out, hidden, tokens, brief, "tn", part="layer_wgrad")
        # Few waves, odd widths, little work.
        for m, n, k in ((128, 128, 8192), (256, 4096, 4096), (512, 4096, 4096), (1024, 1024, 1024), (4096, 4097, 4096), (4096, 4096, 4097),
                        (4096, 50257, 2048), (4096, 4100, 4096), (1536, 4096, 4096), (2816, 4096, 4096), (3200, 4096, 4096), (16, 4096, 4096)):
            mm(m, n, k, brief, "nt", part="shape")

        def scaled(m, n, k, seconds, fast):
            a = torch.randn(m, k, device=device).to(torch.float8_e4m3fn)
            b = torch.randn(n, k, device=device).to(torch.float8_e4m3fn).t()
            one = torch.ones((), device=device)
            hold("gemm_fp8", f"m={m} n={n} k={k} layout=nt type=fp8 fast_accumulation={fast}",
                 lambda: torch._scaled_mm(a, b, one, one, out_dtype=bf16, use_fast_accum=fast), seconds, 2.0 * m * n * k, m * k + k * n + 2 * m * n)

        for m, n, k in ((8192, 8192, 8192), (4096, 4096, 4096), (8192, 28672, 4096)):
            scaled(m, n, k, power, True)
        scaled(8192, 8192, 8192, power, False)

    # --- attention -------------------------------------------------------------------------------------
    def attention():
        from torch.nn.attention import SDPBackend, sdpa_kernel

        def one(backend, batch, length, heads, width, causal, seconds):
            q, k, v = (torch.randn(batch, heads, length, width, device=device, dtype=bf16, requires_grad=True) for _ in range(3))
            flop = 4.0 * batch * heads * length * length * width * (0.5 if causal else 1)
            what = f"{backend} batch={batch} length={length} heads={heads} width={width} causal={causal}"
            with sdpa_kernel(SDPBackend.FLASH_ATTENTION if backend == "flash" else SDPBackend.CUDNN_ATTENTION):
                hold("attention_forward", what, lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal), seconds, flop)
                out = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
                grad = torch.randn_like(out)
                hold("attention_backward", what, lambda: torch.autograd.grad(out, (q, k, v), grad, retain_graph=True), seconds, 2.5 * flop, graph=False)

        for backend in ("flash", "cudnn"):
            for width in (64, 128):
                for length in (1024, 2048, 4096, 8192, 16384):
                    power = length in (4096, 16384) and width == 128
                    one(backend, max(1, 16384 // length), length, 4096 // width, width, True, 1.2 if power else 0.12)
            one(backend, 4, 4096, 32, 128, False, 0.12)

    # --- kernels that memory bounds ----------------------------------------------------------------------
    def memory():
        def rotated(size_bytes):
            return max(1, min(64, math.ceil(256e6 / size_bytes)))

        for mib in (0.25, 1, 4, 16, 64, 256, 1024):
            n = int(mib * 2**20 / 2)
            copies = rotated(n * 2)
            src = [torch.randn(n, device=device, dtype=bf16) for _ in range(copies)]
            dst = [torch.empty(n, device=device, dtype=bf16) for _ in range(copies)]
            long = mib in (1024,)
            hold("memory", f"copy mib={mib}", None, 1.3 if long else 0.1, size=4.0 * n, rotate=[lambda s=s, d=d: d.copy_(s) for s, d in zip(src, dst)])
            hold("memory", f"add mib={mib}", None, 0.1, size=6.0 * n,
                 rotate=[lambda s=s, d=d, t=src[(i + 1) % copies]: torch.add(s, t, out=d) for i, (s, d) in enumerate(zip(src, dst))])
        big = torch.randn(2**29, device=device, dtype=torch.float32)
        hold("memory", "read: sum fp32 2 GiB", lambda: torch.sum(big), 1.3, size=4.0 * 2**29, graph=False)
        hold("memory", "write: fill fp32 2 GiB", lambda: big.fill_(1.5), 1.3, size=4.0 * 2**29)
        del big
        for tokens, hidden in ((4096, 2048), (4096, 4096), (8192, 8192), (16384, 4096)):
            x = torch.randn(tokens, hidden, device=device, dtype=bf16)
            w = torch.ones(hidden, device=device, dtype=bf16)
            e = tokens * hidden
            n = f"tokens={tokens} hidden={hidden}"
            hold("norm", f"rms_norm {n}", lambda: F.rms_norm(x, (hidden,), w, 1e-5), 0.1, size=4.0 * e)
            hold("norm", f"layer_norm {n}", lambda: F.layer_norm(x, (hidden,), w, w), 0.1, size=4.0 * e)
            hold("norm", f"rms_norm fp32 round trip {n}", lambda: F.rms_norm(x.float(), (hidden,), None, 1e-5).to(bf16) * w, 0.1, size=4.0 * e)
            gate, up = torch.randn(tokens, 2 * hidden, device=device, dtype=bf16), torch.randn(tokens, 2 * hidden, device=device, dtype=bf16)
            hold("elementwise", f"silu(gate)*up {n} ffn={2 * hidden}", lambda: F.silu(gate) * up, 0.1, size=6.0 * 2 * e)
            hold("elementwise", f"gelu {n}", lambda: F.gelu(gate), 0.1, size=4.0 * 2 * e)
            hold("elementwise", f"cast bf16 to fp32 {n}", lambda: x.float(), 0.1, size=6.0 * e)
            hold("elementwise", f"transpose {n}", lambda: x.t().contiguous(), 0.1, size=4.0 * e)
            index = torch.randperm(tokens, device=device)
            hold("permute", f"rows {n}", lambda: x.index_select(0, index), 0.1, size=4.0 * e)
        for tokens, words in ((4096, 32000), (4096, 128256), (8192, 128256)):
            logits = torch.randn(tokens, words, device=device, dtype=bf16, requires_grad=True)
            target = torch.randint(0, words, (tokens,), device=device)
            hold("loss", f"cross_entropy fp32 forward tokens={tokens} words={words}", lambda: F.cross_entropy(logits.float(), target), 0.12,
                 size=2.0 * tokens * words, graph=False)
            out = F.cross_entropy(logits.float(), target)
            hold("loss", f"cross_entropy fp32 backward tokens={tokens} words={words}",
                 lambda: torch.autograd.grad(out, logits, retain_graph=True), 0.12, size=2.0 * tokens * words, graph=False)
            table = torch.randn(words, 2048, device=device, dtype=bf16)
            hold("loss", f"embedding tokens={tokens} words={words} hidden=2048", lambda: F.embedding(target, table), 0.1, size=4.0 * tokens * 2048)
            del logits, out, table
        params = [torch.randn(4096, 4096, device=device, requires_grad=True) for _ in range(24)]
        for p in params:
            p.grad = torch.randn_like(p)
        for fused in (True, False):
            adam = torch.optim.AdamW(params, lr=1e-4, fused=fused, foreach=not fused)
            adam.step()
            hold("optimizer", f"adamw {'fused' if fused else 'foreach'} fp32 {24 * 4096 * 4096} parameters", adam.step, 0.6, size=28.0 * 24 * 4096**2, graph=False)
        pinned = torch.empty(2**28, dtype=torch.uint8, pin_memory=True)
        there = torch.empty(2**28, dtype=torch.uint8, device=device)
        hold("host_copy", "host to device 256 MiB pinned", lambda: there.copy_(pinned, non_blocking=True), 0.4, size=2.0**28, graph=False)
        hold("host_copy", "device to host 256 MiB pinned", lambda: pinned.copy_(there, non_blocking=True), 0.4, size=2.0**28, graph=False)
        tiny = torch.zeros(128, device=device)
        hold("latency", "dependent tiny kernels, graph", lambda: tiny.add_(1.0), 0.2)
        calls = 500
        torch.cuda.synchronize()
        first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda._sleep(40_000_000)
        first.record()
        for _ in range(calls):
            tiny.add_(1.0)
        last.record()
        torch.cuda.synchronize()
        mark("latency", "dependent tiny kernels, queued", time.time(), time.time(), calls, first.elapsed_time(last) * 1e3 / calls)

    # --- what the host spends on a launch -------------------------------------------------------------
    def host():
        x = torch.randn(256, 256, device=device, dtype=bf16, requires_grad=True)
        w = torch.randn(256, 256, device=device, dtype=bf16, requires_grad=True)
        g = torch.ones(256, device=device, dtype=bf16, requires_grad=True)
        q = torch.randn(1, 4, 64, 64, device=device, dtype=bf16, requires_grad=True)
        linear, norm = nn.Linear(256, 256, bias=False, device=device, dtype=bf16), nn.RMSNorm(256, device=device, dtype=bf16)
        tasks = {
            "mm": lambda: torch.mm(x, w), "F.linear": lambda: F.linear(x, w), "nn.Linear": lambda: linear(x), "nn.RMSNorm": lambda: norm(x),
            "add": lambda: x + w, "mul": lambda: x * w, "silu": lambda: F.silu(x), "layer_norm": lambda: F.layer_norm(x, (256,), g, g),
            "sdpa": lambda: F.scaled_dot_product_attention(q, q, q, is_causal=True), "cast": lambda: x.float(), "view": lambda: x.view(16, 16, 256),
            "linear, backward": None,
        }
        for name, run in tasks.items():
            for grad in (True, False):
                with torch.set_grad_enabled(grad):
                    if run is None:
                        if not grad:
                            continue
                        y = x
                        for _ in range(40):
                            y = F.linear(y, w)
                        loss = y.sum()
                        torch.cuda.synchronize()
                        begin = time.perf_counter()
                        loss.backward()
                        spent = (time.perf_counter() - begin) / 80
                        torch.cuda.synchronize()
                        mark("host", "backward of a linear, a product", time.time(), time.time(), 80, spent * 1e6)
                        continue
                    for _ in range(20):
                        run()
                    torch.cuda.synchronize()
                    best = 1e9
                    for _ in range(5):
                        begin = time.perf_counter()
                        for _ in range(60):
                            run()
                        best = min(best, (time.perf_counter() - begin) / 60)
                        torch.cuda.synchronize()
                    mark("host", f"{name} grad={grad}", time.time(), time.time(), 300, best * 1e6)
        tiny = torch.zeros(128, device=device)
        graph = graphed([lambda: tiny.add_(1.0)] * 200)
        graph.replay()
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(5):
            graph.replay()
        spent = (time.perf_counter() - begin) / 5
        torch.cuda.synchronize()
        mark("host", "replay of a graph of 200 kernels", time.time(), time.time(), 5, spent * 1e6)

    part("waiting", waiting)
    part("gaps", gaps)
    part("host", host)
    part("bursts", bursts)
    part("mixtures", mixtures)
    part("products", products)
    part("attention", attention)
    part("memory", memory)
    rest("context, at the end", 4)
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    # Its own processes: no peak of memory is to count what is left here.
    subprocess.run([sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "training.py"), OUT, str(max(60, 60 + DEADLINE - time.time()))])
    stop.set()
    sampler.join(5)
    if sampler.is_alive():
        sampler.terminate()
    with open(f"{OUT}/samples.csv", "rb") as raw, gzip.open(f"{OUT}/samples.csv.gz", "wb") as packed:
        packed.write(raw.read())
    os.remove(f"{OUT}/samples.csv")
    say("done")


if __name__ == "__main__":
    main()
