config = AutoConfig.from_pretrained("gpt2", n_layer=2)
config.n_head = 4
model = AutoModelForCausalLM.from_config(config)
accelerator = Accelerator(mixed_precision="bf16", gradient_accumulation_steps=2)
with torch.autocast("cuda", dtype=torch.bfloat16):
    pass
def train(config):
    batch = config.get("batch", 4)
    args = TrainingArguments(per_device_train_batch_size=batch)
TorchTrainer(train, train_loop_config={"batch": 16})
