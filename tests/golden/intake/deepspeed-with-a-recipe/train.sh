deepspeed --num_gpus 8 sft.py --learning_rate 1e-5 --deepspeed ds.json --config recipe.yaml
