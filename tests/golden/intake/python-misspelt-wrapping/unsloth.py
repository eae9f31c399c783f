from trl import SFTConfig, SFTTrainer
from unsloth import FastLanguageModel
model, tokenizer = FastLanguageModel.from_pretrained("unsloth/Qwen3-4B", max_seq_lenght=4096, load_in_4bits=True, load_in_16bit=False, fast_inference=False)
model = FastLanguageModel.get_peft_model(model, r=16, target_module=["q_proj"], random_state=1, loftq_config=None, max_seq_length=4096)
trainer = SFTTrainer(model=model, args=SFTConfig(per_device_train_batch_size=2, max_length=4096), peft_confg=None, processing_class=tokenizer)
