import math
import os

import fire
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


def build(batch, **others):
    return TrainingArguments("out", per_device_train_batch_size=batch, **others)


def train(base_model: str, targets=("q_proj",), batch: int = 4, all: bool = False):
    model = AutoModelForCausalLM.from_pretrained(base_model)
    more = {"bf16": True}
    more["gradient_accumulation_steps"] = math.ceil(126 / (batch * int(os.environ["WORLD_SIZE"])))
    arguments = build(batch, **more)
    config = LoraConfig(r=8, target_modules=targets)
    Trainer(model=get_peft_model(model, config), args=arguments).train()


if __name__ == "__main__":
    fire.Fire(train)
