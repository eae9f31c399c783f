import sys
from dataclasses import dataclass, field
from typing import Optional
import transformers
from transformers import HfArgumentParser, Trainer
@dataclass
class ModelArguments:
    model_name_or_path: Optional[str] = field(default="meta-llama/Llama-2-13b-hf")
@dataclass
class TrainingArguments(transformers.TrainingArguments):
    optim: str = field(default="adamw_torch")
    bf16: bool = field(default=True)
    gradient_checkpointing: bool = field(default=True)
    model_max_length: int = field(default=512, metadata={"help": "x"})
def train():
    parser = transformers.HfArgumentParser((ModelArguments, TrainingArguments))
    model_args, training_args = parser.parse_args_into_dataclasses()
    model = transformers.AutoModelForCausalLM.from_pretrained(model_args.model_name_or_path)
    Trainer(model=model, args=training_args).train()
train()
