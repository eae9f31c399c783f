import argparse
from peft import LoraConfig
from transformers import TrainingArguments
from trl import SFTConfig, SFTTrainer

parser = argparse.ArgumentParser()
parser.add_argument("--big", action="store_true")
parser.add_argument("--zero", action="store_true")
parser.add_argument("--rank", type=int, default=0)
args = parser.parse_args()
if args.big:
    name, batch = "Qwen/Qwen2.5-32B", 1
elif args.zero:
    name, batch = "Qwen/Qwen2.5-14B", 2
else:
    name, batch = "Qwen/Qwen2.5-7B", 4
peft_config = LoraConfig(r=args.rank, target_modules="all-linear") if args.rank > 0 else None
config = SFTConfig(
    output_dir=f"out/{name}", per_device_train_batch_size=batch, bf16=True, max_length=2048, packing=True,
    deepspeed={"zero_optimization": {"stage": 3}} if args.zero else None,
)
SFTTrainer(model=name, args=config, peft_config=peft_config)
