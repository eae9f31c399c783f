import json

from transformers import Trainer, TrainingArguments

args = TrainingArguments("out", per_device_train_batch_size=2, bf16=True)
vars(args).update(json.load(open("more.json")))
Trainer(model="llama2-7b", args=args).train()
