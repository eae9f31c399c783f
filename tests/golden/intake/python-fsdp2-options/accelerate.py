from accelerate import Accelerator
from transformers import AutoModelForCausalLM
from torch.utils.data import DataLoader
import bitsandbytes as bnb
acc = Accelerator(mixed_precision="bf16", gradient_accumulation_steps=4)
model = AutoModelForCausalLM.from_pretrained("mistralai/Mistral-7B-v0.3")
opt = bnb.optim.AdamW8bit(model.parameters(), lr=1e-5)
dl = DataLoader(ds, batch_size=2)
model, opt, dl = acc.prepare(model, opt, dl)
