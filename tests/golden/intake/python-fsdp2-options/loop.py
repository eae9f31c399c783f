import os, torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard, MixedPrecisionPolicy, CPUOffloadPolicy
from torch.utils.data import DataLoader, DistributedSampler
from transformers import AutoModelForCausalLM, AutoTokenizer

MODEL = "Qwen/Qwen2.5-7B"
SEQ = 4096

def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    model = AutoModelForCausalLM.from_pretrained(MODEL, torch_dtype=torch.float32, attn_implementation="flash_attention_2", use_cache=False)
    model.gradient_checkpointing_enable()
    fsdp_kwargs = {"mp_policy": MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32), "reshard_after_forward": True, "offload_policy": CPUOffloadPolicy()}
    for layer in model.model.layers:
        fully_shard(layer, **fsdp_kwargs)
    fully_shard(model, **fsdp_kwargs)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    ds = load(tokenizer, SEQ)
    loader = DataLoader(ds, batch_size=2, sampler=DistributedSampler(ds), pin_memory=True)
    for step, batch in enumerate(loader):
        loss = model(**batch).loss
        loss.backward()
        opt.step()
        opt.zero_grad()
main()
