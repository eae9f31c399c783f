accelerate launch --num_processes 4 $(which trl) sft --model_name_or_path Qwen/Qwen2.5-7B \
  --dataset_name trl-lib/Capybara --per_device_train_batch_size 2 --max_length 4096 --bf16
