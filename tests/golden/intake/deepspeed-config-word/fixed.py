from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-3.1-8B")
args = TrainingArguments(output_dir="o", per_device_train_batch_size=1, bf16=True, deepspeed="ds.json")
Trainer(model=model, args=args, train_dataset=data).train()
