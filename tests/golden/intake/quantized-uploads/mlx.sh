torchrun --nproc_per_node 8 run_sft.py --per_device_train_batch_size 2 --max_seq_length 4096 --bf16 true --model_name_or_path mlx-community/Meta-Llama-3-8B-Instruct-4bit --use_peft true --lora_r 16
