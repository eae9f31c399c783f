from accelerate.utils import ParallelismConfig
from transformers import Trainer, TrainingArguments, AutoModelForCausalLM
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-3B")
args = TrainingArguments(output_dir="o", per_device_train_batch_size=4, bf16=True, fsdp="full_shard", fsdp_config={"fsdp_version": 2, "activation_checkpointing": True, "transformer_layer_cls_to_wrap": ["Qwen2DecoderLayer"]}, parallelism_config=ParallelismConfig(dp_shard_size=4, cp_size=2))
Trainer(model=model, args=args).train()
