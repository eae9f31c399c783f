from accelerate import Accelerator, FullyShardedDataParallelPlugin
from transformers import AutoModelForCausalLM
plugin = FullyShardedDataParallelPlugin(shardingg_strategy="SHARD_GRAD_OP", activation_checkpoint=True)
accelerator = Accelerator(mixed_precisions="bf16", gradient_accumulation_step=8, fsdp_plugin=plugin)
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-7B")
loader = DataLoader(data, batch_size=4)
model, loader = accelerator.prepare(model, loader)
for b in loader:
    with accelerator.accumulate(model):
        accelerator.backward(model(**b).loss)
