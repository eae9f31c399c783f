tune run --nnodes 2 --nproc_per_node 8 full_finetune_distributed --config 70B_full.yaml batch_size=4 \
   gradient_accumulation_steps=2 tokenizer.max_seq_len=8192 tensor_parallel_dim=8 \
   data_parallel_shard_dim=2 optimizer=bitsandbytes.optim.PagedAdamW8bit ~optimizer.fused compile=True
