from accelerate import Accelerator, DeepSpeedPlugin
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM
plugin = DeepSpeedPlugin(zero_stage=3, gradient_accumulation_steps=8, offload_optimizer_device="cpu")
accelerator = Accelerator(mixed_precision="bf16", deepspeed_plugin=plugin)
model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-7b-hf")
loader = DataLoader(ds, batch_size=2)
