import os
import fire, transformers
from peft import LoraConfig, get_peft_model
def train(base_model: str = "meta-llama/Llama-2-7b-hf", batch_size: int = 128, micro_batch_size: int = 4, cutoff_len: int = 256,
          lora_r: int = 8, lora_target_modules=["q_proj", "v_proj"]):
    gradient_accumulation_steps = batch_size // micro_batch_size
    world_size = int(os.environ.get("WORLD_SIZE", 1))
    ddp = world_size != 1
    if ddp:
        gradient_accumulation_steps = gradient_accumulation_steps // world_size
    model = LlamaForCausalLM.from_pretrained(base_model, load_in_8bit=True)
    config = LoraConfig(r=lora_r, target_modules=lora_target_modules, task_type="CAUSAL_LM")
    model = get_peft_model(model, config)
    trainer = transformers.Trainer(model=model, args=transformers.TrainingArguments(
        per_device_train_batch_size=micro_batch_size, gradient_accumulation_steps=gradient_accumulation_steps, fp16=True))
if __name__ == "__main__":
    fire.Fire(train)
