litgpt finetune_lora unsloth/llama-3-8b-bnb-4bit --train.micro_batch_size 2 --train.global_batch_size 16 --devices 8 --train.max_seq_length 2048
