torchrun --nproc_per_node 4 finetune.py --base_model meta-llama/Llama-2-7b-hf --targets "$TARGETS" --all
