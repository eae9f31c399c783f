trl sft --accelerate_config fsdp.yaml --num_processes 8 --model_name_or_path Qwen/Qwen2.5-7B \
  --dataset_name trl-lib/Capybara --per_device_train_batch_size 2 --bf16 --use_peft
