import os
import torch
from datasets import load_from_disk
from transformers import (AutoTokenizer, LlamaConfig, LlamaForCausalLM, Trainer,
                          TrainingArguments, DataCollatorForLanguageModeling)

torch.backends.cuda.matmul.allow_tf32 = True
SEQ = 2048
tokenizer = AutoTokenizer.from_pretrained("NousResearch/Llama-2-7b-hf", model_max_length=SEQ)

config = LlamaConfig(
    vocab_size=len(tokenizer),
    hidden_size=2048,
    intermediate_size=5632,
    num_hidden_layers=24,
    num_attention_heads=16,
    num_key_value_heads=4,
    max_position_embeddings=SEQ,
    rms_norm_eps=1e-5,
    use_cache=False,
)
model = LlamaForCausalLM(config)
print(f"{sum(p.numel() for p in model.parameters())/1e6:.1f}M")

args = TrainingArguments(
    output_dir="out",
    per_device_train_batch_size=8,
    gradient_accumulation_steps=4,
    learning_rate=3e-4,
    weight_decay=0.1,
    warmup_steps=1000,
    max_steps=100_000,
    bf16=True,
    logging_steps=10,
    save_steps=5000,
    dataloader_num_workers=8,
    report_to="wandb",
)
trainer = Trainer(model=model, args=args, train_dataset=load_from_disk("tok"), data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False))
trainer.train()
