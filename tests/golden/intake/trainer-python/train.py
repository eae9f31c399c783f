from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments

model_name = "meta-llama/Llama-2-7b-hf"
tokenizer = AutoTokenizer.from_pretrained(model_name)
model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-7b-hf", attn_implementation="sdpa")

args = TrainingArguments(
    output_dir="./out",          # where it goes
    per_device_train_batch_size=2,
    gradient_accumulation_steps=16,
    learning_rate=lr,
    bf16=True,
    gradient_checkpointing=True,
    fsdp="full_shard auto_wrap",
    fsdp_config={"transformer_layer_cls_to_wrap": ["LlamaDecoderLayer"]},
    optim="adamw_torch_fused",
)
Trainer(model=model, args=args, train_dataset=data).train()
