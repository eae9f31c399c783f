from transformers import TrainingArguments
if torch.cuda.device_count() > 1:
    batch = 2
else:
    batch = 4
args = TrainingArguments(per_device_train_batch_size=batch, bf16=True)
