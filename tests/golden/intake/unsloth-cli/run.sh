python unsloth-cli.py --model_name unsloth/llama-3-8b --load_in_4bit --r 16 --per_device_train_batch_size 2
