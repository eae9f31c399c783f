import deepspeed
from arguments import get_args
from transformers import AutoModelForCausalLM

args = get_args()
model = AutoModelForCausalLM.from_pretrained(args.model_name_or_path)
engine, *_ = deepspeed.initialize(args=args, model=model)
