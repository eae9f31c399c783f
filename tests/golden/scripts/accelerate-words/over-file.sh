cat > z.yaml <<X
distributed_type: DEEPSPEED
deepspeed_config:
  zero_stage: 3
mixed_precision: fp16
num_processes: 8
X
accelerate launch --config_file z.yaml --mixed_precision bf16 --zero_stage 1 train.py --model_name_or_path Qwen/Qwen2.5-7B --per_device_train_batch_size 2 --max_length 4096
