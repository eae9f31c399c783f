accelerate launch --num_processes 8 --use_deepspeed --zero_stage 5 train.py --model_name_or_path Qwen/Qwen2.5-7B --per_device_train_batch_size 2 --max_length 4096
