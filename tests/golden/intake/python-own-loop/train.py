from accelerate import Accelerator
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM
from torch.utils.data import DataLoader
accelerator = Accelerator(gradient_accumulation_steps=8, mixed_precision="bf16")
model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-7b-hf")
model = get_peft_model(model, LoraConfig(r=16, target_modules=["q_proj", "v_proj"]))
loader = DataLoader(ds, batch_size=4, shuffle=True)
model, loader = accelerator.prepare(model, loader)
