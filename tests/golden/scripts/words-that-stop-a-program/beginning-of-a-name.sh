torchrun --nproc_per_node 8 run_clm.py --model_name_or_path gpt2 --block_size 1024 --bf16 --per_device_train_batch 2
