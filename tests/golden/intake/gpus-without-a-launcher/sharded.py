import torch
from transformers import Trainer, TrainingArguments, AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-3B")
args = TrainingArguments(output_dir="o", per_device_train_batch_size=4, bf16=True, fsdp="full_shard")
Trainer(model=model, args=args).train()

