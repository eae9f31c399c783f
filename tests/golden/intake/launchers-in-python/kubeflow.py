from kubeflow.training import TrainingClient
def train_func():
    from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
    model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-7B")
    args = TrainingArguments(output_dir="out", per_device_train_batch_size=4, bf16=True, fsdp="full_shard auto_wrap", gradient_checkpointing=True)
    Trainer(model=model, args=args, train_dataset=ds).train()
TrainingClient().create_job(name="qwen", train_func=train_func, num_workers=4, num_procs_per_worker="8",
                            resources_per_worker={"gpu": "8"}, base_image="pytorch")
