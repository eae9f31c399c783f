args = TrainingArguments(
    output_dir="./out",
    per_device_train_batch_size=BATCH // GPUS,
    bf16=True,
)
