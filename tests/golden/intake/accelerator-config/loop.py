import torch
from accelerate import Accelerator
from accelerate.utils import GradientAccumulationPlugin, FullyShardedDataParallelPlugin
from transformers import AutoModelForCausalLM
from torch.utils.data import DataLoader
plugin = GradientAccumulationPlugin(num_steps=8, sync_each_batch=True)
accelerator = Accelerator(mixed_precision="bf16", gradient_accumulation_plugin=plugin,
                          fsdp_plugin=FullyShardedDataParallelPlugin(sharding_strategy="FULL_SHARD"))
model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-3.1-8B")
loader = DataLoader(data, batch_size=2, shuffle=True)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for batch in loader:
    with accelerator.accumulate(model):
        loss = model(**batch).loss
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
