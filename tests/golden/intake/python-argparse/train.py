import argparse
from transformers import TrainingArguments, Trainer, AutoModelForCausalLM
from peft import LoraConfig, get_peft_model

def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--model-name", type=str, default="Qwen/Qwen2.5-7B")
    p.add_argument("-b", "--bs", type=int, default=4)
    p.add_argument("--accum", type=int, default=8)
    p.add_argument("--lr", type=float, default=1e-4)
    p.add_argument("--lora", action="store_true")
    p.add_argument("--no_bf16", dest="bf16", action="store_false")
    return p.parse_args()

def train(args):
    model = AutoModelForCausalLM.from_pretrained(args.model_name)
    if args.lora:
        cfg = LoraConfig(r=16, target_modules=["q_proj", "v_proj"])
        model = get_peft_model(model, cfg)
    ta = TrainingArguments(output_dir="o", per_device_train_batch_size=args.bs, gradient_accumulation_steps=args.accum,
        learning_rate=args.lr, bf16=args.bf16)
    Trainer(model=model, args=ta).train()

if __name__ == "__main__":
    train(parse())
