torchrun --nproc_per_node 8 run_clm.py --config_name gpt2 --config_overrides n_embd=1024,n_layer=24 --tokenizer_name gpt2 --block_size 1024 \
  --per_device_train_batch_size 4 --bf16 --fsdp "full_shard auto_wrap" --fsdp_config fsdp.json
