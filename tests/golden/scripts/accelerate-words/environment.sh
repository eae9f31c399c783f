export ACCELERATE_USE_FSDP=true FSDP_SHARDING_STRATEGY=SHARD_GRAD_OP
ACCELERATE_MIXED_PRECISION=bf16 torchrun --nproc-per-node 8 train.py --model_name_or_path Qwen/Qwen2.5-7B --per_device_train_batch_size 2 --max_length 4096
