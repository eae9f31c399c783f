from dataclasses import dataclass
from transformers import AutoModelForCausalLM, HfArgumentParser, Trainer, TrainingArguments
@dataclass
class OwnArguments:
    model_name_or_path: str = "gpt2"
    deepspeed_config: str = None
parser = HfArgumentParser((OwnArguments, TrainingArguments))
own_args, training_args = parser.parse_args_into_dataclasses()
Trainer(model=AutoModelForCausalLM.from_pretrained(own_args.model_name_or_path), args=training_args).train()
