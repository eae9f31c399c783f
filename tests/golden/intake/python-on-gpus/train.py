import torch
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

device = "cuda" if torch.cuda.is_available() else "cpu"
model = AutoModelForCausalLM.from_pretrained("EleutherAI/pythia-1.4b").to(device)
args = TrainingArguments(output_dir="out", per_device_train_batch_size=8 if torch.cuda.is_available() else 1,
                         fp16=torch.cuda.is_available())
Trainer(model=model, args=args).train()
