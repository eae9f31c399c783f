import os
from dataclasses import dataclass, field
from typing import Optional

import transformers
from transformers import HfArgumentParser, Trainer


@dataclass
class ModelArguments:
    model_name_or_path: Optional[str] = field(default="meta-llama/Llama-2-7b-hf")


@dataclass
class TrainingArguments(transformers.TrainingArguments):
    model_max_length: int = field(default=2048)

    def __post_init__(self):
        super().__post_init__()
        self.bf16 = True


def prepare(arguments, checkpointing=False):
    # Of the launch line's 2 on eight GPUs: 128 // (2 * 8) = 8.
    arguments.gradient_accumulation_steps = 128 // (
        arguments.per_device_train_batch_size * int(os.environ["WORLD_SIZE"]))
    setattr(arguments, "gradient_checkpointing", checkpointing)


def main():
    parser = HfArgumentParser((ModelArguments, TrainingArguments))
    model_args, training_args = parser.parse_args_into_dataclasses()
    model = transformers.AutoModelForCausalLM.from_pretrained(model_args.model_name_or_path)
    prepare(training_args, checkpointing=True)
    Trainer(model=model, args=training_args).train()


if __name__ == "__main__":
    main()
