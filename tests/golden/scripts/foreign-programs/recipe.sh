srun python scripts/training/run_recipe.py --recipe qwen3_30b_a3b_pretrain_config model.tensor_model_parallel_size=2 train.global_batch_size=512
