tune run --nnodes 1 --nproc_per_node 4 full_finetune_distributed --config llama3_1/8B_full batch_size=2
