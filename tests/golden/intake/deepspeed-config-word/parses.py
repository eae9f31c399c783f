from transformers import AutoModelForCausalLM, HfArgumentParser, Trainer, TrainingArguments
from arguments import ModelArguments
parser = HfArgumentParser((ModelArguments, TrainingArguments))
model_args, training_args = parser.parse_args_into_dataclasses()
Trainer(model=AutoModelForCausalLM.from_pretrained(model_args.model_name_or_path), args=training_args).train()
