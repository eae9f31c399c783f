tune run --nproc_per_node 8 full_finetune_distributed --config llama3_1/70B_full batch_size=4
