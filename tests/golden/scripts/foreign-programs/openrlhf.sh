deepspeed --module openrlhf.cli.train_sft --max_len 2048 --train_batch_size 128 --micro_train_batch_size 4 --zero_stage 3 --bf16 --lora_rank 64
