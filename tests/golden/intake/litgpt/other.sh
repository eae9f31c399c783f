litgpt finetune_adapter checkpoints/meta-llama/Llama-2-7b-hf --devices 2
