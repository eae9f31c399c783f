from flytekit import task
from flytekitplugins.kfpytorch import Elastic
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
@task(task_config=Elastic(nproc_per_node=8))
def main():
    args = TrainingArguments(output_dir="out", per_device_train_batch_size=4, bf16=True, gradient_checkpointing=True)
    model = AutoModelForCausalLM.from_pretrained("gpt2-xl")
    Trainer(model=model, args=args, train_dataset=ds).train()
