deepspeed --num_gpus 8 --module llamafactory.train --model_name_or_path Qwen/Qwen2.5-7B --per_device_train_batch_size 2 --bf16
