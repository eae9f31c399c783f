from dataclasses import dataclass, field
from typing import Optional

import transformers


@dataclass
class DataArguments:
    lazy_preprocess: bool = False
    padding_side: str = field(default="right")


@dataclass
class TrainingArguments(transformers.TrainingArguments):
    model_max_length: int = field(default=512)


parser = transformers.HfArgumentParser((DataArguments, TrainingArguments))
data_args, training_args = parser.parse_args_into_dataclasses()
transformers.Trainer(args=training_args).train()
