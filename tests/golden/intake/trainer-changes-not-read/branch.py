import torch
from transformers import Trainer, TrainingArguments


def fit(args):
    args.gradient_accumulation_steps = 8


args = TrainingArguments("out", per_device_train_batch_size=2, bf16=True)
if torch.cuda.device_count() > 8:
    fit(args)
Trainer(model="llama2-7b", args=args).train()
