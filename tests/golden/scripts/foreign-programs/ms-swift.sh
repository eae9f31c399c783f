NPROC_PER_NODE=8 swift rlhf --rlhf_type dpo --model Qwen/Qwen2.5-32B-Instruct --train_type lora --per_device_train_batch_size 1 --max_length 2048 --deepspeed zero3
