deepspeed --num_gpus 8 imports.py --model_name_or_path meta-llama/Llama-3.1-8B --per_device_train_batch_size 1 --deepspeed_config ds.json
