torchrun --nproc_per_node 8 run_clm.py --config_name gpt2-xl --block_size 1024 --per_device_train_batch_size 4 \
  --fsdp full_shard --fsdp_config other.json
