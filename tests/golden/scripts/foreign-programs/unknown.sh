torchrun --nproc_per_node=8 finetune.py --base_model meta-llama/Llama-2-7b-hf --batch_size 128 --micro_batch_size 4 --cutoff_len 512 --lora_r 16
