from unsloth import FastModel
from trl import SFTTrainer, SFTConfig
model, tokenizer = FastModel.from_pretrained("unsloth/Qwen3-4B", max_seq_length=4096, load_in_4bit=False, load_in_8bit=False, full_finetuning=True)
trainer = SFTTrainer(model=model, tokenizer=tokenizer, train_dataset=ds, args=SFTConfig(per_device_train_batch_size=1, gradient_accumulation_steps=8, bf16=True, optim="adamw_8bit", max_length=4096))
trainer.train()
