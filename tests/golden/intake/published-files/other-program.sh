torchrun --nproc_per_node 8 run_sft.py --model_name_or_path meta-llama/Meta-Llama-3-8B --per_device_train_batch_size 2 --max_seq_length 4096 --bf16 true --deepspeed deepspeed_configs/zero3.json
