import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments
BATCH = 4
model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-3.2-1B", torch_dtype=torch.bfloat16)
args = TrainingArguments("out", per_device_train_batch_size=BATCH, gradient_accumulation_steps=8 // BATCH, bf16=torch.cuda.is_bf16_supported(),
    gradient_checkpointing=True, deepspeed="dsz3.json", learning_rate=2e-5, num_train_epochs=3, logging_steps=10)
Trainer(model=model, args=args, train_dataset=None).train()
