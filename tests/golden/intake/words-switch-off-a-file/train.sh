accelerate launch --num_processes 8 trl/scripts/sft.py --config recipe.yaml --bf16 False --gradient_checkpointing False --use_peft False --load_in_4bit False --use_liger_kernel False
