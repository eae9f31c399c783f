from trl import SFTConfig, SFTTrainer
base = dict(per_device_train_batch_size=4, bf16=True, learning_rate=get_lr())
extra = {**base, "gradient_accumulation_steps": 2, "max_length": 1024 * 4}
class CFG:
    model = "Qwen/Qwen2.5-7B"
    packing = True
    gc = False
args = SFTConfig(**extra, packing=CFG.packing, gradient_checkpointing=CFG.gc, output_dir="x")
trainer = SFTTrainer(model=CFG.model, args=args)
