from pyspark.ml.torch.distributor import TorchDistributor

def train():
    from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
    model = AutoModelForCausalLM.from_pretrained("mistralai/Mistral-7B-v0.1")
    args = TrainingArguments(output_dir="/dbfs/out", per_device_train_batch_size=2, gradient_accumulation_steps=4,
                             bf16=True, gradient_checkpointing=True, fsdp="full_shard auto_wrap")
    Trainer(model=model, args=args, train_dataset=ds).train()

distributor = TorchDistributor(num_processes=16, local_mode=False, use_gpu=True)
distributor.run(train)
