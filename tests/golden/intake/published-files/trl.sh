accelerate launch --config_file examples/accelerate_configs/deepspeed_zero2.yaml trl/scripts/sft.py \
  --model_name_or_path Qwen/Qwen2.5-3B --per_device_train_batch_size 2 --max_length 4096 --packing
