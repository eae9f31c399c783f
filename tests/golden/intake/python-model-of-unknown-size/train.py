from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast, Trainer, TrainingArguments

tokenizer = PreTrainedTokenizerFast(tokenizer_file="own.json")
model = GPT2LMHeadModel(GPT2Config(vocab_size=len(tokenizer), n_embd=1024, n_layer=24, n_head=16))
Trainer(model, TrainingArguments("out", per_device_train_batch_size=8, bf16=True)).train()
