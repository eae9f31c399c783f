trl sft --accelerate_config zero3 --model_name_or_path Qwen/Qwen2.5-7B --per_device_train_batch_size 2 --max_length 4096
