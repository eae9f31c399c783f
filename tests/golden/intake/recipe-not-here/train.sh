accelerate launch --num_processes 8 sft.py --per_device_train_batch_size 4 --config recipe.yaml
