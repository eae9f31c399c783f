accelerate launch --config_file z3.yaml --num_processes 8 sft.py --config recipe.yaml
