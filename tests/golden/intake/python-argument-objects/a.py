from transformers import HfArgumentParser, TrainingArguments, Trainer, AutoModelForCausalLM
from dataclasses import dataclass, field
@dataclass
class Args:
    model_name_or_path: str = field(default="gpt2")
parser = HfArgumentParser((Args, TrainingArguments))
args, training_args = parser.parse_args_into_dataclasses()
training_args.bf16 = True
if training_args.gradient_checkpointing:
    model.gradient_checkpointing_enable()
model = AutoModelForCausalLM.from_pretrained(args.model_name_or_path)
