NPROC_PER_NODE=4 swift sft --config sft_args.yaml --deepspeed zero3 --lora_rank 16 --max_length 8192
