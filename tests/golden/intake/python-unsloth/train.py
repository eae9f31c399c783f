from unsloth import FastLanguageModel, is_bfloat16_supported
import torch
max_seq_length = 2048
dtype = None
load_in_4bit = True
model, tokenizer = FastLanguageModel.from_pretrained(model_name="unsloth/llama-3-8b-bnb-4bit", max_seq_length=max_seq_length, dtype=dtype, load_in_4bit=load_in_4bit)
model = FastLanguageModel.get_peft_model(model, r=16, target_modules=["q_proj","k_proj","v_proj","o_proj","gate_proj","up_proj","down_proj"], lora_alpha=16, use_gradient_checkpointing="unsloth")
from trl import SFTTrainer
from transformers import TrainingArguments
trainer = SFTTrainer(model=model, train_dataset=ds, max_seq_length=max_seq_length, args=TrainingArguments(
  per_device_train_batch_size=2, gradient_accumulation_steps=4, fp16=not is_bfloat16_supported(), bf16=is_bfloat16_supported(), optim="adamw_8bit", output_dir="o"))
