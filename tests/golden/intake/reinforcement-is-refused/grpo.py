from trl import GRPOConfig, GRPOTrainer
args = GRPOConfig(output_dir="o", per_device_train_batch_size=8, num_generations=8, max_completion_length=512, use_vllm=True, bf16=True)
GRPOTrainer(model="Qwen/Qwen2-0.5B-Instruct", reward_funcs=f, args=args).train()
