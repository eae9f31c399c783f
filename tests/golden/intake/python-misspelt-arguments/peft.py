from peft import LoraConfig
from trl import SFTConfig, SFTTrainer
peft = LoraConfig(rank=16, target_module=["q_proj","v_proj"], lora_alpha=16, arrow_config=None, alora_invocation_tokens=None)
args = SFTConfig(output_dir="x", per_device_train_batch_size=2, gradient_accumulation_step=4, max_length=2048, bf16=True)
SFTTrainer(model="Qwen/Qwen2.5-7B", args=args, peft_config=peft).train()
