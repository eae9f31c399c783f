import fire
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


def main(model_name_or_path: str, deepspeed_config: str = None):
    model = AutoModelForCausalLM.from_pretrained(model_name_or_path)
    args = TrainingArguments(
        output_dir="o", per_device_train_batch_size=1, bf16=True, deepspeed=deepspeed_config
    )
    Trainer(model=model, args=args, train_dataset=data).train()


fire.Fire(main)
