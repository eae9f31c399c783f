from dataclasses import dataclass, field
from transformers import HfArgumentParser, TrainingArguments, Trainer, AutoModelForCausalLM
import sys, os
@dataclass
class ModelArgs:
    model_name_or_path: str = field(default="Qwen/Qwen3-8B")
    attn: str = field(default="flash_attention_2")
@dataclass
class DataArgs:
    max_len: int = field(default=4096)
def main():
    parser = HfArgumentParser((ModelArgs, DataArgs, TrainingArguments))
    if len(sys.argv) == 2 and sys.argv[1].endswith(".yaml"):
        m, d, t = parser.parse_yaml_file(os.path.abspath(sys.argv[1]))
    else:
        m, d, t = parser.parse_args_into_dataclasses()
    model = AutoModelForCausalLM.from_pretrained(m.model_name_or_path, attn_implementation=m.attn)
    Trainer(model=model, args=t).train()
main()
