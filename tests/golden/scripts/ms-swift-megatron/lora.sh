NNODES=2 NPROC_PER_NODE=8 megatron sft ${WEIGHTS:---model Qwen/Qwen2.5-14B-Instruct} --load_safetensors true --save_safetensors true --train_type lora \
  --lora_rank 16 --target_modules all-linear --tensor_model_parallel_size 4 --sequence_parallel true --use_distributed_optimizer false \
  --torch_dtype bfloat16 --max_length 4096 --overlap_grad_reduce true --recompute_granularity none $@
