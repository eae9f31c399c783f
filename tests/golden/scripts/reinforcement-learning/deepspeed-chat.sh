deepspeed --num_gpus 8 main.py --actor_model_name_or_path facebook/opt-13b --critic_model_name_or_path facebook/opt-350m
