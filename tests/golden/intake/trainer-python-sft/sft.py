from trl import SFTConfig, SFTTrainer
from peft import LoraConfig

peft_config = LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM")
trainer = SFTTrainer(
    model="Qwen/Qwen2.5-7B",
    train_dataset=dataset,
    args=SFTConfig(max_length=2048, packing=True, per_device_train_batch_size=4, gradient_accumulation_steps=4),
    peft_config=peft_config,
)
