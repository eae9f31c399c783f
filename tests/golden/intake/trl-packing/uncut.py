from trl import SFTConfig, SFTTrainer

args = SFTConfig(per_device_train_batch_size=2, bf16=True, max_length=None, padding_free=True)
SFTTrainer(model="Qwen/Qwen3-8B", args=args).train()
