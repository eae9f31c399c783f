import torch
from torch.distributed.fsdp import fully_shard, MixedPrecisionPolicy
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM

GRAD_ACCUM = int(input("accumulate: "))
policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-8B")
model.gradient_checkpointing_enable()
for layer in model.model.layers:
    fully_shard(layer, mp_policy=policy, reshard_after_forward=False)
fully_shard(model, mp_policy=policy)
loader = DataLoader(data, batch_size=2)
