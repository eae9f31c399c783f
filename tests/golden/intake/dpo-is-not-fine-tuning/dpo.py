from trl import DPOConfig, DPOTrainer
args = DPOConfig(output_dir="x", per_device_train_batch_size=1, gradient_accumulation_steps=16, bf16=True, max_length=2048, gradient_checkpointing=True)
