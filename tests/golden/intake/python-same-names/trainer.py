from transformers import AutoModelForCausalLM, TrainingArguments, Trainer as HFTrainer

class Trainer(HFTrainer):
    def __init__(self, *args, train_datasets=None, models=None, **rest):
        super().__init__(*args, **rest)

model = AutoModelForCausalLM.from_pretrained("gpt2")
args = TrainingArguments("out", per_device_train_batch_size=4, bf16=True)
Trainer(model=model, args=args, train_datasets=[data], models=[]).train()
