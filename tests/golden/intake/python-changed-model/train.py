import argparse
from transformers import AutoConfig, AutoModelForCausalLM, Trainer, TrainingArguments

p = argparse.ArgumentParser()
p.add_argument("--model", default="Qwen/Qwen2.5-7B")
p.add_argument("--layers", type=int, default=12)
p.add_argument("--bs", type=int, default=2)
a = p.parse_args()

config = AutoConfig.from_pretrained(a.model)
config.num_hidden_layers = a.layers
config.use_cache = False
config._attn_implementation = "flash_attention_2"
model = AutoModelForCausalLM.from_config(config)
args = TrainingArguments(output_dir="o", per_device_train_batch_size=a.bs, gradient_accumulation_steps=8,
                         bf16=True, gradient_checkpointing=True, fsdp="full_shard auto_wrap",
                         fsdp_config={"transformer_layer_cls_to_wrap": ["Qwen2DecoderLayer"]})
Trainer(model=model, args=args).train()
