import submitit
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
def main():
    args = TrainingArguments(output_dir="out", per_device_train_batch_size=4, bf16=True, gradient_checkpointing=True)
    model = AutoModelForCausalLM.from_pretrained("gpt2-xl")
    Trainer(model=model, args=args, train_dataset=ds).train()
executor = submitit.AutoExecutor(folder="logs")
executor.update_parameters(nodes=4, gpus_per_node=8, tasks_per_node=8, slurm_partition="learn")
job = executor.submit(main)
