import os
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
model = AutoModelForCausalLM.from_pretrained(os.environ["MODEL_ID"])
args = TrainingArguments(output_dir="o", per_device_train_batch_size=int(os.environ.get("MICRO_BATCH", "1")), bf16=True, gradient_checkpointing=True, fsdp="full_shard")
Trainer(model=model, args=args, train_dataset=d).train()
