torchrun --nproc_per_node 8 fire.py --model_name_or_path meta-llama/Llama-3.1-8B --deepspeed_config ds.json
