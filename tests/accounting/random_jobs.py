"""Jobs as users type them, drawn at random: every layout is one that the model and the cluster allow."""

import random

CLUSTERS = ["charllm-h100", "charllm-h200", "charllm-mi250", "eos", "selene", "h200-superpod", "gb200-superpod"]
# Layers, attention heads of keys and experts: what pipeline, tensor and expert parallelism divide.
DENSE = {"llama3-8b": (32, 8), "llama3-70b": (80, 8), "gpt3-13b": (40, 8), "qwen2.5-7b": (28, 4), "mistral-7b": (32, 8),
         "llama2-13b": (40, 8), "phi-3-mini": (32, 8)}
SPARSE = {"mixtral-8x7b": (32, 8, 8), "qwen3-30b-a3b": (48, 4, 128), "olmoe-1b-7b": (16, 8, 64)}
CONDITIONS = [[], [], [], ["--inlet-c", "35"], ["--power-cap", "450"], ["--seed", "7"], ["--inlet-c", "43"],
              ["--duration", "20s"], ["--lock-clock", "1200"]]


def divisors(number, most):
    return [d for d in (1, 2, 4, 8) if number % d == 0 and d <= most]


def job(draw):
    """The words behind `ergometer simulate`."""
    sparse = draw.random() < 0.3
    model = draw.choice(list(SPARSE if sparse else DENSE))
    layers, heads = (SPARSE if sparse else DENSE)[model][:2]
    tp, pp = draw.choice(divisors(heads, 8)), draw.choice(divisors(layers, 8))
    dp = draw.choice([1, 2, 4])
    words = [model, "--cluster", draw.choice(CLUSTERS), "--gpus", tp * pp * dp, "--tp", tp, "--pp", pp]
    micro, batches = draw.choice([1, 2]), draw.choice([1, 2, 4, 7, 16]) * pp
    words += ["--mbs", micro, "--gbs", micro * dp * batches, "--seq", draw.choice([1024, 2048, 4096])]
    if sparse:
        words += ["--ep", draw.choice([d for d in (1, 2, 4) if dp % d == 0])]
    if pp > 1 and layers // pp % 2 == 0 and draw.random() < 0.3:
        words += ["--vpp", 2]
    elif pp > 1 and draw.random() < 0.2:
        words += ["--vocabulary-parallel", draw.choice(["one-barrier", "two-barriers", "interlaced"])]
    if draw.random() < 0.4:
        words += ["--recompute", draw.choice(["full", "selective"])]
    if draw.random() < 0.3:
        words += ["--overlap-grad-reduce"]
    return [str(word) for word in words + draw.choice(CONDITIONS)]


def jobs(count, seed):
    draw = random.Random(seed)
    return [job(draw) for _ in range(count)]
