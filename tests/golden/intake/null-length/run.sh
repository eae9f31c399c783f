accelerate launch --num_processes 8 sft.py --config sft.yaml
