import torch
from accelerate import Accelerator, FullyShardedDataParallelPlugin
from accelerate.utils import set_seed
from transformers import AutoModelForCausalLM, get_scheduler
from torch.utils.data import DataLoader

def main(args=None):
    plugin = FullyShardedDataParallelPlugin(
        sharding_strategy="SHARD_GRAD_OP",
        activation_checkpointing=True,
        use_orig_params=True,
    )
    accelerator = Accelerator(mixed_precision="bf16", gradient_accumulation_steps=4, fsdp_plugin=plugin)
    model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-7b-hf")
    dl = DataLoader(ds, batch_size=2, shuffle=True)
    model, dl = accelerator.prepare(model, dl)

main()
