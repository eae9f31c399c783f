import torch
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP, MixedPrecision, CPUOffload
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen2.5-7B", load_in_4bits=True)
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-7B", attn_implementatio="sdpa", low_cpu_mem_usage=True, rope_scaling=None)
model = FSDP(model, sharding_stategy="SHARD_GRAD_OP", mixed_precision=MixedPrecision(param_dtype=torch.bfloat16, reduce_type=torch.float32),
             cpu_offload=CPUOffload(offload_params=False), use_orig_params=True)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, weight_deacy=0.1, fused=True)
for batch in DataLoader(data, batch_size=2, num_worker=4):
    with torch.autocast("cuda", dtype=torch.bfloat16, cache_enable=False):
        model(**batch).loss.backward()
    optimizer.step()
